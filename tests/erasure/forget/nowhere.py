"""Proves that a text is nowhere in a home: in no file, in no sealed byte, in nothing compressed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import zstandard

from recollect.archive.keys import load_keys
from recollect.archive.packs import PackReader, pack_numbers, pack_path, scan
from recollect.archive.sealer import Sealer
from recollect.memory import Memory
from tests.stored import inflated

_FRAME = b"\x28\xb5\x2f\xfd"
"""How a zstd frame begins."""


def plain_files(home: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file of a home, by its name."""
    for path in sorted(home.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(home)), path.read_bytes()


def unpacked(data: bytes) -> Iterator[bytes]:
    """Yield everything in a file that was compressed with zstd, wherever it stands: also in free pages."""
    at = data.find(_FRAME)
    while at >= 0:
        with contextlib.suppress(zstandard.ZstdError):
            yield inflated(data[at : at + (1 << 21)])
        at = data.find(_FRAME, at + 1)


def sealed_bytes(home: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what every chunk of every pack holds, whether anything names it or not; opened with the home's key."""
    sealer = Sealer(load_keys(home / "keys"))
    packs = home / "archive" / "packs"
    reader = PackReader(packs)
    for number in pack_numbers(packs):
        for place in scan(pack_path(packs, number)):
            yield f"chunk {place.name.hex()} of pack {number}", sealer.open(place.name, reader.read(place))
    reader.close()


def stored_blobs(home: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every value of every row of the database, decompressed where it is."""
    with contextlib.closing(sqlite3.connect(f"file:{home / 'memory.db'}?mode=ro", uri=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    if isinstance(value, str):
                        yield table, value.encode("utf-8", "surrogatepass")
                    elif isinstance(value, bytes):
                        yield table, value
                        for text in unpacked(value):
                            yield table, text


def holding(memory: Memory, *texts: str) -> list[str]:
    """Return where in a memory's home one of the texts stands; nowhere is [].

    The memory is closed first, and opens again by itself: a process that opens and closes a database's file beside the
    database loses all locks on it (sqlite.org/howtocorrupt.html, section 2.2).
    """
    memory.close()
    home = memory.home
    needles = [text.encode() for text in texts]
    found = []
    for name, data in plain_files(home):
        pieces = [data, *unpacked(data)] if not name.endswith(".pack") else [data]
        found += [name for piece in pieces for needle in needles if needle in piece or needle.lower() in piece]
    found += [name for name, data in sealed_bytes(home) for needle in needles if needle in data]
    found += [f"table {name}" for name, data in stored_blobs(home) for needle in needles if needle in data]
    return sorted(set(found))
