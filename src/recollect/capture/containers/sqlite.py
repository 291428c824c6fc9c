# ruff: noqa: S608  statements are put together of declared names, quoted; values are always bound
"""Reads agents' live databases without disturbing them: declared tables and columns only, nothing written.

A logical document (usually a session) is the rows of the declared tables that name it, merged into one order, each
row one line in the encoding of `model.rows`. How a database is opened depends on what stands beside it:

- `-wal` and `-shm`: somebody has it open. `mode=ro`, the WAL is honoured, a busy timeout.
- `-wal` alone: left by a crash or a copy. Read without shared memory, so that no `-shm` appears.
- neither: nobody is writing. `immutable=1`, since `mode=ro` would leave two files behind.

In the last two cases the read is discarded if the files moved meanwhile. Evidence: design, section 11; SQLite,
"WAL-mode File Format" and "Read-Only WAL-Mode Databases".
"""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

import apsw

from recollect.capture.containers.sqlite_cells import ROWID, Cells, RowIdentity, identity_of, inline_sql, quoted
from recollect.capture.decode import MAX_RECORD_BYTES
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from recollect.model.capabilities import Table
from recollect.model.rows import Cell, LargeCell, blob_cell, encode_large_row, encode_row, real_cell, text_cell

BUSY_TIMEOUT_MS = 3000
NO_DOCUMENT = "(none)"
"""The document of rows whose document column is empty: kept, under a name of their own."""
_HEADER = b"SQLite format 3\x00"
_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_ALLOWED_OPS = frozenset((apsw.SQLITE_SELECT, apsw.SQLITE_FUNCTION, apsw.SQLITE_TRANSACTION, apsw.SQLITE_RECURSIVE))
_MARK_BYTES = 16
LAST = ":last"
_AFTER_ALL_TEXT = "\U0010ffff"


class FileState(NamedTuple):
    """What tells that a database file or its WAL moved: sizes, times and the inode."""

    size: int
    mtime_ns: int
    inode: int


def state_of(path: str) -> FileState:
    """Return the state of a database and its WAL together. Raises SourceUnavailable when it is gone."""
    try:
        info = os.stat(path)
    except OSError as error:
        raise SourceUnavailable(f"cannot read {path}: {error.strerror}") from error
    size, mtime_ns = info.st_size, info.st_mtime_ns
    try:
        wal = os.stat(f"{path}-wal")
    except OSError:
        return FileState(size, mtime_ns, info.st_ino)
    return FileState(size + wal.st_size, max(mtime_ns, wal.st_mtime_ns), info.st_ino)


