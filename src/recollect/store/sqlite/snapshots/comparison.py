# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""What two databases say differently of the same archive: the ledger, token usage, large blobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from recollect.paths import DATABASE_NAME
from recollect.store.sqlite.connection import open_database, store_errors

Part = Literal["ledger", "usage", "blobs"]


class Difference(NamedTuple):
    """One row that the two have not alike. present, derived: what each says, "" where it has no such row."""

    name: str
    present: str
    derived: str


class Compared(NamedTuple):
    """One part: how many rows were held against each other, and which differ (at most `limit`)."""

    part: Part
    rows: int
    differences: tuple[Difference, ...]


# Each gives (name, what it says) of one database. What was taken away on purpose is not derived again: the revisions
# with holes, and the sessions of which the raw text is gone, are left out on both sides by what the present one says.
_STATEMENTS: dict[Part, str] = {
    "ledger": """SELECT source_id || ' revision ' || revision.revision,
            format('%d bytes, %d committed, %d records, %d unknown, %d defects', bytes_seen, revision.committed_bytes,
                revision.records, unknown, defects)
        FROM {db}.revision JOIN {db}.source ON source.number = revision.source
        WHERE NOT EXISTS (SELECT 1 FROM main.hole JOIN main.source AS cut ON cut.number = hole.source
            WHERE cut.source_id = source.source_id AND hole.revision = revision.revision)""",
    "usage": """SELECT uid, format('%d responses: %d in, %d out, %d read, %d written, %d reasoning', count(*),
            sum(input), sum(output), sum(cache_read), sum(cache_write_5m) + sum(cache_write_1h), sum(reasoning))
        FROM {db}.usage JOIN {db}.session ON session.number = usage.session
        WHERE uid NOT IN (SELECT uid FROM main.session WHERE evicted_at IS NOT NULL) GROUP BY uid""",
    "blobs": """SELECT hex(sha256), format('%s, %d bytes', media_type, bytes)
        FROM {db}.blob JOIN {db}.source ON source.number = blob.source
        WHERE source_id NOT IN (
            SELECT cut.source_id FROM main.hole JOIN main.source AS cut ON cut.number = hole.source)""",
}
PARTS: tuple[Part, ...] = tuple(_STATEMENTS)


def compare(present: Path, derived: Path, *, limit: int) -> Iterator[Compared]:
    """Hold the database of one home against that of another, part by part. Raises StoreError and its kinds."""
    db = open_database(present, "read")
    try:
        with store_errors():
            db.execute("ATTACH ? AS derived", (os.fspath(derived / DATABASE_NAME),))
            for part in PARTS:
                yield _compare(part, db.execute, limit)
    finally:
        db.close()


def _compare(part: Part, execute: Callable[..., Any], limit: int) -> Compared:
    mine, other = (_STATEMENTS[part].format(db=name) for name in ("main", "derived"))
    (rows,) = execute(f"SELECT count(*) FROM ({mine})").fetchone()
    found = execute(
        f"WITH mine (name, said) AS ({mine}), other (name, said) AS ({other}) "
        "SELECT name, mine.said, coalesce(other.said, '') FROM mine LEFT JOIN other USING (name) "
        "WHERE mine.said IS NOT other.said "
        "UNION ALL SELECT name, '', said FROM other WHERE name NOT IN (SELECT name FROM mine) LIMIT ?",
        (limit,),
    ).fetchall()
    return Compared(part, int(rows), tuple(Difference(*(str(value) for value in row)) for row in found))
