"""From the bytes of a slice to the sealed chunks that a revision gains, and the open tail that stays.

A revision's chunks are closed chunks, then the deltas that hold its open tail: the bytes since the last boundary,
with a half-written last record. Invariant: the plain bytes of all chunks of a revision, in order, are exactly all
bytes seen of it. The closed chunks depend on the content alone; the deltas depend on when we looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.archive.chunking import closed_boundaries
from recollect.archive.chunks import SealedChunk
from recollect.archive.sealing import Sealer
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
    """Where a revision stands before a slice.

    plain: every byte seen since the last closed chunk; b"" for a new revision. open_chunks: plain lengths of the
    deltas that hold its start, in order; what lies beyond their sum is in no chunk yet (an earlier slice was not the
    last one). kept_chunks: closed chunks of the revision so far.
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
        before: where the revision stands.
        data: the bytes right after the open tail, with the unfinished record at the end.
        ends: where records end that no earlier slice gave, relative to the start of `data`, ascending and complete.
            At 0 or below if only the start of `data` (a newline, say) showed that the record had ended.
        hashes: sha256 of these records.
        is_last: write what stays open as a delta. With False it is only returned: allowed where the next slice
            of the revision is committed in the same transaction, else a crash in between leaves records in the
            database whose bytes the archive does not have.
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
    """Return the deltas' lengths after a delta of `new_bytes`, of which only the last one is written.

    Where there would be more than MAX_DELTAS, the newest are folded into one, and on as long as the one before
    is no longer than the fold: short deltas fold often and long ones seldom, so that an agent who writes line by
    line costs a few copies of the tail, not a copy every sixteen lines.
    """
    if len(lengths) < MAX_DELTAS:
        return (*lengths, new_bytes)
    keep = len(lengths) - 1
    folded = lengths[keep] + new_bytes
    while keep and lengths[keep - 1] <= folded:
        keep -= 1
        folded += lengths[keep]
    return (*lengths[:keep], folded)
