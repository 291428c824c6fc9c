"""Writes vectors: adds and retires rows, then commits. One writer per home (`EmbedLock`).

A kill at any instruction leaves the last commit readable; what came after it is written over. Brings numpy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from recollect.errors import EmbeddingUnavailable, IndexUnavailable
from recollect.index.vectors.files import (
    COMMIT_BYTES,
    ENTRIES_FOLDER,
    REMAKE_HINT,
    SCANNED,
    EmbedderIdentity,
    Files,
    Generation,
    VectorCommit,
    check_sizes,
    column_sizes,
    last_commit,
    remove_vectors,
)
from recollect.index.vectors.rows import BLOCK_ROWS, Int64, Rows, quantize, sign_words
from recollect.store.row_keys import SEQ_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.index.vectors.vector_index import Vectors


COMPACT_SHARE = 0.5
"""From this share of dead rows on, the live ones are copied to a new generation."""
COMPACT_ROWS = 10_000
"""Below this many dead rows it is not worth a copy."""


class VectorWriter:
    """Writes the vectors of one identity. Not thread safe. Use as a context manager; closing does not commit."""

    def __init__(
        self, files: Files, derivation_id: bytes, *, dimensions: Callable[[], int], anew: bool = False
    ) -> None:
        """Continue after the last commit, or start again: without files, for another database, or on request.

        dimensions: of the vectors to come; needed only at a start.

        Raises:
            IndexUnavailable: the files cannot be written. Damaged ones are made again.
        """
        self._files = files
        self._columns: dict[str, BinaryIO] = {}
        self._log: BinaryIO | None = None
        self._keys: list[Int64] = []
        self.was_begun_anew = False
        try:
            generation, commit = (None, VectorCommit()) if anew else self._current(derivation_id)
            if generation is None:
                generation, commit = files.begin(dimensions()), VectorCommit(derivation_id=derivation_id)
                self.was_begun_anew = True
                self._open(generation, commit)
                self._write_commit(commit)
                files.enforce(generation)
            else:
                self._open(generation, commit)
        except OSError as error:
            self.close()
            raise _unwritable(files, error) from error

    def _current(self, derivation_id: bytes) -> tuple[Generation | None, VectorCommit]:
        try:
            generation = self._files.generation()
            if generation is None:
                return None, VectorCommit()
            commit = last_commit(generation)
            check_sizes(generation, commit)
        except IndexUnavailable:
            return None, VectorCommit()
        return (generation, commit) if commit.derivation_id == derivation_id else (None, VectorCommit())

    def __enter__(self) -> VectorWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the files; uncommitted rows do not count."""
        for file in (*self._columns.values(), self._log):
            if file is not None:
                file.close()
        self._columns, self._log = {}, None

    def retire(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Mark every row written so far whose key is in a range (first and last included) as dead."""
        wanted = np.array(list(ranges), np.int64).reshape(-1, 2)
        known = self._sorted_keys()
        if not len(wanted) or not len(known):
            return
        first = np.searchsorted(known, wanted[:, 0], "left")
        last = np.searchsorted(known, wanted[:, 1], "right")
        hit = wanted[last > first]
        triples = np.concatenate((hit, np.full((len(hit), 1), self._rows, np.int64)), axis=1)
        self._columns["gone"].write(triples.astype("<i8").tobytes())
        self._gone += len(triples)

    def committed(self) -> Rows:
        """Return the rows of the last commit, to see what it has."""
        return Rows(self._generation, self.last)

    def add(self, keys: Sequence[int], vectors: Vectors, marks: Sequence[int] = ()) -> None:
        """Add a row for each key; rows of zeros say nothing and are left out. vectors: (len(keys), dimensions).

        marks: one a key, where the files have marks.

        Raises:
            EmbeddingUnavailable: vectors of another length: the model is not the one that it was.
        """
        if vectors.shape != (len(keys), self._generation.dimensions):
            raise EmbeddingUnavailable(
                f"vectors of {vectors.shape[1]} numbers do not fit those kept, of {self._generation.dimensions}",
                hint=REMAKE_HINT,
            )
        says = vectors.any(axis=1)
        rows, of = vectors[says], np.array(keys, np.int64)[says]
        codes, scales = quantize(rows)
        self._columns["codes"].write(codes.tobytes())
        self._columns["scales"].write(scales.tobytes())
        self._columns["signs"].write(sign_words(rows).tobytes())
        self._columns["keys"].write(of.astype("<i8").tobytes())
        if self._generation.has_marks:
            self._columns["marks"].write(np.array(marks, np.int64)[says].astype("<i8").tobytes())
        self._keys.append(of)
        self._rows += len(of)

    def commit(self, *, position: int, next_key: int = SCANNED) -> VectorCommit:
        """Make everything so far durable and visible. position, next_key: as in `Commit`.

        Raises:
            IndexUnavailable: the disk is full or cannot be written; the last commit still counts.
        """
        commit = self.last._replace(rows=self._rows, gone=self._gone, position=position, next_key=next_key)
        if commit != self.last:
            try:
                for file in self._columns.values():
                    file.flush()
                    os.fsync(file.fileno())
                self._write_commit(commit)
            except OSError as error:
                raise _unwritable(self._files, error) from error
        return commit

    def compact(self) -> bool:
        """Copy the live rows to a new generation where most of the committed ones are dead; say whether it was done."""
        rows = Rows(self._generation, self.last)
        dead = int(rows.dead().sum())
        if dead < COMPACT_ROWS or dead < COMPACT_SHARE * rows.count:
            return False
        try:
            self._copy_live(rows)
        except OSError as error:
            raise _unwritable(self._files, error) from error
        return True

    def keep_rows(self, kept: Int64) -> None:
        """Copy these committed rows to a new generation; the old one, with all that is not committed, is deleted.

        Raises:
            IndexUnavailable: the files cannot be written; the old generation stays in force.
        """
        try:
            self._copy(Rows(self._generation, self.last), kept)
        except OSError as error:
            raise _unwritable(self._files, error) from error

    def _copy_live(self, rows: Rows) -> None:
        self._copy(rows, np.flatnonzero(~rows.dead()))

    def _copy(self, rows: Rows, live: Int64) -> None:
        generation = self._files.begin(self._generation.dimensions)
        for name, column in rows.columns().items():
            with (generation.path / name).open("wb") as file:
                for start in range(0, len(live), BLOCK_ROWS):
                    file.write(np.ascontiguousarray(column[live[start : start + BLOCK_ROWS]]).tobytes())
                file.flush()
                os.fsync(file.fileno())
        commit = self.last._replace(rows=len(live), gone=0)
        self.close()
        self._open(generation, commit)
        self._write_commit(commit)
        self._files.enforce(generation)

    def _open(self, generation: Generation, commit: VectorCommit) -> None:
        self._generation, self.last = generation, commit
        self._rows, self._gone = commit.rows, commit.gone
        for name, size in column_sizes(generation, commit).items():
            self._columns[name] = _at(generation.path / name, size)
        self._log = _at(generation.path / "commits", 0)
        self._records = self._whole_records()
        keys = np.fromfile(generation.path / "keys", "<i8", commit.rows)
        self._keys = [keys.astype(np.int64)]

    def _whole_records(self) -> int:
        """Return how many records of the log come before the place where the next one goes."""
        assert self._log is not None
        data = self._log.read()
        for record in range(len(data) // COMMIT_BYTES, 0, -1):
            if VectorCommit.decode(data[(record - 1) * COMMIT_BYTES : record * COMMIT_BYTES]) is not None:
                return record
        return 0

    def _write_commit(self, commit: VectorCommit) -> None:
        assert self._log is not None
        self._log.seek(self._records * COMMIT_BYTES)
        self._log.write(commit.encode())
        self._log.flush()
        os.fsync(self._log.fileno())
        self._records += 1
        self.last = commit

    def _sorted_keys(self) -> Int64:
        keys = np.sort(np.concatenate(self._keys)) if self._keys else np.empty(0, np.int64)
        self._keys = [keys]
        return keys


def _at(path: Path, offset: int) -> BinaryIO:
    """Open for writing at an offset, without cutting: a reader may have what follows mapped."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    file = os.fdopen(fd, "r+b")
    file.seek(offset)
    return file


def _unwritable(files: Files, error: OSError) -> IndexUnavailable:
    return IndexUnavailable(f"the vectors in {files.folder} cannot be written: {error.strerror or error}")


_BATCH = 50_000
_Kept = Callable[[Rows], "NDArray[np.bool_]"]


def keep_only(folder: Path, existing: Callable[[Collection[int]], set[int]]) -> int:
    """Rewrite the vectors below `folder` so that only live rows of existing events are left; return how many went.

    The caller holds the lock of who makes vectors. Vectors that cannot be read are deleted: they are made again. Killed
    anywhere, it is begun again by the next call. existing: of some event keys those that the store has.

    Raises IndexUnavailable: the files cannot be written.
    """

    def is_kept(rows: Rows) -> NDArray[np.bool_]:
        keys = np.unique(rows.keys).tolist()
        known: set[int] = set()
        for start in range(0, len(keys), _BATCH):
            known |= existing(keys[start : start + _BATCH])
        return np.isin(rows.keys, np.fromiter(known, np.int64, len(known)))

    return _keep(folder, is_kept, has_marks=False)


def keep_only_entries(folder: Path, marks: Callable[[Collection[int]], Mapping[int, int]]) -> int:
    """Do the same for entries: rows stay that were made of what an entry says now. folder: as of `keep_only`.

    marks: of some numbers (ENTRY_BASE and the entry's own), the mark of each entry that the store has.
    """

    def is_kept(rows: Rows) -> NDArray[np.bool_]:
        of_rows = rows.keys >> SEQ_BITS
        numbers = np.unique(of_rows)
        known = np.full(len(numbers), -1, np.int64)
        for start in range(0, len(numbers), _BATCH):
            batch = numbers[start : start + _BATCH].tolist()
            found = marks(batch)
            known[start : start + len(batch)] = [found.get(number, -1) for number in batch]
        return np.asarray(rows.marks() == known[np.searchsorted(numbers, of_rows)])

    return _keep(folder / ENTRIES_FOLDER, is_kept, has_marks=True)


def _keep(folder: Path, is_kept: _Kept, *, has_marks: bool) -> int:
    removed = 0
    for manifest in sorted(folder.glob("*/manifest.json")):
        try:
            values = json.loads(manifest.read_bytes())
            identity = EmbedderIdentity(values["name"], values["version"], values["cutting"])
            files = Files(folder, identity, has_marks=has_marks)
            generation = files.generation()
            if generation is None or files.folder != manifest.parent:
                raise IndexUnavailable(f"{manifest.parent} is not a folder of vectors")
            commit = last_commit(generation)
            check_sizes(generation, commit)
        except (IndexUnavailable, OSError, ValueError, KeyError, TypeError):
            remove_vectors(manifest.parent)
            continue
        rows = Rows(generation, commit)
        kept = np.flatnonzero(~rows.dead() & is_kept(rows))
        wanted = column_sizes(generation, commit._replace(gone=0))
        size = sum((generation.path / name).stat().st_size for name in wanted)
        if len(kept) == rows.count and size == sum(wanted.values()):
            continue  # and nothing lies behind the last commit, where a crash may leave rows
        with VectorWriter(files, commit.derivation_id, dimensions=partial(int, generation.dimensions)) as writer:
            writer.keep_rows(kept)
        removed += rows.count - len(kept)
    return removed
