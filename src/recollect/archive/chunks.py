"""The names and places of sealed chunks."""

from __future__ import annotations

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
    """Where a sealed chunk lies: pack number, offset and length of the blob in it.

    A hole stands in the place of bytes that were taken away (evicted, forgotten): it has their number and no blob.
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
    """Return the place that stands for `plain` bytes that were taken away. Equal lengths have equal places."""
    return ChunkPlace(b"hole" + plain.to_bytes(12, "big"), HOLE_PACK, 0, 0, plain)


class Hole(NamedTuple):
    """What was taken away between two offsets of a revision: how many records, how many human turns the source had up
    to its end, why (evicted, forgotten, data_loss), and when (UTC microseconds)."""

    offset: int
    length: int
    records: int
    turn: int
    reason: str
    removed_at: int
