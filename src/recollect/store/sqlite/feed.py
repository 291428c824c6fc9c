# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Implements `store.feed.TextFeed`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw

from recollect.model.payloads import KINDS
from recollect.store.feed import FeedEvent, KeyRange
from recollect.store.ports import SEQ_BITS, ChangeRange, ChunkReader, TextRedactor
from recollect.store.sqlite.bits import KIND_MASK, NOT_INDEXED
from recollect.store.sqlite.common_reads import last_change, take_note
from recollect.store.sqlite.connection import open_database, store_errors
from recollect.store.sqlite.entries.feed import SqliteEntryFeed
from recollect.store.sqlite.readers.events import EventReader
from recollect.store.sqlite.readers.pool import ReadPool


class SqliteTextFeed:
    """Reads a home's texts for consumers of the change log. Safe from many threads."""

    def __init__(self, home: Path, archive: ChunkReader | None, redactor: TextRedactor | None) -> None:
        """archive, redactor: as in `open_reader`. Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        self._pool = ReadPool(home)
        self.entries = SqliteEntryFeed(self._pool)
        self._archive = archive
        self._redactor = redactor

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def derivation_id(self) -> str:
        """Return the random id of what is derived, 32 hexadecimal digits."""
        with store_errors():
            return _derivation_id(self._pool.get())

    def last_change(self) -> int:
        """Return the newest id of the change log, 0 when there is none."""
        with store_errors():
            return last_change(self._pool.get())

    def changes_since(self, position: int, *, limit: int = 10_000) -> list[ChangeRange]:
        """Return the entries of the change log after a position, oldest first."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT id, session, first_seq, last_seq FROM change WHERE id > ? ORDER BY id LIMIT ?",
                (position, limit),
            )
            return [ChangeRange(*row) for row in rows]

    def sessions_newest_first(self) -> list[int]:
        """Return the numbers of all sessions, those that ended last first."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT number FROM session ORDER BY coalesce(ended_at, started_at, 0) DESC, number DESC"
            )
            return [number for (number,) in rows]

    def count_of_kinds(self, kinds: Iterable[str], ranges: Iterable[KeyRange]) -> int:
        """Return how many events of these kinds that a search may find have a key in the ranges."""
        statement = f"SELECT count(*) FROM event WHERE key BETWEEN ? AND ? AND {_of_kinds(kinds)}"
        with store_errors():
            db = self._pool.get()
            return sum(int(db.execute(statement, both).get) for both in ranges)

    def events_of_kinds(self, kinds: Iterable[str], ranges: Iterable[KeyRange]) -> Iterator[FeedEvent]:
        """Yield those events, in the order of the ranges, by key."""
        condition = _of_kinds(kinds)
        with store_errors():
            reader = EventReader(self._pool.get(), self._archive, self._redactor)
            for first, last in ranges:
                for rows in reader.in_range(first, last, include_hidden=True, condition=condition):
                    yield from (FeedEvent(row.key, payload) for row, payload in reader.payloads(rows))

    def acknowledge(self, consumer: str, position: int, *, derivation_id: str) -> bool:
        """Record how far a consumer is, see `store.feed.TextFeed.acknowledge`."""
        db = open_database(self._pool.home, "write")
        try:
            with store_errors(), db:
                is_same = _derivation_id(db) == derivation_id
                if is_same:
                    take_note(db, consumer, position)
            return is_same
        finally:
            db.close()

    def leave(self, consumer: str) -> None:
        """Forget a consumer, so that the change log keeps nothing for it any more."""
        db = open_database(self._pool.home, "write")
        try:
            with store_errors(), db:
                db.execute("DELETE FROM consumer WHERE name = ?", (consumer,))
        finally:
            db.close()


def _derivation_id(db: apsw.Connection) -> str:
    found: bytes = db.execute("SELECT id FROM derivation").get
    return found.hex()


def _of_kinds(kinds: Iterable[str]) -> str:
    """Return the condition for events of some kinds that a search may find."""
    codes = ", ".join(str(KINDS.index(kind)) for kind in kinds)
    is_short = f"key >> {SEQ_BITS} IN (SELECT session FROM unindexed)"
    return f"bits & {KIND_MASK} IN ({codes}) AND NOT bits & {NOT_INDEXED} AND NOT {is_short}"
