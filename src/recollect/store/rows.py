"""Input and output of readers: plain data. No SQL or row id leaves the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from recollect.archive.chunks import ChunkPlace, Hole
from recollect.model.events import Event


class ChangeRange(NamedTuple):
    """One entry of the change log: events first_seq..last_seq of a session."""

    id: int
    session: int
    first_seq: int
    last_seq: int


class IndexLag(NamedTuple):
    """What an index has not processed yet: the number of events, and whether learnings or notes are among it."""

    events: int
    has_entries: bool


class EventFilter(msgspec.Struct, frozen=True):
    """Which sessions a question is confined to. Empty: all. Text matches are case-insensitive substrings
    for repo and branch, the slug for agent, exact uid or unique prefix for session."""

    agents: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    is_subagent: bool | None = None
    tags: tuple[str, ...] = ()
    """Exact, in small letters; one of them is enough."""

    @property
    def is_empty(self) -> bool:
        """True when nothing is confined."""
        return self == EventFilter()


class SessionKey(NamedTuple):
    """The facts of a session that ranking and grouping need."""

    number: int
    session_uid: str
    root_uid: str
    agent: str
    event_count: int
    is_subagent: bool
    started_at: int | None
    ended_at: int | None
    title: str = ""
    repo: str = ""
    origin_uid: str = ""
    """The session that this one was forked from; "" where it began by itself."""
    evicted_at: int | None = None
    """Since when its raw text is gone, UTC microseconds."""
    shard: str = ""
    """The part of the index that has it; "" where that is not known."""


class HitText(NamedTuple):
    """What search shows and verifies of one event. `text` is redacted, at most 64 KiB (65,536 characters)."""

    event_id: str
    part: int
    seq: int
    kind: str
    ts: int | None
    session_uid: str
    tool: str
    summary: str
    text: str
    is_hidden: bool
    """True: search leaves it out. Replaced by a newer version, a lower-lane view of another event, or our own."""
    status: str = ""
    state: str = ""
    """Of entries (`model.learnings.entries`) only, as `status`."""
    is_closing: bool = False
    """True for a reply after which the agent, having worked, did no more until the person spoke."""
    is_undone: bool = False


class IndexEvent(NamedTuple):
    """One event for a rebuild of the index. `is_hidden`: its documents must leave the index."""

    key: int
    session: int
    shard: str
    is_hidden: bool
    event: Event


class TimelineEntry(msgspec.Struct, frozen=True):
    """One line of a timeline."""

    ts: int | None
    session_uid: str
    seq: int
    agent: str
    kind: str
    role: str
    turn_index: int
    summary: str
    repo: str = ""
    is_undone: bool = False


class AgentStats(msgspec.Struct, frozen=True):
    """What the memory holds of one agent."""

    agent: str
    sessions: int
    subagent_sessions: int
    events: int
    sources: int
    source_bytes: int


class DriftRow(msgspec.Struct, frozen=True):
    """An unknown element of an agent's format, by the agent's version, with one example's place."""

    agent: str
    version: str
    kind: str
    name: str
    count: int
    sources: int
    path: str
    revision: int
    record_index: int
    offset_bytes: int


class StoreStats(msgspec.Struct, frozen=True):
    """What is stored. source_bytes: bytes seen over all revisions' newest state."""

    agents: tuple[AgentStats, ...]
    kind_counts: dict[str, int]
    defects: dict[str, int]
    redactions: dict[str, int]
    first_event: int | None
    last_event: int | None
    database_bytes: int
    drift: tuple[DriftRow, ...] = ()
    """What the newest revisions hold that no parser knows, the most frequent of each agent and version first."""


class LedgerRow(msgspec.Struct, frozen=True):
    """The ledger of one revision of one source: what the ingester counted.

    bytes_seen: end of all bytes seen, with the open tail; committed_bytes: end of the last whole record. events: new
    ones; replays: events known before. is_refreshing: a derivation is under way, or a crash interrupted one; the counts
    of records and events grow until it has finished.
    """

    source_id: str
    agent: str
    path: str
    session_uid: str
    status: str
    revision: int
    bytes_seen: int
    committed_bytes: int
    records: int
    events: int
    unknown: int
    replays: int
    defects: int
    observed_at: int
    holes: tuple[Hole, ...] = ()
    is_refreshing: bool = False

    @property
    def is_unfinished(self) -> bool:
        """Whether a derivation from the archive is under way. The first one says at its end how far was seen."""
        return self.is_refreshing or not self.bytes_seen


class EventPlace(NamedTuple):
    """Place of a stored event's record. `sha256`: the first 8 bytes of its hash, which is what is stored."""

    revision: int
    record_index: int
    offset_bytes: int
    length_bytes: int
    sha256: bytes


class ChunkReader(Protocol):
    """The side of the archive that the reader needs."""

    def read_range(self, places: Sequence[ChunkPlace], offset: int, length: int) -> bytes:
        """Return bytes of a revision, given all its chunks. Raises ArchiveError when they are gone or damaged."""
        ...


class TextRedactor(Protocol):
    """The side of privacy that the reader needs."""

    def redact_text(self, text: str) -> tuple[str, Sequence[object]]:
        """Return the text with every secret replaced by its marker, and the findings."""
        ...


UsageBy = Literal["session", "day", "repo", "domain", "model", "agent", "total"]
