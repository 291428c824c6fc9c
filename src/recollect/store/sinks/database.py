# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""A database of its own for distilled things, for programs that read SQLite. Not the memory's database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import DiskFull, StoreCorrupt, StoreError, StoreLocked
from recollect.store.sinks.contract import (
    Given,
    Item,
    Offsets,
    Retracted,
    encode_item,
    fingerprint,
    id_of_item,
    kind_of_item,
    refuse_folder,
)
from recollect.store.sqlite.connection import BUSY_TIMEOUT_MS

APPLICATION_ID = 0x5245_434E
"""`RECN`: Recollect's nodes."""
SINK_VERSION = 1
_NODES = "('conversation', 'decision', 'episode', 'binding')"
_OTHERS = "('event', 'digest', 'conversation', 'decision', 'episode', 'binding')"
_STATEMENTS = (
    """CREATE TABLE item (
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX item_session ON item (session_uid)",
    "CREATE TABLE position (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE VIEW events AS SELECT session_uid, id, json FROM item WHERE kind = 'event'",
    "CREATE VIEW digests AS SELECT session_uid, json FROM item WHERE kind = 'digest'",
    f"CREATE VIEW nodes AS SELECT session_uid, kind, id, json FROM item WHERE kind IN {_NODES}",
    f"CREATE VIEW signals AS SELECT session_uid, kind, json FROM item WHERE kind NOT IN {_OTHERS}",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SINK_VERSION}",
)


class SqliteSink:
    """Keeps each item once, by kind and id, as JSON text; the newest wins. Views: events, nodes, signals, digests."""

    def __init__(self, path: Path) -> None:
        """Open or make the database. Raises StoreError for another program's file, StoreLocked, StoreCorrupt."""
        refuse_folder(path)
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path} cannot be made: {error.strerror}") from error
        with _errors(self._path):
            self._db = apsw.Connection(str(path))
            try:
                self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
                self._prepare(path)
            except BaseException:
                self._db.close()
                raise

    def offsets(self) -> dict[str, int]:
        """Return what the last whole `write` said, {} for a new database."""
        with _errors(self._path):
            rows: list[Any] = self._db.execute("SELECT name, value FROM position").fetchall()
            return dict(rows)

    def given(self) -> dict[str, Given]:
        """Return what was written and not retracted."""
        with _errors(self._path):
            rows = self._db.execute("SELECT id, session_uid, json FROM item WHERE kind <> 'event'")
            return {str(name): (str(uid), fingerprint(str(text).encode())) for name, uid, text in rows}

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Keep the items and the offsets in one transaction. Raises DiskFull, StoreLocked, StoreError."""
        with _errors(self._path), self._db:
            for item in items:
                if isinstance(item, Retracted):
                    self._db.execute("DELETE FROM item WHERE id = ? AND kind <> 'event'", (item.id,))
                    continue
                row = (kind_of_item(item), id_of_item(item), item.session_uid, encode_item(item).decode())
                self._db.execute("INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?)", row)
            self._db.executemany("INSERT OR REPLACE INTO position VALUES (?, ?)", list(offsets.items()))

    def close(self) -> None:
        """Close the database. Harmless when done twice."""
        self._db.close()

    def _prepare(self, path: Path) -> None:
        with self._db:
            if self._db.pragma("application_id") == APPLICATION_ID:
                version = self._db.pragma("user_version")
                if version != SINK_VERSION:
                    raise StoreError(f"{path} has form {version}, this version writes {SINK_VERSION}")
                return
            if self._db.execute("SELECT count(*) FROM sqlite_schema").get:
                raise StoreError(f"{path} is the database of another program", hint="name a new file")
            for statement in _STATEMENTS:
                self._db.execute(statement)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turn SQLite's exceptions into ours, told of this file: they say nothing of the memory."""
    try:
        yield
    except apsw.Error as error:
        raise _told(error, path) from error


def _told(error: apsw.Error, path: Path) -> StoreError:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreLocked(f"another process is writing to {path}", hint="try again in a moment")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreCorrupt(f"{path} is no database, or a damaged one", hint="name a new file")
    if isinstance(error, apsw.FullError):
        return DiskFull(f"no space left for {path}", hint="free some space and run the same command again")
    return StoreError(f"{path} cannot be used ({error})")
