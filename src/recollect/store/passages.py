"""Passage vectors: each text once, by the hash of its words, and the passages of each event.

A database of its own beside the other vectors (`index/vectors/passages.db`): it can be deleted at any time and is made
again. Questions and the process that makes vectors write to it at once; a kill leaves the last commit.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import IndexUnavailable, StoreError
from recollect.paths import make_private
from recollect.store.connection import BUSY_TIMEOUT_MS, store_errors

FILE_NAME = "passages.db"
TALK_FILES = "talk-*.npy"
FORMAT = 1
_HASH_BYTES = 8
_COUNT_TALK = "SELECT count(*) FROM event WHERE is_talk"
_AT_ONCE = 500
"""Values bound to one statement."""
_KEYS_AT_ONCE = 50_000
_STATEMENTS = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE vector (hash INTEGER PRIMARY KEY, code BLOB NOT NULL)",
    "CREATE TABLE event (key INTEGER PRIMARY KEY, is_talk INTEGER NOT NULL, hashes BLOB NOT NULL)",
    "CREATE TABLE session (number INTEGER PRIMARY KEY, stage INTEGER NOT NULL)",
    f"PRAGMA user_version = {FORMAT}",
)
_REMAKE = "run `recollect embed --anew`"


class PassageStore:
    """Opens the database on first use. One object per thread.

    model: identifies the model and the way of splitting; vectors of others are never read. derivation_id: of the
    database that has the events' keys; with another one, writing starts again.
    """

    def __init__(self, folder: Path, *, model: str, derivation_id: str) -> None:
        self.folder = folder
        self._path = folder / FILE_NAME
        self._model = model
        self._derivation_id = derivation_id
        self._db: apsw.Connection | None = None
        self._file = 0

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    # Reading.

    def codes(self, hashes: Iterable[int]) -> dict[int, bytes]:
        """Return the codes of passages by hash; unknown ones are left out."""
        return dict(self._select("SELECT hash, code FROM vector WHERE hash IN ({})", hashes))

    def counts(self) -> tuple[int, int]:
        """Return (events that have vectors, passages that have one)."""
        return self._value("SELECT count(*) FROM event", 0), self._value("SELECT count(*) FROM vector", 0)

    @property
    def position(self) -> int | None:
        """The last entry of the change log that is in; None before the first run."""
        found: int | None = self._value("SELECT value FROM meta WHERE name = 'position'", None)
        return found if self._is_current() else None

    def stages(self) -> dict[int, int]:
        """Return how far each session is, by number; sessions that nothing was done for are left out."""
        with store_errors():
            db = self._open() if self._is_current() else None
            return {} if db is None else dict(db.execute("SELECT number, stage FROM session"))

    def hashes(self, keys: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Return the hashes of events' passages by key; events without any are left out."""
        rows = self._select("SELECT key, hashes FROM event WHERE key IN ({})", keys)
        return {key: unpack_hashes(hashes) for key, hashes in rows}

    def talk_codes(self) -> Iterator[tuple[int, bytes]]:
        """Yield (key of its event, code) of every passage of talk, by key."""
        last = -1
        while rows := self._page_of_talk(last):
            last = rows[-1][0]
            hashes = {key: unpack_hashes(packed) for key, packed in rows}
            codes = self.codes(one for of_event in hashes.values() for one in of_event)
            yield from ((key, codes[one]) for key, of_event in hashes.items() for one in of_event if one in codes)

    def talk_file(self) -> Path | None:
        """Return the talk file of `index.passages.talk`; None without one."""
        with store_errors():
            db = self._open() if self._is_current() else None
            name = None if db is None else _meta(db, "talk")
        return self._path.parent / name if isinstance(name, str) else None

    def is_talk_complete(self) -> bool:
        """Return whether the file of talk was made of all talk that has vectors."""
        with store_errors():
            db = self._open() if self._is_current() else None
            if db is None:
                return True
            (count,) = next(db.execute(_COUNT_TALK))
            return bool((_meta(db, "talk_events") or 0) == count)

    # Writing.

    def add(self, codes: Mapping[int, bytes], events: Mapping[int, Sequence[int]], talk: Collection[int] = ()) -> None:
        """Add codes by hash, and the hashes of events by key, in one transaction. talk: the keys of messages.

        Raises IndexUnavailable.
        """
        rows = [(key, key in talk, struct.pack(f"<{len(hashes)}q", *hashes)) for key, hashes in events.items()]
        with self._writes() as db:
            db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", list(codes.items()))
            db.executemany("INSERT OR REPLACE INTO event VALUES (?, ?, ?)", rows)

    def keep(self, codes: Mapping[int, bytes], events: Mapping[int, Sequence[int]], talk: Collection[int] = ()) -> None:
        """Add what a question has read if the database exists and is free; otherwise it is made again later."""
        with suppress(StoreError, IndexUnavailable):
            if self._is_current() or not self._path.exists():
                self.add(codes, events, talk)

    def note_talk_file(self, path: Path) -> None:
        """Remember the file made of all talk; an earlier one is deleted."""
        with self._writes() as db:
            _forget_talk_file(db, self._path.parent, but=path.name)
            db.execute("INSERT INTO meta VALUES ('talk', ?)", (path.name,))
            db.execute("INSERT INTO meta VALUES ('talk_events', ?)", db.execute(_COUNT_TALK).fetchone())

    def note_stage(self, session: int, stage: int) -> None:
        """Remember how far a session is."""
        with self._writes() as db:
            db.execute("INSERT OR REPLACE INTO session VALUES (?, ?)", (session, stage))

    def note_position(self, position: int) -> None:
        """Remember how far in the change log everything is in."""
        with self._writes() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('position', ?)", (position,))

    def retire(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Forget which passages the events of these ranges of keys have (first and last included)."""
        with self._writes() as db:
            _forget_talk_file(db, self._path.parent)
            db.executemany("DELETE FROM event WHERE key BETWEEN ? AND ?", list(ranges))

    def sweep(self) -> int:
        """Delete every vector that no event has; return how many."""
        with self._writes() as db:
            return _sweep(db)

    # The database.

    @contextmanager
    def _writes(self) -> Iterator[apsw.Connection]:
        """A transaction in a database that exists and is ours."""
        try:
            with store_errors():
                db = self._open() if self._is_current() else None
                db = db or self._begin()
                with db:
                    yield db
        except (StoreError, OSError) as error:
            raise IndexUnavailable(f"the vectors in {self._path} cannot be written: {error}", hint=_REMAKE) from error

    def _open(self) -> apsw.Connection | None:
        """Return the connection; None without a database of this model. Opens one that was created meanwhile."""
        try:
            file = self._path.stat().st_ino
        except FileNotFoundError:
            self.close()
            return None
        if self._db is None or file != self._file:
            self.close()
            try:
                db = _connect(self._path)
            except (apsw.NotADBError, apsw.CorruptError):  # made again by the next run
                return None
            with _closed_if_it_fails(db):
                try:
                    is_ours = db.pragma("user_version") == FORMAT and _meta(db, "model") == self._model
                except (apsw.NotADBError, apsw.CorruptError):
                    is_ours = False
            if not is_ours:
                db.close()
                return None
            self._db, self._file = db, file
        return self._db

    def _is_current(self) -> bool:
        with store_errors():
            db = self._open()
            return db is not None and _meta(db, "derivation") == self._derivation_id

    def _begin(self) -> apsw.Connection:
        self.close()
        make_private(self._path.parent)
        remove_passages(self._path.parent)
        os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        db = _connect(self._path)
        with _closed_if_it_fails(db), db:
            for statement in _STATEMENTS:
                db.execute(statement)
            db.executemany(
                "INSERT INTO meta VALUES (?, ?)", [("model", self._model), ("derivation", self._derivation_id)]
            )
        self._db, self._file = db, self._path.stat().st_ino
        return db

    def _page_of_talk(self, after: int) -> list[tuple[int, bytes]]:
        with store_errors():
            db = self._open() if self._is_current() else None
            statement = "SELECT key, hashes FROM event WHERE key > ? AND is_talk ORDER BY key LIMIT ?"
            return [] if db is None else list(db.execute(statement, (after, _AT_ONCE)))

    def _select(self, statement: str, values: Iterable[int]) -> Iterator[Any]:
        wanted = list(dict.fromkeys(values))
        with store_errors():
            db = self._open()
            for start in range(0, len(wanted) if db is not None else 0, _AT_ONCE):
                batch = wanted[start : start + _AT_ONCE]
                assert db is not None
                yield from db.execute(statement.format(", ".join("?" * len(batch))), batch)

    def _value(self, statement: str, default: Any) -> Any:
        with store_errors():
            db = self._open()
            row = None if db is None else db.execute(statement).fetchone()
            return default if row is None else row[0]


def hash_of(text: str) -> int:
    """Return the hash that a passage's vector is kept under, as SQLite keeps integers."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)


def unpack_hashes(packed: bytes) -> tuple[int, ...]:
    """Return the hashes of an event's passages."""
    return struct.unpack(f"<{len(packed) // _HASH_BYTES}q", packed)


def remove_passages(folder: Path) -> None:
    """Delete the vectors of passages."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        (folder / f"{FILE_NAME}{suffix}").unlink(missing_ok=True)
    for file in folder.glob(TALK_FILES):
        file.unlink(missing_ok=True)


def keep_only_passages(folder: Path, existing: Callable[[Collection[int]], set[int]]) -> int:
    """Delete what belongs to events that no longer exist, and every vector without an event; return how many vectors.

    existing: returns which of some event keys the store has. An unreadable database is deleted and made again.
    """
    if not (folder / FILE_NAME).exists():
        return 0
    try:
        with store_errors(), closing(_connect(folder / FILE_NAME)) as db:
            with db:
                keys = [key for (key,) in db.execute("SELECT key FROM event")]
                for start in range(0, len(keys), _KEYS_AT_ONCE):
                    batch = keys[start : start + _KEYS_AT_ONCE]
                    gone = [(key,) for key in set(batch) - existing(batch)]
                    db.executemany("DELETE FROM event WHERE key = ?", gone)
                _forget_talk_file(db, folder)
                removed = _sweep(db)
            db.pragma("wal_checkpoint", "TRUNCATE")
            return removed
    except StoreError:
        remove_passages(folder)
        return 0


def _forget_talk_file(db: apsw.Connection, folder: Path, *, but: str = "") -> None:
    """Delete the file made of talk, and those of runs that were killed; `but` stays. One that a question reads from
    stays until it is read to its end."""
    db.execute("DELETE FROM meta WHERE name IN ('talk', 'talk_events')")
    for file in folder.glob(TALK_FILES):
        if file.name != but:
            with suppress(PermissionError):  # Windows keeps what is open; nothing names it any more
                file.unlink(missing_ok=True)


def _sweep(db: apsw.Connection) -> int:
    used = {one for (hashes,) in db.execute("SELECT hashes FROM event") for one in unpack_hashes(hashes)}
    unused = [(one,) for (one,) in db.execute("SELECT hash FROM vector") if one not in used]
    db.executemany("DELETE FROM vector WHERE hash = ?", unused)
    return len(unused)


def _connect(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path))
    with _closed_if_it_fails(db):
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "NORMAL")
        db.pragma("secure_delete", True)
    return db


@contextmanager
def _closed_if_it_fails(db: apsw.Connection) -> Iterator[None]:
    """Close an unusable connection: one that is only dropped fails once more, where nothing catches it."""
    try:
        yield
    except BaseException:
        db.close(True)  # whatever closing raises is ignored
        raise


def _meta(db: apsw.Connection, name: str) -> object:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]
