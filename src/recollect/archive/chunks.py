"""Names and places sealed chunks, and cuts a revision into chunks at record ends.

A chunk starts at a boundary (the start of the revision, or the end of the chunk before) and closes at the first
record end that is

- at least MIN_BYTES from the boundary, and its hash is chosen (1 in 128; from AIM_BYTES on 1 in 16), or
- at least FORCE_BYTES from the boundary, whatever its hash;

and exactly HARD_BYTES from the boundary where no record end closed it before. The mean is about 512 KiB.
FORCE_BYTES lies so far below 1 MiB that a chunk is cut hard only if a record of over 256 KiB crosses that.
Chunks of half the length take 3 % more room at the same processor time; to read one record of one takes half as long
(.4 ms).

Each decision looks at one record end, its hash and its distance from the boundary, never at what follows. So it is
final when the record is known, and the boundaries are the same however the stream was split into feeds: nothing has
to be remembered between two feeds but how long the open tail is. Equal content finds equal boundaries again after a
change, which is what lets revisions and forks share their chunks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class SealedChunk(NamedTuple):
    """A compressed and sealed piece of a revision. `name` is a keyed hash of the plain bytes; plain: their number.

    is_open: a delta of the open tail, folded when its chunk closes.
    """

    name: bytes
    blob: bytes
    plain: int
    is_open: bool


HOLE_PACK = 0
"""The pack number of a hole; packs are numbered from 1."""


class ChunkPlace(NamedTuple):
    """Place of a sealed chunk: pack number, offset and length of the blob in it.

    A hole replaces deleted bytes (evicted, forgotten): it has their number and no blob.
    """

    name: bytes
    pack: int
    offset: int
    length: int
    plain: int

    @property
    def is_hole(self) -> bool:
        """True: these bytes of the revision are not in the archive any more."""
        return self.pack == HOLE_PACK


def hole(plain: int) -> ChunkPlace:
    """Return the place that replaces `plain` deleted bytes. Equal lengths have equal places."""
    return ChunkPlace(b"hole" + plain.to_bytes(12, "big"), HOLE_PACK, 0, 0, plain)


class Hole(NamedTuple):
    """Deleted bytes between two offsets of a revision: how many records, how many human turns the source had before
    its end, why (evicted, forgotten, data_loss), and when (UTC microseconds).
    """

    offset: int
    length: int
    records: int
    turn: int
    reason: str
    removed_at: int


MIN_BYTES = 256 << 10
AIM_BYTES = 512 << 10
FORCE_BYTES = 768 << 10
HARD_BYTES = 1 << 20
_EARLY_MASK = 0x7F
_LATE_MASK = 0x0F


def closed_boundaries(
    length_bytes: int, ends: Sequence[int], hashes: Sequence[bytes], *, tail_bytes: int = 0
) -> list[int]:
    """Return the ends of the chunks that close within the next `length_bytes` of a revision, ascending.

    Args:
        length_bytes: how many bytes follow the open tail; the last of them may belong to an unfinished record.
        ends: where records end that were not known before, ascending, at most length_bytes. An end known only from
            what follows it (a newline) may lie in the open tail, at 0 or below.
        hashes: the hash of each of these records, at least one byte; uniformly distributed (sha256).
        tail_bytes: length of the open tail before them: seen since the last boundary, less than HARD_BYTES.
    Returns:
        Offsets relative to the end of the open tail, above -tail_bytes and at most length_bytes.
    Cost: a bisection per chunk and a comparison for each record between a chunk's minimum and its end.
    """
    boundaries: list[int] = []
    start = -tail_bytes
    while True:
        boundary = _next_boundary(start, ends, hashes)
        if boundary is None:
            boundary = start + HARD_BYTES
            if boundary > length_bytes:
                return boundaries
        boundaries.append(boundary)
        start = boundary


def _next_boundary(start: int, ends: Sequence[int], hashes: Sequence[bytes]) -> int | None:
    """Return the record end that closes the chunk at `start`, None if none does within HARD_BYTES."""
    first = bisect_left(ends, start + MIN_BYTES)
    aim = bisect_left(ends, start + AIM_BYTES, first)
    for i in range(first, aim):
        if not hashes[i][0] & _EARLY_MASK:
            return ends[i]
    force = bisect_left(ends, start + FORCE_BYTES, aim)
    for i in range(aim, force):
        if not hashes[i][0] & _LATE_MASK:
            return ends[i]
    if force < len(ends) and ends[force] <= start + HARD_BYTES:
        return ends[force]
    return None
