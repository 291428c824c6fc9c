"""Takes the vectors of what was forgotten out of the files of every model, wholly: dead rows go too. Brings numpy."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import IndexUnavailable
from recollect.index.vectors.files import (
    ENTRIES_FOLDER,
    Files,
    Identity,
    check_sizes,
    column_sizes,
    last_commit,
    remove_vectors,
)
from recollect.index.vectors.rows import Rows
from recollect.index.vectors.writer import VectorWriter
from recollect.store.keys import SEQ_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
            identity = Identity(values["name"], values["version"], values["cutting"])
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
