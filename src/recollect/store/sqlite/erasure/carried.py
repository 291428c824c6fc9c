# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""What a rebuild takes over of sessions whose bytes are partly gone: the archive alone cannot make them again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import StoreError
from recollect.paths import DATABASE_NAME
from recollect.store.ports import SEQ_BITS
from recollect.store.sqlite.bits import EVICTED, STALE
from recollect.store.sqlite.connection import open_database, store_errors

_LAST = (1 << SEQ_BITS) - 1
_OF_SESSION = f"BETWEEN carried.number << {SEQ_BITS} AND (carried.number << {SEQ_BITS}) + {_LAST}"
_CARRIED = "main.carried AS carried"
_COPIES = (
    "INSERT INTO name SELECT * FROM old.name",
    f"INSERT INTO session SELECT s.* FROM old.session s JOIN {_CARRIED} USING (number)",
    f"INSERT INTO event SELECT e.* FROM {_CARRIED} JOIN old.event e ON e.key {_OF_SESSION}",
    f"INSERT INTO block SELECT b.* FROM {_CARRIED} JOIN old.block b ON b.key {_OF_SESSION}",
    f"INSERT INTO replacement SELECT r.* FROM {_CARRIED} JOIN old.replacement r ON r.key {_OF_SESSION}",
    f"INSERT INTO said SELECT s.* FROM {_CARRIED} JOIN old.said s ON s.session = carried.number",
    f"INSERT INTO own_call SELECT c.* FROM {_CARRIED} JOIN old.own_call c ON c.session = carried.number",
    f"INSERT INTO usage SELECT u.* FROM {_CARRIED} JOIN old.usage u ON u.session = carried.number",
    "INSERT INTO usage_shared SELECT * FROM old.usage_shared WHERE dedupe IN (SELECT dedupe FROM main.usage)",
    f"INSERT INTO arrangement SELECT a.* FROM {_CARRIED} JOIN old.arrangement a ON a.session = carried.number",
    f"INSERT INTO session_source SELECT l.* FROM {_CARRIED} JOIN old.session_source l ON l.session = carried.number",
    "INSERT INTO source SELECT * FROM old.source WHERE number IN "
    "(SELECT source FROM main.session_source UNION SELECT source FROM main.event "
    "UNION SELECT number FROM main.damaged)",
    "INSERT INTO hole SELECT * FROM old.hole WHERE source IN (SELECT number FROM main.source)",
    "INSERT INTO blob SELECT b.* FROM old.blob b JOIN main.hole h ON h.source = b.source AND h.revision = b.revision "
    "AND b.offset >= h.offset AND b.offset < h.offset + h.length",
    "INSERT INTO revision (source, revision, is_refreshing) SELECT source, revision, 1 FROM old.revision "
    "WHERE source IN (SELECT number FROM main.source) AND source NOT IN (SELECT number FROM main.damaged)",
    "UPDATE source SET committed_bytes = 0, records = 0, turn_index = 0, state = x'', revision = 0 "
    "WHERE number NOT IN (SELECT number FROM main.damaged)",
    *(
        f"INSERT OR IGNORE INTO {table} SELECT * FROM old.{table} WHERE source IN (SELECT number FROM main.damaged)"
        for table in (
            "revision",
            "revision_chunk",
            "observation",
            "replayed",
            "blob",
            "defect",
            "defect_count",
            "redaction_count",
            "drift",
        )
    ),
    "INSERT INTO chunk SELECT * FROM old.chunk WHERE number IN (SELECT chunk FROM main.revision_chunk)",
    # What stands in a hole stays as it is; all else is derived once more, and hidden where it is not made again.
    f"UPDATE event SET bits = bits | {STALE} WHERE NOT bits & {EVICTED} "
    "AND source NOT IN (SELECT number FROM main.damaged) AND NOT EXISTS (SELECT 1 FROM hole "
    "WHERE hole.source = event.source AND hole.revision = event.revision AND event.offset >= hole.offset "
    "AND event.offset < hole.offset + hole.length)",
)
"""In this order. Numbers stay the same: the new database is empty, and gives higher ones to everything else."""


