"""From byte ranges to whole records: what a cut really takes away, and how many records lie in it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace, Hole
from recollect.archive.tail import Range
from recollect.capture.replay import is_whole, replay
from recollect.erasure.pieces import pieces_and_gaps
from recollect.store.erasure.holes import Revision


class Aligned(NamedTuple):
    """A range of whole records: how many, and the index of the record behind them."""

    start: int
    stop: int
    records: int
    end_record: int


class _Record(NamedTuple):
    start: int
    stop: int
    number: int


def without(ranges: Sequence[Range], holes: Sequence[Hole], end: int) -> list[Range]:
    """Return what of the ranges lies before `end` and in no hole, in order."""
    taken = sorted((hole.offset, hole.offset + hole.length) for hole in holes)
    found: list[Range] = []
    for start, wanted in sorted(ranges):
        at, stop = max(0, start), min(wanted, end)
        for hole_start, hole_stop in taken:
            if hole_stop <= at or hole_start >= stop:
                continue
            if at < hole_start:
                found.append((at, hole_start))
            at = max(at, hole_stop)
        if at < stop:
            found.append((at, stop))
    return found


def align(
    archive: Archive, places: list[ChunkPlace], holes: list[Hole], known: Revision, ranges: list[Range], *,
    is_all: bool,
) -> list[Aligned]:  # fmt: skip
    """Return the ranges as whole records, those that they touch, in order and apart.

    Of lines, neighbours become one range, with what stands between them. Of documents each record is one of its own, so
    that what holds them together stays. is_all: with the holes, the ranges are all of the revision; they stay as they
    are then, and their records are counted.

    Cost: the revision is read once. Raises ArchiveCorrupt, ArchiveError.
    """
    starts, stops = [a for a, _ in ranges], [b for _, b in ranges]
    found: list[Aligned] = []
    counts = [[0, 0] for _ in ranges]
    apart = is_whole(known.source.container)
    previous = -1
    for record in _records(archive, places, holes, known):
        first, last = bisect_right(stops, record.start), bisect_left(starts, record.stop)
        if first >= last:
            continue
        if is_all:
            counts[first] = [counts[first][0] + 1, record.number + 1]
        elif not apart and found and previous == record.number - 1 and found[-1].stop >= starts[first]:
            joined = found[-1]
            found[-1] = Aligned(joined.start, record.stop, joined.records + 1, record.number + 1)
        else:
            found.append(Aligned(record.start, record.stop, 1, record.number + 1))
        previous = record.number
    if is_all:
        end = 0
        for (start, stop), (count, after) in zip(ranges, counts, strict=True):
            end = max(end, after)
            found.append(Aligned(start, stop, count, end))
    return found


def _records(archive: Archive, places: list[ChunkPlace], holes: list[Hole], known: Revision) -> Iterator[_Record]:
    """Yield the records of a revision that it still has, up to its committed end."""
    index = 0
    for batch in replay(pieces_and_gaps(archive, lambda: places, holes), known.source.container):
        if batch.gap is not None:
            index += batch.gap.records
            continue
        if batch.giant is not None:
            yield _Record(batch.giant.start, batch.giant.end, index)
            index += 1
        for line in batch.lines:
            start = batch.base + line.start
            if start >= known.committed_bytes:
                return
            yield _Record(start, batch.base + line.end, index)
            index += 1
