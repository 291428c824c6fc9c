"""`memory.saved_searches`: a person's saved searches. They survive a rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from recollect.errors import UnknownName, UsageError
from recollect.store.marks import change_mark

if TYPE_CHECKING:
    from recollect.ingest.home import OpenHome

_MARK = "saved_searches"
MAX_SAVED = 100
MAX_CHARS = 500
_decode = msgspec.json.Decoder(list[str]).decode


class SavedSearchesFacet:
    """Saved queries, newest first. Safe from many threads and processes."""

    def __init__(self, home: OpenHome) -> None:
        self._home = home

    def list(self) -> tuple[str, ...]:
        """Return every saved query."""
        return tuple(_decode(self._home.reader().mark(_MARK) or "[]")) if self._home.is_there() else ()

    def keep(self, query: str) -> None:
        """Save a query, redacted. Raises UsageError if it is empty or too long, or if there are too many;
        StoreError.
        """
        text = " ".join(self._home.redacted(query).split())
        if not text or len(text) > MAX_CHARS:
            raise UsageError(f"a saved search has 1 to {MAX_CHARS} characters")
        self._home.reader()  # makes an empty memory if there is none

        def added(kept: str) -> str:
            queries = [text, *(one for one in _decode(kept or "[]") if one != text)]
            if len(queries) > MAX_SAVED:
                raise UsageError(f"{MAX_SAVED} searches are saved already", hint="remove one first")
            return msgspec.json.encode(queries).decode()

        change_mark(self._home.home, _MARK, added)

    def remove(self, query: str) -> None:
        """Delete a saved query. Raises UnknownName."""

        def left(kept: str) -> str:
            queries = _decode(kept or "[]")
            if query not in queries:
                raise UnknownName("saved search", query)
            return msgspec.json.encode([one for one in queries if one != query]).decode()

        change_mark(self._home.home, _MARK, left)
