# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Reads a session part by part, as a person does: from any place on, of long strings a part, and what holds a text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import apsw

from recollect.errors import ArchiveError, StoreError
from recollect.model.rows import PREFIX
from recollect.model.text import searchable
from recollect.store.bodies import is_whole
from recollect.store.events import BATCH, EventReader, EventRow, first_versions
from recollect.store.keys import HIDDEN, SEQ_BITS
from recollect.store.rows import ChunkReader, TextRedactor

_MARGIN = 16_384
"""More characters than the longest secret that is looked for."""
_SHOWN = f"SELECT key FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {HIDDEN} ORDER BY key"


class TranscriptReader(EventReader):
    """An event reader that gives, of each string that lies in the archive, `max_chars` at most."""

    def __init__(
        self, db: apsw.Connection, archive: ChunkReader | None, redactor: TextRedactor | None, *, max_chars: int
    ) -> None:
        super().__init__(db, archive, redactor)
        self._max_chars = max_chars

    def from_place(
        self, number: int, first_seq: int, *, limit: int | None = None, behind: int = 0
    ) -> Iterator[list[EventRow]]:
        """Yield the rows of a session in batches, in the order of `of_session`: those that stand where an event stands
        and after it, whatever their numbers. behind: how many before it come too."""
        base, last = number << SEQ_BITS, (number + 1 << SEQ_BITS) - 1
        first = base + first_seq
        places = first_versions(self._db, number)
        if not places:
            before: Any = self._db.execute(f"{_SHOWN} DESC LIMIT ?", (base, first - 1, behind)).fetchall()
            yield from self.in_range(before[-1][0] if before else first, last, include_hidden=False, limit=limit)
            return
        begin = (places.get(first, first), first if first in places else base)
        keys: Any = self._db.execute(_SHOWN, (base, last))
        order = sorted((places.get(key, key), key) for (key,) in keys)
        wanted = [key for _, key in order[max(0, bisect_left(order, begin) - behind) :]][:limit]
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            rows = {row.key: row for row in self.by_key(batch)}
            yield [rows[key] for key in batch if key in rows]

    def holds(self, row: EventRow, text: str) -> bool:
        """Tell whether the searchable text of an event holds a text in small letters."""
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
