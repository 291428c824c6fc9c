"""What retention remembers: pinned sessions, when it last swept, who was told. Written without the ingest lock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from recollect.model.capabilities import WITNESS_LANE
from recollect.paths import DATABASE_NAME
from recollect.store.sqlite.connection import BUSY_TIMEOUT_MS, open_database, store_errors


def read_pins(home: Path) -> list[tuple[str, int]]:
    """Return the pinned sessions and since when (UTC microseconds), the newest first. Raises StoreError."""
    db = open_database(home, "read")
    try:
        with store_errors():
            rows: Sequence[Any] = db.execute(
                "SELECT session_uid, pinned_at FROM pin ORDER BY pinned_at DESC, session_uid"
            ).fetchall()
    finally:
        db.close()
    return [(uid, at) for uid, at in rows]


def pin(home: Path, uid: str, *, at: int) -> None:
    """Have a session spared, and those below it. Harmless when done twice. Raises StoreError and its kinds."""
    with _writing(home) as db:
        db.execute("INSERT OR IGNORE INTO pin VALUES (?, ?)", (uid, at))


def unpin(home: Path, uid: str) -> bool:
    """Have a session no longer spared; return whether it was. Raises StoreError and its kinds."""
    with _writing(home) as db:
        return bool(db.execute("DELETE FROM pin WHERE session_uid = ? RETURNING 1", (uid,)).get)


def read_mark(home: Path, name: str) -> str:
    """Return a small text that retention keeps, "" where there is none. Raises StoreError and its kinds."""
    db = open_database(home, "read")
    try:
        with store_errors():
            return str(db.execute("SELECT value FROM meta WHERE key = ?", (name,)).get or "")
    finally:
        db.close()


def write_mark(home: Path, name: str, text: str) -> None:
    """Keep a small text. Raises StoreError and its kinds."""
    with _writing(home) as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))


def last_told_at(home: Path) -> int:
    """Return when something that hooks left was last taken in, UTC microseconds, 0 for never. Raises StoreError."""
    db = open_database(home, "read")
    try:
        with store_errors():
            return int(db.execute("SELECT max(observed_at) FROM source WHERE lane >= ?", (WITNESS_LANE,)).get or 0)
    finally:
        db.close()


def newest_observation(home: Path, *, before: int) -> int:
    """Return when something was last seen before a time, UTC microseconds, 0 for never. Raises StoreError."""
    db = open_database(home, "read")
    try:
        with store_errors():
            return int(db.execute("SELECT max(observed_at) FROM observation WHERE observed_at < ?", (before,)).get or 0)
    finally:
        db.close()


@contextmanager
def _writing(home: Path) -> Iterator[apsw.Connection]:
    """One small transaction; the database must be there and of this version."""
    with store_errors():
        db = apsw.Connection(os.fspath(home / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        finally:
            db.close()
