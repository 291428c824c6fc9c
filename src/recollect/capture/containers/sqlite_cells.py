# ruff: noqa: S608  statements are put together of our own constants and declared names, quoted; values are always bound
"""Reads cells of agents' databases: small ones with their row, large ones in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import apsw

from recollect.errors import SourceRefused

INLINE_BYTES = 1024 * 1024
"""A larger cell is read in pieces."""
PIECE_BYTES = 1024 * 1024
_LOADED_PIECE_BYTES = 8 * 1024 * 1024
"""Where SQLite loads the whole cell for each piece, fewer pieces cost less."""
ROWID = frozenset(("rowid", "_rowid_", "oid"))


class RowIdentity(NamedTuple):
    """How one row of a table is named again: by its rowid, by its primary key, or (no columns) not at all."""

    columns: tuple[str, ...] = ()
    has_rowid: bool = False

    def sql(self) -> list[str]:
        """Return the columns to select."""
        return [quoted(column) for column in self.columns]


def identity_of(db: apsw.Connection, table: str, is_readable: Callable[[str], bool]) -> RowIdentity:
    """Return how rows of a table are named. is_readable: whether a column may be read."""
    columns: list[Any] = db.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    listed: Any = db.execute(f"PRAGMA table_list({quoted(table)})").fetchone()
    key = [row[1] for row in sorted((row for row in columns if row[5]), key=lambda row: row[5])]
    if listed is not None and not listed[4]:
        alias = next((name for name in sorted(ROWID) if name not in {row[1].lower() for row in columns}), "")
        # SQLite reports a read of the rowid as one of the column that stands for it.
        stands_for = [row[1] for row in columns if row[5] and row[2].upper() == "INTEGER"]
        if alias and (len(key) != 1 or not stands_for or is_readable(key[0])):
            return RowIdentity((alias,), has_rowid=True)
    return RowIdentity(tuple(key)) if key and all(map(is_readable, key)) else RowIdentity()


def inline_sql(column: str) -> str:
    """Return the expression of a cell's bytes, NULL where it is large. The size is known without loading the cell."""
    return f"CASE WHEN octet_length({quoted(column)}) <= {INLINE_BYTES} THEN CAST({quoted(column)} AS BLOB) END"


class Cells:
    """Reads the large cells of one table."""

    def __init__(self, db: apsw.Connection, path: str, table: str, identity: RowIdentity) -> None:
        self._db = db
        self._path = path
        self._table = table
        self._identity = identity

    def pieces_of(self, column: str, key: tuple[Any, ...]) -> Callable[[], Iterator[bytes]]:
        """Return a function that yields the bytes of a cell. key: what the row's identity selects.

        Raises SourceRefused where no row of the table can be named.
        """
        if not self._identity.columns:
            raise SourceRefused(
                f"{self._path} has a cell in {self._table} that is too large and cannot be read in pieces",
                reason="too large",
            )
        return partial(self._pieces, column, key)

    def _pieces(self, column: str, key: tuple[Any, ...]) -> Iterator[bytes]:
        if self._identity.has_rowid:
            try:
                blob = self._db.blob_open("main", self._table, column, key[0], False)
            except apsw.SQLError:  # a virtual table, or one with generated columns
                pass
            else:
                with blob:
                    while piece := blob.read(PIECE_BYTES):
                        yield piece
                return
        where = " AND ".join(f"{name} IS ?" for name in self._identity.sql())
        sql = f"SELECT substr(CAST({quoted(column)} AS BLOB), ?, ?) FROM {quoted(self._table)} WHERE {where}"
        at = 1
        while piece := self._db.execute(sql, (at, _LOADED_PIECE_BYTES, *key)).get:
            yield piece
            at += len(piece)


def quoted(name: str) -> str:
    """Return a name as SQL; a rowid's name unchanged."""
    if name.lower() in ROWID:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