class Database:
    """An open database of an agent. Made by `open_database`; one read transaction, ended with the block."""

    def __init__(self, db: apsw.Connection, path: str, tables: tuple[Table, ...]) -> None:
        self._db = db
        self._path = path
        self._tables = [_Readable(table, columns) for table in tables if (columns := self._columns(table)) is not None]
        for readable in self._tables:
            readable.identity = identity_of(db, readable.table.name, readable.readable.__contains__)
        wanted: dict[str, frozenset[str]] = {}
        for readable in self._tables:
            name = readable.table.name
            wanted[name] = wanted.get(name, ROWID) | readable.readable
        confine(db, wanted)

    @property
    def is_known(self) -> bool:
        """False if none of the declared tables exists: an unknown generation of the agent's schema."""
        return bool(self._tables)

    @property
    def familiar_columns(self) -> int:
        """How many of the columns that the tables name exist; see `_Readable.familiar`."""
        return sum(readable.familiar for readable in self._tables)

    def marks(self, only: str | None = None) -> dict[str, bytes]:
        """Return every document (or only one) with a mark that changes when any of its rows does."""
        hashes: dict[str, Any] = {}
        for readable in self._tables:
            for document, *values in self._rows_for_marks(readable, only):
                name = readable.name_of(document)
                if name not in hashes:
                    hashes[name] = hashlib.blake2b(digest_size=_MARK_BYTES)
                for value in (readable.table.name, *values):
                    if isinstance(value, _LargeValue):
                        hashes[name].update(b"%d:" % value.size)
                        for piece in value.pieces():
                            hashes[name].update(piece)
                        continue
                    data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
                    hashes[name].update(b"%d:" % len(data) + data)
        return {name: h.digest() for name, h in hashes.items()}

    def lines(self, document: str) -> Iterator[bytes]:
        """Yield the rows of a document in order, each one line of JSON with its end; of a large row in pieces."""
        streams = [self._lines_of(readable, document) for readable in self._tables]
        for _, line in heapq.merge(*streams, key=lambda item: item[0]):
            if isinstance(line, bytes):
                yield line
            else:
                yield from line
                yield b"\n"

    def _columns(self, table: Table) -> list[str] | None:
        """Return the existing columns, None if the table does not exist (or is a view, which could read others)."""
        kind = self._run("SELECT type FROM sqlite_master WHERE name = ?", (table.name,)).fetchone()
        if kind is None or kind[0] != "table":
            return None
        return [row[1] for row in self._run(f"PRAGMA table_info({quoted(table.name)})")]

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> apsw.Cursor:
        return self._db.execute(sql, values)

    def _rows_for_marks(self, readable: _Readable, only: str | None) -> Iterator[tuple[Any, ...]]:
        table = readable.table
        document = readable.document_sql()
        where, values = (readable.keys_sql(), readable.key_values) if only is None else readable.of_document(only)
        source = f"FROM {quoted(table.name)} WHERE {where}"
        if table.stamp in readable.columns:
            sizes = " + ".join(f"coalesce(octet_length({quoted(c)}), 0)" for c in readable.columns)
            # Of the rows only this is held while they are grouped, never their cells.
            facts = f"SELECT {document} AS d, {quoted(table.stamp)} AS stamp, {sizes} AS size {source}"
            yield from self._run(
                f"WITH fact AS MATERIALIZED ({facts}) "
                "SELECT d, count(*), max(stamp), total(stamp), total(size) FROM fact GROUP BY d",
                values,
            )
            return
        sizes_and_cells = [part for c in readable.columns for part in (f"octet_length({quoted(c)})", inline_sql(c))]
        order = ", ".join(readable.order_sql() or ["1"])
        selected = ", ".join((document, *readable.identity.sql(), *sizes_and_cells))
        cells = self._cells(readable)
        first = 1 + len(readable.identity.columns)
        for row in self._run(f"SELECT {selected} {source} ORDER BY {order}", values):
            found = zip(readable.columns, row[first::2], row[first + 1 :: 2], strict=True)
            yield (
                row[0],
                *(
                    _LargeValue(size, cells.pieces_of(name, row[1:first])) if value is None and size else value
                    for name, size, value in found
                ),
            )

    def _cells(self, readable: _Readable) -> Cells:
        return Cells(self._db, self._path, readable.table.name, readable.identity)

    def _lines_of(
        self, readable: _Readable, document: str
    ) -> Iterator[tuple[tuple[Any, ...], bytes | Iterator[bytes]]]:
        table = readable.table
        where, values = readable.of_document(document)
        order = readable.order_sql()
        # Text is read as bytes, because it need not be UTF-8; numbers as they are.
        selected = [
            f"typeof({quoted(c)}), CASE WHEN typeof({quoted(c)}) IN ('text', 'blob') THEN {inline_sql(c)} "
            f"ELSE {quoted(c)} END"
            for c in readable.columns
        ]
        sql = (
            f"SELECT {', '.join((*order, *readable.identity.sql(), *selected))} FROM {quoted(table.name)} WHERE {where}"
        )
        if order:
            sql += f" ORDER BY {', '.join(order)}"
        cells, count = self._cells(readable), len(order)
        first = count + len(readable.identity.columns)
        for row in self._run(sql, values):
            columns: dict[str, Cell] = {}
            large: dict[str, LargeCell] = {}
            for name, kind, value in zip(readable.columns, row[first::2], row[first + 1 :: 2], strict=True):
                if value is None and kind in ("text", "blob"):
                    pieces = cells.pieces_of(name, row[count:first])
                    large[name] = LargeCell(pieces, kind == "text", name in table.json, name in table.zstd_json)
                    columns[name] = None
                else:
                    columns[name] = _cell(kind, value, name, table)
            key = tuple(_sortable(v) for v in row[:count])
            if large:
                yield key, encode_large_row(table.name, columns, large)
            else:
                yield key, encode_row(table.name, columns) + b"\n"


class _LargeValue(NamedTuple):
    """A cell that is hashed in pieces."""

    size: int
    pieces: Callable[[], Iterator[bytes]]


