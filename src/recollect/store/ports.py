# ruff: noqa: PLC0414  the codes that drafts are made of are a part of this contract
"""What the store takes and gives: typed protocols and plain data. No SQL, row or rowid is seen outside.

Keys: an event's key is `session_number << 24 | seq`, given at first sight: an address for the index, no stable id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, tzinfo
from typing import Literal, NamedTuple, Protocol

import msgspec

from recollect.archive.chunks import ChunkPlace, SealedChunk
from recollect.archive.chunks import Hole as Hole
from recollect.model.events import Event
from recollect.model.records import Defect
from recollect.model.sessions import Session, SessionPatch
from recollect.model.usage import UsageReport
from recollect.store.entries import EntryReader
from recollect.store.keys import FLAG_FAILED as FLAG_FAILED
from recollect.store.keys import FLAG_OWN as FLAG_OWN
from recollect.store.keys import FLAG_SIDECHAIN as FLAG_SIDECHAIN
from recollect.store.keys import ROLES as ROLES
from recollect.store.keys import SEQ_BITS as SEQ_BITS
from recollect.store.keys import TS_QUALITIES as TS_QUALITIES


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
    """Where one record lies in its revision."""

    index: int
    offset: int
    length: int
    sha256: bytes


class UsageSighting(NamedTuple):
    """One sighting of a response's token usage; `event` is the ordinal in `SessionPart.events`."""

    event: int
    dedupe_key: str
    ts: int | None
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    is_additive: bool


class BlobSighting(NamedTuple):
    """An image or other large blob, kept once by hash: where its bytes are in the archive."""

    sha256: bytes
    media_type: str
    size_bytes: int
    record: int
    pointer: str


class SessionPart(msgspec.Struct):
    """All that one slice says of one session. `block` is the compressed bodies (see `store.blocks`)."""

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
    """Of the last slice from the archive: what was taken away of the revision."""
    is_partial: bool = False
    """Derived behind a hole without the state that the parser had there: what is known already is derived anew, but
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


class ChangeRange(NamedTuple):
    """One entry of the change log: events first_seq..last_seq of a session."""

    id: int
    session: int
    first_seq: int
    last_seq: int


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


class TimelineRow(NamedTuple):
    """One line of a timeline, see `recall.answers.TimelineEntry`."""

    ts: int | None
    session_uid: str
    seq: int
    agent: str
    kind: str
    role: str
    turn_index: int
    summary: str
    repo: str
    is_undone: bool = False


class AgentCounts(NamedTuple):
    """What is stored of one agent."""

    agent: str
    sessions: int
    subagent_sessions: int
    events: int
    sources: int
    source_bytes: int


class DriftRow(msgspec.Struct, frozen=True):
    """Something of an agent's format that no parser knows, by the agent's version; one place where it stands."""

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

    agents: tuple[AgentCounts, ...]
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

    bytes_seen: end of all bytes seen, with the open tail; committed_bytes: end of the last whole record.
    events: new ones; replays: events that were known already. is_refreshing: it is being derived anew; what is counted
    of records and events grows until that has come to its end, and a crash may have interrupted it.
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


class DefectRow(NamedTuple):
    """One stored defect. `detail` is redacted."""

    source_id: str
    path: str
    revision: int
    record_index: int
    offset_bytes: int
    code: str
    detail: str


class EventPlace(NamedTuple):
    """Where the record of one stored event lies. `sha256`: the first 8 bytes of its hash, which is what is stored."""

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


class Writer(Protocol):
    """The one ingester's side. Holds the home's ingest lock while open. Not thread safe."""

    def sources(
        self, agent: str, *, paths: Sequence[str] | None = None, key: str | None = None
    ) -> dict[str, SourceRow]:
        """Return the known sources of an agent by source_id: all, those of a key, or at least those at these paths or
        below them."""
        ...

    def open_chunks(self, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]:
        """Return the chunks of a revision in order with their place; the flag tells an open delta."""

    def holes(self, source_id: str, revision: int) -> list[Hole]:
        """Return what was taken away of a revision, in order."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """One short transaction; everything inside is kept or nothing."""
        ...

    def write(self, slice_: SliceResult, places: Sequence[ChunkPlace], *, observed_at: int) -> WriteOutcome:
        """Write one slice inside a transaction: source, revision, chunks, sessions, events, usage, change log.

        Idempotent: the same slice again gives replays only.
        """
        ...

    def touch_source(self, source: SourceRow) -> None:
        """Update what is known of a source that gave no new bytes (mtime, status, path)."""
        ...

    def rewind(self, source_id: str) -> None:
        """Start the derivation of a source's newest revision anew, inside a transaction.

        The cursor goes back to 0 and what the ledger counted of this revision is forgotten, so that the whole
        revision can be written again from the archive (`sync --force`, a newer parser). Events keep their seq;
        what a newer parser says of them replaces the old.
        """
        ...

    def rewound(self) -> frozenset[str]:
        """Return the source_ids of those whose new derivation has begun and not come to its end."""
        ...

    def last_change(self) -> int:
        """Return the newest id of the change log, 0 when there is none."""
        ...

    def known_chunks(self, names: Sequence[bytes]) -> dict[bytes, ChunkPlace]:
        """Return where chunks lie that are stored already, by name (at most some thousand names a call)."""
        ...

    def mark_journal(self, size_bytes: int) -> None:
        """Write down how long the archive's journal is, of which everything is stored. Inside a transaction."""

    def acknowledge(self, consumer: str, change_id: int) -> None:
        """Record that a consumer of the change log has taken everything up to change_id."""

    def close(self) -> None:
        """Release the lock."""


