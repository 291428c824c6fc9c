"""Reads a session in parts from any place, with bounded strings, and finds text in it."""

from __future__ import annotations

import apsw

from recollect.errors import ArchiveError, StoreError
from recollect.model.rows import PREFIX
from recollect.model.text import searchable
from recollect.store.bodies import is_whole
from recollect.store.events import EventReader, EventRow
from recollect.store.rows import ChunkReader, TextRedactor

_MARGIN = 16_384
"""More characters than the longest secret that is looked for."""


class TranscriptReader(EventReader):
    """An event reader that returns at most `max_chars` of each string stored in the archive."""

    def __init__(
        self, db: apsw.Connection, archive: ChunkReader | None, redactor: TextRedactor | None, *, max_chars: int
    ) -> None:
        super().__init__(db, archive, redactor)
        self._max_chars = max_chars

    def holds(self, row: EventRow, text: str) -> bool:
        """Return whether the searchable text of an event contains a lower-case text."""
        entry = self._entry(row)
        plain = text.encode() if text.isascii() and text.isprintable() and not set(text) & {'"', "\\"} else b""
        if plain and plain not in entry.body.lower():
            if is_whole(entry.body):
                return False
            try:
                raw = self._read(row)
            except (ArchiveError, StoreError):
                return False
            if raw.startswith(b"{") and not raw.startswith(PREFIX) and plain not in raw.lower():
                return False
        return text in searchable(self._payload(row, entry))[1].casefold()

    def record(self, row: EventRow) -> bytes:
        """Return the exact bytes of an event's record. Raises ArchiveError, RawGone."""
        return self._read(row)

    def _redact(self, text: str) -> str:
        # Some more is redacted than shown: a secret that is cut in the middle would not be found.
        return super()._redact(text[: self._max_chars + _MARGIN])[: self._max_chars]
