"""Implements the store on SQLite through apsw; no SQL leaves this package.

Names are imported when first used: who reads a few rows does not load the writer.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.store.sqlite.connection import has_database, is_lost, quick_check
    from recollect.store.sqlite.feed import SqliteTextFeed
    from recollect.store.sqlite.lock import LOCK_NAME, IngestLock
    from recollect.store.sqlite.reader import SqliteReader, open_reader
    from recollect.store.sqlite.writer import SqliteWriter, open_writer

_PLACES = {
    "has_database": "connection",
    "is_lost": "connection",
    "quick_check": "connection",
    "SqliteTextFeed": "feed",
    "LOCK_NAME": "lock",
    "IngestLock": "lock",
    "SqliteReader": "reader",
    "open_reader": "reader",
    "SqliteWriter": "writer",
    "open_writer": "writer",
}

__all__ = [
    "LOCK_NAME",
    "IngestLock",
    "SqliteReader",
    "SqliteTextFeed",
    "SqliteWriter",
    "has_database",
    "is_lost",
    "open_reader",
    "open_writer",
    "quick_check",
]


def __getattr__(name: str) -> Any:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'recollect.store.sqlite' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"recollect.store.sqlite.{module}"), name)
    globals()[name] = value
    return value
