"""A moment of a home's database: read and copied while the ingester writes on, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.archive.chunks import HOLE_PACK, ChunkPlace
from recollect.errors import StoreCorrupt
from recollect.paths import DATABASE_NAME
from recollect.store.sqlite.connection import is_settled, store_errors, unchanging

_STEP_PAGES = 2048
_COPY_BUSY_MS = 30_000
Progress = Callable[[int, int], None]
"""(pages done, pages in all)"""


class SnapshotCounts(NamedTuple):
    """What a database holds. schema: its version; home_id: of the home that it was made in."""

    schema: int
    home_id: str
    sessions: int
    events: int
    sources: int


class Snapshot:
    """A database as it was at one moment. Close it soon: while it is open, the write-ahead log only grows.

    Belongs to the thread that opened it.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the moment."""
        with store_errors():
            self._db.close()

    def counts(self) -> SnapshotCounts:
        """Return what it holds."""
        with store_errors():
            sessions, events = self._row("SELECT count(*), coalesce(sum(event_count), 0) FROM session")
            (sources,) = self._row("SELECT count(*) FROM source")
            (home_id,) = self._row("SELECT value FROM meta WHERE key = 'home_id'")
            return SnapshotCounts(int(self._db.pragma("user_version")), str(home_id), sessions, events, sources)

    def sessions(self) -> dict[str, int]:
        """Return how many events every session has, by uid."""
        with store_errors():
            rows: Any = self._db.execute("SELECT uid, event_count FROM session").fetchall()
        return {str(uid): int(count) for uid, count in rows}

    def chunks(self) -> Iterator[ChunkPlace]:
        """Yield every chunk that a revision has, pack by pack in order of place; no holes."""
        with store_errors():
            yield from (
                ChunkPlace(*row)
                for row in self._db.execute(
                    "SELECT name, pack, offset, length, plain FROM chunk WHERE pack <> ? "
                    "AND number IN (SELECT chunk FROM revision_chunk) ORDER BY pack, offset",
                    (HOLE_PACK,),
                )
            )

    def committed(self) -> dict[tuple[str, int], int]:
        """Return how many bytes of every revision of every source were taken, by source id and revision."""
        with store_errors():
            rows: Any = self._db.execute(
                "SELECT source_id, revision.revision, revision.committed_bytes "
                "FROM revision JOIN source ON source.number = revision.source"
            ).fetchall()
        return {(str(source), int(revision)): int(size) for source, revision, size in rows}

    def problems(self, *, limit: int = 20) -> list[str]:
        """Return what SQLite's check of every page finds wrong; empty when the database is sound."""
        with store_errors():
            found = [str(row[0]) for row in self._db.execute(f"PRAGMA integrity_check({int(limit)})")]
        return [] if found == ["ok"] else found

    def copy_to(self, path: Path, *, progress: Progress | None = None) -> None:
        """Write the moment into a new file, private to its owner and durable.

        Raises:
            DiskFull, StoreError: it cannot be written; what was written of it stays.
        """
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with store_errors():
            copy = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                # The file is nobody's yet: no journal of its own; it is made durable when it is whole.
                copy.execute("PRAGMA journal_mode = OFF").fetchall()
                copy.execute("PRAGMA synchronous = OFF")
                with copy.backup("main", self._db, "main") as backup:
                    while not backup.done:
                        backup.step(_STEP_PAGES)
                        if progress is not None:
                            progress(backup.page_count - backup.remaining, backup.page_count)
            finally:
                copy.close()
        fd = os.open(path, os.O_RDWR)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _row(self, statement: str) -> Any:
        return self._db.execute(statement).fetchone()


def take_snapshot(home: Path) -> Snapshot:
    """Hold the present moment of a home's database. Writers go on; what they write is not in it.

    Raises:
        StoreError and its kinds: there is no database, or it cannot be read.
    """
    path = home / DATABASE_NAME
    with store_errors():
        try:
            return Snapshot(_begin(str(path), apsw.SQLITE_OPEN_READONLY))
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not is_settled(path):
                raise
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return Snapshot(_begin(unchanging(path), flags))


def _begin(address: str, flags: int) -> apsw.Connection:
    connection = apsw.Connection(address, flags=flags)
    try:
        connection.set_busy_timeout(_COPY_BUSY_MS)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # the read transaction begins here
    except BaseException:
        connection.close()
        raise
    return connection


def open_copy(path: Path) -> Snapshot:
    """Open a copy that nobody writes to. No file appears beside it. Raises StoreCorrupt, StoreError."""
    if not path.is_file():
        raise StoreCorrupt(f"{path} is missing")
    with store_errors():
        address = unchanging(path)
        return Snapshot(apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI))
