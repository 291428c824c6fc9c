"""From the configuration to what makes vectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import EmbeddingConfig
from recollect.errors import ConfigError
from recollect.paths import expand

if TYPE_CHECKING:
    from recollect.index.vectors.vector_index import Embedder

BUILTIN = "builtin"


def embedder_of(config: EmbeddingConfig, env: Mapping[str, str]) -> Embedder:
    """Return the embedder that a configuration names; one that is switched off has none.

    Raises:
        ConfigError: what is configured does not fit together.
        EmbeddingUnavailable: the model cannot be read, or needs packages that are not installed.
    """
    if config.api:
        return _served(config, env)
    if config.model == BUILTIN:
        from recollect.index.vectors.builtin import BuiltinEmbedder

        return BuiltinEmbedder()
    folder = Path(expand(config.model, env))
    if not folder.is_dir():
        raise ConfigError(
            f"[embedding] model: there is no folder {folder}",
            key="embedding.model",
            allowed=(BUILTIN, "off", "a folder"),
            hint="with `api` set, it is the name of a served model",
        )
    from recollect.index.vectors.models import open_local

    return open_local(folder)


def _served(config: EmbeddingConfig, env: Mapping[str, str]) -> Embedder:
    from recollect.endpoints.embedding import EmbeddingClient
    from recollect.index.vectors.models import ServedEmbedder

    if config.model == BUILTIN:
        raise ConfigError(
            "[embedding] model: a served model needs its name", key="embedding.model", allowed=("a model's name",)
        )
    return ServedEmbedder(EmbeddingClient.of(config, env))
