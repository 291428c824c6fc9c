"""Whether archive and database tell the same: only what the journal tells of can be derived again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.store.rows import LedgerRow

Told = Mapping[str, Mapping[int, int]]
"""The bytes that the journal tells of, by source and revision: `Archive.sizes`."""


def untold(told: Told, rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """Return the revisions of which the journal tells less than was taken in.

    Read the rows before: the journal is always written first, so it never lags behind them.
    """
    return [row for row in rows if told.get(row.source_id, {}).get(row.revision, -1) < row.bytes_seen]


def behind(told: Told, rows: Iterable[LedgerRow]) -> int:
    """Return of how many revisions the database has less than the journal tells.

    While something is ingested the journal is ahead for a moment.
    """
    known = {(row.source_id, row.revision): row.bytes_seen for row in rows}
    return sum(known.get((source, n), -1) < size for source, sizes in told.items() for n, size in sizes.items())
