"""Small values about a home, such as its last look. Every sync reads them, so this loads nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from recollect.model.capabilities import WITNESS_LANE
from recollect.store.connection import open_for_small, open_to_read, store_errors, transaction


def read_mark(home: Path, name: str) -> str:
    """Return a small stored text, "" without one. Raises StoreError and its subclasses."""
    with open_to_read(home) as db:
        return mark_of(db, name)


def mark_of(db: apsw.Connection, name: str) -> str:
    """Return a small stored text, "" without one."""
    return str(db.execute("SELECT value FROM meta WHERE key = ?", (name,)).get or "")


def write_mark(home: Path, name: str, text: str) -> None:
    """Store a small text. Raises StoreError and its subclasses."""
    with small_write(home) as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))


def change_mark(home: Path, name: str, change: Callable[[str], str]) -> None:
    """Replace a small text atomically, "" without one.

    Raises StoreError and its subclasses, and what `change` raises, which changes nothing.
    """
    with small_write(home) as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, change(mark_of(db, name))))


def last_told_at(home: Path) -> int:
    """Return when a spooled event was last ingested, UTC microseconds, 0 for never. Raises StoreError."""
    with open_to_read(home) as db:
        return int(db.execute("SELECT max(observed_at) FROM source WHERE lane >= ?", (WITNESS_LANE,)).get or 0)


def newest_observation(home: Path, *, before: int) -> int:
    """Return when something was last seen before a time, UTC microseconds, 0 for never. Raises StoreError."""
    with open_to_read(home) as db:
        return int(db.execute("SELECT max(observed_at) FROM observation WHERE observed_at < ?", (before,)).get or 0)


@contextmanager
def small_write(home: Path) -> Iterator[apsw.Connection]:
    """One small transaction; the database must be there and of this version."""
    with open_for_small(home) as db, transaction(db), store_errors():
        yield db
