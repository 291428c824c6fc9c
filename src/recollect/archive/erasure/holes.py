"""Which chunks a revision has once ranges of its bytes are taken away. Pure but for the chunks it must open."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from recollect.archive.chunks import ChunkPlace, SealedChunk, hole
from recollect.archive.sealing import Sealer
from recollect.errors import BrokenInvariant

Range = tuple[int, int]
"""Half-open: start and stop, in bytes of the revision."""


class Punched(NamedTuple):
    """The first `keep` chunks stay as they are; behind them stand `parts`, in order.

    parts: chunks that stay, new ones that must be written, and holes; each with whether it is a delta of the open tail.
    """

    keep: int
    parts: list[tuple[ChunkPlace | SealedChunk, bool]]


def punch(
    chunks: Sequence[tuple[ChunkPlace, bool]], ranges: Sequence[Range], *, sealer: Sealer,
    read: Callable[[ChunkPlace], bytes],
) -> Punched:  # fmt: skip
    """Return a revision's chunks without the bytes in `ranges`, each of which becomes one hole.

    What a touched chunk has besides is sealed again as chunks of its own. Deltas before the end of the last hole are
    closed: the open tail begins behind it, so that what follows can be appended.

    Args:
        chunks: of the revision, all of them, in order, with whether each is a delta of its open tail.
        ranges: ascending, not overlapping, not empty, inside of the revision, and in no hole that it has.
        read: gives the plain bytes of a chunk; asked only for those that lose a part of their bytes.
    Raises:
        BrokenInvariant: the ranges are not as said. What `read` raises.
    """
    _check(chunks, ranges)
    if not ranges:
        return Punched(len(chunks), [])
    parts: list[tuple[ChunkPlace | SealedChunk, bool]] = []
    starts, stops = [a for a, _ in ranges], [b for _, b in ranges]
    keep = stop = 0
    for place, is_open in chunks:
        start, stop = stop, stop + place.plain
        if stop <= starts[0] and not is_open:
            keep += 1
            continue
        inside = ranges[bisect_right(stops, start) : bisect_left(starts, stop)]
        if inside and place.is_hole:
            raise BrokenInvariant("what is taken away is in no hole already")
        is_tail = is_open and stop > stops[-1]
        if not inside:
            parts.append((place, is_tail))
        else:
            parts += _pieces(place, start, inside, is_tail=is_tail, sealer=sealer, read=read)
    return Punched(keep, parts)


def _pieces(
    place: ChunkPlace, start: int, ranges: Sequence[Range], *, is_tail: bool, sealer: Sealer,
    read: Callable[[ChunkPlace], bytes],
) -> Iterator[tuple[ChunkPlace | SealedChunk, bool]]:  # fmt: skip
    """Yield what stands in the place of a chunk that begins at `start`: pieces, and the holes that begin in it."""
    stop = start + place.plain
    is_covered = ranges[0][0] <= start and ranges[-1][1] >= stop and len(ranges) == 1
    plain = b"" if is_covered else read(place)
    at = start
    for begin, end in ranges:
        if at < begin:
            yield sealer.seal(plain[at - start : begin - start]), False
        if begin >= start:
            yield hole(end - begin), False
        at = end
    if at < stop:
        yield sealer.seal(plain[at - start :], is_open=is_tail), is_tail


def _check(chunks: Iterable[tuple[ChunkPlace, bool]], ranges: Sequence[Range]) -> None:
    end = sum(place.plain for place, _ in chunks)
    before = 0
    for start, stop in ranges:
        if not before <= start < stop <= end:
            raise BrokenInvariant(f"what is taken away lies in the revision, in order ({start} to {stop} of {end})")
        before = stop
