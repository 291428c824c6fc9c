"""What a rebuild may lose: nothing, as long as the old database is sound and has it."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace
from recollect.errors import ArchiveCorrupt, SchemaTooNew, StoreError
from recollect.ingest.completeness import untold
from recollect.ingest.damage import check
from recollect.store.connection import quick_check
from recollect.store.home import Home
from recollect.store.reader import open_reader


def damage_of(archive: Archive, places: Sequence[ChunkPlace]) -> str:
    """Return why bytes of a revision cannot be read, "" where all that are there can."""
    there = {place for place in places if not place.is_hole}
    damaged = archive.condition.damaged & there or check(archive, there)
    return f"{sum(place.plain for place in damaged):,} bytes are damaged in the archive" if damaged else ""


def is_all_there_is(home: Home, archive: Archive) -> bool:
    """Tell whether the archive is all that is left: the old database is gone or damaged.

    Raises ArchiveCorrupt where the database is sound and has what the journal does not tell of; SchemaTooNew.
    """
    if not home.database.exists():
        return True
    try:
        if quick_check(home.folder, limit=1):
            return True
        with open_reader(home.folder, None, None) as reader:
            rows = list(reader.ledgers())
    except SchemaTooNew:
        raise
    except StoreError:
        return True
    missing = untold(archive.sizes(), rows)
    if missing:
        raise ArchiveCorrupt(
            f"the archive's journal does not tell of {len(missing):,} of {len(rows):,} revisions that the database "
            "has; nothing was rebuilt",
            hint="restore a backup, or move memory.db away (keep it) to rebuild what the journal tells of",
        )
    return False
