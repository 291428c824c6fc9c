"""Embedders other than ours: a model folder on this machine, or a server.

Two layouts of a folder are known: model2vec's (`model.safetensors`, `tokenizer.json`, `config.json`), and that of
sentence-transformers with an ONNX file (`onnx/model.onnx` or `model.onnx`, `tokenizer.json`, `1_Pooling/config.json`).
Nothing is downloaded; the network is the client's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import ConfigError, EmbeddingUnavailable, EndpointError
from recollect.index.vectors.onnx import open_session

if TYPE_CHECKING:
    from recollect.endpoints.embedding import EmbeddingClient
    from recollect.index.vectors.vector_index import Embedder, Vectors


ONNX_FILES = ("onnx/model.onnx", "model.onnx")
MAX_TOKENS = 512
"""What nearly every such model can take; the tokenizer's own limit holds where it is lower."""
_SAMPLE_BYTES = 1 << 20


def open_local(folder: Path) -> Embedder:
    """Return the model of a folder.

    Raises:
        EmbeddingUnavailable: the layout is not known, a file cannot be read, or the extra is not installed.
    """
    onnx = next((folder / name for name in ONNX_FILES if (folder / name).is_file()), None)
    if onnx is not None:
        return _OnnxEmbedder(folder, onnx)
    if (folder / "model.safetensors").is_file() and _is_model2vec(folder):
        return _Model2VecEmbedder(folder)
    raise EmbeddingUnavailable(
        f"{folder} holds no model that can be read",
        hint="it needs model.safetensors and tokenizer.json of model2vec, or an ONNX file and tokenizer.json",
    )


class _Model2VecEmbedder:
    """A table of token vectors as model2vec writes it."""

    def __init__(self, folder: Path) -> None:
        try:
            from model2vec import StaticModel
        except ImportError as error:
            raise _missing("model2vec", "model2vec", error) from error
        try:
            self._model = StaticModel.from_pretrained(str(folder))
        except Exception as error:
            raise EmbeddingUnavailable(f"the model in {folder} cannot be read: {error}") from error
        self.name = folder.name
        self.version = _version_of(folder / "model.safetensors")
        self.dimensions = int(self._model.dim)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of unit length, see `Embedder.embed`."""
        return _unit(np.asarray(self._model.encode(list(texts)), np.float32).reshape(-1, self.dimensions))

    def close(self) -> None:
        """Nothing is held open."""


class _OnnxEmbedder:
    """A sentence model as an ONNX graph, on the processor."""

    def __init__(self, folder: Path, path: Path) -> None:
        try:
            from tokenizers import Tokenizer

            self._session: Any = open_session(path)
            self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except ImportError as error:
            raise _missing("models", str(error.name or "onnxruntime"), error) from error
        except Exception as error:
            raise EmbeddingUnavailable(f"the model in {folder} cannot be read: {error}") from error
        truncation = self._tokenizer.truncation
        limit = min(MAX_TOKENS, truncation["max_length"]) if truncation else MAX_TOKENS
        self._tokenizer.enable_truncation(limit)
        self._tokenizer.enable_padding()
        self._inputs = {found.name for found in self._session.get_inputs()}
        self._takes_first = _takes_first(folder)
        self.name = folder.name
        self.version = _version_of(path)
        self.dimensions = self._run(["length"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of unit length, see `Embedder.embed`."""
        found = np.zeros((len(texts), self.dimensions), np.float32)
        # Texts of one length together: padding is work for nothing.
        order = sorted((at for at, text in enumerate(texts) if text.strip()), key=lambda at: len(texts[at]))
        for start in range(0, len(order), 16):
            batch = order[start : start + 16]
            found[batch] = self._run([texts[at] for at in batch])
        return _unit(found)

    def close(self) -> None:
        """Nothing is held open."""

    def _run(self, texts: list[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([e.attention_mask for e in encoded], np.int64)
        given = {
            "input_ids": np.array([e.ids for e in encoded], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
        }
        try:
            states = self._session.run(None, {k: v for k, v in given.items() if k in self._inputs})[0]
        except Exception as error:
            raise EmbeddingUnavailable(f"the model {self.name} failed: {error}") from error
        if states.ndim == 2:  # the graph pools by itself
            return np.asarray(states, np.float32)
        if self._takes_first:
            return np.asarray(states[:, 0], np.float32)
        weights = mask[..., None].astype(np.float32)
        return np.asarray((states * weights).sum(1) / weights.sum(1), np.float32)


def _is_model2vec(folder: Path) -> bool:
    """A folder of sentence-transformers has `modules.json` and its weights need torch."""
    return (folder / "tokenizer.json").is_file() and not (folder / "1_Pooling").exists()


def _takes_first(folder: Path) -> bool:
    """Return whether the first token represents the text; else the mean of all does."""
    try:
        pooling = json.loads((folder / "1_Pooling" / "config.json").read_bytes())
    except (OSError, ValueError):
        return False
    return bool(pooling.get("pooling_mode_cls_token"))


def _version_of(path: Path) -> str:
    """Return a hash over size, beginning and end of a model: enough to tell two apart, and quick for a large one."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            first = file.read(_SAMPLE_BYTES)
            file.seek(max(0, size - _SAMPLE_BYTES))
            return hashlib.sha256(b"%d" % size + first + file.read(_SAMPLE_BYTES)).hexdigest()[:12]
    except OSError as error:
        raise EmbeddingUnavailable(f"{path} cannot be read: {error.strerror}") from error


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return found


def _missing(extra: str, package: str, error: ImportError) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(
        f"this model needs the package {package} ({error})", hint=f"pip install 'recollect[{extra}]'"
    )


_PROBE = "how long is a vector"


class ServedEmbedder:
    """Vectors of a served model. Safe from many threads. Address and model tell one from another."""

    def __init__(self, client: EmbeddingClient) -> None:
        self._client = client
        self._dimensions = 0
        self.name = client.model

    @property
    def version(self) -> str:
        """Where the model is served, and its name."""
        return f"{self._client.url} {self._client.model}"

    @property
    def dimensions(self) -> int:
        """Length of every vector. Raises EmbeddingUnavailable where the server must be asked and can't be."""
        if not self._dimensions:
            self._dimensions = len(self._ask([_PROBE])[0])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape (len(texts), dimensions), of unit length; zeros for an empty text.

        Raises:
            EmbeddingUnavailable: the server cannot be reached, refuses, or gives vectors of another length than before.
        """
        asked = [at for at, text in enumerate(texts) if text.strip()]
        if not asked:
            return np.zeros((len(texts), self.dimensions), np.float32)
        vectors = np.array(self._ask([texts[at] for at in asked]), np.float64)
        self._dimensions = self._dimensions or vectors.shape[1]
        found = np.zeros((len(texts), self.dimensions), np.float32)
        if vectors.shape[1] != self.dimensions:
            raise EmbeddingUnavailable(
                f"{self._client.url} now gives {vectors.shape[1]} numbers a vector, not {self.dimensions}",
                hint="another model under the same name: run `recollect embed --anew`",
            )
        vectors /= np.abs(vectors).max(axis=1, keepdims=True)  # so that no square is too large for a number
        found[asked] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return found

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close()

    def _ask(self, texts: list[str]) -> list[list[float]]:
        try:
            return self._client.embed(texts)
        except (EndpointError, ConfigError) as error:
            raise EmbeddingUnavailable(str(error), hint=error.hint) from error
