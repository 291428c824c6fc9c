"""Vectors for tests: plain arrays in a folder, with a store that says what the real one would."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.index.vectors.files import EmbedderIdentity, Files
from recollect.index.vectors.rows import Rows
from recollect.index.vectors.texts import CUTTING
from recollect.index.vectors.vector_index import VectorIndex
from recollect.index.vectors.writer import VectorWriter

DERIVATION_ID = bytes(range(16))
DIMENSIONS = 64


class Directions:
    """An embedder whose texts are numbers: each is a direction of its own, near to its neighbours."""

    name = "directions"
    version = "1"
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([direction(float(text)) for text in texts], np.float32).reshape(-1, DIMENSIONS)

    def close(self) -> None:
        """Nothing is held open."""


def direction(angle: float) -> NDArray[np.float32]:
    """Return a unit vector that turns smoothly with the angle and never repeats within 0 to 1,000."""
    waves = np.arange(1, DIMENSIONS // 2 + 1) / 500
    vector = np.concatenate((np.cos(angle * waves), np.sin(angle * waves))).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def files(folder: Path) -> Files:
    return Files(folder, EmbedderIdentity("directions", "1", CUTTING))


def writer(folder: Path, *, derivation_id: bytes = DERIVATION_ID, anew: bool = False) -> VectorWriter:
    return VectorWriter(files(folder), derivation_id, dimensions=lambda: DIMENSIONS, anew=anew)


def put(folder: Path, angles: dict[int, Iterable[float]], *, position: int = 0) -> None:
    """Add rows for keys and commit; a key may have several."""
    with writer(folder) as made:
        pairs = [(key, angle) for key, of_key in angles.items() for angle in of_key]
        made.add([key for key, _ in pairs], Directions().embed([str(angle) for _, angle in pairs]))
        made.commit(position=position)


def index(folder: Path) -> VectorIndex:
    return VectorIndex.open(folder, Directions())


def rows(folder: Path) -> Rows:
    found = index(folder).rows()
    assert found is not None
    return found


def batches(numbers: range, size: int) -> Iterator[list[int]]:
    for start in range(0, len(numbers), size):
        yield list(numbers[start : start + size])
