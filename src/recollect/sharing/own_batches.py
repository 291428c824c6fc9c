"""What this machine has that its batches in a shared folder do not hold yet, as batches.

Nothing is noted of what was sent: the heads of the batches that lie in the folder say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace
from recollect.archive.journal import JournalTombstone
from recollect.archive.keys import NAME_BYTES, Sealer
from recollect.archive.revisions import ArchivedRevision
from recollect.erasure.repositories import is_of
from recollect.erasure.tombstones import Forgotten
from recollect.errors import ArchiveCorrupt, ArchiveError
from recollect.model.synced import (
    SentBytes,
    SentHole,
    SentRemoval,
    SentRevision,
    SentTombstone,
    is_foreign,
)
from recollect.sharing.batch_folder import OpenedBatch
from recollect.store.erasure.select_rows import SelectionReader

BATCH_BYTES = 16 << 20
"""Plain bytes of a batch; one chunk may go beyond."""
_Key = tuple[str, int]


class Owned(NamedTuple):
    """What this machine may send. sessions: the uids that each source tells of. held_back: how many sources stay here
    because a session of theirs is of an excluded repository."""

    revisions: dict[_Key, ArchivedRevision]
    sessions: dict[str, tuple[str, ...]]
    held_back: int


class _Part(NamedTuple):
    """What of a revision is to be sent: its chunks from one place on, up to another."""

    revision: ArchivedRevision
    start: int
    stop: int


def owned(archive: Archive, stored: SelectionReader, excluded: Sequence[str]) -> Owned:
    """Return the revisions that this machine may send. excluded: patterns of repositories. Raises ArchiveError."""
    sessions = {s.number: s for s in stored.sessions()}
    out = {s.number for s in sessions.values() if is_of(tuple(excluded), repo=s.repo, repo_root=s.repo_root, cwd=s.cwd)}
    told = stored.sessions_of_sources()
    by_source = {row.source_id: told.get(number, set()) for number, row in stored.sources().items()}
    revisions = by_key(archive)
    held_back = {key[0] for key in revisions if by_source.get(key[0], set()) & out}
    return Owned(
        {key: one for key, one in revisions.items() if key[0] not in held_back},
        {name: tuple(sorted(sessions[n].uid for n in numbers)) for name, numbers in by_source.items()},
        len(held_back),
    )


def by_key(archive: Archive) -> dict[_Key, ArchivedRevision]:
    """Return the revisions that are this machine's own. Raises ArchiveError."""
    return {
        (one.entry.source_id, one.entry.revision): one
        for one in archive.revisions()
        if not is_foreign(one.entry.key) and one.chunks
    }


def is_stale(batch: OpenedBatch, revisions: Mapping[_Key, ArchivedRevision], forgotten: Forgotten) -> bool:
    """Return whether a batch of this machine holds bytes that were forgotten since.

    What is only not in the archive any more, after damage or with an older backup, stays in the folder.
    """
    for sent in batch.head.revisions:
        now = revisions.get((sent.source_id, sent.revision))
        if now is None and sent.sessions and all(map(forgotten.has_session, sent.sessions)):
            return True
        if now is not None and _gone_bytes(now, sent.from_bytes, sent.bytes_seen) > sent.gone_bytes:
            return True
    return False


def missing(own: Owned, batches: Iterable[OpenedBatch]) -> list[_Part]:
    """Return what of the revisions no batch holds, in the order of first sight."""
    sent: dict[_Key, list[SentRevision]] = {}
    for batch in batches:
        for one in batch.head.revisions:
            sent.setdefault((one.source_id, one.revision), []).append(one)
    found = []
    for key, revision in own.revisions.items():
        closed, reached = 0, (0, -1)
        for one in sorted(sent.get(key, ()), key=lambda part: part.from_bytes):
            if one.from_bytes <= closed:
                closed = max(closed, one.closed_bytes)
                reached = max(reached, (one.bytes_seen, one.committed_bytes))
        if reached >= (revision.bytes_seen, revision.committed_bytes):
            continue
        ends = list(accumulate(place.plain for place, _ in revision.chunks))
        start = sum(end <= closed for end in ends)
        found.append(_Part(revision, min(start, len(ends) - 1), len(ends)))
    return found


