# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Session ids and source paths as stored. Every opening reads them, so this loads nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from recollect.store.connection import open_to_read, query
from recollect.store.keys import unpack_text

NameKind = Literal["session", "source"]
_COLUMN: dict[NameKind, str] = {"session": "uid", "source": "path"}
NAME_KINDS: tuple[NameKind, ...] = ("session", "source")


class StoredName(NamedTuple):
    """A name and the number of the row that has it."""

    kind: NameKind
    number: int
    text: str


def names_above(home: Path, above: dict[str, int]) -> list[StoredName]:
    """Return the names of rows above a number, by kind. Raises StoreError and its subclasses."""
    return _names(home, [(kind, "number > ?", (above.get(kind, 0),)) for kind in NAME_KINDS])


def names_of(home: Path, rows: Iterable[tuple[NameKind, int]]) -> list[StoredName]:
    """Return the names of rows; omits deleted ones. Raises StoreError and its subclasses."""
    return _names(home, [(kind, "number = ?", (number,)) for kind, number in rows])


def _names(home: Path, asked: Iterable[tuple[NameKind, str, tuple[int, ...]]]) -> list[StoredName]:
    found = []
    with open_to_read(home) as db:
        for kind, where, values in asked:
            statement = f"SELECT number, {_COLUMN[kind]} FROM {kind} WHERE {where}"
            found += [StoredName(kind, number, unpack_text(text)) for number, text in query(db, statement, values)]
    return found