class _Readable:
    """An existing declared table, and its readable part."""

    def __init__(self, table: Table, columns: list[str]) -> None:
        self.table = table
        self.columns = [c for c in columns if c not in table.exclude and (not table.only or c in table.only)]
        self._known = frozenset(columns)
        self.identity = RowIdentity()
        prefixes = [key[:-1] for key in table.keys if key.endswith("*")]
        exact = [key for key in table.keys if not key.endswith("*")]
        self._exact, self._prefixes = exact, prefixes

    @property
    def readable(self) -> frozenset[str]:
        """The columns that statements may name."""
        table = self.table
        ordering = (name.partition(":")[0] for name in table.order)
        return frozenset(self.columns) | (frozenset((*ordering, table.document, table.key)) & self._known)

    @property
    def _key(self) -> str:
        return quoted(self.table.key or self.table.order[0])

    def keys_sql(self) -> str:
        """Return the condition that only allowed keys fulfil, and rows that say something in the only columns."""
        if not self.table.keys:
            said = " OR ".join(f"{quoted(c)} IS NOT NULL" for c in self.columns) if self.table.only else "1"
            return f"({said or 0})"
        parts = [f"{self._key} IN ({', '.join('?' * len(self._exact))})"] if self._exact else []
        parts += [f"({self._key} >= ? AND {self._key} < ?)" for _ in self._prefixes]
        return f"({' OR '.join(parts)})"

    @property
    def key_values(self) -> tuple[str, ...]:
        """The values bound in `keys_sql`."""
        if not self.table.keys:
            return ()
        ends = (p[:-1] + chr(ord(p[-1]) + 1) for p in self._prefixes)  # the first text after all with a prefix
        return (*self._exact, *(v for pair in zip(self._prefixes, ends, strict=True) for v in pair))

    @property
    def familiar(self) -> int:
        """How many of the columns that the table names exist; 0 if one that orders its rows is missing."""
        table = self.table
        sorting = {name for name in (table.document, *table.order) if name and ":" not in name and name not in ROWID}
        named = sorting.union(table.json, table.zstd_json, table.only, (table.stamp,))
        return len(named & self._known) if sorting <= self._known else 0

    def document_sql(self) -> str:
        """Return the expression of the document that a row belongs to."""
        table = self.table
        if table.document_in_key:
            rest = f"substr({self._key}, instr({self._key}, ':') + 1)"
            return f"substr({rest}, 1, instr({rest} || ':', ':') - 1)"
        if not table.document:
            return "''"
        return quoted(table.document) if table.document in self._known else "NULL"

    def name_of(self, document: Any) -> str:
        """Return the document's name; "" where the whole database is one."""
        if not self.table.document and not self.table.document_in_key:
            return ""
        if isinstance(document, bytes):
            return document.decode("utf-8", "replace") or NO_DOCUMENT
        return str(document) if document not in (None, "") else NO_DOCUMENT

    def of_document(self, document: str) -> tuple[str, tuple[str, ...]]:
        """Return the condition that the rows of a document fulfil, and its values."""
        if self.table.document_in_key:
            parts, values = [], []
            for prefix in self._prefixes:
                exact = prefix + document
                parts.append(f"({self._key} = ? OR ({self._key} >= ? AND {self._key} < ?))")
                values += [exact, f"{exact}:", f"{exact};"]
            return f"({' OR '.join(parts)})", tuple(values)
        if not self.table.document:
            return self.keys_sql(), self.key_values
        if document == NO_DOCUMENT:
            return f"{self.keys_sql()} AND coalesce({self.document_sql()}, '') = ''", self.key_values
        return f"{self.keys_sql()} AND CAST({self.document_sql()} AS TEXT) = ?", (*self.key_values, document)

    def order_sql(self) -> list[str]:
        """Return what rows are sorted by; a column that an older schema has not is the same for all."""
        return [self._ordering(name) for name in self.table.order]

    def _ordering(self, name: str) -> str:
        if name == LAST:
            return f"'{_AFTER_ALL_TEXT}'"
        column, _, member = name.partition(":")
        if column not in self._known and column not in ROWID:
            return "NULL"
        if not member:
            return quoted(column)
        # What is too long to be decoded is not decoded here either: it stands before the rows that have the member.
        text = f"CAST({quoted(column)} AS TEXT)"
        is_short = f"octet_length({quoted(column)}) <= {MAX_RECORD_BYTES}"
        return f"CASE WHEN {is_short} AND json_valid({text}) THEN json_extract({text}, '{member}') END"


