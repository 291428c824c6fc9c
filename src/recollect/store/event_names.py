# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Decides whether an event is new, a replay or a new version, and numbers it.

`session_uid#seq` is cited by people and agents, so that a derivation gives every event the number that it has in the
present database, and no event a number that another one ever had.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.errors import StoreError
from recollect.store.connection import has_database, open_database, open_to_write, query
from recollect.store.row_keys import SEQ_BITS, SEQ_MASK
from recollect.store.rows import EventDraft, RecordPlace

SHA_BYTES = 8
"""How much of a record's SHA-256 a row keeps: tells versions apart; the whole is recomputed from the archive."""
ID_TAIL_BYTES = 6
"""How much of a stored event id the index holds."""
_SELECT = (
    "SELECT event_id, part, version, sha, source, revision, record, key, bits, block, entry FROM event "
    "WHERE key >> 24 = ? AND substr(event_id, -6) IN (SELECT value FROM carray(?))"
)


class KnownEvent(NamedTuple):
    """A stored event with the same name."""

    part: int
    version: int
    sha: bytes
    source: int
    revision: int
    record: int
    key: int
    bits: int
    block: int
    """-1: its body is in the slice that is being written, under the ordinal `entry`."""
    entry: int


class Naming:
    """Names the events of one session part and knows which names are stored already.

    Events without a native id are named by a hash of session, record bytes and occurrence: how many equal records come
    before theirs in this revision of the source. Equal records are those with an event of ours under occurrence 0, 1, 2
    …; those of this source and revision, and replays (table `replayed`), come before.
    """

    def __init__(self, db: apsw.Connection, *, session: int, native_id: str, source: int, revision: int) -> None:
        self._db = db
        self._session = session
        self._source = source
        self._revision = revision
        self._hasher = hashlib.blake2b(digest_size=16, person=b"recollect.event")
        self._hasher.update(native_id.encode("utf-8", "surrogatepass") + b"\0")
        self._first: dict[bytes, bytes] = {}
        self._ranks: dict[bytes, int] = {}
        self._by_record: dict[int, bytes] = {}
        self.known: dict[bytes, list[KnownEvent]] = {}

    def look_up(self, drafts: Iterable[EventDraft], names: dict[str, bytes], records: list[RecordPlace]) -> None:
        """Fetch the stored events that share a name with a draft, in one query."""
        self._fetch(self.names_of(drafts, names, records))

    def names_of(self, drafts: Iterable[EventDraft], names: dict[str, bytes], records: list[RecordPlace]) -> set[bytes]:
        """Return the names of drafts, as if no two of their records were equal."""
        found = set(names.values())
        for draft in drafts:
            if draft.event_id is None:
                found.add(self._first_name(records[draft.record].sha256))
        return found

    def of_record(self, ordinal: int, place: RecordPlace) -> bytes:
        """Return the stored name of a record without a native id. Call in record order."""
        name = self._by_record.get(ordinal)
        if name is None:
            sha = place.sha256
            rank = self._ranks.get(sha)
            if rank is None:
                rank = self._rank(place) if self._first_name(sha) in self.known else 0
            self._ranks[sha] = rank + 1
            name = self._first[sha] if rank == 0 else self._name(sha, rank)
            if rank and self._first[sha] in self.known and name not in self.known:
                self._fetch((name,))
            self._by_record[ordinal] = name
        return name

    def _rank(self, place: RecordPlace) -> int:
        """Return how many equal records of this revision come before a record whose first name is stored."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT record FROM replayed WHERE source = ? AND sha = ? AND record < ?",
            (self._source, place.sha256[:SHA_BYTES], place.index),
        )
        before = {record for (record,) in rows}
        occurrence = 0
        while True:
            name = self._name(place.sha256, occurrence)
            if name not in self.known:
                self._fetch((name,))
            equal = self.known.get(name)
            if not equal:
                return len(before)
            own = (e.record for e in equal if e.source == self._source and e.revision == self._revision)
            before.update(record for record in own if record < place.index)
            occurrence += 1

    def _fetch(self, names: Iterable[bytes]) -> None:
        wanted = frozenset(names)
        if not wanted:
            return
        for name, *rest in query(
            self._db, _SELECT, (self._session, apsw.carray(tuple({name[-ID_TAIL_BYTES:] for name in wanted})))
        ):
            if name in wanted:
                self.known.setdefault(name, []).append(KnownEvent(*rest))

    def _first_name(self, sha: bytes) -> bytes:
        name = self._first.get(sha)
        if name is None:
            name = self._first[sha] = self._name(sha, 0)
        return name

    def _name(self, sha: bytes, occurrence: int) -> bytes:
        h = self._hasher.copy()
        h.update(sha + occurrence.to_bytes(4, "big"))
        return b"\x01" + h.digest()


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
        """Return the number of the event version in the same record, else of its first version.

        taken: numbers that versions of the event use already; they are skipped.
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
                f"SELECT event_id, part, sha, key & {SEQ_MASK} FROM event WHERE key >> {SEQ_BITS} = ? "
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
    """Make new events of a home's sessions get numbers above all that another home gave them.

    A missing or damaged database has none. Raises StoreError and its subclasses for the home itself.
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
    with open_to_write(home) as db:
        db.executemany("UPDATE session SET next_seq = max(next_seq, ?) WHERE uid = ?", known)
