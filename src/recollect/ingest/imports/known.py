"""What is stored of sources, for a plan that is made without the ingest lock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from recollect.archive.chunks import ChunkPlace, Hole
from recollect.store.reader import Reader
from recollect.store.slices import SourceRow


class StoredSources:
    """Implements `ingest.plan.KnownSources` over a reader. Rows come without parser state, so that what goes on with
    a source is read from its beginning in the archive."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def sources(
        self, agent: str, *, paths: Sequence[str] | None = None, key: str | None = None
    ) -> dict[str, SourceRow]:
        """Return the known sources of an agent by source_id: of a key, else all, whatever the paths."""
        return {row.source_id: row for row in self._reader.sources(agent) if key is None or row.key == key}

    def open_chunks(self, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]:
        """Return the chunks of a revision in order with their place; the flag tells an open delta."""
        return self._reader.chunks(source_id, revision)

    def holes(self, source_id: str, revision: int) -> list[Hole]:
        """Return what was taken away of a revision, in order."""
        return self._holes.get((source_id, revision), [])

    @cached_property
    def _holes(self) -> dict[tuple[str, int], list[Hole]]:
        return {(row.source_id, row.revision): list(row.holes) for row in self._reader.ledgers() if row.holes}
