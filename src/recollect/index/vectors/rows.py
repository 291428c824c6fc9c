"""Maps one commit of an embedder's vectors into memory and searches it exactly."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import BrokenInvariant
from recollect.index.vectors.files import Generation, VectorCommit
from recollect.store.entries import MARK_CLASS_BITS, EntryReader
from recollect.store.row_keys import ENTRY_BASE, SEQ_BITS

Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]
T = TypeVar("T", bound=np.generic)

BLOCK_ROWS = 1 << 13
"""Rows looked at together: few enough that what is made of them stays in the processor's cache."""
RESCORED = 4096
"""Rows whose exact similarity is computed after the scan of signs; see `benchmarks/vectors.py` for what it finds."""
FAR = np.iinfo(np.uint16).max


class Rows:
    """The rows of one commit. Immutable; safe from many threads."""

    def __init__(self, generation: Generation, commit: VectorCommit) -> None:
        path = generation.path
        self.commit = commit
        self.count = commit.rows
        self.dimensions = generation.dimensions
        self._codes = _column(path / "codes", np.int8, (commit.rows, generation.dimensions))
        self._scales = _column(path / "scales", np.float32, (commit.rows,))
        self._signs = _column(path / "signs", np.uint64, (commit.rows, generation.words))
        self.keys: Int64 = np.array(_column(path / "keys", np.int64, (commit.rows,)))
        self._marks = _column(path / "marks", np.int64, (commit.rows,)) if generation.has_marks else None
        self._gone = _column(path / "gone", np.int64, (commit.gone, 3))
        self._lock = threading.Lock()
        self._order: Int64 | None = None
        self._dead: NDArray[np.bool_] | None = None
        self._runs: dict[int, list[tuple[int, int]]] | None = None

    def nearest(
        self, vector: Float32, *, limit: int, sessions: frozenset[int] | None, classes: frozenset[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, similarity) of the nearest events, best first, each once with its best row.

        classes: of rows with marks, only those whose mark has one of these in its last MARK_CLASS_BITS.
        """
        rows = self._candidates(vector, max(RESCORED, 8 * limit), self._chosen(sessions, classes))
        if not len(rows):
            return []
        similarity = self._similarity(vector, rows)
        found: dict[int, float] = {}
        for most in dict.fromkeys((min(2 * limit, len(rows)), len(rows))):
            least = np.partition(similarity, -most)[-most]
            best = np.flatnonzero(similarity >= least)
            best = best[np.argsort(-similarity[best], kind="stable")]
            found = {}
            for key, near in zip(self.keys[rows[best]].tolist(), similarity[best].tolist(), strict=True):
                found.setdefault(key, near)  # best first: of an event with several rows the first counts
            if len(found) >= limit:
                break
        return list(islice(found.items(), limit))

    def similarities(self, vector: Float32, keys: Iterable[int]) -> dict[int, float]:
        """Return the best similarity of each key that has rows."""
        rows = self.rows_of(keys)
        found: dict[int, float] = {}
        for key, similarity in zip(self.keys[rows].tolist(), self._similarity(vector, rows).tolist(), strict=True):
            found[key] = max(similarity, found.get(key, -1.0))
        return found

    def rows_of(self, keys: Iterable[int]) -> Int64:
        """Return the live rows of these keys."""
        wanted = _distinct(np.fromiter(keys, np.int64))
        order = self._sorted()
        sorted_keys = self.keys[order]
        first = np.searchsorted(sorted_keys, wanted, "left")
        last = np.searchsorted(sorted_keys, wanted, "right")
        rows = order[_ranges(first, last)]
        return rows[~self.dead()[rows]]

    def live_keys(self) -> Int64:
        """Return the keys of all live rows, each once, in order."""
        return _distinct(self.keys[~self.dead()])

    def dead(self) -> NDArray[np.bool_]:
        """Return which rows belong to events that were replaced, hidden or embedded again."""
        with self._lock:
            if self._dead is None:
                self._dead = self._find_dead()
            return self._dead

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns that hold a row each, by the name of their file."""
        marks = {} if self._marks is None else {"marks": self._marks}
        return {"codes": self._codes, "scales": self._scales, "signs": self._signs, "keys": self.keys, **marks}

    def marks_by_session(self) -> tuple[Int64, Int64]:
        """Return (the numbers in the place of an event's session, in order; the mark of each), of live rows.

        All live rows of one number have the same mark.
        """
        live = np.flatnonzero(~self.dead())
        numbers, first = np.unique(self.keys[live] >> SEQ_BITS, return_index=True)
        return numbers, self.marks()[live[first]]

    def marks(self) -> Int64:
        """Return the mark of each row. Only of files that have marks."""
        if self._marks is None:
            raise BrokenInvariant("vectors of events have no marks")
        return np.asarray(self._marks)

    def exact(self, vector: Float32) -> Float32:
        """Return the similarity of every row, in blocks; dead rows are -1. For measuring what `nearest` misses."""
        found = np.empty(self.count, np.float32)
        for start in range(0, self.count, BLOCK_ROWS):
            rows = np.arange(start, min(start + BLOCK_ROWS, self.count))
            found[rows] = self._similarity(vector, rows)
        found[self.dead()] = -1
        return found

    def _similarity(self, vector: Float32, rows: Int64) -> Float32:
        # Not a matrix product: its library starts threads for each, which cost more than the product.
        products: Float32 = np.einsum("rd,d->r", self._codes[rows], vector)
        return products * self._scales[rows]

    def _chosen(self, sessions: frozenset[int] | None, classes: frozenset[int] | None) -> Int64 | None:
        """Return the rows that a question is confined to, in order; None for all."""
        chosen = None if sessions is None else self._rows_of_sessions(sessions)
        if classes is None:
            return chosen
        marks = self.marks() if chosen is None else self.marks()[chosen]
        fits = np.isin(marks & ((1 << MARK_CLASS_BITS) - 1), np.fromiter(classes, np.int64, len(classes)))
        if fits.all():  # rows in their order are looked at faster than rows that are picked
            return chosen
        return np.flatnonzero(fits) if chosen is None else chosen[fits]

    def _candidates(self, vector: Float32, wanted: int, chosen: Int64 | None) -> Int64:
        """Return the live rows that may be nearest: all of a few, else those whose signs differ least."""
        count = self.count if chosen is None else len(chosen)
        dead = self.dead()
        if count <= wanted:
            rows = np.arange(self.count) if chosen is None else chosen
            return rows[~dead[rows]]
        signs = sign_words(vector[None, :])[0]
        distance = np.empty(count, np.uint16)
        for start in range(0, count, BLOCK_ROWS):
            block = slice(start, min(start + BLOCK_ROWS, count))
            rows_of_block = self._signs[block] if chosen is None else self._signs[chosen[block]]
            distance[block] = _differing(rows_of_block, signs)
        distance[dead if chosen is None else dead[chosen]] = FAR
        at = _smallest(distance, wanted)
        return at if chosen is None else chosen[at]

    def _rows_of_sessions(self, sessions: frozenset[int]) -> Int64:
        """Return the rows of sessions, in order. Sessions form runs, so that few comparisons are needed."""
        with self._lock:
            if self._runs is None:
                numbers = self.keys >> SEQ_BITS
                cuts = np.flatnonzero(np.diff(numbers)) + 1
                starts = [0, *cuts.tolist()] if self.count else []
                self._runs = {}
                for start, stop in zip(starts, [*cuts.tolist(), self.count], strict=False):
                    self._runs.setdefault(int(numbers[start]), []).append((start, stop))
            runs = self._runs
        found = sorted(run for number in sessions for run in runs.get(number, ()))
        return _ranges(np.array([a for a, _ in found], np.int64), np.array([b for _, b in found], np.int64))

    def _sorted(self) -> Int64:
        with self._lock:
            if self._order is None:
                self._order = np.argsort(self.keys, kind="stable")
            return self._order

    def _find_dead(self) -> NDArray[np.bool_]:
        dead = np.zeros(self.count, np.bool_)
        if not len(self._gone):
            return dead
        order = self._order if self._order is not None else np.argsort(self.keys, kind="stable")
        self._order = order
        sorted_keys = self.keys[order]
        first = np.searchsorted(sorted_keys, self._gone[:, 0], "left")
        last = np.searchsorted(sorted_keys, self._gone[:, 1], "right")
        rows = order[_ranges(first, last)]
        before = np.repeat(self._gone[:, 2], np.maximum(last - first, 0))
        dead[rows[rows < before]] = True
        return dead


def quantize(vectors: Float32) -> tuple[NDArray[np.int8], Float32]:
    """Return (codes, scales): a vector is its codes times its scale, to within half a scale a dimension."""
    scales = np.abs(vectors).max(axis=1, initial=0.0) / 127
    safe = np.where(scales > 0, scales, 1)
    return np.rint(vectors / safe[:, None]).astype(np.int8), scales.astype("<f4")


def sign_words(vectors: Float32) -> NDArray[np.uint64]:
    """Return the signs as bits, shape (n, words): bit i of a row is dimension i above zero; the last word is padded."""
    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    missing = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view("<u8")


def _differing(signs: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return in how many bits each row differs."""
    total = np.zeros(len(signs), np.uint16)
    for word, of_query in enumerate(wanted):
        total += np.bitwise_count(signs[:, word] ^ of_query)
    return total


def _smallest(distance: NDArray[np.uint16], wanted: int) -> Int64:
    """Return where the `wanted` smallest are, in order of place, of equal ones the first; never where it is FAR.

    Counting beats sorting: there are only as many distances as dimensions."""
    farthest = int(np.searchsorted(np.cumsum(np.bincount(distance)), wanted))
    nearer = np.flatnonzero(distance < farthest)
    if farthest >= FAR:
        return nearer
    equal = np.flatnonzero(distance == farthest)[: wanted - len(nearer)]
    return np.sort(np.concatenate((nearer, equal)))


def _distinct(numbers: Int64) -> Int64:
    """Return each number once, in order. `np.unique` would load the module of masked arrays for it."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _ranges(first: Int64, last: Int64) -> Int64:
    """Return the numbers of [first, last) of every pair, one after the other."""
    lengths = np.maximum(last - first, 0)
    if not lengths.sum():
        return np.empty(0, np.int64)
    starts = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return np.asarray(starts + np.arange(lengths.sum()), np.int64)


def _column(path: Path, kind: type[T], shape: tuple[int, ...]) -> NDArray[T]:
    """Map a column of little-endian numbers; an empty one has no file to map."""
    if not np.prod(shape):
        return np.empty(shape, kind)
    # As a plain array: each slice of a memmap takes 20 µs longer.
    return np.memmap(path, np.dtype(kind).newbyteorder("<"), "r", shape=shape).view(np.ndarray)


class Differences(NamedTuple):
    """missing: (number, mark) of entries without rows of what they say now, by number. gone: numbers of entries that
    have rows and are not stored any more, without ENTRY_BASE. same: how many entries have the rows that they should."""

    missing: Int64
    gone: Int64
    same: int


def differences(rows: Rows | None, feed: EntryReader) -> Differences:
    """Compare vectors with what is stored. Some 30 bytes of memory per entry. Raises StoreError."""
    empty = np.empty(0, np.int64)
    numbers, marks = rows.marks_by_session() if rows is not None else (empty, empty)
    numbers = numbers - ENTRY_BASE
    is_there = np.zeros(len(numbers), np.bool_)
    missing: list[Int64] = []
    same = after = 0
    while batch := feed.marks(after=after):
        stored = np.array(batch, np.int64)
        after = batch[-1][0]
        at = np.searchsorted(numbers, stored[:, 0])
        known = np.flatnonzero(at < len(numbers))
        known = known[numbers[at[known]] == stored[known, 0]]
        is_there[at[known]] = True
        is_same = np.zeros(len(stored), np.bool_)
        is_same[known] = marks[at[known]] == stored[known, 1]
        same += int(is_same.sum())
        missing.append(stored[~is_same])
    return Differences(np.concatenate((np.empty((0, 2), np.int64), *missing)), numbers[~is_there], same)
