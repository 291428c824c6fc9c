"""What retention says: what went or would go, and what everything takes."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.erasure.retention.choice import Reason


class EvictedSession(msgspec.Struct, frozen=True):
    """One session that went, or would go.

    reason: age (older than `raw_max_age_days`), budget (above the soft cap), overflow (above the hard cap: analysed for
    that, or spared until then), data_loss (above the hard cap, and it could not be analysed). part: all of its raw
    bytes, or only large results and images. bytes: about what that frees. Times in UTC microseconds.
    """

    session_uid: str
    agent: str
    repo: str
    reason: Reason
    part: Literal["all", "large"]
    bytes: int
    last_at: int
    analyzed_at: int | None


class EvictReport(msgspec.Struct):
    """What a sweep did, or (is_dry_run) would do.

    state: done; interrupted (time or a signal: the next sweep goes on); busy (another process is writing); not_due.
    raw_bytes: what the caps count, before; left_bytes: after, about for a dry run. freed_bytes: by how much the memory
    is smaller on disk. distilled_bytes: what tier 2 takes. data_loss: sessions that went without having been analysed.
    notes: what one should know.
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
