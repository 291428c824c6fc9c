"""A session as stored, and how events change it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from recollect.model.own import without_own_blocks
from recollect.model.payloads import Lifecycle, Payload, SessionStart, UserMessage
from recollect.model.text import one_line
from recollect.model.time import day_of
from recollect.units import plural

_WORKTREE = r"/\.(?:claude/)?worktrees(?:/|$)"
Outcome = Literal["success", "fail", "abandoned", "unknown"]


class Session(msgspec.Struct, frozen=True):
    """One conversation with one agent. Times in UTC microseconds."""

    session_uid: str
    agent: str
    title: str = ""
    title_status: Literal["agent", "derived", ""] = ""
    repo: str = ""
    repo_root: str = ""
    domain: str = ""
    cwd: str = ""
    git_branch: str = ""
    git_commit: str = ""
    git_remote: str = ""
    models: tuple[str, ...] = ()
    tool_version: str = ""
    originator: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    parent_session: str = ""
    forked_from: str = ""
    resumed_from: str = ""
    root_session: str = ""
    agent_name: str = ""
    event_count: int = 0
    turn_count: int = 0
    kind_counts: dict[str, int] = {}
    defect_count: int = 0
    source_bytes: int = 0
    sources: tuple[str, ...] = ()
    is_witnessed: bool = False
    """All that is known of it comes from hooks; its own transcript was never seen."""
    discovered_at: int | None = None
    ingested_at: int | None = None
    analyzed_at: int | None = None
    evicted_at: int | None = None
    outcome: Outcome = "unknown"
    outcome_reason: str = "not analysed yet"


_TELLING_BYTES = 12
"""Of a prompt that says what a session is about, at least; bytes, since four Chinese characters say as much."""


def named_after(earlier: str, later: str) -> str:
    """Return which of two prompts a session is called after: the first one, unless it is as short as "hi"."""
    is_short = len(earlier.encode("utf-8", "replace")) < _TELLING_BYTES <= len(later.encode("utf-8", "replace"))
    return later if is_short or not earlier else earlier


_NEWEST = ("cwd", "repo_root", "git_commit", "git_remote")
_FIRST = ("tool_version", "originator", "parent_session", "forked_from", "resumed_from", "agent_name")


class SessionBasics(msgspec.Struct, omit_defaults=True):
    """What is told of a session that no question filters on. Empty means "not stated". Native ids are as the agent
    wrote them. `first_human` fills the title if the agent gives none: see `named_after`."""

    title: str = ""
    first_human: str = ""
    cwd: str = ""
    cwd_first: str = ""
    repo_root: str = ""
    git_commit: str = ""
    git_remote: str = ""
    tool_version: str = ""
    originator: str = ""
    parent_session: str = ""
    forked_from: str = ""
    resumed_from: str = ""
    agent_name: str = ""
    models: list[str] = []

    def saw_model(self, model: str) -> None:
        """Add a model name once."""
        if model and model not in self.models and len(self.models) < 32:
            self.models = [*self.models, model]

    def began(self, told: SessionStart | SessionPatch) -> None:
        """Take what is told of a beginning: the newest of where it is, the first of what it is."""
        for name in _NEWEST:
            setattr(self, name, getattr(told, name) or getattr(self, name))
        for name in _FIRST:
            setattr(self, name, getattr(self, name) or getattr(told, name))


class SessionPatch(SessionBasics, omit_defaults=True):
    """What a slice of events says about its session. Patches merge in order of arrival."""

    git_branch: str = ""
    started_at: int | None = None
    ended_at: int | None = None

    def take(self, payload: Payload, ts: int | None) -> None:
        """Add one event to the patch. Call it in event order."""
        if ts is not None:
            if self.started_at is None or ts < self.started_at:
                self.started_at = ts
            if self.ended_at is None or ts > self.ended_at:
                self.ended_at = ts
        if isinstance(payload, UserMessage):
            if len(self.first_human) < _TELLING_BYTES and payload.text and payload.origin in ("human", "queued"):
                self.first_human = named_after(self.first_human, one_line(without_own_blocks(payload.text)))
        elif isinstance(payload, SessionStart):
            self._start(payload)
        elif isinstance(payload, Lifecycle):
            self.cwd = payload.cwd or self.cwd
            self.git_branch = payload.branch or self.git_branch
            self.title = payload.title or self.title
            self.saw_model(payload.model)

    def _start(self, p: SessionStart) -> None:
        self.began(p)
        self.cwd_first = self.cwd_first or p.cwd
        self.git_branch = p.git_branch or self.git_branch
        self.saw_model(p.model)


def repo_name(repo_root: str, git_remote: str, cwd: str) -> str:
    """Return the name of a session's repository, "" if unknown.

    The last part of the git top level, else of the remote, else of the start directory. A worktree below `.worktrees`
    or an agent's own folder counts as its main repository.
    """
    if repo_root:
        return _last_part(main_tree(repo_root))
    if git_remote:
        return _last_part(re.sub(r"[?#].*", "", git_remote).replace(":", "/")).removesuffix(".git")
    return _last_part(main_tree(cwd))


def main_tree(path: str) -> str:
    """Return the folder that a path stands for, with "/": of a worktree the repository that it hangs in."""
    slashed = path.replace("\\", "/")
    found = re.search(_WORKTREE, slashed)
    return slashed[: found.start()] if found and found.start() else slashed


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def gone_note(evicted_at: int | None) -> str:
    """Return a line for a session whose raw text was evicted at that time (UTC microseconds), "" if it still exists."""
    if evicted_at is None:
        return ""
    return f"its raw text was evicted on {day_of(evicted_at)}: what its digest and decisions rest on is kept"


class ForgottenPlace(msgspec.Struct, frozen=True):
    """Records of a session that were forgotten. after: the number of the last event before them, None: there is none.
    at: UTC microseconds."""

    after: int | None
    records: int
    at: int


_PLACES_NAMED = 5


def forgotten_note(places: Sequence[ForgottenPlace]) -> str:
    """Return a line that says where records of a session were forgotten, "" where none were."""
    if not places:
        return ""
    told = [
        f"{plural(place.records, 'record')} {'at the beginning' if place.after is None else f'after #{place.after}'} "
        f"({day_of(place.at)})"
        for place in places[:_PLACES_NAMED]
    ]
    more = f", and {len(places) - _PLACES_NAMED} other places" if len(places) > _PLACES_NAMED else ""
    return f"forgotten here: {', '.join(told)}{more}"


def gone_among(evicted_at: Collection[int | None]) -> str:
    """Return one line for several sessions, "" if all still have their raw text."""
    gone = [at for at in evicted_at if at is not None]
    if not gone:
        return ""
    since = day_of(min(gone)) if min(gone) == max(gone) else f"{day_of(min(gone))} to {day_of(max(gone))}"
    whose = "one of these sessions" if len(gone) == 1 else f"{len(gone)} of these sessions"
    return f"the raw text of {whose} was evicted ({since}): what digests and decisions rest on is kept"
