# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The numbers that events have in the present database, for one that is derived anew beside it.

`session_uid#seq` is cited by people and agents, so that a derivation gives every event the number that it has, and no
event a number that another one ever had.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.errors import StoreError
from recollect.store.ports import SEQ_BITS
from recollect.store.sqlite.connection import has_database, open_database, store_errors
from recollect.store.sqlite.writing.naming import ID_TAIL_BYTES

_SEQ_MASK = (1 << SEQ_BITS) - 1


class KnownNumbers:
    """Reads them. Of a database that is missing nothing is known, of one that is damaged what can be read."""

    def __init__(self, home: Path) -> None:
        self._db = _opened(home)
        self._sessions: dict[str, SessionNumbers | None] = {}

    def close(self) -> None:
        """Let go of the database."""
        if self._db is not None:
            self._db.close()

    def of_session(self, uid: str) -> SessionNumbers | None:
        """Return the numbers of a session's events, None where it has none."""
        if uid not in self._sessions:
            self._sessions[uid] = self._read(uid)
        return self._sessions[uid]

    def _read(self, uid: str) -> SessionNumbers | None:
        if self._db is None:
            return None
        try:
            found: Any = self._db.execute("SELECT number, next_seq FROM session WHERE uid = ?", (uid,)).fetchone()
        except (apsw.CorruptError, apsw.NotADBError):
            return None
        return SessionNumbers(self._db, *found) if found is not None else None


class SessionNumbers:
    """The numbers of one session's events. next_seq: above all that were ever given."""

    def __init__(self, db: apsw.Connection, number: int, next_seq: int) -> None:
        self._db = db
        self._number = number
        self.next_seq = next_seq
        self._read: dict[bytes, list[_Numbered]] = {}

    def look_up(self, names: Iterable[bytes]) -> None:
        """Fetch the numbers of all events of these names, in place of those that were fetched before."""
        self._read = {name: [] for name in names}
        self._fetch(self._read)

    def find(self, name: bytes, part: int, sha: bytes, taken: Container[int]) -> int | None:
        """Return the number of the version of an event that stands in the same record, else of its first one.

        taken: those that versions of the event have by now; they are passed over.
        """
        if name not in self._read:
            self._read[name] = []
            self._fetch((name,))
        free = [given for given in self._read[name] if given.part == part and given.seq not in taken]
        return next((given.seq for given in free if given.sha == sha), free[0].seq if free else None)

    def _fetch(self, names: Collection[bytes]) -> None:
        if not names:
            return
        try:
            rows: list[Any] = self._db.execute(
                f"SELECT event_id, part, sha, key & {_SEQ_MASK} FROM event WHERE key >> {SEQ_BITS} = ? "
                "AND substr(event_id, -6) IN (SELECT value FROM carray(?)) ORDER BY key",
                (self._number, apsw.carray(tuple({name[-ID_TAIL_BYTES:] for name in names}))),
            ).fetchall()
        except (apsw.CorruptError, apsw.NotADBError):
            return
        for name, *given in rows:
            if name in names:
                self._read[name].append(_Numbered(*given))


class _Numbered(NamedTuple):
    part: int
    sha: bytes
    seq: int


def _opened(home: Path) -> apsw.Connection | None:
    try:
        return open_database(home, "read") if has_database(home) else None
    except StoreError:
        return None


def begin_above(home: Path, other: Path) -> None:
    """Let new events of the sessions of a home get numbers above all that they were given in another home too.

    A database that is missing or damaged tells of none. Raises StoreError and its kinds for the home itself.
    """
    given = _opened(other)
    if given is None:
        return
    try:
        known: list[Any] = given.execute("SELECT next_seq, uid FROM session").fetchall()
    except (apsw.CorruptError, apsw.NotADBError):
        return
    finally:
        given.close()
    db = open_database(home, "write")
    try:
        with store_errors(), db:
            db.executemany("UPDATE session SET next_seq = max(next_seq, ?) WHERE uid = ?", known)
    finally:
        db.close()
