"""Finds the messages nearest to a question: by the signs of the vectors, then by their codes.

The signs of all talk stand in one file, a row a passage: six words of 64 signs beside the key of the event. A look at
every row takes a millisecond for twenty thousand passages.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recollect.paths import make_private
from recollect.store.passages import PassageStore
from recollect.store.row_keys import SEQ_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.index.vectors.vector_index import Vectors


_LOOKED_AT = 200
"""Passages whose codes are compared: signs alone find the ten nearest among so many."""
_ROWS_AT_ONCE = 4096


def write_talk(store: PassageStore, folder: Path) -> None:
    """Make the file of all talk that has vectors. A kill leaves the earlier one.

    Raises:
        IndexUnavailable: the disk is full, the database cannot be written.
    """
    make_private(folder)
    path = folder / f"talk-{secrets.token_hex(4)}.npy"
    parts: list[NDArray[np.int64]] = []
    keys: list[int] = []
    codes: list[bytes] = []

    def fold() -> None:
        if keys:
            parts.append(np.column_stack([np.array(keys, np.int64), signs(codes).view(np.int64)]))
            keys.clear()
            codes.clear()

    for key, code in store.talk_codes():
        keys.append(key)
        codes.append(code)
        if len(keys) == _ROWS_AT_ONCE:
            fold()
    fold()
    if not parts:
        return
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        np.save(file, np.concatenate(parts))
    store.note_talk_file(path)


def nearest_talk(
    store: PassageStore, vector: Vectors, *, limit: int, sessions: Collection[int] | None = None
) -> list[int]:
    """Return the keys of the events whose talk is nearest to a vector, nearest first.

    sessions: numbers of those that may be; None for all.

    Raises:
        IndexUnavailable, StoreError: the database or the file cannot be read.
    """
    path = store.talk_file()
    if path is None:
        return []
    try:
        rows = np.load(path, mmap_mode="r")
    except FileNotFoundError:  # made again meanwhile
        return []
    keys = rows[:, 0]
    apart = np.bitwise_count(rows[:, 1:].view(np.uint64) ^ signs_of(vector)).sum(axis=1, dtype=np.int32)
    if sessions is not None:
        apart[~np.isin(keys >> SEQ_BITS, list(sessions))] = np.iinfo(np.int32).max
    best = np.argpartition(apart, _LOOKED_AT)[:_LOOKED_AT] if len(apart) > _LOOKED_AT else np.arange(len(apart))
    return nearest_among(
        store, vector, {int(key) for key, far in zip(keys[best], apart[best], strict=True) if far <= vector.size}
    )[:limit]


def nearest_among(store: PassageStore, vector: Vectors, keys: Collection[int]) -> list[int]:
    """Return the keys of those of some events that have vectors, nearest first. Raises StoreError."""
    hashes = store.hashes(keys)
    codes = store.codes(one for of_event in hashes.values() for one in of_event)
    if not codes:
        return []
    near = dict(zip(codes, cosines(vector, list(codes.values())).tolist(), strict=True))
    best_of = {
        key: max((near[one] for one in of_event if one in near), default=-1.0) for key, of_event in hashes.items()
    }
    return sorted(best_of, key=lambda key: -best_of[key])


_HIGHEST = 7
_ZERO = 8


def encode(vectors: Vectors) -> list[bytes]:
    """Return one code a vector: two numbers a byte, each -7 to 7. The length of a vector is not kept.

    A cosine computed from codes is off by .006 on average (384 numbers).
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-9)
    steps = (np.rint(vectors * (_HIGHEST / largest)) + _ZERO).astype(np.uint8)
    packed = steps[:, ::2] << 4 | steps[:, 1::2]
    return [row.tobytes() for row in packed]


def signs(codes: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return the signs of codes' numbers, 64 a word, shape (len(codes), numbers / 64)."""
    packed = np.frombuffer(b"".join(codes), np.uint8).reshape(len(codes), -1)
    steps = np.empty((len(codes), packed.shape[1] * 2), np.uint8)
    steps[:, ::2] = packed >> 4
    steps[:, 1::2] = packed & 15
    return np.packbits(steps > _ZERO, axis=1).view(np.uint64)


def signs_of(vector: Vectors) -> NDArray[np.uint64]:
    """Return the signs of one vector's numbers, as `signs` packs them."""
    return np.packbits(vector > 0).view(np.uint64)


def cosines(vector: Vectors, codes: Sequence[bytes]) -> Vectors:
    """Return how near codes are to a vector, shape (len(codes),)."""
    packed = np.frombuffer(b"".join(codes), np.uint8).reshape(len(codes), -1)
    steps = np.empty((len(codes), packed.shape[1] * 2), np.float32)
    steps[:, ::2] = packed >> 4
    steps[:, 1::2] = packed & 15
    steps -= _ZERO
    lengths = np.maximum(np.linalg.norm(steps, axis=1), 1e-9)
    near: Vectors = np.einsum("rd,d->r", steps, vector) / lengths
    return near