def batched(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Part them into batches; a revision may be spread over several."""
    batch: list[_Part] = []
    size = 0
    for part in parts:
        start = part.start
        for number in range(part.start, part.stop):
            size += _stored_bytes(part.revision.chunks[number][0])
            if size >= BATCH_BYTES:
                yield [*batch, _Part(part.revision, start, number + 1)]
                batch, size, start = [], 0, number + 1
        if start < part.stop:
            batch.append(_Part(part.revision, start, part.stop))
    if batch:
        yield batch


def part_bytes(part: _Part) -> int:
    """Return how many bytes a part has that are in the archive."""
    return sum(_stored_bytes(place) for place, _ in part.revision.chunks[part.start : part.stop])


def content(
    archive: Archive, own: Owned, parts: Iterable[_Part], lost: list[str]
) -> list[tuple[SentRevision, SentBytes]]:
    """Read what a batch is to hold. lost: takes a line on each revision of which bytes cannot be read, which is left
    out. Raises ArchiveError."""
    found = []
    for part in parts:
        try:
            found.append(_read(archive, own, part))
        except ArchiveCorrupt as error:
            lost.append(f"{part.revision.entry.path} is damaged in the archive, and not sent: {error}")
    return found


def tombstones_to_send(stones: Iterable[JournalTombstone], batches: Iterable[OpenedBatch]) -> tuple[SentTombstone, ...]:
    """Return the tombstones that no batch of this machine holds."""
    sent = {stone.id for batch in batches for stone in batch.head.tombstones}
    return tuple(SentTombstone(*stone) for stone in stones if stone.id not in sent)


def _read(archive: Archive, own: Owned, part: _Part) -> tuple[SentRevision, SentBytes]:
    revision, entry = part.revision, part.revision.entry
    chunks = revision.chunks[part.start : part.stop]
    begin = sum(place.plain for place, _ in revision.chunks[: part.start])
    end = begin + sum(place.plain for place, _ in chunks)
    is_all = part.stop == len(revision.chunks)
    seen = [(to, at) for to, at in revision.observations if is_all or to <= end]
    committed = revision.committed_bytes if is_all else max((to for to, _ in seen), default=0)
    closed = begin + sum(place.plain for place, is_open in chunks if not is_open)
    sent = SentRevision(
        entry.source_id, entry.revision, entry.agent, entry.role, entry.key, entry.path, entry.container, entry.session,
        entry.relative, entry.lane, begin, closed, revision.bytes_seen if is_all else end, committed,
        _gone_bytes(revision, begin, end), own.sessions.get(entry.source_id, ()),
    )  # fmt: skip
    plain = tuple(
        (place.plain if place.is_hole else b"".join(archive.iter_bytes((place,))), is_open) for place, is_open in chunks
    )
    has_holes = any(place.is_hole for place, _ in chunks)
    removal = _opened_removal(revision, archive.sealer) if has_holes else None
    return sent, SentBytes(plain, tuple(seen), revision.marks if is_all else b"", removal)


def _opened_removal(revision: ArchivedRevision, sealer: Sealer) -> SentRemoval | None:
    told = revision.removal
    if told is None:
        return None
    try:
        state = sealer.open(told.state[:NAME_BYTES], told.state[NAME_BYTES:]) if told.state else b""
    except ArchiveError:  # of an earlier version: the other machine derives without it
        state = b""
    holes = tuple(SentHole(*one) for one in told.holes)
    return SentRemoval(
        holes, told.committed_bytes, told.records, told.is_newest, state, told.parser_version, told.turn_index,
        told.trail,
    )  # fmt: skip


def _gone_bytes(revision: ArchivedRevision, start: int, stop: int) -> int:
    """Return how many bytes of a range were forgotten; what was evicted is this machine's affair."""
    holes = revision.removal.holes if revision.removal is not None else ()
    return sum(
        max(0, min(stop, one.offset + one.length) - max(start, one.offset))
        for one in holes
        if one.reason == "forgotten"
    )


def _stored_bytes(place: ChunkPlace) -> int:
    return 0 if place.is_hole else place.plain
