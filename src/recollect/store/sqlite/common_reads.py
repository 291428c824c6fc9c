"""What writer and readers both ask: the chunks and holes of a revision, the change log's end, its consumers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import apsw

from recollect.archive.chunks import ChunkPlace, Hole
from recollect.errors import ArchiveError, RawGone
from recollect.model.time import day_of
from recollect.store.ports import ChunkReader

_WHY_GONE = {"evicted": "evicted", "forgotten": "forgotten", "data_loss": "evicted before it was analysed"}


def revision_chunks(db: apsw.Connection, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]:
    """Return the chunks of a revision in order with their place; the flag tells an open delta."""
    rows: Iterable[tuple[Any, ...]] = db.execute(
        "SELECT name, pack, offset, length, plain, is_open FROM source JOIN revision_chunk "
        "ON revision_chunk.source = source.number JOIN chunk ON chunk.number = revision_chunk.chunk "
        "WHERE source_id = ? AND revision_chunk.revision = ? ORDER BY ordinal",
        (source_id, revision),
    )
    return [(ChunkPlace(*place), bool(is_open)) for *place, is_open in rows]


def revision_holes(db: apsw.Connection, source: int, revision: int) -> list[Hole]:
    """Return the holes of a revision, by the source's number, in order."""
    rows: Iterable[tuple[Any, ...]] = db.execute(
        "SELECT offset, length, records, turn, reason, removed_at FROM hole WHERE source = ? AND revision = ? "
        "ORDER BY offset",
        (source, revision),
    )
    return [Hole(*row) for row in rows]


def read_lasting(
    archive: ChunkReader, places: list[ChunkPlace], fetch: Callable[[], list[ChunkPlace]], offset: int, length: int
) -> tuple[bytes, list[ChunkPlace]]:
    """Return bytes of a revision, and the places of its chunks as they are now: a compaction may have moved them.

    fetch: looks the places up anew. Raises ArchiveError and its kinds.
    """
    try:
        return archive.read_range(places, offset, length), places
    except RawGone:
        raise
    except ArchiveError:
        fresh = fetch()
        if fresh == places:
            raise
        return archive.read_range(fresh, offset, length), fresh


def why_gone(holes: Iterable[Hole], offset: int, length: int) -> str:
    """Return why bytes of a revision are gone and since when, "evicted on 2026-11-21"; "" where none of them is."""
    for hole in holes:
        if hole.offset < offset + length and offset < hole.offset + hole.length:
            return f"{_WHY_GONE[hole.reason]} on {day_of(hole.removed_at)}"
    return ""


def last_change(db: apsw.Connection) -> int:
    """Return the newest id that the change log ever gave, 0 when there is none."""
    found = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'change'").get
    return int(found or 0)


def take_note(db: apsw.Connection, consumer: str, change_id: int) -> None:
    """Record that a consumer of the change log has everything up to change_id; what all have is dropped from it."""
    db.execute(
        "INSERT INTO consumer VALUES (?, ?) ON CONFLICT DO UPDATE SET position = max(position, excluded.position)",
        (consumer, change_id),
    )
    db.execute("DELETE FROM change WHERE id <= (SELECT min(position) FROM consumer)")
