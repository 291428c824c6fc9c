"""What the memory takes, by tier, agent and repository, and how far that is from its caps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from recollect.erasure.retention.choice import Limits
from recollect.erasure.retention.reports import StorageLine, StorageReport, TierBytes
from recollect.store.erasure.holdings import Holding, Holdings, TableBytes
from recollect.units import size


class DiskBytes(NamedTuple):
    """What folders take on disk. all_index: with the vectors; packs: of the archive, without its journal."""

    archive: int
    packs: int
    all_index: int
    vectors: int
    database_log: int


def storage_of(
    held: Holdings, tables: TableBytes, disk: DiskBytes, limits: Limits, *, distilled_cap_bytes: int,
    swept_at: int | None,
) -> StorageReport:  # fmt: skip
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
    if distilled > distilled_cap_bytes:
        notes.append(f"what was distilled takes {size(distilled)}, more than `retention.distilled_cap_bytes`")
    return StorageReport(
        total_bytes=disk.archive + disk.all_index + database,
        tiers=tiers,
        raw_bytes=raw,
        shared_bytes=sum(chunk.stored_bytes for chunk in held.shared.values()),
        evictable_bytes=_evictable(held),
        soft_cap_bytes=limits.soft_cap_bytes,
        hard_cap_bytes=limits.hard_cap_bytes,
        to_soft_cap_bytes=limits.soft_cap_bytes - raw,
        to_hard_cap_bytes=limits.hard_cap_bytes - raw,
        distilled_cap_bytes=distilled_cap_bytes,
        sessions=len(held.sessions),
        evicted=sum(session.evicted_at is not None for session in held.sessions),
        pinned=sum(session.is_pinned for session in held.sessions),
        swept_at=swept_at,
        agents=_lines(held, _agent, index_per_event),
        repos=_lines(held, _repo, index_per_event),
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


def _lines(held: Holdings, name_of: Callable[[Holding], str], index_per_event: float) -> tuple[StorageLine, ...]:
    groups: dict[str, list[Holding]] = defaultdict(list)
    for session in held.sessions:
        groups[name_of(session)].append(session)
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


def _agent(session: Holding) -> str:
    return session.agent


def _repo(session: Holding) -> str:
    return session.repo
