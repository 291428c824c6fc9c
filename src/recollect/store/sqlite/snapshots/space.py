"""What a database file takes besides what it holds, and giving that back."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.paths import DATABASE_NAME
from recollect.store.sqlite.connection import open_database, refuse_newer, store_errors


class Space(NamedTuple):
    """In bytes: of the file, of free pages in it, of the write-ahead log. schema: the version that wrote it last."""

    total: int
    free: int
    log: int
    schema: int


def space_of(home: Path) -> Space:
    """Return how a home's database lies on the disk. Raises StoreError and its kinds."""
    db = open_database(home, "read")
    try:
        with store_errors():
            page, pages, free = (int(db.pragma(name)) for name in ("page_size", "page_count", "freelist_count"))
            schema = int(db.pragma("user_version"))
    finally:
        db.close()
    log = home / f"{DATABASE_NAME}-wal"
    return Space(page * pages, page * free, log.stat().st_size if log.exists() else 0, schema)


def derived_under(home: Path, key: str) -> str:
    """Return what `meta` says under a key, "" for nothing. Raises StoreError and its kinds."""
    db = open_database(home, "read")
    try:
        with store_errors():
            return str(db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get or "")
    finally:
        db.close()


def give_back(home: Path) -> None:
    """Take free pages and the write-ahead log back to the system. The caller holds the ingest lock.

    A reader that looks at an old moment keeps the log as long as it is. Raises StoreError and its kinds.
    """
    with store_errors():
        db = apsw.Connection(str(home / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(1000)
            refuse_newer(db)
            db.execute("PRAGMA incremental_vacuum").fetchall()
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return
        finally:
            db.close()
