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


class ChunkPlace(NamedTuple):
    """Where a sealed chunk lies: pack number, offset and length of the blob in it."""

    name: bytes
    pack: int
    offset: int
    length: int
    plain: int
