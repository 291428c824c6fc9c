"""Takes byte ranges of revisions away for good, and gives the disk back.

    the database promises the cut → new chunks and a journal entry, flushed → the database has the hole and no promise
    → `compact` writes the packs anew without what no revision has any more

Every step can be killed. What was promised is made by `settle`, which runs whenever a memory is opened for writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace, Hole, SealedChunk
from recollect.archive.compaction import CompactionPlan
from recollect.archive.journal import MARK_BYTES, JournalEntry, Removal, dropping
from recollect.archive.revisions import ArchivedRevision, cutting
from recollect.archive.tail import Range, punch
from recollect.erasure.alignment import Aligned, align, without
from recollect.errors import ArchiveCorrupt
from recollect.store.erasure.holes import Revision, WaitingCut
from recollect.store.writer import Writer

Reason = Literal["evicted", "forgotten", "data_loss"]
Progress = Callable[[int, int], None]
"""(bytes copied, bytes to copy)"""
WHOLE_SOURCE = 0
"""The revision of a cut that takes a source away as a whole: every revision, the open tail, the journal's entries."""
_PARSER_HELD = ("state", "parser_version", "turn_index", "trail")


class Cut(NamedTuple):
    """What is to go of a revision. ranges: half-open [start, stop) byte offsets, ascending, not overlapping.

    revision WHOLE_SOURCE, without ranges: the source as a whole.
    """

    source_id: str
    revision: int
    ranges: tuple[Range, ...]


class CutReport(msgspec.Struct, frozen=True):
    """What cuts took away. bytes: of revisions; freed_estimate_bytes: what `compact` will give back for them, roughly.

    A record that a range touches goes as a whole, so that bytes may be more than the ranges have.
    """

    cuts: int
    bytes: int
    freed_estimate_bytes: int


class CompactReport(msgspec.Struct, frozen=True):
    """What compacting did. packs_rewritten: those of which something was kept; packs_removed: all that went."""

    bytes_freed: int
    packs_rewritten: int
    packs_removed: int


def cut(archive: Archive, writer: Writer, cuts: Sequence[Cut], *, reason: Reason, at: int) -> CutReport:
    """Take ranges of revisions away; what the database says of their records is the caller's to remove.

    Ranges past the committed end, and those in holes already, are left out; the open tail stays. A range takes whole
    records, all that it touches; what stands between records goes only with the whole of the revision.

    Args:
        at: UTC microseconds.
    Raises:
        DiskFull, ArchiveError, StoreError: what was not made yet is promised, and made by `settle`.
    """
    with writer.transaction():
        writer.removing.holes.wait(_promised(cuts, reason, at))
    return make_promised(archive, writer)


def _promised(cuts: Sequence[Cut], reason: Reason, at: int) -> Iterator[WaitingCut]:
    for one in cuts:
        if one.revision == WHOLE_SOURCE:
            yield WaitingCut(one.source_id, WHOLE_SOURCE, 0, 0, reason, at)
        for start, stop in one.ranges:
            yield WaitingCut(one.source_id, one.revision, start, stop - start, reason, at)


def make_promised(archive: Archive, writer: Writer, *, skip_damaged: bool = False) -> CutReport:
    """Make every cut that is promised. Raises as `cut`.

    skip_damaged: where a part of a chunk must be kept that cannot be read, the promise stays; `verify` tells that.
    """
    count = size = freed = 0
    waiting = writer.removing.holes.waiting()
    for (source_id, revision), promised in groupby(waiting, key=lambda w: (w.source_id, w.revision)):
        wanted = list(promised)
        if revision == WHOLE_SOURCE:
            freed += _drop(archive, writer, source_id, wanted[0].removed_at)
            count += 1
            continue
        cutting_one = _Cutting(archive, writer, source_id, revision)
        try:
            taken = cutting_one.make(wanted)
        except ArchiveCorrupt:
            if not skip_damaged:
                raise
            continue
        count += taken > 0
        size += taken
        freed += cutting_one.freed_bytes
    return CutReport(count, size, max(0, freed))


