"""The embedding that comes with the package: a table of token vectors, summed. No network, no model code.

A text's vector is the sum of the vectors of its distinct tokens, brought to unit length. How the table was made, from
what and under which licences: `static/README.md`, `scripts/build_embedding.py`. numpy comes with the first text.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import EmbeddingUnavailable
from recollect.index.vectors.wordpiece import WordPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.index.vectors.embedder import Vectors

FOLDER = Path(__file__).parent / "static"
_HINT = "reinstall recollect, or set `model = 'off'` in [embedding]"


class _Table(NamedTuple):
    wordpiece: WordPiece
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]


class BuiltinEmbedder:
    """Sums int8 token vectors. Safe from many threads. About 10 MB of memory, most of it shared between processes."""

    name = "builtin"

    def __init__(self, folder: Path = FOLDER) -> None:
        """folder: `vocabulary.txt`, `vectors.npy` (int8, a row a token), `scales.npy` (float32, what a row is times),
        `made_from.json`, `SHA256SUMS`.

        Raises:
            EmbeddingUnavailable: a file is missing.
        """
        self._folder = folder
        self._lock = threading.Lock()
        self._table: _Table | None = None
        try:
            self.dimensions = int(json.loads((folder / "made_from.json").read_bytes())["dimensions"])
            lines = (folder / "SHA256SUMS").read_text("utf-8").splitlines()
            self.version = next(line[:12] for line in lines if line.endswith(" vectors.npy"))
        except (OSError, ValueError, KeyError, StopIteration) as error:
            raise EmbeddingUnavailable(f"the built-in embedding cannot be read: {error!r}", hint=_HINT) from error

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape (len(texts), dimensions), of unit length; zeros for a text of unknown signs only.

        Raises:
            EmbeddingUnavailable: a file is missing or they do not fit each other.
        """
        import numpy as np

        table = self._loaded()
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(found, texts, strict=True):
            tokens = table.wordpiece.distinct_tokens(text)
            if tokens:
                # Not a matrix product: its library starts threads for each, which cost more than such a small sum.
                np.einsum("td,t->d", table.codes[tokens], table.scales[tokens], out=row)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, lengths, out=found, where=lengths > 0)
        return found

    def close(self) -> None:
        """Nothing is held open."""

    def _loaded(self) -> _Table:
        with self._lock:
            if self._table is None:
                self._table = self._load()
            return self._table

    def _load(self) -> _Table:
        import numpy as np

        try:
            vocabulary = (self._folder / "vocabulary.txt").read_text("utf-8").splitlines()
            codes = np.load(self._folder / "vectors.npy", mmap_mode="r")
            scales = np.load(self._folder / "scales.npy")
        except (OSError, ValueError) as error:
            raise EmbeddingUnavailable(f"the built-in embedding cannot be read: {error}", hint=_HINT) from error
        count = len(vocabulary)
        if codes.dtype != np.int8 or codes.shape != (count, self.dimensions) or scales.shape != (count,):
            raise EmbeddingUnavailable("the built-in embedding is damaged", hint=_HINT)
        return _Table(WordPiece(vocabulary), codes, scales)
