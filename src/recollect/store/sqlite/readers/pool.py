"""Read-only connections, one a thread."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.store.sqlite.connection import open_database, store_errors


class ReadPool:
    """Gives every thread its own connection to a home's database."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._local = threading.local()
        self._lock = threading.Lock()
        self._all: list[apsw.Connection] = []
        self._is_closed = False
        self.get()

    def get(self) -> apsw.Connection:
        """Return this thread's connection. Raises StoreError once the pool is closed."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._is_closed:
            if self._is_closed:
                raise StoreError("the memory is closed")
            connection = open_database(self.home, "read")
            with self._lock:
                self._all.append(connection)
            self._local.connection = connection
        return connection

    def close(self) -> None:
        """Close every connection. Harmless when done twice."""
        with self._lock, store_errors():
            self._is_closed = True
            while self._all:
                self._all.pop().close()