def carry_over(old: Path, new: Path, damaged: Iterable[str] = ()) -> list[int]:
    """Take over into the new, empty database every session that has to do with a source with holes, event by event
    with its seq; return their numbers.

    What of them can be derived is then derived once more. damaged: ids of sources that cannot be derived; they are
    taken over as they are, with their sessions. A database that is not there, is damaged or knows no holes has nothing.
    Raises StoreError and its kinds for the new database.
    """
    if not (old / DATABASE_NAME).exists():
        return []
    try:
        open_database(old, "write").close()  # of the same schema
        has_holes = _has_holes(old)
    except StoreError:
        return []
    sources = tuple(damaged)
    return _copied(old, new, sources) if has_holes or sources else []


def _has_holes(old: Path) -> bool:
    db = open_database(old, "read")
    try:
        with store_errors():
            return bool(db.execute("SELECT EXISTS (SELECT 1 FROM hole)").get)
    finally:
        db.close()


def _copied(old: Path, new: Path, damaged: Sequence[str]) -> list[int]:
    db = open_database(new, "write")
    try:
        with store_errors():
            db.execute("ATTACH ? AS old", (os.fspath(old / DATABASE_NAME),))
            try:
                with db:
                    db.execute("CREATE TABLE main.carried (number INTEGER PRIMARY KEY)")
                    db.execute("CREATE TABLE main.damaged (number INTEGER PRIMARY KEY)")
                    db.execute(
                        "INSERT INTO damaged SELECT number FROM old.source WHERE source_id IN "
                        "(SELECT value FROM carray(?))",
                        (apsw.carray(tuple(damaged)),),
                    ) if damaged else None
                    db.execute(
                        "INSERT INTO carried SELECT DISTINCT session FROM old.session_source WHERE source IN "
                        "(SELECT source FROM old.hole UNION SELECT number FROM main.damaged)"
                    )
                    for statement in _COPIES:
                        db.execute(statement)
                    found: list[Any] = db.execute("SELECT number FROM carried ORDER BY number").fetchall()
                    db.execute("DROP TABLE main.carried")
                    db.execute("DROP TABLE main.damaged")
            except (apsw.CorruptError, apsw.NotADBError):
                return []
        return [number for (number,) in found]
    finally:
        db.close()


_COUNTED = ("defect", "defect_count", "redaction_count", "drift")
_SAME = (
    "(SELECT o.source, o.revision FROM old.revision o JOIN main.revision n ON n.source = o.source "
    "AND n.revision = o.revision AND n.committed_bytes = o.committed_bytes "
    "JOIN main.hole h ON h.source = o.source AND h.revision = o.revision)"
)
_COUNTS = (
    "UPDATE main.revision SET (events, unknown, replays, defects) = (SELECT events, unknown, replays, defects "
    "FROM old.revision o WHERE o.source = main.revision.source AND o.revision = main.revision.revision) "
    f"WHERE (source, revision) IN {_SAME}",
    *(f"DELETE FROM main.{table} WHERE (source, revision) IN {_SAME}" for table in _COUNTED),
    *(f"INSERT INTO main.{table} SELECT * FROM old.{table} WHERE (source, revision) IN {_SAME}" for table in _COUNTED),
)
"""What was counted of records that are gone is known to the old database alone."""


def finish_carrying(old: Path, new: Path, sessions: Sequence[int]) -> None:
    """Once all is derived: take over what was counted of revisions with holes, and write into the change log that every
    event of the sessions that `carry_over` returned is new to all of its consumers."""
    if not sessions:
        return
    db = open_database(new, "write")
    try:
        with store_errors():
            db.execute("ATTACH ? AS old", (os.fspath(old / DATABASE_NAME),))
            with db:
                for statement in _COUNTS:
                    db.execute(statement)
                db.executemany(
                    "INSERT INTO change (session, first_seq, last_seq) SELECT number, 0, next_seq - 1 FROM session "
                    "WHERE number = ? AND next_seq > 0",
                    [(number,) for number in sessions],
                )
    finally:
        db.close()
