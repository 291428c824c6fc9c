"""What the context for an agent reads of the store: few rows, no archive. Plain data; implemented by each backend.

Apart from `store.ports`, so that a process that lives for one block loads nothing else. Structures and no named tuples:
Python takes ten times as long to make one of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from recollect.model.insights.nodes import Status
from recollect.model.payloads import Payload
from recollect.model.text import summary_of

TOLD_NOTE = "told"
"""The note of what an agent is told of learning itself when a session starts, "" for nothing: blocks that were made
ready hold no more when it changes."""


class Folder(msgspec.Struct, frozen=True):
    """Where an agent works. path: the top of the repository, else the folder itself; as the system writes it.

    names: what sessions that worked there may call their repository. is_repository: what lies below belongs to it too.
    """

    path: str
    names: tuple[str, ...]
    is_repository: bool


class RecentSession(msgspec.Struct, frozen=True):
    """One root session that worked in a folder. Times in UTC microseconds."""

    session_uid: str
    agent: str
    title: str
    branch: str
    started_at: int | None
    ended_at: int | None
    turn_count: int
    kind_counts: dict[str, int]


class RecentEvent:
    """One event, newest version, read when it is looked at.

    is_failed: the result of a tool that failed. payload: what of it lies in the database; longer strings are empty.
    summary: one line of at most 120 characters, also where the payload's text is not here.
    """

    __slots__ = ("_found", "_load", "is_failed", "is_sidechain", "kind", "seq", "ts")

    def __init__(
        self, seq: int, kind: str, ts: int | None, load: Callable[[], tuple[Payload, str]], *,
        is_failed: bool = False, is_sidechain: bool = False,
    ) -> None:  # fmt: skip
        """load: returns the payload and its summary, "" where that can be made of the payload. Called once."""
        self.seq = seq
        self.kind = kind
        self.ts = ts
        self.is_failed = is_failed
        self.is_sidechain = is_sidechain
        self._load = load
        self._found: tuple[Payload, str] | None = None

    @property
    def payload(self) -> Payload:
        """What happened. Raises StoreCorrupt."""
        if self._found is None:
            self._found = self._load()
        return self._found[0]

    @property
    def summary(self) -> str:
        """What happened, on a line. Raises StoreCorrupt."""
        payload = self.payload
        return (self._found[1] if self._found is not None else "") or summary_of(payload)


class RecentDecision(msgspec.Struct, frozen=True):
    """A decision that holds, as a line tells it. citation: `session_uid#seq`, "" for one without a session."""

    statement: str
    polarity: str
    speaker: str
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    rationale: str
    paths: tuple[str, ...]
    citation: str
    ts: int | None
    confidence: float
    status: Status = "derived"


class RecentLearning(msgspec.Struct, frozen=True):
    """A learning that holds, as a line tells it. Times in UTC microseconds.

    authors: who wrote its evidence, see `model.learnings.learnings.Author`; empty: a person told the memory itself.
    citation: `session_uid#seq` of its newest evidence, "" without any. ts: of that; first_at: when it was first said.
    """

    id: str
    kind: str
    text: str
    scope: str
    repo: str
    path: str
    agent: str
    status: str
    state: str
    confidence: float
    ts: int
    first_at: int
    priority: str
    authors: frozenset[str]
    citation: str


class GivenLearnings(msgspec.Struct, frozen=True):
    """Learnings to choose from.

    changes_at: when one of them begins or ends by itself, UTC microseconds, None: never. agents: those for whom it may
    be others.
    """

    learnings: Sequence[RecentLearning]
    changes_at: int | None = None
    agents: frozenset[str] = frozenset()


class RecentDiary(msgspec.Struct, frozen=True):
    """An entry of an agent's diary, as a line tells it. written_at: UTC microseconds."""

    id: str
    agent: str
    written_at: int
    topic: str
    text: str
    decided: tuple[str, ...]
    discovered: tuple[str, ...]
    left_pending: tuple[str, ...]


class Firing(msgspec.Struct, frozen=True, array_like=True):
    """One time that an agent was given a block, or that there was nothing to say (no citations).

    at: UTC microseconds. event: start, compact or prompt. session: its uid, "" where the agent did not say. citations:
    what the block cites, `session_uid#seq` or `learning:ID`. identifiers: the names that its lines tell of. note: the
    code of the error for which nothing could be said, else "".
    """

    at: int
    agent: str
    session: str
    event: str
    repo: str
    citations: tuple[str, ...]
    identifiers: tuple[str, ...]
    tokens: int
    left_out: int
    took_us: int
    note: str = ""


class OwnCallCount(msgspec.Struct, frozen=True):
    """How often an agent asked the memory itself. tool: as the agent names it, its shell's name for a command."""

    agent: str
    tool: str
    calls: int


class RecentReader(Protocol):
    """Reads what a context is made of. One thread's; close it."""

    def sessions_in(self, folder: Folder, *, except_uid: str, limit: int) -> tuple[list[RecentSession], int]:
        """Return the newest root sessions that worked in a folder, oldest first, and how many there are.

        Sessions of our own and those in which no person said anything are left out.
        """
        ...

    def events(
        self, uid: str, kinds: Sequence[str], *, before: int | None = None, limit: int, is_own: bool = False
    ) -> list[RecentEvent]:
        """Return a session's newest events of some kinds before a seq, in order of seq.

        is_own False: but our own, that is, calls of the memory and what it answered; True: only those.
        """
        ...

    def has_failures(self, uids: Sequence[str]) -> frozenset[str]:
        """Return which of some sessions hold a failed tool result."""
        ...

    def decisions_in(self, folder: Folder, uids: Sequence[str] = ()) -> list[RecentDecision]:
        """Return the decisions that hold in a folder, the newest first; of very many the newest.

        uids: sessions that are known to have worked there, whatever they call their repository.
        """
        ...

    def learnings_in(self, folder: Folder | None, *, now_us: int) -> GivenLearnings:
        """Return the learnings that hold in a folder, those of its person with them; None: those of the person alone.

        Pending actions are all of them. Of the rest everything of the 48 hours before the newest one, and of older ones
        the newest, see `store.sqlite.context_queries.learnings`. In no order.
        """
        ...

    def diary_in(self, folder: Folder | None, *, agent: str, limit: int) -> tuple[list[RecentDiary], int]:
        """Return the newest entries of an agent's diary about a folder or nothing in particular, oldest first, and how
        many there are. agent "": of all agents."""
        ...

    def cited_text(self, citation: str) -> str:
        """Return what a citation names, an event's summary or the text of what was learned or noted; "" for nothing."""
        ...

    def learning_note(self, name: str) -> bytes:
        """Return a small value that learning keeps for itself, b"" for none, see `store.learnings`."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...
