"""The results of forget and retention: what was selected, what was deleted, and sizes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from recollect.units import size

if TYPE_CHECKING:
    from recollect.config import RetentionConfig
    from recollect.store.erasure.evict_rows import Holding, Holdings, TableBytes

SCHEMA_VERSION = 1
ForgetState = Literal["planned", "done", "nothing", "busy"]


class ForgetSelection(msgspec.Struct, frozen=True):
    """What is meant; what is given narrows, and at least one thing is. Times in UTC microseconds, [after, before).

    session: a uid, its unique prefix, or a citation. repo: a name, or a pattern of paths of its root. path: records
    about a file or folder, with the results of the calls that name it. pattern: a regular expression, searched in the
    exact text of every record and in what it says.
    """

    session: str = ""
    repo: str = ""
    after: int | None = None
    before: int | None = None
    path: str = ""
    pattern: str = ""

    @property
    def is_empty(self) -> bool:
        """Nothing is meant."""
        return self == ForgetSelection()

    @property
    def has_records(self) -> bool:
        """Whether single records may be meant, not only whole sessions."""
        return bool(self.path or self.pattern or self.after is not None or self.before is not None)


class SessionToForget(msgspec.Struct, frozen=True):
    """A session that goes, or loses records. is_whole: all of it. because_of: the session that it belongs to."""

    session_uid: str
    repo: str
    started_at: int | None
    is_whole: bool
    events: int
    because_of: str = ""


class NoteToForget(msgspec.Struct, frozen=True):
    """Something learned or noted that goes too.

    name: `learning:ID`, `action:ID` or another. text: what it says, "" once it is gone.
    """

    name: str
    text: str = ""


class ForgetReport(msgspec.Struct):
    """What would be, or was, forgotten.

    state: planned (a dry run), done, nothing (the selection is empty), busy (another process is ingesting). sessions:
    with their uids before it is done; afterwards only counted. records: single ones, beside whole sources. events:
    including hidden ones. written: learnings, notes, documents and manual decisions that go without their session.
    learned: learnings, decisions and notes that go, with their text before it is done. taken_back: learnings that these
    had taken back: they are retired. holds_again: decisions that these had taken back, and that hold again. files: the
    agents' own files, Markdown files beside them or in a repository, and documents, that still hold forgotten text;
    they stay unchanged. bytes: of the agents' own, deleted from the archive; freed_bytes: freed disk space.
    kept_copies: sessions that stay although they continue, or are a fork of, a deleted one.
    """

    state: ForgetState
    sessions: list[SessionToForget] = []
    whole_sessions: int = 0
    partial_sessions: int = 0
    sources: int = 0
    records: int = 0
    events: int = 0
    written: int = 0
    learned: list[NoteToForget] = []
    taken_back: list[NoteToForget] = []
    holds_again: list[NoteToForget] = []
    files: list[str] = []
    bytes: int = 0
    freed_bytes: int = 0
    kept_copies: list[str] = []
    notes: list[str] = []
    seconds: float = 0.0
    schema_version: int = SCHEMA_VERSION


class TombstoneGroup(msgspec.Struct, frozen=True):
    """Tombstones of one forgetting: time (UTC microseconds), kind and number.

    kind: `session`, `event`, `record`, `excluded`, or `written` (learnings, notes, documents, decisions).
    """

    forgotten_at: int
    kind: str
    count: int


class ForgottenList(msgspec.Struct, frozen=True):
    """What was ever forgotten: counts and times only, newest first."""

    groups: tuple[TombstoneGroup, ...]
    schema_version: int = SCHEMA_VERSION


EvictReason = Literal["age", "budget", "overflow", "data_loss"]
"""Why a session went, see `EvictedSession`."""


class EvictedSession(msgspec.Struct, frozen=True):
    """One session that went, or would go.

    reason: age (older than `raw_max_age_days`), budget (above the soft cap), overflow (above the hard cap: analysed for
    that, or spared until then), data_loss (above the hard cap, and it could not be analysed). part: all of its raw
    bytes, or only large results and images. bytes: about what that frees. Times in UTC microseconds.
    """

    session_uid: str
    agent: str
    repo: str
    reason: EvictReason
    part: Literal["all", "large"]
    bytes: int
    last_at: int
    analyzed_at: int | None


class EvictReport(msgspec.Struct):
    """What a sweep did, or (is_dry_run) would do.

    state: done; interrupted (time or a signal: the next sweep continues); busy (another process is writing); not_due.
    raw_bytes: the size that the limits refer to, before; left_bytes: after, approximate for a dry run. freed_bytes: how
    much smaller the memory is on disk. distilled_bytes: the size of tier 2. data_loss: sessions that went without an
    analysis. notes: for the reader.
    """

    state: Literal["done", "interrupted", "busy", "not_due"] = "done"
    is_dry_run: bool = False
    raw_bytes: int = 0
    left_bytes: int = 0
    soft_cap_bytes: int = 0
    hard_cap_bytes: int = 0
    sessions: list[EvictedSession] = []
    freed_bytes: int = 0
    distilled_bytes: int = 0
    data_loss: int = 0
    seconds: float = 0.0
    notes: list[str] = []


class StorageLine(msgspec.Struct, frozen=True):
    """What the sessions of an agent or a repository take. name "": of no repository.

    archive_bytes: chunks that only its sessions have; text_bytes: what events say, in the database; index_bytes: its
    share of the search index and the vectors, by the number of its events, so it is an estimate.
    """

    name: str
    sessions: int
    evicted: int
    events: int
    archive_bytes: int
    text_bytes: int
    index_bytes: int


class TierBytes(msgspec.Struct, frozen=True):
    """What a tier takes on disk. raw: tier 1, evictable; distilled: tier 2, never evicted; derived: what can be made
    again (index, vectors) and what tells sessions and events apart (rows)."""

    archive_bytes: int
    text_bytes: int
    distilled_bytes: int
    skeleton_bytes: int
    rows_bytes: int
    index_bytes: int
    vectors_bytes: int
    free_bytes: int
    """Pages of the database and places in packs that hold nothing any more."""


class StorageReport(msgspec.Struct, frozen=True):
    """What the memory takes, and how far that is from the caps.

    raw_bytes: what the caps count, which is what evicting every session would free. shared_bytes: of these, chunks that
    several sessions have; they are in no line. evictable_bytes: what could go now, all digests being there.
    to_soft_cap_bytes, to_hard_cap_bytes: room that is left, negative above the cap.
    """

    total_bytes: int
    tiers: TierBytes
    raw_bytes: int
    shared_bytes: int
    evictable_bytes: int
    soft_cap_bytes: int
    hard_cap_bytes: int
    to_soft_cap_bytes: int
    to_hard_cap_bytes: int
    distilled_cap_bytes: int
    sessions: int
    evicted: int
    pinned: int
    swept_at: int | None
    agents: tuple[StorageLine, ...]
    repos: tuple[StorageLine, ...]
    notes: tuple[str, ...] = ()


class Pin(msgspec.Struct, frozen=True):
    """A session that retention spares, with those below it. pinned_at: UTC microseconds."""

    session_uid: str
    pinned_at: int
    title: str = ""


class DiskBytes(NamedTuple):
    """What folders take on disk. all_index: with the vectors; packs: of the archive, without its journal."""

    archive: int
    packs: int
    all_index: int
    vectors: int
    database_log: int


def storage_of(
    held: Holdings, tables: TableBytes, disk: DiskBytes, config: RetentionConfig, *, swept_at: int | None
) -> StorageReport:
    """Return the figures. Pure: everything in them was measured by the caller."""
    raw = held.raw_bytes
    distilled = tables.distilled + tables.kept
    tiers = TierBytes(
        archive_bytes=disk.archive,
        text_bytes=max(0, tables.text - tables.kept),
        distilled_bytes=tables.distilled,
        skeleton_bytes=tables.kept,
        rows_bytes=tables.other + disk.database_log,
        index_bytes=disk.all_index - disk.vectors,
        vectors_bytes=disk.vectors,
        free_bytes=tables.free + max(0, disk.packs - tables.chunks),
    )
    database = tables.text + tables.distilled + tables.other + tables.free + disk.database_log
    events = sum(session.event_count for session in held.sessions) or 1
    index_per_event = disk.all_index / events
    notes = []
    if distilled > config.distilled_cap_bytes:
        notes.append(f"what was distilled takes {size(distilled)}, more than `retention.distilled_cap_bytes`")
    return StorageReport(
        total_bytes=disk.archive + disk.all_index + database,
        tiers=tiers,
        raw_bytes=raw,
        shared_bytes=sum(chunk.stored_bytes for chunk in held.shared.values()),
        evictable_bytes=_evictable(held),
        soft_cap_bytes=config.raw_soft_cap_bytes,
        hard_cap_bytes=config.raw_hard_cap_bytes,
        to_soft_cap_bytes=config.raw_soft_cap_bytes - raw,
        to_hard_cap_bytes=config.raw_hard_cap_bytes - raw,
        distilled_cap_bytes=config.distilled_cap_bytes,
        sessions=len(held.sessions),
        evicted=sum(session.evicted_at is not None for session in held.sessions),
        pinned=sum(session.is_pinned for session in held.sessions),
        swept_at=swept_at,
        agents=_lines(held, "agent", index_per_event),
        repos=_lines(held, "repo", index_per_event),
        notes=tuple(notes),
    )


def _evictable(held: Holdings) -> int:
    loose = [s for s in held.sessions if s.is_covered and not s.is_pinned]
    holders: dict[int, int] = defaultdict(int)
    for session in loose:
        for chunk in session.shared:
            holders[chunk] += 1
    shared = sum(held.shared[n].stored_bytes for n, count in holders.items() if count == held.shared[n].holders)
    return shared + sum(s.archive_bytes + s.text_bytes for s in loose)


def _lines(held: Holdings, by: Literal["agent", "repo"], index_per_event: float) -> tuple[StorageLine, ...]:
    groups: dict[str, list[Holding]] = defaultdict(list)
    for session in held.sessions:
        groups[getattr(session, by)].append(session)
    lines = [
        StorageLine(
            name=name,
            sessions=len(group),
            evicted=sum(s.evicted_at is not None for s in group),
            events=sum(s.event_count for s in group),
            archive_bytes=sum(s.archive_bytes for s in group),
            text_bytes=sum(s.text_bytes for s in group),
            index_bytes=round(sum(s.event_count for s in group) * index_per_event),
        )
        for name, group in groups.items()
    ]
    return tuple(sorted(lines, key=lambda line: (-line.archive_bytes - line.text_bytes, line.name)))
