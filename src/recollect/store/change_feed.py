# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""What consumers of the change log read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.model.events import Event
from recollect.model.payloads import KINDS, Payload
from recollect.store.connection import PooledReader, ReadPool, column, of_db, open_to_write
from recollect.store.entries import EntryReader
from recollect.store.events import EventReader
from recollect.store.row_keys import KIND_MASK, NOT_INDEXED, SEQ_BITS, unpack_text
from recollect.store.rows import ChangeRange, ChunkReader, TextRedactor
from recollect.store.sources import detectors_of, last_change, position_of, take_note

KeyRange = tuple[int, int]
"""The first and the last event key that are meant."""


class FeedEvent(NamedTuple):
    """One event that a search may find, with its whole, redacted payload."""

    key: int
    payload: Payload


def _derivation_id(db: apsw.Connection) -> str:
    found: bytes = db.execute("SELECT id FROM derivation").get
    return found.hex()


class TextFeed(PooledReader):
    """Reads events by kind and key range. Never blocked by the writer; safe from many threads.

    entries: the same for learnings, notes and documents.
    """

    def __init__(self, home: Path | ReadPool, archive: ChunkReader | None, redactor: TextRedactor | None) -> None:
        """archive, redactor: as in `open_reader`. Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        super().__init__(home)
        self.entries = EntryReader(self._pool)
        self._archive = archive
        self._redactor = redactor

    derivation_id = of_db(_derivation_id)
    detectors = of_db(detectors_of)
    last_change = of_db(last_change)

    def changes_since(self, position: int, *, limit: int = 10_000) -> list[ChangeRange]:
        """Return the entries of the change log after a position, oldest first."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT id, session, first_seq, last_seq FROM change WHERE id > ? ORDER BY id LIMIT ?",
            (position, limit),
        )
        return [ChangeRange(*row) for row in rows]

    def sessions_newest_first(self) -> list[int]:
        """Return the numbers of all sessions, those that ended last first."""
        return column(
            self._db, "SELECT number FROM session ORDER BY coalesce(ended_at, started_at, 0) DESC, number DESC"
        )

    def count_of_kinds(self, kinds: Iterable[str], ranges: Iterable[KeyRange]) -> int:
        """Return how many events of these kinds that a search may find have a key in the ranges."""
        statement = f"SELECT count(*) FROM event WHERE key BETWEEN ? AND ? AND {_of_kinds(kinds)}"
        return sum(int(self._db.execute(statement, both).get) for both in ranges)

    def has_of_kinds(self, kinds: Iterable[str]) -> bool:
        """Return whether there is any event of these kinds that a search may find."""
        return bool(self._db.execute(f"SELECT EXISTS (SELECT 1 FROM event WHERE {_of_kinds(kinds)})").get)

    def events_of_kinds(self, kinds: Iterable[str], ranges: Iterable[KeyRange]) -> Iterator[FeedEvent]:
        """Yield those events, in the order of the ranges, by key. No transaction stays open between batches."""
        condition = _of_kinds(kinds)
        with self._reading() as db:
            reader = EventReader(db, self._archive, self._redactor)
            for first, last in ranges:
                for rows in reader.in_range(first, last, include_hidden=True, condition=condition):
                    yield from (FeedEvent(row.key, payload) for row, payload in reader.payloads(rows))

    def events_between(self, first_key: int, last_key: int) -> Iterator[Event]:
        """Yield the events of a range of keys that a search may find, by key, with whole, redacted payloads. Their
        records are not hashed again. No transaction stays open between batches."""
        with self._reading() as db:
            reader = EventReader(db, self._archive, self._redactor)
            condition = f"NOT bits & {NOT_INDEXED}"
            for rows in reader.in_range(first_key, last_key, include_hidden=True, condition=condition):
                yield from reader.events(rows, with_whole_sha=False)

    position = of_db(position_of)

    def acknowledge(self, consumer: str, position: int, *, derivation_id: str) -> bool:
        """Record how far a consumer is, so that the change log keeps what it has not taken; False where the database
        is another by now. Waits for the ingester up to the busy timeout, then raises StoreLocked."""
        with open_to_write(self._pool.home) as db:
            is_same = _derivation_id(db) == derivation_id
            if is_same:
                take_note(db, consumer, position)
        return is_same

    def leave(self, consumer: str) -> None:
        """Forget a consumer, so that the change log keeps nothing for it any more."""
        with open_to_write(self._pool.home) as db:
            db.execute("DELETE FROM consumer WHERE name = ?", (consumer,))


def _of_kinds(kinds: Iterable[str]) -> str:
    """Return the condition for events of some kinds that a search may find."""
    codes = ", ".join(str(KINDS.index(kind)) for kind in kinds)
    is_short = f"key >> {SEQ_BITS} IN (SELECT session FROM unindexed)"
    return f"bits & {KIND_MASK} IN ({codes}) AND NOT bits & {NOT_INDEXED} AND NOT {is_short}"


class SessionNews(NamedTuple):
    """How far a session is. next_seq: one more than its last event's. at: when it last changed, or was analysed last,
    UTC microseconds, 0 for never."""

    uid: str
    next_seq: int
    ingested_at: int
    analyzed_at: int


class ChangeFollower(PooledReader):
    """Follows one home's database. Keeps nothing in it, so a follower that is killed leaves nothing behind."""

    def version(self) -> int:
        """Return a number that is another one after every commit of another connection."""
        return int(self._db.pragma("data_version"))

    def sessions_since(self, at: int) -> list[SessionNews]:
        """Return the sessions that changed or were analysed at or after an instant, the earliest change first."""
        rows = self._db.execute(
            "SELECT uid, next_seq, coalesce(ingested_at, 0), coalesce(analyzed_at, 0) FROM session "
            "WHERE next_seq > 0 AND (coalesce(ingested_at, 0) >= ?1 OR coalesce(analyzed_at, 0) >= ?1) "
            "ORDER BY max(coalesce(ingested_at, 0), coalesce(analyzed_at, 0)), uid",
            (at,),
        )
        return [SessionNews(unpack_text(uid), *rest) for uid, *rest in rows]
