"""What writer and readers both ask: the chunks of a revision, the change log's end and how far its consumers are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from recollect.archive.chunks import ChunkPlace


def revision_chunks(db: apsw.Connection, source_id: str, revision: int) -> list[tuple[ChunkPlace, bool]]:
    """Return the chunks of a revision in order with their place; the flag tells an open delta."""
    rows: Iterable[tuple[Any, ...]] = db.execute(
        "SELECT name, pack, offset, length, plain, is_open FROM source JOIN revision_chunk "
        "ON revision_chunk.source = source.number JOIN chunk ON chunk.number = revision_chunk.chunk "
        "WHERE source_id = ? AND revision_chunk.revision = ? ORDER BY ordinal",
        (source_id, revision),
    )
    return [(ChunkPlace(*place), bool(is_open)) for *place, is_open in rows]


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
