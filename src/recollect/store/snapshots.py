# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Copies of a database at one moment, differences between two, unique rows, and disk space."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from recollect.archive.packs import HOLE_PACK, ChunkPlace
from recollect.errors import StoreCorrupt
from recollect.paths import DATABASE_NAME
from recollect.store.connection import (
    DatabaseHolder,
    connect_for_small,
    is_settled,
    open_attached,
    open_to_read,
    query,
    refuse_newer,
    store_errors,
    unchanging,
)
from recollect.store.row_keys import unpack_text

KEPT_TABLES = (
    "meta", "firing", "added_decision", "analysis", "digest", "signal", "node", "link", "eviction", "tombstone",
    "audit", "pin", "waiting_cut", "entry", "entry_part", "learning", "learning_evidence", "learning_sighting",
    "verdict", "diary", "fact", "tag", "batch", "collection", "document", "document_kept_out", "spending",
    "quarantine", "job",
)  # fmt: skip
"""Authored and distilled ones. The sessions of the latter are all due then: what they still say is said again, what
they do not say any more is revoked, and what was revoked before stays so."""
_BY_HAND = ("added_decision", "diary", "fact", "tag", "pin", "verdict")
"""What people and agents wrote down on purpose."""


def has_authored(home: Path) -> bool:
    """Return whether a database has anything that was written down on purpose. Raises StoreError and its subclasses."""
    with open_to_read(home) as db:
        return any(db.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").get for table in _BY_HAND)


def copy_authored(old: Path, new: Path, tables: Sequence[str] = KEPT_TABLES) -> list[str]:
    """Copy what exists nowhere else into a rebuilt database; return the incompletely copied tables.

    Raises StoreError and its subclasses. A database older than a table, or a missing one, has nothing of it. Of a table
    with damaged pages the readable part is copied; a row whose text is unreadable is omitted.
    """
    damaged: list[str] = []
    if not (old / DATABASE_NAME).exists():
        return damaged
    with open_attached(new, old, "old", "write") as db:
        kept: list[Any] = db.execute("SELECT name FROM old.sqlite_schema WHERE type = 'table'").fetchall()
        db.create_scalar_function("is_utf8", _is_utf8, 1, deterministic=True)
        with db:
            there = [table for table in tables if (table,) in kept]
            damaged += [table for table in there if not (_copy_table(db, table) & _has_only_text(db, table))]
            db.execute("INSERT INTO entry_change (entry) SELECT number FROM entry")  # the index has none of them
    return damaged


def _copy_table(db: apsw.Connection, table: str) -> bool:
    """Copy a table, of one with damaged pages the rows that can be read, and tell whether it was whole."""
    try:
        with db:  # a savepoint
            db.execute(f"INSERT OR REPLACE INTO main.{table} SELECT * FROM old.{table}")
        return True
    except (apsw.CorruptError, apsw.NotADBError):
        with suppress(apsw.CorruptError, apsw.NotADBError):
            for row in db.execute(f"SELECT * FROM old.{table}"):
                db.execute(f"INSERT OR REPLACE INTO main.{table} VALUES ({', '.join('?' * len(row))})", row)
        return False


def _has_only_text(db: apsw.Connection, table: str) -> bool:
    """Delete the copied rows in which flipped bits left text that cannot be read; tell whether there was none."""
    columns = [name for _, name, *_ in db.execute(f"SELECT * FROM pragma_table_info('{table}')")]
    broken = " OR ".join(f'(typeof("{c}") = \'text\' AND NOT is_utf8(CAST("{c}" AS BLOB)))' for c in columns)
    before = db.total_changes()
    db.execute(f"DELETE FROM main.{table} WHERE {broken}")
    return db.total_changes() == before


def _is_utf8(*data: Any) -> bool:
    try:
        bytes(data[0]).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


_STEP_PAGES = 2048
_COPY_BUSY_MS = 30_000


class SnapshotCounts(NamedTuple):
    """What a database holds. schema: its version; home_id: of the home that it was made in."""

    schema: int
    home_id: str
    sessions: int
    events: int
    sources: int


class Snapshot(DatabaseHolder):
    """A database as it was at one moment. Close it soon: while it is open, the write-ahead log only grows.

    Belongs to the thread that opened it.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def counts(self) -> SnapshotCounts:
        """Return what it holds."""
        sessions, events = self._row("SELECT count(*), coalesce(sum(event_count), 0) FROM session")
        (sources,) = self._row("SELECT count(*) FROM source")
        (home_id,) = self._row("SELECT value FROM meta WHERE key = 'home_id'")
        return SnapshotCounts(int(self._db.pragma("user_version")), str(home_id), sessions, events, sources)

    def sessions(self) -> dict[str, int]:
        """Return how many events every session has, by uid."""
        return {str(uid): int(count) for uid, count in query(self._db, "SELECT uid, event_count FROM session")}

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
        rows: Any = self._db.execute(
            "SELECT source_id, revision.revision, revision.committed_bytes "
            "FROM revision JOIN source ON source.number = revision.source"
        ).fetchall()
        return {(str(source), int(revision)): int(size) for source, revision, size in rows}

    def problems(self, *, limit: int = 20) -> list[str]:
        """Return what SQLite's check of every page finds wrong; empty when the database is sound."""
        found = [str(row[0]) for row in self._db.execute(f"PRAGMA integrity_check({int(limit)})")]
        return [] if found == ["ok"] else found

    def copy_to(self, path: Path) -> None:
        """Write the moment into a new file, private to its owner and durable.

        Raises:
            DiskFull, StoreError: it cannot be written; what was written of it stays.
        """
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
            # The file is nobody's yet: no journal of its own; it is made durable when it is whole.
            copy.execute("PRAGMA journal_mode = OFF").fetchall()
            copy.execute("PRAGMA synchronous = OFF")
            with copy.backup("main", self._db, "main") as backup:
                while not backup.done:
                    backup.step(_STEP_PAGES)
        fd = os.open(path, os.O_RDWR)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _row(self, statement: str) -> Any:
        return self._db.execute(statement).fetchone()


def take_snapshot(home: Path) -> Snapshot:
    """Hold the present moment of a home's database. Writers continue; what they write is not in it.

    Raises:
        StoreError and its subclasses: there is no database, or it cannot be read.
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


Part = Literal["ledger", "usage", "blobs"]


class Difference(NamedTuple):
    """One row that the two have not alike. present, derived: what each says, "" where it has no such row."""

    name: str
    present: str
    derived: str


class Compared(NamedTuple):
    """One part: how many rows were held against each other, and which differ (at most `limit`)."""

    part: Part
    rows: int
    differences: tuple[Difference, ...]


# Each gives (name, what it says) of one database. What was deleted on purpose is not derived again: the revisions
# with holes, and the sessions of which the raw text is gone, are left out on both sides by what the present one says.
_STATEMENTS: dict[Part, str] = {
    "ledger": """SELECT source_id || ' revision ' || revision.revision,
            format('%d bytes, %d committed, %d records, %d unknown, %d defects', bytes_seen, revision.committed_bytes,
                revision.records, unknown, defects)
        FROM {db}.revision JOIN {db}.source ON source.number = revision.source
        WHERE NOT EXISTS (SELECT 1 FROM main.hole JOIN main.source AS cut ON cut.number = hole.source
            WHERE cut.source_id = source.source_id AND hole.revision = revision.revision)""",
    "usage": """SELECT uid, format('%d responses: %d in, %d out, %d read, %d written, %d reasoning', count(*),
            sum(input), sum(output), sum(cache_read), sum(cache_write_5m) + sum(cache_write_1h), sum(reasoning))
        FROM {db}.usage JOIN {db}.session ON session.number = usage.session
        WHERE uid NOT IN (SELECT uid FROM main.session WHERE evicted_at IS NOT NULL) GROUP BY uid""",
    "blobs": """SELECT hex(sha256), format('%s, %d bytes', media_type, bytes)
        FROM {db}.blob JOIN {db}.source ON source.number = blob.source
        WHERE source_id NOT IN (
            SELECT cut.source_id FROM main.hole JOIN main.source AS cut ON cut.number = hole.source)""",
}
PARTS: tuple[Part, ...] = tuple(_STATEMENTS)


def compare(present: Path, derived: Path, *, limit: int) -> Iterator[Compared]:
    """Compare the databases of two homes part by part. Raises StoreError and its subclasses."""
    with open_attached(present, derived, "derived", "read") as db:
        for part in PARTS:
            yield _compare(part, db.execute, limit)


def _compare(part: Part, execute: Callable[..., Any], limit: int) -> Compared:
    mine, other = (_STATEMENTS[part].format(db=name) for name in ("main", "derived"))
    (rows,) = execute(f"SELECT count(*) FROM ({mine})").fetchone()
    found = execute(
        f"WITH mine (name, said) AS ({mine}), other (name, said) AS ({other}) "
        "SELECT name, mine.said, coalesce(other.said, '') FROM mine LEFT JOIN other USING (name) "
        "WHERE mine.said IS NOT other.said "
        "UNION ALL SELECT name, '', said FROM other WHERE name NOT IN (SELECT name FROM mine) LIMIT ?",
        (limit,),
    ).fetchall()
    return Compared(part, int(rows), tuple(Difference(*(str(value) for value in row)) for row in found))


_PLACE = "name, pack, offset, length, plain"
_HELD = (
    "SELECT DISTINCT source, chunk.number, plain FROM chunk JOIN revision_chunk ON revision_chunk.chunk = chunk.number "
    "WHERE name IN (SELECT value FROM carray(?))"
)


class NumberedChunk(NamedTuple):
    """A chunk with the number by which samples go through all of them."""

    number: int
    place: ChunkPlace


class Holder(msgspec.Struct, frozen=True):
    """A source with damaged chunks: its file, its sessions, and how many chunks and bytes are damaged."""

    source_id: str
    path: str
    sessions: tuple[str, ...]
    chunks: int
    bytes: int


def chunks_after(home: Path, number: int, limit: int) -> list[NumberedChunk]:
    """Return up to `limit` chunks after a number. Raises StoreError and its subclasses."""
    statement = f"SELECT number, {_PLACE} FROM chunk WHERE number > ? AND pack <> ? ORDER BY number LIMIT ?"
    return [NumberedChunk(row[0], ChunkPlace(*row[1:])) for row in _rows(home, statement, (number, HOLE_PACK, limit))]


def chunks_of_packs(home: Path, packs: Sequence[int]) -> list[ChunkPlace]:
    """Return the chunks in some packs, in order of place. Raises StoreError and its subclasses."""
    statement = f"SELECT {_PLACE} FROM chunk WHERE pack IN (SELECT value FROM carray(?)) ORDER BY pack, offset"
    return [ChunkPlace(*row) for row in _rows(home, statement, (_numbers(packs),))] if packs else []


def pack_ends(home: Path) -> dict[int, int]:
    """Return the end of the last chunk of every pack, by the pack's number. Raises StoreError and its subclasses."""
    statement = "SELECT pack, max(offset + length) FROM chunk WHERE pack <> ? GROUP BY pack"
    return {int(pack): int(end) for pack, end in _rows(home, statement, (HOLE_PACK,))}


def still_there(home: Path, places: Iterable[ChunkPlace]) -> set[ChunkPlace]:
    """Return those of some places at which the database looks for a chunk. Raises StoreError and its subclasses."""
    wanted = set(places)
    if not wanted:
        return wanted
    statement = f"SELECT {_PLACE} FROM chunk WHERE name IN (SELECT value FROM carray(?))"
    return wanted & {ChunkPlace(*row) for row in _rows(home, statement, (_names(wanted),))}


def holders(home: Path, places: Iterable[ChunkPlace]) -> list[Holder]:
    """Return the paths of sources that have some chunks, in any revision. Raises StoreError and its subclasses."""
    wanted = set(places)
    if not wanted:
        return []
    rows = _rows(
        home,
        f"SELECT source.number, source_id, path, count(*), sum(plain) FROM ({_HELD}) AS held "
        "JOIN source ON source.number = held.source GROUP BY source.number",
        (_names(wanted),),
    )
    uids: dict[int, list[str]] = {}
    of_sources = (
        "SELECT source, uid FROM session_source JOIN session ON session.number = session_source.session "
        "WHERE source IN (SELECT value FROM carray(?)) ORDER BY uid"
    )
    for source, uid in _rows(home, of_sources, (_numbers(row[0] for row in rows),)) if rows else ():
        uids.setdefault(source, []).append(str(uid))
    found = [
        Holder(str(source_id), unpack_text(path), tuple(uids.get(number, ())), int(chunks), int(size))
        for number, source_id, path, chunks, size in rows
    ]
    return sorted(found, key=lambda holder: holder.path)


def _names(places: Iterable[ChunkPlace]) -> Any:
    return apsw.carray(tuple({place.name for place in places}))


def _numbers(numbers: Iterable[int]) -> Any:
    return apsw.carray(array("q", numbers))


def _rows(home: Path, statement: str, values: Sequence[Any]) -> list[Any]:
    with open_to_read(home) as db:
        found: list[Any] = db.execute(statement, values).fetchall()
    return found


class Space(NamedTuple):
    """In bytes: of the file, of free pages in it, of the write-ahead log. schema: the version that wrote it last."""

    total: int
    free: int
    log: int
    schema: int


def space_of(home: Path) -> Space:
    """Return the disk usage of a home's database. Raises StoreError and its subclasses."""
    with open_to_read(home) as db:
        page, pages, free = (int(db.pragma(name)) for name in ("page_size", "page_count", "freelist_count"))
        schema = int(db.pragma("user_version"))
    log = home / f"{DATABASE_NAME}-wal"
    return Space(page * pages, page * free, log.stat().st_size if log.exists() else 0, schema)


def derived_under(home: Path, key: str) -> str:
    """Return the value of `meta` under a key, "" for nothing. Raises StoreError and its subclasses."""
    with open_to_read(home) as db:
        return str(db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get or "")


def give_back(home: Path) -> None:
    """Return free pages and the write-ahead log to the system. The caller holds the ingest lock.

    A reader of an old moment keeps the log at its size. Raises StoreError and its subclasses.
    """
    with store_errors(), closing(connect_for_small(home, busy_ms=1000)) as db, suppress(apsw.BusyError):
        refuse_newer(db)
        db.execute("PRAGMA incremental_vacuum").fetchall()
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
