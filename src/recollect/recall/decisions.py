"""Lists decisions: which exist, what became of each, and which held at a given time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from recollect.model.insights.nodes import Decision, DecisionState, Link
from recollect.recall.related_events import RelatedEvent
from recollect.store.insights import InsightReader, KeptDecision, KeptLink

_STATES: tuple[tuple[str, DecisionState], ...] = (
    ("reverses", "reversed"), ("supersedes", "superseded"), ("contradicts", "contradicted"),
)  # fmt: skip
"""What a link makes of its older decision, the weightiest first."""

GONE: tuple[DecisionState, ...] = ("undone", "revoked")
"""The states of what was asked for by state or id alone."""
ID_PREFIX = "decision:"


class DecisionQuestion(msgspec.Struct, frozen=True):
    """Which decisions. Empty: all except undone and revoked ones.

    repos: as in `EventFilter`. path: of a file or folder that the decision names, or that its episodes changed. at:
    decided by then; known_at: as far as the memory had seen by then (both UTC microseconds, None: now). session: its
    exact uid. words: each must occur in it, in any case; the id of a decision or its prefix (`decision:5f0c`) selects
    that decision in any state. is_sure: without those that only the scorer found (`ranked`). after, before: decided in
    [after, before); omit undated ones.
    """

    repos: tuple[str, ...] = ()
    path: str = ""
    at: int | None = None
    known_at: int | None = None
    states: tuple[DecisionState, ...] = ()
    session: str = ""
    words: tuple[str, ...] = ()
    is_sure: bool = False
    after: int | None = None
    before: int | None = None


class DecisionView(msgspec.Struct, frozen=True):
    """A decision and what became of it.

    citation: `session_uid#seq` of its first evidence, "" for one that was added without a session. state: at the
    requested time. recorded_at: when its evidence was first seen; revoked_at: since when its session no longer gives
    it. links: to decisions before and after it. episodes: ids of those it led to. repeats: citations of earlier ones
    with the same words, options and state; what these led to is in episodes. later: of one that holds, what a person
    said later about the same thing; whether it changes the decision, nobody judged.
    """

    decision: Decision
    state: DecisionState
    citation: str
    repo: str
    recorded_at: int
    revoked_at: int | None = None
    links: tuple[Link, ...] = ()
    episodes: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    later: tuple[RelatedEvent, ...] = ()


class DecisionsAnswer(msgspec.Struct, frozen=True):
    """Decisions, newest first. total: how many match; left_out: those of other states, by state. notes: what one
    should know of them."""

    decisions: tuple[DecisionView, ...]
    total: int
    left_out: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class MatchingDecision(NamedTuple):
    """A stored decision that a question matches, with its links and its state at the requested time."""

    item: KeptDecision
    links: tuple[Link, ...]
    state: DecisionState

    def view(self, *, episodes: tuple[str, ...] = (), repeats: tuple[str, ...] = ()) -> DecisionView:
        """Return it as an answer shows it."""
        item = self.item
        return DecisionView(
            item.decision, self.state, cited(item.decision), item.repo, item.recorded_at, item.over_at,
            self.links, episodes, repeats,
        )  # fmt: skip


def ask_decisions(
    reader: InsightReader, question: DecisionQuestion, *, limit: int | None = None, each: bool = False,
    with_episodes: bool = True,
) -> DecisionsAnswer:  # fmt: skip
    """Return decisions. A copy in a fork of a session counts once. Unless each one or ids are requested, a literal
    repetition counts once too: the newest is shown. with_episodes: look up what each led to.
    """
    sessions = (question.session,) if question.session else ()
    words, ids = words_and_ids(question)
    kept = reader.decisions(
        repos=question.repos, sessions=sessions, words=words, ids=ids, after=question.after, before=question.before
    )
    changed: dict[str, list[str]] = {}
    if question.path:
        led = reader.episodes_of(item.decision.id for item in kept)
        paths = reader.paths_of({episode for some in led.values() for episode in some})
        changed = {name: [path for e in some for path in paths.get(e, ())] for name, some in led.items()}
    found, left_out = matching(kept, question, changed)
    said = [[one] for one in found] if each or ids else by_words(found)
    told = _told(said[:limit], reader if with_episodes else None)
    return DecisionsAnswer(told, len(said), left_out)


def words_and_ids(question: DecisionQuestion) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that a decision must contain, and the requested prefixes of ids."""
    ids = tuple(word for word in question.words if word.startswith(ID_PREFIX))
    return tuple(word for word in question.words if word not in ids), ids


