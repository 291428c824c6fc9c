"""Names that may contain secrets though they are kept exactly, as keys: ids of sessions and paths of sources."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from recollect.store.sqlite.connection import open_database, store_errors
from recollect.store.sqlite.event_ids import unpack_text

NameKind = Literal["session", "source"]
_COLUMN: dict[NameKind, str] = {"session": "uid", "source": "path"}
NAME_KINDS: tuple[NameKind, ...] = ("session", "source")


class StoredName(NamedTuple):
    """A name and the number of the row that has it."""

    kind: NameKind
    number: int
    text: str


def names_above(home: Path, above: dict[str, int]) -> list[StoredName]:
    """Return the names of rows above a number, by kind. Raises StoreError and its kinds."""
    return _names(home, [(kind, "number > ?", (above.get(kind, 0),)) for kind in NAME_KINDS])


def names_of(home: Path, rows: Iterable[tuple[NameKind, int]]) -> list[StoredName]:
    """Return the names of rows; those that are gone are left out. Raises StoreError and its kinds."""
    return _names(home, [(kind, "number = ?", (number,)) for kind, number in rows])


def _names(home: Path, asked: Iterable[tuple[NameKind, str, tuple[int, ...]]]) -> list[StoredName]:
    found = []
    db = open_database(home, "read")
    try:
        with store_errors():
            for kind, where, values in asked:
                statement = f"SELECT number, {_COLUMN[kind]} FROM {kind} WHERE {where}"  # noqa: S608  of our own words
                rows: Iterable[Any] = db.execute(statement, values)
                found += [StoredName(kind, number, unpack_text(text)) for number, text in rows]
    finally:
        db.close()
    return found
