# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Holes in revisions, moved chunks, promised cuts, and what a rebuild keeps because of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.archive.packs import ChunkPlace, Hole
from recollect.errors import StoreError
from recollect.paths import DATABASE_NAME
from recollect.store.connection import RowWriter, column, open_attached, open_database, open_to_read
from recollect.store.row_keys import EVICTED, SEQ_BITS, SEQ_MASK, STALE
from recollect.store.rows import SourceRow
from recollect.store.sources import SOURCE_COLUMNS, let_go, replace_chunks, revision_holes, session_ranges, source_row


class Revision(NamedTuple):
    """A revision that loses bytes. source: its present state, with its parser's state.

    committed_bytes, records: of this revision. is_newest: the source's state and marks are those of this revision.
    """

    source: SourceRow
    committed_bytes: int
    records: int
    holes: tuple[Hole, ...]

    def is_newest(self, revision: int) -> bool:
        """Return True when the source's state, turn and marks are those of this revision."""
        return self.source.revision == revision


class WaitingCut(NamedTuple):
    """A cut that must still be made. revision 0: the whole source goes, with every revision and the open tail."""

    source_id: str
    revision: int
    offset: int
    length: int
    reason: str
    removed_at: int


class HoleWriter(RowWriter):
    """Keeps holes and promised cuts."""

    def revision(self, source_id: str, revision: int) -> Revision | None:
        """Return what is known of a revision, None for one that is not stored. Raises StoreError."""
        found = self._db.execute(f"SELECT {SOURCE_COLUMNS} FROM source WHERE source_id = ?", (source_id,)).fetchone()
        if found is None:
            return None
        source = source_row(found)
        ledger: Any = self._db.execute(
            "SELECT committed_bytes, records FROM revision WHERE source = ? AND revision = ?",
            (source.number, revision),
        ).fetchone()
        if ledger is None:
            return None
        return Revision(source, ledger[0], ledger[1], tuple(revision_holes(self._db, source.number, revision)))

    def observations(self, source: int, revision: int) -> list[tuple[int, int]]:
        """Return up to which byte a revision was seen when, in order. source: its number."""
        rows: list[Any] = self._db.execute(
            "SELECT to_bytes, observed_at FROM observation WHERE source = ? AND revision = ? ORDER BY to_bytes",
            (source, revision),
        ).fetchall()
        return [(int(to_bytes), int(at)) for to_bytes, at in rows]

    def turn_before(self, source: int, revision: int, record: int) -> int:
        """Return how many human turns the stored events of a revision tell before a record, by its index."""
        turn = 0
        for first, last in session_ranges(self._db, source):
            found = self._db.execute(
                "SELECT max(turn) FROM event WHERE key BETWEEN ? AND ? AND source = ? AND revision = ? AND record < ?",
                (first, last, source, revision, record),
            ).get
            turn = max(turn, found or 0)
        return turn

    def replace(
        self, source: int, revision: int, *, keep: int, chunks: Sequence[tuple[ChunkPlace, bool]], holes: Sequence[Hole]
    ) -> None:
        """Store a revision's chunks behind its first `keep` ones, and all of its holes. Inside a transaction."""
        replace_chunks(self._db, source, revision, keep=keep, chunks=chunks)
        self._db.execute("DELETE FROM hole WHERE source = ? AND revision = ?", (source, revision))
        self._db.executemany(
            "INSERT INTO hole VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(source, revision, *hole) for hole in holes]
        )
        self._touched.update(column(self._db, "SELECT session FROM session_source WHERE source = ?", (source,)))

    def drop_chunks(self, source_id: str) -> None:
        """Let go of every chunk and hole of a source, where it is still stored. Inside a transaction."""
        number = self._db.execute("SELECT number FROM source WHERE source_id = ?", (source_id,)).get
        if number is None:
            return
        dropped = self._db.execute("DELETE FROM revision_chunk WHERE source = ? RETURNING chunk", (number,)).fetchall()
        let_go(self._db, dropped)
        self._db.execute("DELETE FROM hole WHERE source = ?", (number,))

    def places(self) -> Iterator[ChunkPlace]:
        """Yield the place of every chunk that a revision still has, holes left out."""
        rows: list[Any] = self._db.execute(
            "SELECT name, pack, offset, length, plain FROM chunk WHERE pack > 0 ORDER BY pack, offset"
        ).fetchall()
        yield from (ChunkPlace(*row) for row in rows)

    def move(self, moves: Iterable[tuple[ChunkPlace, ChunkPlace]]) -> None:
        """Store where chunks went, each from its old place; repeating it is harmless. Inside a transaction."""
        self._db.executemany(
            "UPDATE chunk SET pack = ?, offset = ?, length = ? WHERE name = ? AND pack = ? AND offset = ?",
            [(new.pack, new.offset, new.length, old.name, old.pack, old.offset) for old, new in moves],
        )

    def wait(self, cuts: Iterable[WaitingCut]) -> None:
        """Promise cuts; they are made now, or when the memory is opened for writing again. Inside a transaction."""
        self._db.executemany("INSERT OR REPLACE INTO waiting_cut VALUES (?, ?, ?, ?, ?, ?)", list(cuts))

    def waiting(self) -> list[WaitingCut]:
        """Return the cuts that are promised and not made, in order of place."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT source_id, revision, offset, length, reason, removed_at FROM waiting_cut "
            "ORDER BY source_id, revision, offset"
        )
        return [WaitingCut(*row) for row in rows]

    def made(self, source_id: str, revision: int) -> None:
        """Take note that the promised cuts of a revision are made. Inside a transaction."""
        self._db.execute("DELETE FROM waiting_cut WHERE source_id = ? AND revision = ?", (source_id, revision))


_OF_SESSION = f"BETWEEN carried.number << {SEQ_BITS} AND (carried.number << {SEQ_BITS}) + {SEQ_MASK}"
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
    """Copy every session that involves a source with holes into the new, empty database, event by event with its seq.

    Returns their numbers. What can be derived of them is then derived again. damaged: ids of sources that cannot be
    derived; they and their sessions are copied as they are. A database that is missing, damaged or without holes gives
    nothing. Raises StoreError and its subclasses for the new database.
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
    with open_to_read(old) as db:
        return bool(db.execute("SELECT EXISTS (SELECT 1 FROM hole)").get)


def _copied(old: Path, new: Path, damaged: Sequence[str]) -> list[int]:
    with open_attached(new, old, "old", "write") as db:
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
    """After deriving: copy the counts of revisions with holes, and record in the change log that every event of the
    sessions that `carry_over` returned is new to all consumers.
    """
    if not sessions:
        return
    with open_attached(new, old, "old", "write") as db, db:
        for statement in _COUNTS:
            db.execute(statement)
        db.executemany(
            "INSERT INTO change (session, first_seq, last_seq) SELECT number, 0, next_seq - 1 FROM session "
            "WHERE number = ? AND next_seq > 0",
            [(number,) for number in sessions],
        )


def outside(start: int, stop: int, kept: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of [start, stop) outside of the ranges, which are ordered by their beginning."""
    for first, last in kept:
        if first >= stop:
            break
        if first > start:
            yield start, first
        start = max(start, last)
    if start < stop:
        yield start, stop
