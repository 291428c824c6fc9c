"""Groups edits of one request in one place without a long pause."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from recollect.insights.episodes.edits import Commit, Edit, States, Timeline, commits_of, edits_in, timeline_of
from recollect.insights.episodes.follow_ups import Activity
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.model.events import Event
from recollect.model.insights.nodes import Episode, node_id
from recollect.model.insights.signals import Signal

PAUSE_US = 2 * 60 * 60 * 1_000_000
"""Edits of one turn that are further apart are two episodes (two hours: somebody left, or it waited for somebody)."""
CORRECTION_US = 15 * 60 * 1_000_000
"""A correction follows within a quarter of an hour."""
CORRECTION_CHARS = 300
"""A correction is short; who asks at length asks for something new."""
MAX_EDITS = 400
"""Edits of one episode; more of them begin another."""
STATED, TOLD_FROM_SHELL = 100, 80
"""Confidence in hundredths: an edit that the agent states, and one that is told from the text of a shell script."""


class EditGrouper:
    """The grouper that ships. Rules and examples: docs/development/insight-rules.md, "Episodes"."""

    def episodes(self, session: SessionEvents, signals: Sequence[Signal]) -> list[Episode]:
        """Return the coherent groups of edits of a session, in canonical order of their first edits.

        signals: the test runs among them are joined to the episode in which they ran.
        """
        timeline = timeline_of(session)
        if not (timeline.edits or timeline.shell):
            return []
        commits = commits_of(session, timeline)
        edits = edits_in(session, timeline, States(timeline, commits))
        if not edits:
            return []
        activity = Activity(session, timeline, signals, commits)
        groups = list(_groups(edits, _Requests(timeline, edits, commits)))
        following = [*(group[0].position for group in groups[1:]), len(session.events)]
        return [
            _episode(session, group, activity, end=min(until, timeline.turn_ends[group[-1].event.turn_index]))
            for group, until in zip(groups, following, strict=True)
        ]


def _groups(edits: Sequence[Edit], requests: _Requests) -> Iterator[list[Edit]]:
    group: list[Edit] = []
    for edit in edits:
        if group and not _belongs(edit, group, requests):
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


class _Requests:
    """Decides whether a turn continues the work of the one before: by its words and its edited files."""

    def __init__(self, timeline: Timeline, edits: Sequence[Edit], commits: Sequence[Commit]) -> None:
        self._places = [position for position, _ in timeline.requests]
        self._chars = [0, *accumulate(chars for _, chars in timeline.requests)]
        self._commits = [commit.position for commit in commits]
        self._breaks = timeline.breaks
        self._paths: dict[int, set[str]] = {}
        for edit in edits:
            self._paths.setdefault(edit.event.turn_index, set()).update(edit.paths())

    def went_back(self, start: int, end: int) -> bool:
        """Return whether a rewind, or the border of an abandoned branch, is between two places."""
        return bisect_right(self._breaks, end) > bisect_right(self._breaks, start)

    def is_correction(self, group: Sequence[Edit], edit: Edit) -> bool:
        """Say whether an edit begins a turn that corrects a group: a few words, soon, nothing committed between, and
        no file edited in the whole turn that the group did not edit."""
        last = group[-1]
        start, end = last.position, edit.position
        if bisect_left(self._commits, end) > bisect_left(self._commits, start):
            return False
        first, after = bisect_left(self._places, start), bisect_left(self._places, end)
        if after - first != 1 or self._chars[after] - self._chars[first] > CORRECTION_CHARS:
            return False
        if _apart_us(last.event, edit.event) > CORRECTION_US:
            return False
        known = {path for old in group for path in old.paths()}
        return self._paths[edit.event.turn_index] <= known


def _belongs(edit: Edit, group: Sequence[Edit], requests: _Requests) -> bool:
    last = group[-1]
    if len(group) >= MAX_EDITS or last.state.is_elsewhere(edit.state):
        return False
    if requests.went_back(last.position, edit.position):
        return False
    if edit.event.turn_index == last.event.turn_index:
        return _apart_us(last.event, edit.event) <= PAUSE_US
    return requests.is_correction(group, edit)


def _apart_us(one: Event, other: Event) -> int:
    """Return how far two events are apart, 0 where a time is missing."""
    return abs(other.ts - one.ts) if one.ts is not None and other.ts is not None else 0


def _episode(session: SessionEvents, group: Sequence[Edit], activity: Activity, *, end: int) -> Episode:
    first, last = group[0], group[-1]
    times = [edit.event.ts for edit in group if edit.event.ts is not None]
    features = _features(group)
    outcome = activity.outcome(last.position, end)
    evidence = [evidence_of(edit.event, "command" if edit.is_shell else "edit") for edit in group]
    return Episode(
        id=node_id("episode", session.uid, first.event.event_id, first.event.part),
        session_uid=session.uid,
        location=first.event.location,
        ts=first.event.ts,
        turn_index=first.event.turn_index,
        confidence=round(sum(features.values()), 2),
        features=features,
        evidence=(evidence[0],) if first.event is last.event else (evidence[0], evidence[-1]),
        paths=tuple(dict.fromkeys(path for edit in group for path in edit.paths())),
        edits=tuple(edit.reference() for edit in group),
        commands=activity.commands(first.position, end),
        tests=activity.tests(first.position, end),
        cwd=first.state.cwd,
        repo_root=first.state.root,
        git_branch=first.state.branch,
        git_commit=first.state.commit,
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        outcome=outcome.outcome,
        outcome_reasons=outcome.reasons,
        commits=activity.commits(first.position, end),
    )


def _features(group: Sequence[Edit]) -> dict[str, float]:
    """Return what the confidence of an episode is the sum of: each kind of edit by its share."""
    shell = sum(edit.is_shell for edit in group)
    told = TOLD_FROM_SHELL * shell // len(group)
    stated = STATED * (len(group) - shell) // len(group)
    found = {"stated_edits": stated / 100, "edits_told_from_shell": told / 100}
    return {name: value for name, value in found.items() if value}
