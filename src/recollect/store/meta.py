# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Small values about a home, such as its last look, and compiled regular expressions for the next process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

import apsw
import msgspec

from recollect.files import write_cache
from recollect.late import ENGINE, PATTERNS, Compiled
from recollect.model.capabilities import WITNESS_LANE
from recollect.ready_blocks import PROGRAM
from recollect.store.connection import open_for_small, open_to_read, query, store_errors, transaction
from recollect.store.row_keys import unpack_text
from recollect.wire import RUN_FOLDER

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


FILE_NAME = "patterns.msgpack"
_CHECK_BYTES = 16


class _Kept(msgspec.Struct):
    """made_by: what another version of the program or of Python kept is not used."""

    made_by: str
    patterns: dict[str, Compiled]


def use_kept_patterns(home: Path) -> None:
    """Compile no expression again that an earlier process compiled."""
    PATTERNS.use(partial(_read, home / RUN_FOLDER / FILE_NAME))


def keep_patterns(home: Path) -> None:
    """Leave what this process has compiled for the next one."""
    if patterns := PATTERNS.to_keep():
        data = msgspec.msgpack.encode(_Kept(_made_by(), patterns))
        write_cache(home / RUN_FOLDER / FILE_NAME, _check(data) + data)


def _read(path: Path) -> dict[str, Compiled]:
    try:
        data = path.read_bytes()
        if data[:_CHECK_BYTES] != _check(data[_CHECK_BYTES:]):  # with a bit that is wrong a secret may pass
            return {}
        kept = msgspec.msgpack.decode(data[_CHECK_BYTES:], type=_Kept)
    except (OSError, ValueError):
        return {}
    return kept.patterns if kept.made_by == _made_by() else {}


def _check(data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECK_BYTES).digest()


def _made_by() -> str:
    return f"{PROGRAM} {ENGINE}"
