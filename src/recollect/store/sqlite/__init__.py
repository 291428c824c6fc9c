"""The store on SQLite through apsw. Only this package imports apsw."""

from recollect.store.sqlite.connection import DATABASE_NAME, quick_check
from recollect.store.sqlite.lock import LOCK_NAME, IngestLock
from recollect.store.sqlite.reader import SqliteReader, open_reader
from recollect.store.sqlite.writer import SqliteWriter, open_writer

__all__ = [
    "DATABASE_NAME",
    "LOCK_NAME",
    "IngestLock",
    "SqliteReader",
    "SqliteWriter",
    "open_reader",
    "open_writer",
    "quick_check",
]
