# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Holes in revisions, the places of chunks that moved, and cuts that are promised but not yet made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from recollect.archive.chunks import ChunkPlace
from recollect.store.ports import Hole, SourceRow
from recollect.store.sqlite.common_reads import revision_holes
from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.writing.ledger import SOURCE_COLUMNS, session_ranges, source_row


class Revision(NamedTuple):
    """What is known of a revision that loses bytes. source: as it stands now, with its parser's state.

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


class SqliteHoles:
    """Keeps holes and promised cuts. touched: see `SqliteWriter.touched`."""

    def __init__(self, db: apsw.Connection, touched: set[int]) -> None:
        self._db = db
        self._touched = touched

    def revision(self, source_id: str, revision: int) -> Revision | None:
        """Return what is known of a revision, None for one that is not stored. Raises StoreError."""
        with store_errors():
            found = self._db.execute(
                f"SELECT {SOURCE_COLUMNS} FROM source WHERE source_id = ?", (source_id,)
            ).fetchone()
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
    ) -> int:
        """Store a revision's chunks behind its first `keep` ones, and all of its holes. Inside a transaction.

        Returns how many bytes of packs no revision needs any more because of that.
        """
        dropped = self._db.execute(
            "DELETE FROM revision_chunk WHERE source = ? AND revision = ? AND ordinal >= ? RETURNING chunk",
            (source, revision, keep),
        ).fetchall()
        for ordinal, (place, is_open) in enumerate(chunks, start=keep):
            number = self._db.execute(
                "INSERT INTO chunk (name, pack, offset, length, plain) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) "
                "DO UPDATE SET pack = excluded.pack, offset = excluded.offset, length = excluded.length "
                "RETURNING number",
                place,
            ).get
            self._db.execute(
                "INSERT INTO revision_chunk VALUES (?, ?, ?, ?, ?)", (source, revision, ordinal, number, is_open)
            )
        freed = self._let_go(dropped)
        self._db.execute("DELETE FROM hole WHERE source = ? AND revision = ?", (source, revision))
        self._db.executemany(
            "INSERT INTO hole VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(source, revision, *hole) for hole in holes]
        )
        rows: Iterable[Any] = self._db.execute("SELECT session FROM session_source WHERE source = ?", (source,))
        self._touched.update(number for (number,) in rows)
        return freed

    def _let_go(self, chunks: Iterable[Any]) -> int:
        rows: Iterable[Any] = self._db.executemany(
            "DELETE FROM chunk WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM revision_chunk WHERE chunk = ?1) "
            "RETURNING length",
            list(chunks),
        )
        return sum(length for (length,) in rows)

    def drop_chunks(self, source_id: str) -> int:
        """Let go of every chunk and hole of a source, where it is still stored. Inside a transaction.

        Returns as `replace`.
        """
        number = self._db.execute("SELECT number FROM source WHERE source_id = ?", (source_id,)).get
        if number is None:
            return 0
        dropped = self._db.execute("DELETE FROM revision_chunk WHERE source = ? RETURNING chunk", (number,)).fetchall()
        freed = self._let_go(dropped)
        self._db.execute("DELETE FROM hole WHERE source = ?", (number,))
        return freed

    def places(self) -> Iterator[ChunkPlace]:
        """Yield the place of every chunk that a revision still has, holes left out."""
        rows: list[Any] = self._db.execute(
            "SELECT name, pack, offset, length, plain FROM chunk WHERE pack > 0 ORDER BY pack, offset"
        ).fetchall()
        yield from (ChunkPlace(*row) for row in rows)

    def move(self, moves: Iterable[tuple[ChunkPlace, ChunkPlace]]) -> None:
        """Store where chunks went, each from its old place; harmless when done twice. Inside a transaction."""
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
