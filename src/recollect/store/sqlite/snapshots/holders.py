# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Chunks as the database knows them: a few at a time for a sample, and whose bytes they are."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.archive.chunks import HOLE_PACK, ChunkPlace
from recollect.store.sqlite.connection import open_database, store_errors
from recollect.store.sqlite.event_ids import unpack_text

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
    """Return up to `limit` chunks behind a number. Raises StoreError and its kinds."""
    statement = f"SELECT number, {_PLACE} FROM chunk WHERE number > ? AND pack <> ? ORDER BY number LIMIT ?"
    return [NumberedChunk(row[0], ChunkPlace(*row[1:])) for row in _rows(home, statement, (number, HOLE_PACK, limit))]


def chunks_of_packs(home: Path, packs: Sequence[int]) -> list[ChunkPlace]:
    """Return the chunks that lie in some packs, in order of place. Raises StoreError and its kinds."""
    statement = f"SELECT {_PLACE} FROM chunk WHERE pack IN (SELECT value FROM carray(?)) ORDER BY pack, offset"
    return [ChunkPlace(*row) for row in _rows(home, statement, (_numbers(packs),))] if packs else []


def pack_ends(home: Path) -> dict[int, int]:
    """Return where the last chunk of every pack ends, by the pack's number. Raises StoreError and its kinds."""
    statement = "SELECT pack, max(offset + length) FROM chunk WHERE pack <> ? GROUP BY pack"
    return {int(pack): int(end) for pack, end in _rows(home, statement, (HOLE_PACK,))}


def still_there(home: Path, places: Iterable[ChunkPlace]) -> set[ChunkPlace]:
    """Return those of some places at which the database looks for a chunk. Raises StoreError and its kinds."""
    wanted = set(places)
    if not wanted:
        return wanted
    statement = f"SELECT {_PLACE} FROM chunk WHERE name IN (SELECT value FROM carray(?))"
    return wanted & {ChunkPlace(*row) for row in _rows(home, statement, (_names(wanted),))}


def holders(home: Path, places: Iterable[ChunkPlace]) -> list[Holder]:
    """Return the sources that have some chunks, in any revision, by path. Raises StoreError and its kinds."""
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
    db = open_database(home, "read")
    try:
        with store_errors():
            found: list[Any] = db.execute(statement, values).fetchall()
    finally:
        db.close()
    return found
