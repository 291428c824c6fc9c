"""The bundled static embedding: a table of token vectors that are summed. No network, no model code.

A text's vector is the sum of the vectors of its distinct tokens, brought to unit length. How the table was made, from
what and under which licences: `static/README.md`, `scripts/build_embedding.py`. numpy comes with the first text.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import EmbeddingUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.index.vectors.vector_index import Vectors


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


def directions(vectors: Vectors) -> list[bytes]:
    """Return vectors as whole numbers of -127 to 127, a signed byte each: what a cosine needs of them."""
    import numpy as np

    most = np.abs(vectors).max(axis=1, keepdims=True)
    return [row.tobytes() for row in np.rint(vectors / np.where(most > 0, most, 1) * 127).astype(np.int8)]


MAX_WORD_CHARS = 100
"""BERT's own limit: a longer word is one unknown token. Here it has none at all: hashes and base64 mean nothing."""
KEPT_WORDS = 200_000
"""Distinct words kept worked out; past that they are forgotten and begun again (about 30 MB)."""

_RUN = re.compile(r"[^\s!-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""The blocks that BERT's tokenizer takes for ideographs (kana and hangul are not among them)."""


class WordPiece:
    """Token numbers of texts. Safe from many threads: a word worked out twice gives the same."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """vocabulary: pieces by number, those inside a word with a leading `##`."""
        self._starts: dict[str, int] = {}
        self._insides: dict[str, int] = {}
        for number, piece in enumerate(vocabulary):
            if piece.startswith("##") and len(piece) > 2:
                self._insides[piece[2:]] = number
            else:
                self._starts[piece] = number
        self._longest = max(map(len, (*self._starts, *self._insides)), default=0)
        self._known = _Known(self._pieces)

    def tokens(self, text: str) -> list[int]:
        """Return the token numbers of a text, in order; what no piece covers is left out."""
        return list(chain.from_iterable(map(self._looked_up(), _RUN.findall(text))))

    def distinct_tokens(self, text: str) -> list[int]:
        """Return each token number of a text once, in order of number."""
        return sorted(set(chain.from_iterable(map(self._looked_up(), set(_RUN.findall(text))))))

    def _looked_up(self) -> Callable[[str], tuple[int, ...]]:
        if len(self._known) > KEPT_WORDS:
            self._known = _Known(self._pieces)
        return self._known.__getitem__

    def _pieces(self, run: str) -> tuple[int, ...]:
        if len(run) > MAX_WORD_CHARS and run.isascii():
            return ()
        found: list[int] = []
        for part in _CAMEL.split(run):
            for word in [part.lower()] if part.isascii() else _plain_words(part):
                found += self._word(word)
        return tuple(found)

    def _word(self, word: str) -> list[int]:
        """Return the longest pieces first; nothing where one is missing: BERT takes the whole word for unknown."""
        if len(word) > MAX_WORD_CHARS:
            return []
        found: list[int] = []
        start, known = 0, self._starts
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = known.get(word[start:end])
                if number is not None:
                    break
            else:
                return []
            found.append(number)
            start, known = end, self._insides
        return found


class _Known(dict[str, tuple[int, ...]]):
    """Runs of characters that were worked out; an unknown one is worked out when it is looked up."""

    def __init__(self, work_out: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, run: str) -> tuple[int, ...]:
        pieces = self[run] = self._work_out(run)
        return pieces


def _plain_words(run: str) -> list[str]:
    """Return a run as lower-case words without accents, cut at punctuation and around every ideograph."""
    words: list[str] = []
    word = ""
    for char in unicodedata.normalize("NFD", run).lower():
        category = unicodedata.category(char)
        if category == "Mn" or category in ("Cc", "Cf", "Co") or char == "\N{REPLACEMENT CHARACTER}":
            continue
        if category[0] == "P" or _is_ideograph(ord(char)):
            words += [word, char]
            word = ""
        else:
            word += char
    return [w for w in (*words, word) if w]


def _is_ideograph(code: int) -> bool:
    return code >= 0x3400 and any(first <= code <= last for first, last in _IDEOGRAPHS)
