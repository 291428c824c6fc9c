"""Erases byte ranges of revisions and frees the disk space.

    the database promises the cut → new chunks and a journal entry, flushed → the database has the hole and no promise
    → `compact` writes the packs again without what no revision has any more

Every step can be killed. What was promised is made by `settle`, which runs whenever a memory is opened for writing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from recollect.archive.archive import Archive, CompactionPlan
from recollect.archive.journal import MARK_BYTES, ArchivedRevision, JournalEntry, Removal, cutting, dropping
from recollect.archive.packs import ChunkPlace, Hole, SealedChunk
from recollect.archive.tail import Range, punch
from recollect.capture.replay import is_whole
from recollect.erasure.records import records_of
from recollect.errors import ArchiveCorrupt
from recollect.store.erasure.holes import Revision, WaitingCut, outside
from recollect.store.writer import Writer

Progress = Callable[[int, int], None]
"""(bytes copied, bytes to copy)"""
WHOLE_SOURCE = 0
"""The revision of a cut that takes a source away as a whole: every revision, the open tail, the journal's entries."""
_PARSER_HELD = ("state", "parser_version", "turn_index", "trail")


def waiting_cuts(source_id: str, revision: int, ranges: Iterable[Range], reason: str, at: int) -> Iterator[WaitingCut]:
    """Yield the promises to take ranges of a revision away. reason: evicted, forgotten or data_loss; at: UTC
    microseconds."""
    for start, stop in ranges:
        yield WaitingCut(source_id, revision, start, stop - start, reason, at)


def make_promised(archive: Archive, writer: Writer, *, skip_damaged: bool = False) -> int:
    """Make every promised cut; return how many bytes of revisions went.

    Omits ranges past the committed end and those in holes already; the open tail stays. A range takes every whole
    record that it touches; what is between records goes only with the whole revision. The caller removes what the
    database says of the records. skip_damaged: if an unreadable part of a chunk must be kept, the promise stays, and
    `verify` reports it.

    Raises DiskFull, ArchiveError, StoreError: what was not made yet stays promised, and `settle` makes it.
    """
    size = 0
    waiting = writer.removing.holes.waiting()
    for (source_id, revision), promised in groupby(waiting, key=lambda w: (w.source_id, w.revision)):
        wanted = list(promised)
        if revision == WHOLE_SOURCE:
            _drop(archive, writer, source_id, wanted[0].removed_at)
            continue
        try:
            size += _Cutting(archive, writer, source_id, revision).make(wanted)
        except ArchiveCorrupt:
            if not skip_damaged:
                raise
    return size


def _drop(archive: Archive, writer: Writer, source_id: str, at: int) -> None:
    archive.record([dropping(source_id, at)])
    archive.flush()
    with writer.transaction():
        writer.removing.holes.drop_chunks(source_id)
        writer.removing.holes.made(source_id, WHOLE_SOURCE)


class _Cutting:
    """The cuts of one revision while they are made."""

    def __init__(self, archive: Archive, writer: Writer, source_id: str, revision: int) -> None:
        self._archive = archive
        self._writer = writer
        self._source_id = source_id
        self._revision = revision

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
            removing.replace(known.source.number, self._revision, keep=punched.keep, chunks=parts, holes=holes)
            removing.made(self._source_id, self._revision)

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


def compact(
    archive: Archive, writer: Writer, *, least_dead_share: float = 0.0, progress: Progress | None = None
) -> int:
    """Free the disk space of what no revision has any more, and return how many bytes that were.

    least_dead_share: of the packs to rewrite. Raises DiskFull, ArchiveError, StoreError: `settle` finishes what was
    begun, or it starts again.
    """
    settle(archive, writer)
    live = list(writer.removing.holes.places())
    plan = archive.compact(live, least_dead_share=least_dead_share, progress=progress)
    if plan is None:
        return 0
    _finish(archive, writer, plan)
    return plan.bytes_freed


def _finish(archive: Archive, writer: Writer, plan: CompactionPlan) -> None:
    if plan.moves:
        with writer.transaction():
            writer.removing.holes.move(plan.moves)
    archive.end_compaction(plan)


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


class Aligned(NamedTuple):
    """A range of whole records: how many, and the index of the record behind them."""

    start: int
    stop: int
    records: int
    end_record: int


def without(ranges: Sequence[Range], holes: Sequence[Hole], end: int) -> list[Range]:
    """Return the parts of the ranges before `end` and outside of holes, in order."""
    taken = sorted((hole.offset, hole.offset + hole.length) for hole in holes)
    return [part for start, stop in sorted(ranges) for part in outside(max(0, start), min(stop, end), taken)]


def align(
    archive: Archive, places: list[ChunkPlace], holes: list[Hole], known: Revision, ranges: list[Range], *,
    is_all: bool,
) -> list[Aligned]:  # fmt: skip
    """Return the ranges as the whole records that they touch, in order and separate.

    In files of lines, neighbours become one range, with what is between them. In documents each record stays separate,
    so that what holds them together remains. is_all: with the holes, the ranges are the whole revision; then they stay
    as they are, and their records are counted.

    Cost: the revision is read once. Raises ArchiveCorrupt, ArchiveError.
    """
    starts, stops = [a for a, _ in ranges], [b for _, b in ranges]
    found: list[Aligned] = []
    counts = [[0, 0] for _ in ranges]
    apart = is_whole(known.source.container)
    previous = -1
    for record in records_of(archive, places, known.source.container, holes=holes, end=known.committed_bytes):
        start, stop = record.offset, record.offset + record.length
        first, last = bisect_right(stops, start), bisect_left(starts, stop)
        if first >= last:
            continue
        if is_all:
            counts[first] = [counts[first][0] + 1, record.number + 1]
        elif not apart and found and previous == record.number - 1 and found[-1].stop >= starts[first]:
            joined = found[-1]
            found[-1] = Aligned(joined.start, stop, joined.records + 1, record.number + 1)
        else:
            found.append(Aligned(start, stop, 1, record.number + 1))
        previous = record.number
    if is_all:
        end = 0
        for wanted, (count, after) in zip(ranges, counts, strict=True):
            end = max(end, after)
            found.append(Aligned(*wanted, count, end))
    return found