def matching(
    kept: Iterable[KeptDecision], question: DecisionQuestion, changed: Mapping[str, Sequence[str]]
) -> tuple[list[MatchingDecision], dict[str, int]]:
    """Return the decisions that a question matches, newest first, and how many are in another state.

    changed: the paths that a decision's episodes changed, by the decision's id.
    """
    ids = words_and_ids(question)[1]
    kept = [item for item in kept if not question.path or _touches(item.decision, question.path, changed)]
    times = {item.decision.id: item.decision.ts for item in kept}
    found: list[MatchingDecision] = []
    left_out: dict[str, int] = {}
    for item in _once(kept):
        if not _was_there(item, question):
            continue
        one = _standing(item, question, times)
        wanted = one.state in question.states if question.states else one.state not in GONE
        if question.is_sure and item.decision.status == "ranked" and not ids:
            continue
        if wanted or ids:
            found.append(one)
        else:
            left_out[one.state] = left_out.get(one.state, 0) + 1
    found.sort(key=lambda one: (-_when(one.item.decision), one.item.decision.id))
    return found, left_out


def cited(decision: Decision) -> str:
    """Return `session_uid#seq` of a decision's first evidence; its session without one; "" without either."""
    if decision.evidence:
        first = decision.evidence[0]
        return f"{first.session_uid}#{first.seq}"
    return decision.session_uid


def path_fits(wanted: str, path: str) -> bool:
    """Return whether a path is the wanted file, is in the wanted folder, or ends with the wanted text."""
    wanted, path = (text.replace("\\", "/").removeprefix("./").rstrip("/") for text in (wanted, path))
    return bool(wanted) and f"/{wanted.lstrip('/')}/" in f"/{path.lstrip('/')}/"


def _when(decision: Decision) -> int:
    return decision.ts if decision.ts is not None else -1


def _once(kept: Iterable[KeptDecision]) -> list[KeptDecision]:
    """Of decisions that rest on the same events (a fork copies its history), leave the one that was seen first; one
    that was not undone, where there is any."""
    found: dict[object, KeptDecision] = {}
    for item in kept:
        decision = item.decision
        key = tuple((e.event_id, e.part, e.start, e.end) for e in decision.evidence) or decision.id
        same = (key, decision.statement)
        known = found.get(same)
        if known is None or _seen(item) < _seen(known):
            found[same] = item
    return list(found.values())


def _seen(item: KeptDecision) -> tuple[bool, int, str]:
    return item.decision.is_undone, item.recorded_at, item.decision.session_uid


def by_words(found: Iterable[MatchingDecision]) -> list[list[MatchingDecision]]:
    """Group decisions with those that only repeat them. found: newest first; the result keeps that order."""
    said: dict[object, list[MatchingDecision]] = {}
    for one in found:
        said.setdefault((one.item.repo, one.state, one.item.decision.said()), []).append(one)
    return [*said.values()]


def _told(said: Sequence[Sequence[MatchingDecision]], reader: InsightReader | None) -> tuple[DecisionView, ...]:
    """Return the newest of each group, with the citations of the others and, with a reader, the episodes that all led
    to."""
    led = reader.episodes_of(one.item.decision.id for same in said for one in same) if reader is not None else {}
    return tuple(
        newest.view(
            episodes=tuple(dict.fromkeys(e for one in (newest, *others) for e in led.get(one.item.decision.id, ()))),
            repeats=tuple(cited(one.item.decision) for one in others),
        )
        for newest, *others in said
    )


def _touches(decision: Decision, path: str, changed: Mapping[str, Sequence[str]]) -> bool:
    return any(path_fits(path, name) for name in (*decision.paths, *changed.get(decision.id, ())))


def _was_there(item: KeptDecision, question: DecisionQuestion) -> bool:
    if question.known_at is not None and item.recorded_at > question.known_at:
        return False
    if question.at is None:
        return True
    ts = item.decision.ts if item.decision.ts is not None else item.recorded_at
    return ts <= question.at


def _standing(item: KeptDecision, question: DecisionQuestion, times: dict[str, int | None]) -> MatchingDecision:
    links = tuple(kept.link for kept in item.links if _stood(kept, question, times)) if item.links else ()
    return MatchingDecision(item, links, _state(item, links, question))


def _stood(kept: KeptLink, question: DecisionQuestion, times: dict[str, int | None]) -> bool:
    """Return whether a link existed, and was known, by the requested times."""
    now = question.known_at
    is_known = (
        kept.revoked_at is None if now is None else kept.recorded_at <= now and not _is_past(kept.revoked_at, now)
    )
    if not is_known or question.at is None:
        return is_known
    since = kept.link.since if kept.link.since is not None else times.get(kept.link.newer)
    return since is None or since <= question.at


def _is_over(time: int | None, by: int | None) -> bool:
    """Return whether something ended by a time; None: now."""
    return time is not None and (by is None or time <= by)


def _is_past(time: int | None, now: int) -> bool:
    return time is not None and time <= now


def _state(item: KeptDecision, links: Sequence[Link], question: DecisionQuestion) -> DecisionState:
    if _is_over(item.revoked_at, question.known_at):
        return "revoked"
    if _is_over(item.taken_back_at, question.known_at) and _is_over(item.taken_back_at, question.at):
        return "revoked"
    if item.decision.is_undone:
        return "undone"
    if not links:
        return "holds"
    relations = {link.relation for link in links if link.older == item.decision.id}
    return next((state for relation, state in _STATES if relation in relations), "holds")
