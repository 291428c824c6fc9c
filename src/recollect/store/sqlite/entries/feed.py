"""Implements `store.entries.EntryFeed`, and tells who clears vectors away which of them still hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import apsw

from recollect.store.entries import EntryTexts, mark_of
from recollect.store.keys import ENTRY_BASE
from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.entries.reader import entries_by_number
from recollect.store.sqlite.readers.filters import int_array
from recollect.store.sqlite.readers.pool import ReadPool


class SqliteEntryFeed:
    """Reads a home's entries for who follows them by their marks. Safe from many threads."""

    def __init__(self, pool: ReadPool) -> None:
        self._pool = pool

    def last_change(self) -> int:
        """Return the newest id that the log of changes of entries ever gave, 0 when there is none."""
        with store_errors():
            found = self._pool.get().execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry_change'").get
            return int(found or 0)

    def marks(self, *, after: int = 0, limit: int = 10_000) -> list[tuple[int, int]]:
        """Return (number, mark) of the entries above a number, by number."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT number, kind, sha256 FROM entry WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
            )
            return [(number, mark_of(kind, sha256)) for number, kind, sha256 in rows]

    def by_number(self, numbers: Iterable[int]) -> dict[int, EntryTexts]:
        """Return entries by number; those that are gone are left out."""
        with store_errors():
            return entries_by_number(self._pool.get(), numbers)


def read_entry_marks(db: apsw.Connection, numbers: Collection[int]) -> dict[int, int]:
    """Return the marks of those of some entries that are there. Numbers are given and returned with ENTRY_BASE."""
    rows: Iterable[Any] = db.execute(
        "SELECT number, kind, sha256 FROM entry WHERE number IN (SELECT value FROM carray(?))",
        (int_array([number - ENTRY_BASE for number in numbers]),),
    )
    return {ENTRY_BASE + number: mark_of(kind, sha256) for number, kind, sha256 in rows}