def _drop(archive: Archive, writer: Writer, source_id: str, at: int) -> int:
    archive.record([dropping(source_id, at)])
    archive.flush()
    with writer.transaction():
        freed = writer.removing.holes.drop_chunks(source_id)
        writer.removing.holes.made(source_id, WHOLE_SOURCE)
    return freed


class _Cutting:
    """The cuts of one revision while they are made."""

    def __init__(self, archive: Archive, writer: Writer, source_id: str, revision: int) -> None:
        self._archive = archive
        self._writer = writer
        self._source_id = source_id
        self._revision = revision
        self.freed_bytes = 0
        """What of the packs no revision needs any more, less what had to be written."""

    def make(self, wanted: Sequence[WaitingCut]) -> int:
        """Make them; return how many bytes went."""
        holes = self._writer.removing.holes
        known = holes.revision(self._source_id, self._revision)
        chunks = self._writer.open_chunks(self._source_id, self._revision)
        made: list[Hole] = []
        if known is not None:
            for promise, ranges in _by_promise(wanted):
                for found in self._aligned(known, chunks, ranges, [*known.holes, *made]):
                    turn = self._turn(known, found)
                    made.append(
                        Hole(found.start, found.stop - found.start, found.records, turn, promise[0], promise[1])
                    )
        if known is None or not made:
            with self._writer.transaction():
                holes.made(self._source_id, self._revision)
            return 0
        made.sort()
        self._take_away(known, chunks, made)
        return sum(hole.length for hole in made)

    def _aligned(
        self, known: Revision, chunks: list[tuple[ChunkPlace, bool]], ranges: list[Range], holes: list[Hole]
    ) -> list[Aligned]:
        left = without(ranges, holes, known.committed_bytes)
        gone = sum(hole.length for hole in holes) + sum(b - a for a, b in left)
        if len(left) == 1 and gone == known.committed_bytes:  # all of it goes: nothing has to be read
            records = known.records - sum(hole.records for hole in holes)
            return [Aligned(*left[0], records, known.records)]
        places = [place for place, _ in chunks]
        return align(self._archive, places, list(known.holes), known, left, is_all=gone == known.committed_bytes)

    def _turn(self, known: Revision, found: Aligned) -> int:
        if found.end_record >= known.records and known.is_newest(self._revision):
            return known.source.turn_index
        return self._writer.removing.holes.turn_before(known.source.number, self._revision, found.end_record)

    def _take_away(self, known: Revision, chunks: list[tuple[ChunkPlace, bool]], made: list[Hole]) -> None:
        archive, writer = self._archive, self._writer
        punched = punch(
            chunks, [(hole.offset, hole.offset + hole.length) for hole in made], sealer=archive.sealer, read=self._read
        )
        fresh = [part for part, _ in punched.parts if isinstance(part, SealedChunk)]
        stored = iter(archive.write(fresh, known=writer.known_chunks([chunk.name for chunk in fresh])))
        parts = [(next(stored) if isinstance(part, SealedChunk) else part, is_open) for part, is_open in punched.parts]
        holes = sorted((*known.holes, *made))
        archive.record([self._entry(known, chunks, punched.keep, parts, holes)])
        archive.flush()
        with writer.transaction():
            removing = writer.removing.holes
            freed = removing.replace(known.source.number, self._revision, keep=punched.keep, chunks=parts, holes=holes)
            removing.made(self._source_id, self._revision)
        self.freed_bytes = freed - sum(len(chunk.blob) for chunk in fresh)

    def _read(self, place: ChunkPlace) -> bytes:
        return b"".join(self._archive.iter_bytes((place,)))  # what goes does not stay in the cache

    def _entry(
        self, known: Revision, chunks: list[tuple[ChunkPlace, bool]], keep: int, parts: list[tuple[ChunkPlace, bool]],
        holes: list[Hole],
    ) -> JournalEntry:  # fmt: skip
        revision = as_archived(known, self._revision, chunks)
        return cutting(revision, keep=keep, chunks=parts, removal=_removal(known, self._revision, holes))