class Reader(Protocol):
    """Many at once, never blocked by the writer. Thread safe. entries: what was learned, noted and documented.

    What is asked by key or by session's number answers for entries too, see `store.entries`.
    """

    entries: EntryReader

    def session(self, uid: str) -> Session | None:
        """Return a session by its uid or a unique prefix of it (of the whole uid or of the native id)."""
        ...

    def nearest_sessions(self, uid: str, *, limit: int = 3) -> tuple[str, ...]:
        """Return the uids that start like the one asked for, newest first, for "did you mean"."""
        ...

    def sessions(
        self, where: EventFilter, *, after: int | None = None, before: int | None = None, limit: int = 20,
        offset: int = 0,
    ) -> tuple[tuple[Session, ...], int]:  # fmt: skip
        """Return a page of sessions, newest first, and how many match.

        after/before: UTC microseconds; a session matches when it has a moment in [after, before).
        """
        ...

    def session_keys(self, numbers: Iterable[int]) -> dict[int, SessionKey]:
        """Return what ranking needs of sessions, by number; unknown numbers are left out."""
        ...

    def session_numbers(self, where: EventFilter) -> frozenset[int]:
        """Return the numbers of the sessions that a filter confines a question to."""
        ...

    def events(
        self, uid: str, *, first_seq: int = 0, limit: int | None = 1000, include_hidden: bool = False
    ) -> Iterator[Event]:
        """Yield a session's events in order of seq, from first_seq on, with whole redacted payloads.

        Replaced events and lower-lane views are left out unless asked for. limit None: all of them.
        """
        ...

    def why_missing(self, uid: str, seq: int) -> str:
        """Return why nothing is shown under a number of a session, "" where it was never given."""

    def texts(self, keys: Sequence[int]) -> dict[int, HitText]:
        """Return what search shows and verifies of events, by key; unknown keys are left out."""

    def related(self, keys: Sequence[int]) -> dict[int, dict[str, HitText]]:
        """Return, by key, what belongs to an event in its turn, by label: see `recall.answers.RelatedEvent`."""
        ...

    def timeline(
        self, where: EventFilter, *, after: int | None = None, before: int | None = None, limit: int = 100,
        offset: int = 0,
    ) -> tuple[tuple[TimelineRow, ...], int]:  # fmt: skip
        """Return what happened, and how many events match.

        A filter of exactly one session: in order of seq, from the start. Else in order of time, the newest
        `limit` events of [after, before), events without a time left out.
        """
        ...

    def usage(
        self, *, by: UsageBy, where: EventFilter, after: int | None, before: int | None, zone: tzinfo = UTC
    ) -> UsageReport:
        """Return tokens and cost over responses counted once each, in [after, before). zone: in which days count."""

    def stats(self) -> StoreStats:
        """Return what is stored, from the session rows and the ledger."""

    def names(self, of: str) -> tuple[str, ...]:
        """Return names of sessions ("agent", "repo", "branch", "tag", "tool"), "noted_repo" or "collection"."""
        ...

    def sources(self, agent: str = "", *, session: str = "") -> list[SourceRow]:
        """Return every known source (of an agent, of one of its sessions by its native id), without parser state."""
        ...

    def ledgers(self, source_id: str = "") -> Iterator[LedgerRow]:
        """Yield the ledger of every revision of every source (one source after the other), or of one."""
        ...

    def defects(self, source_id: str = "", *, limit: int = 1000) -> list[DefectRow]:
        """Return the stored defects (of one source), in order of place."""
        ...

    def event_places(self, source_id: str) -> Iterator[EventPlace]:
        """Yield where the records of a source's stored events lie, hidden ones too, for `verify`."""
        ...

    def chunks(self, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]:
        """Return the chunks of a revision in order with their place; the flag tells an open delta."""
        ...

    def changes_after(self, consumer: str, *, limit: int = 10_000) -> list[ChangeRange]:
        """Return the entries of the change log that a consumer has not acknowledged, oldest first."""
        ...

    def events_for_index(self, changes: Iterable[ChangeRange] | None = None) -> Iterator[IndexEvent]:
        """Yield the events of change ranges, or (None) of the whole store, in order of key."""
        ...

    def last_change(self) -> int:
        """Return the newest id of the change log, 0 when there is none."""

    def shards(self) -> Mapping[str, int]:
        """Return the index shards that the stored sessions belong to, and how many events these have."""

    def close(self) -> None:
        """Close every connection of this reader."""
        ...


RecordReader = Callable[[str, int, int, int], bytes]
"""(source_id, revision, offset, length) -> exact bytes, from the archive."""
EventStream = Iterable[Event]
