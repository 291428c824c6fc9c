"""Embeds texts on a server, with OpenAI's or Ollama's interface."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from recollect.config import EmbeddingConfig
from recollect.endpoints.http import Poster, checked_address
from recollect.errors import ConfigError, EndpointUnusable

BATCH_TEXTS = 64
"""Texts of one call: OpenAI allows 2,048, smaller servers far fewer."""
BATCH_CHARS = 100_000
OLLAMA_URL = "http://127.0.0.1:11434"


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int = -1


class _OpenAiAnswer(msgspec.Struct):
    """Evidence: OpenAI's API reference, "Create embeddings"."""

    data: list[_Item]


class _OllamaAnswer(msgspec.Struct):
    """Evidence: Ollama's docs/api.md, "Generate Embeddings"."""

    embeddings: list[list[float]]


class EmbeddingClient:
    """Asks one server for vectors. Safe from many threads."""

    def __init__(
        self, poster: Poster, *, api: Literal["openai", "ollama"], model: str, url: str, dimensions: int = 0
    ) -> None:
        """dimensions: asked of the server; 0: whatever the model gives."""
        self._poster = poster
        self._api = api
        self.model = model
        self.url = url
        self.dimensions = dimensions

    @classmethod
    def of(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> EmbeddingClient:
        """Return the client that a configuration describes; nothing is reached yet. Raises ConfigError."""
        assert config.api
        url = checked_url(config)

        def headers() -> dict[str, str]:
            if not config.key_variable:
                return {}
            key = env.get(config.key_variable, "").strip()
            if not key:
                raise ConfigError(
                    f"[embedding] key_variable: ${config.key_variable} is not set", key="embedding.key_variable"
                )
            return {"authorization": f"Bearer {key}"}

        poster = Poster(url, timeout_s=config.timeout_s, headers=headers)
        return cls(poster, api=config.api, model=config.model, url=url, dimensions=config.dimensions)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order, all of one length, every number finite.

        Raises:
            EndpointUnavailable, EndpointRefused: see `Poster.post`.
            EndpointUnusable: another number of vectors, other lengths, numbers that are none.
            ConfigError: the key's variable is not set.
        """
        found: list[list[float]] = []
        for batch in _batches(texts):
            found += self._checked(self._ask(batch), len(batch))
        if len({len(vector) for vector in found}) > 1:
            raise EndpointUnusable(f"{self.url} gave vectors of several lengths")
        return found

    def close(self) -> None:
        """Close connections."""
        self._poster.close()

    def _ask(self, texts: list[str]) -> list[list[float]]:
        asked: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimensions:
            asked["dimensions"] = self.dimensions
        if self._api == "ollama":
            return self._poster.post("/api/embed", asked, _OllamaAnswer).embeddings
        items = self._poster.post("/embeddings", {**asked, "encoding_format": "float"}, _OpenAiAnswer).data
        if all(item.index < 0 for item in items):  # some servers leave it out and keep the order
            return [item.embedding for item in items]
        if sorted(item.index for item in items) != list(range(len(items))):
            raise EndpointUnusable(f"{self.url} numbered its vectors wrongly")
        return [item.embedding for item in sorted(items, key=lambda item: item.index)]

    def _checked(self, vectors: list[list[float]], count: int) -> list[list[float]]:
        if len(vectors) != count:
            raise EndpointUnusable(f"{self.url} gave {len(vectors)} vectors for {count} texts")
        for vector in vectors:
            if not vector or (self.dimensions and len(vector) != self.dimensions):
                wanted = self.dimensions or "some"
                raise EndpointUnusable(f"{self.url} gave a vector of {len(vector)} numbers, not {wanted}")
            if not all(map(math.isfinite, vector)) or not any(vector):
                raise EndpointUnusable(f"{self.url} gave a vector that says nothing (zeros, infinite)")
        return vectors


def checked_url(config: EmbeddingConfig) -> str:
    """Return the address of the server. Raises ConfigError for one that must not or cannot be used."""
    url = config.url or (OLLAMA_URL if config.api == "ollama" else "")
    return checked_address(
        url, key="embedding.url", has_secret=bool(config.key_variable), example="https://api.openai.com/v1"
    )


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Return texts in calls of at most BATCH_TEXTS texts and, unless one alone is longer, BATCH_CHARS characters."""
    batches: list[list[str]] = []
    chars = 0
    for text in texts:
        if not batches or len(batches[-1]) >= BATCH_TEXTS or chars + len(text) > BATCH_CHARS:
            batches.append([])
            chars = 0
        batches[-1].append(text)
        chars += len(text)
    return batches
