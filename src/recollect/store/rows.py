"""Input and output of readers, and what workers hand to the writer: plain data. No SQL or row id leaves the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from recollect.archive.packs import ChunkPlace, Hole, SealedChunk
from recollect.model.events import Event
from recollect.model.payloads import TokenUsage
from recollect.model.records import Defect
from recollect.model.sessions import SessionPatch


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


class SourceRow(msgspec.Struct):
    """What the store knows of one source.

    size, mtime_ns, inode: of the file when last read to its committed end. committed_bytes: end of the last whole
    record taken. head_sha/tail_sha: hash of the first 4 KiB and of the last 4 KiB before that, to tell an append from
    a rewrite. state: the parser's, made by parser_version. status: active, gone (file deleted), disabled.
    """

    source_id: str
    agent: str
    role: str
    key: str
    path: str
    container: str
    lane: int = 0
    session: str = ""
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    revision: int = 0
    committed_bytes: int = 0
    records: int = 0
    head_sha: bytes = b""
    tail_sha: bytes = b""
    state: bytes = b""
    parser_version: int = 0
    turn_index: int = 0
    status: str = "active"
    observed_at: int = 0
    number: int = 0
    relative: str = ""
    """Path below the agent's root, "/"-separated: what the adapter may know of the place."""
    trail: bytes = b""
    """The human turns of the newest revision, and of the one before it, see `ingest.worker.trail`."""


class EventDraft(msgspec.Struct, array_like=True, gc=False):
    """One event made by a worker, ready but for its seq. Plain values, cheap to ship between processes.

    event_id None: named by hash; the store asks `occurrence` to finish it. `turn` counts human turns of the
    source before and including this event. `docs`: JSON of its index documents without their leading brace and
    keys (none: not indexed); `body`: its place in the block of the same session part.
    """

    event_id: str | None
    part: int
    kind: int
    role: int
    ts: int | None
    ts_quality: int
    turn: int
    flags: int
    parent_id: str | None
    record: int
    """Ordinal into `SliceResult.records`."""
    tool: str
    body: int
    docs: tuple[str, ...]
    text_sha: bytes
    """8 bytes: hash of a user message's text, else b""."""
    replaces: tuple[str, int] | None
    call: bytes = b""
    """8 bytes: hash of the id of a tool's call, and of its result; else b""."""


class RecordPlace(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Place of one record in its revision."""

    index: int
    offset: int
    length: int
    sha256: bytes


class UsageSighting(NamedTuple):
    """One sighting of a response's token usage; `event` is the ordinal in `SessionPart.events`."""

    event: int
    ts: int | None
    used: TokenUsage


class BlobSighting(NamedTuple):
    """An image or other large blob, kept once by hash: where its bytes are in the archive."""

    sha256: bytes
    media_type: str
    size_bytes: int
    record: int
    pointer: str


class SessionPart(msgspec.Struct):
    """All that one slice says of one session. `block` is the compressed bodies (see `store.bodies`)."""

    native_id: str
    patch: SessionPatch
    events: list[EventDraft]
    block: bytes
    usage: list[UsageSighting] = []
    kind_counts: dict[str, int] = {}
    is_undated: bool = False  # the agent writes no times: inferred ones only say where an event stands


class DriftCount(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How often a slice held something that its parser does not know, see `model.records.Drift`; where first."""

    kind: str
    name: str
    count: int
    record_index: int
    offset_bytes: int


class SliceResult(msgspec.Struct):
    """Everything a worker made of one slice of one source, in source order.

    from_bytes/to_bytes: the range of the revision that is committed by this slice (whole records).
    bytes_seen: end of all bytes seen, including an open tail that is archived but not yet a record.
    chunks: sealed closed chunks and deltas with their plain lengths, see `archive`. keep_chunks: how many
    chunks of the revision stay before these (the rest, open deltas, is replaced).
    """

    source: SourceRow
    from_bytes: int
    to_bytes: int
    bytes_seen: int
    records: list[RecordPlace]
    sessions: list[SessionPart]
    defects: list[Defect]
    blobs: list[BlobSighting]
    chunks: list[SealedChunk]
    keep_chunks: int
    unknown_count: int = 0
    redactions: dict[str, int] = {}
    is_new_revision: bool = False
    is_last: bool = True
    timings: dict[str, float] = {}
    drift: list[DriftCount] = []
    observations: list[tuple[int, int]] | None = None
    """Of slices from the archive: up to which byte the revision was seen when (to_bytes, UTC microseconds), from the
    journal. None: it is seen now."""
    left_out: list[int] = []
    """Ordinals into `records` of those that gave nothing because they are forgotten, or of an excluded repository:
    their bytes must go."""
    holes: list[Hole] = []
    """Of the first slice from the archive: what was deleted of the revision."""
    is_partial: bool = False
    """Derived behind a hole without the state that the parser had there: what is known already is derived again, but
    nothing is added, because it might be so only for what is missing."""


class IndexDoc(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One document for the index: the event's key, its session's number and shard, and the prepared JSON tail.

    shard: the UTC month `YYYY-MM` of the session's first event when it was first seen ("undated" without a
    time); fixed for the session's life, so that one session never spreads over shards.
    """

    key: int
    session: int
    shard: str
    json: str


class WriteOutcome(msgspec.Struct):
    """What a written slice changed."""

    new_events: int = 0
    replays: int = 0
    docs: list[IndexDoc] = []
    stale_keys: list[int] = []
    """Keys whose documents must leave the index (replaced events)."""
    sessions: list[str] = []
    grown: list[ChangeRange] = []
    """All events of sessions that were kept out of the index for being short and are not short any more."""


Condition = tuple[str, list[Any]]
"""What rows must be, and the values to bind."""


class Terms:
    """A condition while it grows, term by term."""

    def __init__(self, *terms: str, values: Iterable[Any] = ()) -> None:
        self._terms = list(terms)
        self._values = list(values)

    def add(self, term: str, *values: Any) -> None:
        """Ask for something more."""
        self._terms.append(term)
        self._values += values

    def one_of(self, column: str, values: Iterable[Any]) -> None:
        """Ask that a column has one of some values. Not by carray, which refuses NULs."""
        bound = list(values)
        self.add(f"{column} IN ({marks_for(bound)})", *bound)

    def given(self, *terms: tuple[str, Any]) -> None:
        """Ask for what has a value: not None, and not ""."""
        for term, value in terms:
            if value not in ("", None):
                self.add(term, value)

    @property
    def condition(self) -> Condition:
        """What was asked for; "1" where that is nothing."""
        return " AND ".join(self._terms) or "1", self._values


def marks_for(values: Collection[object]) -> str:
    """Return a mark to bind for each value."""
    return ", ".join("?" * len(values))
