"""Vectors as they are shared: of the built-in model, a signed byte a dimension."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import EmbeddingUnavailable
from recollect.index.vectors.builtin import directions
from recollect.index.vectors.texts import CUTTING, chunks_of
from recollect.index.vectors.vector_index import Embedder
from recollect.ingest.home import OpenHome
from recollect.model.payloads import Payload
from recollect.model.team_messages import VECTOR_DIMENSIONS


class SharedMeaning:
    """Gives vectors where this memory uses the built-in model and can; none otherwise. model: tells it from others."""

    def __init__(self, home: OpenHome) -> None:
        self._embedder: Embedder | None = None
        self.model = ""
        try:
            embedder = home.embedding.builtin()
        except EmbeddingUnavailable:
            return
        if embedder is not None and embedder.dimensions == VECTOR_DIMENSIONS:
            self._embedder = embedder
            self.model = f"{embedder.name} {embedder.version} cut {CUTTING}"

    def of_event(self, payload: Payload) -> tuple[bytes, ...]:
        """Return the vectors of an event's pieces, of those events that have any."""
        return self.of_texts(chunks_of(payload)) if self._embedder is not None else ()

    def of_texts(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """Return a vector for each text that means something."""
        if self._embedder is None or not texts:
            return ()
        try:
            found = self._embedder.embed(texts)
        except EmbeddingUnavailable:
            return ()
        return tuple(code for code in directions(found) if any(code))
