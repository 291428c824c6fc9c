"""What workers hand to the writer: one slice of a source with sessions, events and usage. Plain data."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from recollect.archive.chunks import Hole, SealedChunk
from recollect.model.records import Defect
from recollect.model.sessions import SessionPatch
from recollect.store.rows import ChangeRange


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
