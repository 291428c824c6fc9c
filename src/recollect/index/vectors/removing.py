"""Takes the vectors of forgotten events out of the files of every model, wholly: dead rows go too. Brings numpy."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import numpy as np

from recollect.errors import IndexUnavailable
from recollect.index.vectors.files import Files, Identity, check_sizes, column_sizes, last_commit, remove_vectors
from recollect.index.vectors.rows import Rows
from recollect.index.vectors.writer import COLUMNS, VectorWriter

_BATCH = 50_000


def keep_only(folder: Path, existing: Callable[[Collection[int]], set[int]]) -> int:
    """Rewrite the vectors below `folder` so that only live rows of existing events are left; return how many went.

    The caller holds the lock of who makes vectors. Vectors that cannot be read are deleted: they are made again. Killed
    anywhere, it is begun again by the next call. existing: of some event keys those that the store has.

    Raises IndexUnavailable: the files cannot be written.
    """
    removed = 0
    for manifest in sorted(folder.glob("*/manifest.json")):
        try:
            values = json.loads(manifest.read_bytes())
            identity = Identity(values["name"], values["version"], values["cutting"])
            files = Files(folder, identity)
            generation = files.generation()
            if generation is None or files.folder != manifest.parent:
                raise IndexUnavailable(f"{manifest.parent} is not a folder of vectors")
            commit = last_commit(generation)
            check_sizes(generation, commit)
        except (IndexUnavailable, OSError, ValueError, KeyError, TypeError):
            remove_vectors(manifest.parent)
            continue
        rows = Rows(generation, commit)
        keys = np.unique(rows.keys).tolist()
        known: set[int] = set()
        for start in range(0, len(keys), _BATCH):
            known |= existing(keys[start : start + _BATCH])
        kept = np.flatnonzero(~rows.dead() & np.isin(rows.keys, np.fromiter(known, np.int64, len(known))))
        size = sum((generation.path / name).stat().st_size for name in COLUMNS)
        if len(kept) == rows.count and size == sum(column_sizes(generation, commit._replace(gone=0)).values()):
            continue  # and nothing lies behind the last commit, where a crash may leave rows
        with VectorWriter(files, commit.derivation_id, dimensions=partial(int, generation.dimensions)) as writer:
            writer.keep_rows(kept)
        removed += rows.count - len(kept)
    return removed
