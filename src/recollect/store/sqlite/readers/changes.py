"""What is new in a memory, for those that follow it: asked again and again, it must cost nothing while nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.event_ids import unpack_text
from recollect.store.sqlite.readers.pool import ReadPool


class SessionNews(NamedTuple):
    """How far a session is. next_seq: one more than its last event's. at: when it last changed, or was analysed last,
    UTC microseconds, 0 for never."""

    uid: str
    next_seq: int
    ingested_at: int
    analyzed_at: int


class SqliteFollowing:
    """Follows one home's database. Keeps nothing in it, so a follower that is killed leaves nothing behind."""

    def __init__(self, home: Path) -> None:
        """Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        self._pool = ReadPool(home)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def version(self) -> int:
        """Return a number that is another one after every commit of another connection."""
        with store_errors():
            return int(self._pool.get().pragma("data_version"))

    def sessions_since(self, at: int) -> list[SessionNews]:
        """Return the sessions that changed or were analysed at or after an instant, the earliest change first."""
        with store_errors():
            rows = self._pool.get().execute(
                "SELECT uid, next_seq, coalesce(ingested_at, 0), coalesce(analyzed_at, 0) FROM session "
                "WHERE next_seq > 0 AND (coalesce(ingested_at, 0) >= ?1 OR coalesce(analyzed_at, 0) >= ?1) "
                "ORDER BY max(coalesce(ingested_at, 0), coalesce(analyzed_at, 0)), uid",
                (at,),
            )
            return [SessionNews(unpack_text(uid), *rest) for uid, *rest in rows]
