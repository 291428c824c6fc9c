"""Whether the archive's journal tells of all that the database has: only what it tells of can be derived anew."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.archive.archive import Archive
from recollect.store.ports import LedgerRow


def untold(archive: Archive, rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """Return the revisions of which the journal tells less than was taken in. Raises ArchiveError.

    Read the rows before: the journal is always written first, so it never lags behind them.
    """
    told = archive.sizes()
    return [row for row in rows if told.get(row.source_id, {}).get(row.revision, -1) < row.bytes_seen]
