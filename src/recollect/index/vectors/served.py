"""Vectors from a server, as an embedder. Brings numpy; the network is the client's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from recollect.errors import ConfigError, EmbeddingUnavailable, EndpointError

if TYPE_CHECKING:
    from recollect.index.vectors.embedder import Vectors

_PROBE = "how long is a vector"


class Client(Protocol):
    """What asks the server, see `recollect.endpoints.embedding.EmbeddingClient`."""

    model: str
    url: str

    def embed(self, texts: Sequence[str]) -> list[list[float]]: ...
    def close(self) -> None: ...


class ServedEmbedder:
    """Vectors of a served model. Safe from many threads. Address and model tell one from another."""

    def __init__(self, client: Client) -> None:
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
