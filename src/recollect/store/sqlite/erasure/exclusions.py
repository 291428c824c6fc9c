"""What a pass remembers of what it must not take in: sources left out, what is excluded, bytes to give back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from recollect.store.sqlite.connection import store_errors

_EXCLUDED = "excluded_repos"
_DEAD = "forgotten_in_packs_since"
"""Keys in `meta`."""


class SqliteKeptOut:
    """Keeps it, inside the writer's transactions."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def left_out(self) -> dict[bytes, bytes]:
        """Return, by the keyed name of a source of which nothing was taken in, the state that it was seen in."""
        with store_errors():
            rows: Iterable[Any] = self._db.execute("SELECT source, state FROM left_out")
            return dict(rows)

    def set_left_out(self, found: Iterable[tuple[bytes, bytes]]) -> None:
        """Remember sources of which nothing was taken in: they are not read again before they change."""
        with store_errors():
            self._db.executemany("INSERT OR REPLACE INTO left_out VALUES (?, ?)", list(found))

    def excluded(self) -> str:
        """Return the excluded repositories that held at the last look, as given to `set_excluded`; "" for none."""
        with store_errors():
            return str(self._db.execute("SELECT value FROM meta WHERE key = ?", (_EXCLUDED,)).get or "")

    def set_excluded(self, patterns: str) -> None:
        """Other repositories are excluded now: what was kept out by the old ones is looked at anew."""
        with store_errors():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_EXCLUDED, patterns))
            self._db.execute("DELETE FROM tombstone WHERE kind = 'excluded'")
            self._db.execute("DELETE FROM left_out")

    def dead_since(self) -> int | None:
        """Return since when packs hold sealed bytes that were kept out and not given back yet; None: none do."""
        with store_errors():
            found = self._db.execute("SELECT value FROM meta WHERE key = ?", (_DEAD,)).get
            return None if found is None else int(found)

    def set_dead_since(self, at: int | None) -> None:
        """Remember it (UTC microseconds), or None."""
        with store_errors():
            self._db.execute("DELETE FROM meta WHERE key = ?", (_DEAD,))
            if at is not None:
                self._db.execute("INSERT INTO meta VALUES (?, ?)", (_DEAD, at))

    def has_source(self, source_id: str) -> bool:
        """Tell whether something is stored of a source."""
        with store_errors():
            found = self._db.execute("SELECT EXISTS (SELECT 1 FROM source WHERE source_id = ?)", (source_id,)).get
            return bool(found)

    def last_session(self) -> int:
        """Return the number of the newest session, 0 for none."""
        with store_errors():
            return int(self._db.execute("SELECT max(number) FROM session").get or 0)

    def was_there(self, uid: str, last: int) -> bool:
        """Tell whether a session is stored, and is none of those after number `last`: no clock says it, they jump."""
        with store_errors():
            number = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
            return number is not None and int(number) <= last
