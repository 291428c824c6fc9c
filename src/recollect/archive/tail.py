"""Turns the bytes of a slice into sealed chunks, the open tail that remains, and holes.

A revision's chunks are closed chunks, then the deltas that hold its open tail: the bytes since the last boundary,
with a half-written last record. Invariant: the plain bytes of all chunks of a revision, in order, are exactly all
bytes seen of it, but for the ranges that were deleted. The closed chunks depend on the content alone; the deltas
depend on when we looked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from recollect.archive.packs import ChunkPlace, SealedChunk, closed_boundaries, hole
from recollect.archive.sealer import Sealer
from recollect.errors import BrokenInvariant

MAX_DELTAS = 16
"""More deltas than these are folded: a tail is read back with at most so many reads."""


class CutSlice(NamedTuple):
    """What a slice does to the chunks of its revision: keep the first `keep_chunks`, drop the rest, add `chunks`.

    kept_chunks, open_chunks and open_tail are what the next `cut_slice` of this revision takes.
    """

    chunks: list[SealedChunk]
    keep_chunks: int
    open_tail: bytes
    kept_chunks: int
    open_chunks: tuple[int, ...]


class OpenTail(NamedTuple):
    """State of a revision before a slice.

    plain: every byte seen since the last closed chunk; b"" for a new revision. open_chunks: plain lengths of the deltas
    that hold its start, in order; bytes beyond their sum are in no chunk yet (an earlier slice was not the last one).
    kept_chunks: closed chunks of the revision so far.
    """

    plain: bytes = b""
    open_chunks: Sequence[int] = ()
    kept_chunks: int = 0


def cut_slice(
    sealer: Sealer,
    before: OpenTail,
    data: bytes | memoryview,
    *,
    ends: Sequence[int],
    hashes: Sequence[bytes],
    is_last: bool = True,
) -> CutSlice:
    """Cut and seal the bytes that follow what was seen of a revision.

    Args:
        before: the state of the revision.
        data: the bytes right after the open tail, with the unfinished record at the end.
        ends: ends of records that no earlier slice gave, relative to the start of `data`, ascending and complete.
            At 0 or below if only the start of `data` (a newline, say) showed that the record had ended.
        hashes: sha256 of these records.
        is_last: write what stays open as a delta. With False it is only returned: allowed if the next slice of the
            revision is committed in the same transaction, else a crash in between leaves records in the database
            whose bytes the archive does not have.
    Returns:
        The chunks to append, how many chunks stay before them, and what the next slice needs.
    Raises:
        BrokenInvariant: the deltas hold more than the open tail: they are not of the same revision.
    """
    open_tail, open_chunks, kept_chunks = before
    view = memoryview(data)
    boundaries = closed_boundaries(len(view), ends, hashes, tail_bytes=len(open_tail))
    if not boundaries:
        tail = open_tail + bytes(view)
        return _grow_tail(sealer, tail, open_chunks=open_chunks, kept_chunks=kept_chunks, is_last=is_last)
    closed: list[SealedChunk] = []
    start = -len(open_tail)
    for boundary in boundaries:
        closed.append(sealer.seal(_between(open_tail, view, start, boundary)))
        start = boundary
    tail = bytes(_between(open_tail, view, start, len(view)))
    rest = _grow_tail(sealer, tail, open_chunks=(), kept_chunks=kept_chunks + len(closed), is_last=is_last)
    return rest._replace(chunks=closed + rest.chunks, keep_chunks=kept_chunks)


def _between(open_tail: bytes, data: memoryview, start: int, stop: int) -> bytes | memoryview:
    """Return the bytes from `start` to `stop`, counted from the end of the open tail, with no needless copy."""
    if start >= 0:
        return data[start:stop]
    in_tail = memoryview(open_tail)[len(open_tail) + start : len(open_tail) + min(stop, 0)]
    return b"".join((in_tail, data[: max(stop, 0)]))


def _grow_tail(sealer: Sealer, tail: bytes, *, open_chunks: Sequence[int], kept_chunks: int, is_last: bool) -> CutSlice:
    """Write the part of `tail` that no delta holds yet as one delta, folding the newest deltas if there are many."""
    written = sum(open_chunks)
    if written > len(tail):
        raise BrokenInvariant(f"the deltas ({written} bytes) hold no more than the open tail ({len(tail)} bytes)")
    lengths = tuple(open_chunks)
    if not is_last or len(tail) == written:
        return CutSlice([], kept_chunks + len(lengths), tail, kept_chunks, lengths)
    lengths = _fold(lengths, len(tail) - written)
    delta = sealer.seal(memoryview(tail)[-lengths[-1] :], is_open=True)
    return CutSlice([delta], kept_chunks + len(lengths) - 1, tail, kept_chunks, lengths)


def _fold(lengths: tuple[int, ...], new_bytes: int) -> tuple[int, ...]:
    """Return the deltas' lengths after a delta of `new_bytes`; only the last one is written.

    Beyond MAX_DELTAS the newest are folded into one, together with all before it that are no longer than the fold.
    Short deltas fold often and long ones seldom, so that an agent that writes line by line costs a few copies of the
    tail, not a copy every sixteen lines.
    """
    if len(lengths) < MAX_DELTAS:
        return (*lengths, new_bytes)
    keep = len(lengths) - 1
    folded = lengths[keep] + new_bytes
    while keep and lengths[keep - 1] <= folded:
        keep -= 1
        folded += lengths[keep]
    return (*lengths[:keep], folded)


Range = tuple[int, int]
"""Half-open: start and stop, in bytes of the revision."""


class Punched(NamedTuple):
    """The first `keep` chunks stay; `parts` follow them, in order.

    parts: chunks that stay, new ones to write, and holes; each with whether it is a delta of the open tail.
    """

    keep: int
    parts: list[tuple[ChunkPlace | SealedChunk, bool]]


def punch(
    chunks: Sequence[tuple[ChunkPlace, bool]], ranges: Sequence[Range], *, sealer: Sealer,
    read: Callable[[ChunkPlace], bytes],
) -> Punched:  # fmt: skip
    """Return a revision's chunks without the bytes in `ranges`, each of which becomes one hole.

    The rest of a touched chunk is sealed again as chunks of its own. Deltas before the end of the last hole are closed:
    the open tail begins after it, so that later bytes can be appended.

    Args:
        chunks: of the revision, all of them, in order, with whether each is a delta of its open tail.
        ranges: ascending, not overlapping, not empty, inside of the revision, and outside of its holes.
        read: returns the plain bytes of a chunk; called only for those that lose a part of their bytes.
    Raises:
        BrokenInvariant: the ranges break these rules. Whatever `read` raises.
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
    """Yield the replacement of a chunk that begins at `start`: pieces, and the holes that begin in it."""
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