@contextmanager
def open_database(path: str, tables: tuple[Table, ...]) -> Iterator[Database]:
    """Open an agent's database for reading. Raises as `open_connection`."""
    with open_connection(path) as db:
        yield Database(db, path, tables)


@contextmanager
def open_connection(path: str) -> Iterator[apsw.Connection]:
    """Open a database that is not ours for reading, in one read transaction; `confine` what its statements may read.

    Raises SourceUnavailable (locked, being migrated, damaged), SourceChanged (written while it was read) and
    SourceRefused (no database). What was read must be thrown away when the block raises.
    """
    before = state_of(path)
    _check_header(path)
    has_wal, has_shm = (os.path.exists(f"{path}-{suffix}") for suffix in ("wal", "shm"))
    if _has_hot_journal(path):
        raise SourceChanged(f"{path} is in the middle of a transaction")
    name = quote(path)
    try:
        if has_shm:
            db = apsw.Connection(f"file:{name}?mode=ro", flags=_FLAGS)
        elif has_wal:
            vfs = "win32-none" if os.name == "nt" else "unix-none"
            db = apsw.Connection(f"file:{name}?mode=ro", flags=_FLAGS, vfs=vfs)
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
        else:
            db = apsw.Connection(f"file:{name}?immutable=1", flags=_FLAGS)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            db.execute("BEGIN")
            yield db
        finally:
            db.close(True)
    except apsw.NotADBError as error:
        raise SourceRefused(f"{path} is not a readable database", reason="not a database") from error
    except apsw.Error as error:
        raise SourceUnavailable(f"cannot read {path}: {error}") from error
    if not has_shm and (state_of(path) != before or os.path.exists(f"{path}-shm")):
        raise SourceChanged(f"{path} changed while it was read")


def confine(db: apsw.Connection, wanted: dict[str, frozenset[str]]) -> None:
    """Let statements read only these columns, by table, whatever the schema says."""

    def allow(op: int, first: str | None, second: str | None, *_: str | None) -> int:
        if op == apsw.SQLITE_READ:
            columns = wanted.get(first or "")
            is_allowed = columns is not None and (not second or second in columns or second.lower() in ROWID)
            return apsw.SQLITE_OK if is_allowed else apsw.SQLITE_DENY
        return apsw.SQLITE_OK if op in _ALLOWED_OPS else apsw.SQLITE_DENY

    db.authorizer = allow


def rows_of(path: str, tables: tuple[Table, ...], document: str, mark: bytes) -> Callable[[], Iterator[bytes]]:
    """Return a function that yields a document's lines from the start, each time from a fresh snapshot.

    The document must still have the mark under which it was planned, else SourceChanged: the next pass takes it.
    """

    def lines() -> Iterator[bytes]:
        with open_database(path, tables) as database:
            if mark and database.marks(document).get(document) != mark:
                raise SourceChanged(f"{document} in {path} changed while it was read")
            yield from database.lines(document)

    return lines


def _check_header(path: str) -> None:
    try:
        with open(path, "rb") as handle:
            head = handle.read(len(_HEADER))
    except OSError as error:
        raise SourceUnavailable(f"cannot open {path}: {error.strerror}") from error
    if head != _HEADER:
        raise SourceRefused(f"{path} is not a SQLite database", reason="not a database")


def _has_hot_journal(path: str) -> bool:
    """A rollback journal with content: a writer is at work, or crashed; only a writer may roll it back."""
    try:
        with open(f"{path}-journal", "rb") as handle:
            return any(handle.read(8))
    except OSError:
        return False


def _cell(kind: str, value: Any, name: str, table: Table) -> Cell:
    if kind == "text":
        return text_cell(value, is_json=name in table.json or name in table.zstd_json)
    if kind == "blob":
        return blob_cell(value, is_json=name in table.json, is_zstd=name in table.zstd_json)
    if kind == "real":
        return real_cell(value)
    number: int | None = value
    return number


def _sortable(value: Any) -> tuple[int, Any]:
    """Order values as SQLite does: nothing, numbers, text, bytes."""
    if value is None:
        return (0, 0)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value) if isinstance(value, str) else (3, value)