def as_archived(
    known: Revision, number: int, chunks: list[tuple[ChunkPlace, bool]], observations: Sequence[tuple[int, int]] = ()
) -> ArchivedRevision:
    """Return a revision as the journal is to tell of it, from what the database knows."""
    source = known.source
    seen = sum(place.plain for place, _ in chunks)
    first = JournalEntry(
        source_id=source.source_id, agent=source.agent, role=source.role, key=source.key, path=source.path,
        container=source.container, session=source.session, revision=number, observed_at=source.observed_at,
        from_bytes=0, to_bytes=known.committed_bytes, bytes_seen=seen, keep_chunks=0, chunks=[],
        relative=source.relative, lane=source.lane,
    )  # fmt: skip
    has_marks = known.is_newest(number) and len(source.head_sha) == MARK_BYTES
    marks = source.head_sha + source.tail_sha if has_marks else b""
    removal = _removal(known, number, list(known.holes)) if known.holes else None
    return ArchivedRevision(first, chunks, known.committed_bytes, seen, list(observations), marks, removal)


def _removal(known: Revision, number: int, holes: list[Hole]) -> Removal:
    is_newest = known.is_newest(number)
    held = {field: getattr(known.source, field) for field in _PARSER_HELD} if is_newest else {}
    return Removal(holes, known.committed_bytes, known.records, is_newest, **held)


def _by_promise(wanted: Iterable[WaitingCut]) -> Iterator[tuple[tuple[str, int], list[Range]]]:
    """Yield the ranges of a revision by why and when they go, those that overlap as one."""
    promises: dict[tuple[str, int], list[Range]] = {}
    for one in wanted:
        ranges = promises.setdefault((one.reason, one.removed_at), [])
        if ranges and one.offset <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], one.offset + one.length))
        else:
            ranges.append((one.offset, one.offset + one.length))
    yield from promises.items()


def dead_bytes(archive: Archive, writer: Writer) -> dict[int, int]:
    """Return how many bytes of each pack no revision has any more, by the pack's number."""
    return archive.dead_bytes(list(writer.removing.holes.places()))


def compact(
    archive: Archive, writer: Writer, *, least_dead_share: float = 0.0, progress: Progress | None = None
) -> CompactReport:
    """Give the disk back what no revision has any more, from packs of which at least this share is dead.

    Raises DiskFull, ArchiveError, StoreError: what was begun is finished by `settle`, or takes place anew.
    """
    settle(archive, writer)
    live = list(writer.removing.holes.places())
    plan = archive.compact(live, least_dead_share=least_dead_share, progress=progress)
    if plan is None:
        return CompactReport(0, 0, 0)
    return _finish(archive, writer, plan)


def _finish(archive: Archive, writer: Writer, plan: CompactionPlan) -> CompactReport:
    if plan.moves:
        with writer.transaction():
            writer.removing.holes.move(plan.moves)
    gone = archive.end_compaction(plan)
    return CompactReport(plan.bytes_freed, len({old.pack for old, _ in plan.moves}), gone)


def settle(archive: Archive, writer: Writer) -> None:
    """Finish what a crash interrupted: a compaction, then cuts that are promised. Cheap where there is nothing.

    Damage elsewhere in a revision that is to lose bytes keeps nobody from writing: that cut stays promised.
    Raises DiskFull, ArchiveError, StoreError.
    """
    plan = archive.unfinished_compaction()
    if plan is not None:
        _finish(archive, writer, plan)
    if writer.removing.holes.waiting():
        make_promised(archive, writer, skip_damaged=True)
