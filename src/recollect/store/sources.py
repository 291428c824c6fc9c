# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Sources and revisions: chunks, holes, the completeness ledger, defects, drift, the change log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.archive.packs import ChunkPlace, Hole
from recollect.errors import ArchiveError, BrokenInvariant, RawGone
from recollect.model.ids import session_uid
from recollect.model.records import LedgerDefect
from recollect.model.sessions import ForgottenPlace
from recollect.model.time import day_of
from recollect.store.connection import PooledReader, column, of_db, query
from recollect.store.row_keys import EVICTED, HIDDEN, SEQ_MASK, STALE, kind_of_bits, pack_text, span_of, unpack_text
from recollect.store.rows import ChangeRange, ChunkReader, EventPlace, LedgerRow, SliceResult, SourceRow

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


def read_forgotten(db: apsw.Connection, number: int) -> list[ForgottenPlace]:
    """Return where records of a session were forgotten, in order. Of sources that tell of other sessions too it is not
    known whose records those were."""
    rows: Iterable[Any] = db.execute(
        "SELECT (SELECT max(event.key) FROM event WHERE event.key BETWEEN ?2 AND ?3 AND event.source = hole.source "
        "AND event.offset < hole.offset), hole.records, hole.removed_at FROM session_source "
        "JOIN source ON source.number = session_source.source "
        "JOIN hole ON hole.source = source.number AND hole.revision = source.revision "
        "WHERE session_source.session = ?1 AND hole.reason = 'forgotten' AND hole.records > 0 AND NOT EXISTS "
        "(SELECT 1 FROM session_source AS other WHERE other.source = source.number AND other.session <> ?1) "
        "ORDER BY source.number, hole.offset",
        (number, *span_of(number)),
    )
    return [ForgottenPlace(None if key is None else key & SEQ_MASK, records, at) for key, records, at in rows]


def read_lasting(
    archive: ChunkReader, places: list[ChunkPlace], fetch: Callable[[], list[ChunkPlace]], offset: int, length: int
) -> tuple[bytes, list[ChunkPlace]]:
    """Return bytes of a revision, and the present places of its chunks, which a compaction may have moved.

    fetch: looks the places up again. Raises ArchiveError and its subclasses.
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
    """Return why bytes of a revision are gone and since when, "evicted on 2026-11-21"; "" if all exist."""
    for hole in holes:
        if hole.offset < offset + length and offset < hole.offset + hole.length:
            return f"{_WHY_GONE[hole.reason]} on {day_of(hole.removed_at)}"
    return ""


def last_change(db: apsw.Connection) -> int:
    """Return the newest id that the change log ever gave, 0 when there is none."""
    found = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'change'").get
    return int(found or 0)


def log_changes(db: apsw.Connection, session: int, ranges: Iterable[tuple[int, int]]) -> None:
    """Say in the change log which events of a session changed: (first seq, last seq)."""
    db.executemany(
        "INSERT INTO change (session, first_seq, last_seq) VALUES (?, ?, ?)", [(session, *both) for both in ranges]
    )


def tell_all(db: apsw.Connection, session: int) -> None:
    """Have every consumer look at a session again, but for distilling, where it was up to date."""
    end: int = db.execute("SELECT next_seq FROM session WHERE number = ?", (session,)).get
    before = last_change(db)
    if end:
        log_changes(db, session, [(0, end - 1)])
    position = db.execute("SELECT position FROM consumer WHERE name = ?", (DISTILL,)).get
    if position is not None and position >= before:
        take_note(db, DISTILL, last_change(db))


def newest_kind(db: apsw.Connection, number: int, next_seq: int, kinds: Collection[str], *, looked_at: int) -> str:
    """Return the kind of a session's newest shown event of these kinds, "" if none of the newest `looked_at` is."""
    first, last = span_of(number)
    newest = query(
        db, f"SELECT bits FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {HIDDEN} ORDER BY key DESC",
        (first + max(0, next_seq - looked_at), last),
    )  # fmt: skip
    return next((kind for (bits,) in newest if (kind := kind_of_bits(bits)) in kinds), "")


DISTILL = "distill"
"""The name under which distilling follows the change log."""
DETECTORS = "detectors"
"""The key in `meta` of what all derived text is redacted by."""


def detectors_of(db: apsw.Connection) -> str:
    """Return the fingerprint of the detectors that all derived text is redacted by, "" where none is known."""
    return db.execute("SELECT value FROM meta WHERE key = ?", (DETECTORS,)).get or ""


def position_of(db: apsw.Connection, consumer: str) -> int:
    """Return how far in the change log a consumer is."""
    found = db.execute("SELECT position FROM consumer WHERE name = ?", (consumer,)).get
    return int(found or 0)


def take_note(db: apsw.Connection, consumer: str, change_id: int) -> None:
    """Record that a consumer of the change log has everything up to change_id; what all have is dropped from it."""
    db.execute(
        "INSERT INTO consumer VALUES (?, ?) ON CONFLICT DO UPDATE SET position = max(position, excluded.position)",
        (consumer, change_id),
    )
    db.execute("DELETE FROM change WHERE id <= (SELECT min(position) FROM consumer)")


APPENDED = ("jsonl", "patchlog")
"""Containers whose revisions hold the history of a thing, not only its last state."""
IS_THERE = (
    f"NOT bits & {EVICTED} AND NOT EXISTS (SELECT 1 FROM hole WHERE hole.source = event.source AND "
    "hole.revision = event.revision AND event.offset >= hole.offset AND event.offset < hole.offset + hole.length)"
)
"""SQL: the bytes of an event are in the archive, so that it can be derived again."""
_STATES = "parser_states"
"""The key in `meta` that says how parser states are stored."""
MAX_DEFECT_ROWS = 1000
"""Per source; further defects are only counted."""
MOST_PATHS = 64
"""Of more paths than this the sources are not looked for one by one."""
_BELOW = (b"/", b"\\", b"#")
"""What may stand between a folder or a file and what is in it."""
_SOURCE_FIELDS = tuple(f for f in SourceRow.__struct_fields__ if f != "number")
SOURCE_COLUMNS = ", ".join(SourceRow.__struct_fields__)
_UPSERT_SOURCE = (
    f"INSERT INTO source ({', '.join(_SOURCE_FIELDS)}) VALUES ({', '.join('?' * len(_SOURCE_FIELDS))}) "
    "ON CONFLICT (source_id) DO UPDATE SET "
    + ", ".join(f"{f} = excluded.{f}" for f in _SOURCE_FIELDS if f != "source_id")
    + " RETURNING number"
)


class SliceContext(NamedTuple):
    """The context of a slice: its source's number, lane and session, and its revision."""

    source: int
    revision: int
    lane: int
    is_repeat: bool
    """True: all of it was committed before; nothing is counted again and the cursor stays."""
    is_refreshing: bool
    """True: the revision is being derived again, see `Writer.rewind`."""
    is_appended: bool
    """True: one thing may stand in many records of a revision, each a newer version; else in one."""
    adds_nothing: bool = False
    """True: what is not known is left out, see `SliceResult.is_partial`."""
    is_entire: bool = False
    """True: the slice is the whole of its revision."""


def source_row(values: Sequence[Any]) -> SourceRow:
    """Return a SourceRow of a row selected with SOURCE_COLUMNS."""
    row = SourceRow(*values)
    for field in ("key", "path", "relative", "session"):
        setattr(row, field, unpack_text(getattr(row, field)))
    return row


def find_sources(db: apsw.Connection, agent: str, *, paths: Sequence[str] | None, key: str | None) -> list[SourceRow]:
    """Return the sources of an agent, see `Writer.sources`."""
    statement = f"SELECT {SOURCE_COLUMNS} FROM source WHERE agent = ?"
    if key is not None:
        return [source_row(row) for row in db.execute(f"{statement} AND key = ?", (agent, pack_text(key)))]
    if paths is None or len(paths) > MOST_PATHS:
        return [source_row(row) for row in db.execute(statement, (agent,))]
    found: dict[int, SourceRow] = {}
    # Names that are not UTF-8 are blobs; as blobs all compare, by their bytes.
    at_or_below = " OR ".join(["at = ?", *("at >= ? AND at < ?",) * len(_BELOW)])
    statement = statement.replace("FROM source", "FROM (SELECT *, CAST(path AS BLOB) AS at FROM source)")
    for path in paths:
        stored = path.encode("utf-8", "surrogatepass")
        ranges = [bound for first in _BELOW for bound in (stored + first, stored + bytes([first[0] + 1]))]
        for row in map(source_row, db.execute(f"{statement} AND ({at_or_below})", (agent, stored, *ranges))):
            found[row.number] = row
    return list(found.values())


def save_source(db: apsw.Connection, source: SourceRow) -> int:
    """Insert or update a source; return its number."""
    values = tuple(
        pack_text(value) if isinstance(value, str) else value
        for value in (getattr(source, field) for field in _SOURCE_FIELDS)
    )
    number: int = db.execute(_UPSERT_SOURCE, values).get
    return number


def enter_slice(db: apsw.Connection, slice_: SliceResult, observed_at: int) -> SliceContext:
    """Store a slice's facts about its source and return its context."""
    source = slice_.source
    found = db.execute("SELECT number, revision FROM source WHERE source_id = ?", (source.source_id,)).fetchone()
    committed, is_refreshing = 0, False
    is_appended = source.container in APPENDED
    if found is not None:
        ledger = db.execute(
            "SELECT committed_bytes, is_refreshing FROM revision WHERE source = ? AND revision = ?",
            (found[0], source.revision),
        ).fetchone()
        if ledger is not None:
            committed, is_refreshing = ledger[0], bool(ledger[1])
        if slice_.from_bytes < committed:
            if slice_.to_bytes > committed:
                raise BrokenInvariant("a slice goes on at the cursor or repeats what was committed")
            return SliceContext(found[0], source.revision, source.lane, True, False, is_appended)
    number = save_source(
        db,
        msgspec.structs.replace(
            source,
            committed_bytes=slice_.to_bytes,
            records=slice_.records[-1].index + 1 if slice_.records else source.records,
            observed_at=observed_at,
        ),
    )
    if found is not None and source.revision > found[1]:
        db.execute("DELETE FROM replayed WHERE source = ?", (number,))
    adds_nothing = is_refreshing and slice_.is_partial
    is_entire = slice_.from_bytes == 0 and slice_.is_last
    return SliceContext(
        number, source.revision, source.lane, False, is_refreshing, is_appended, adds_nothing, is_entire
    )


def replace_chunks(
    db: apsw.Connection, source: int, revision: int, *, keep: int, chunks: Iterable[tuple[ChunkPlace, bool]]
) -> None:
    """Store a revision's chunks behind its first `keep` ones. The flag tells an open delta."""
    dropped = db.execute(
        "DELETE FROM revision_chunk WHERE source = ? AND revision = ? AND ordinal >= ? RETURNING chunk",
        (source, revision, keep),
    ).fetchall()
    for ordinal, (place, is_open) in enumerate(chunks, start=keep):
        number = db.execute(
            "INSERT INTO chunk (name, pack, offset, length, plain) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET pack = excluded.pack, offset = excluded.offset, length = excluded.length RETURNING number",
            place,
        ).get
        db.execute("INSERT INTO revision_chunk VALUES (?, ?, ?, ?, ?)", (source, revision, ordinal, number, is_open))
    let_go(db, dropped)


def let_go(db: apsw.Connection, chunks: Iterable[Any]) -> None:
    """Remove those of chunks, each a row with its number, that no revision has any more."""
    db.executemany(
        "DELETE FROM chunk WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM revision_chunk WHERE chunk = ?1)",
        list(chunks),
    )


def save_chunks(db: apsw.Connection, at: SliceContext, slice_: SliceResult, places: Sequence[ChunkPlace]) -> None:
    """Store where the revision's chunks are: `keep_chunks` stay, the rest is replaced by the slice's own."""
    chunks = [(place, bool(chunk.is_open)) for chunk, place in zip(slice_.chunks, places, strict=True)]
    replace_chunks(db, at.source, at.revision, keep=slice_.keep_chunks, chunks=chunks)
    db.executemany(
        "INSERT OR REPLACE INTO hole VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(at.source, at.revision, *hole) for hole in slice_.holes],
    )


def count_slice(
    db: apsw.Connection, at: SliceContext, slice_: SliceResult, *, events: int, replays: int, observed_at: int
) -> None:
    """Add a slice to the ledger of its revision. Not for repeats."""
    db.execute(
        "INSERT INTO revision (source, revision, bytes_seen, committed_bytes, records, events, unknown, replays, "
        "defects, observed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "bytes_seen = max(bytes_seen, excluded.bytes_seen), committed_bytes = excluded.committed_bytes, "
        "records = records + excluded.records, events = events + excluded.events, "
        "unknown = unknown + excluded.unknown, replays = replays + excluded.replays, "
        "defects = defects + excluded.defects, observed_at = excluded.observed_at",
        (
            at.source,
            at.revision,
            slice_.bytes_seen,
            slice_.to_bytes,
            len(slice_.records) + sum(hole.records for hole in slice_.holes),
            events,
            slice_.unknown_count,
            replays,
            len(slice_.defects),
            observed_at,
        ),
    )
    _count(db, "defect_count", "code", at, Counter(defect.code for defect in slice_.defects))
    _count(db, "redaction_count", "kind", at, slice_.redactions)
    if slice_.drift:
        db.executemany(
            "INSERT INTO drift VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            [(at.source, at.revision, d.kind, d.name, d.count, d.record_index, d.offset_bytes) for d in slice_.drift],
        )
    if slice_.defects:
        stored: int = db.execute("SELECT count(*) FROM defect WHERE source = ?", (at.source,)).get
        db.executemany(
            "INSERT OR IGNORE INTO defect VALUES (?, ?, ?, ?, ?, ?)",
            [
                (at.source, at.revision, d.record_index, d.offset_bytes, d.code, d.detail)
                for d in slice_.defects[: max(0, MAX_DEFECT_ROWS - stored)]
            ],
        )


def save_observations(db: apsw.Connection, at: SliceContext, slice_: SliceResult, observed_at: int) -> None:
    """Store how far the revision was seen at which time; earlier observations stay.

    A derivation from the archive adds the journal's observations once; a live slice was seen now.
    """
    found = slice_.observations
    for to_bytes, seen_at in [(slice_.to_bytes, observed_at)] if found is None else found:
        last = db.execute(
            "SELECT to_bytes, observed_at FROM observation WHERE source = ? AND revision = ? "
            "ORDER BY to_bytes DESC LIMIT 1",
            (at.source, at.revision),
        ).fetchone()
        if last is not None and to_bytes <= last[0]:
            continue
        if last is not None and seen_at == last[1]:
            db.execute(
                "DELETE FROM observation WHERE source = ? AND revision = ? AND to_bytes = ?",
                (at.source, at.revision, last[0]),
            )
        db.execute("INSERT INTO observation VALUES (?, ?, ?, ?)", (at.source, at.revision, to_bytes, seen_at))


def save_blobs(db: apsw.Connection, at: SliceContext, slice_: SliceResult) -> None:
    """Store where large blobs are, each hash once."""
    db.executemany(
        "INSERT OR IGNORE INTO blob VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (b.sha256, b.media_type, b.size_bytes, at.source, at.revision, place.offset, place.length, b.pointer)
            for b in slice_.blobs
            for place in (slice_.records[b.record],)
        ],
    )


def seal_states(db: apsw.Connection, seal: Callable[[bytes], bytes]) -> None:
    """Rewrite the parser states that are stored otherwise than `seal` gives them, once in the life of a database."""
    if db.execute("SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?)", (_STATES,)).get:
        return
    db.execute("PRAGMA secure_delete = ON")  # before the transaction: what stood in clear is overwritten
    try:
        with db:
            for number in column(db, "SELECT number FROM source WHERE length(state) > 0"):
                state = db.execute("SELECT state FROM source WHERE number = ?", (number,)).get
                sealed = seal(state)
                if sealed != state:
                    db.execute("UPDATE source SET state = ? WHERE number = ?", (sealed, number))
            db.execute("INSERT INTO meta VALUES (?, 'sealed')", (_STATES,))
    finally:
        db.execute("PRAGMA secure_delete = OFF")


def rewind_source(db: apsw.Connection, source_id: str) -> None:
    """Set the cursor of a source's newest revision to 0 and forget what the ledger counted of it."""
    found = db.execute("SELECT number, revision FROM source WHERE source_id = ?", (source_id,)).fetchone()
    if found is None:
        return
    number, revision = found
    db.execute(
        "UPDATE source SET committed_bytes = 0, records = 0, turn_index = 0, state = x'' WHERE number = ?", (number,)
    )
    db.execute(
        "UPDATE revision SET committed_bytes = 0, records = 0, events = 0, unknown = 0, replays = 0, defects = 0, "
        "is_refreshing = 1 WHERE source = ? AND revision = ?",
        (number, revision),
    )
    for table in ("defect", "defect_count", "redaction_count", "drift"):
        db.execute(f"DELETE FROM {table} WHERE source = ? AND revision = ?", (number, revision))
    for first, last in session_ranges(db, number):
        db.execute(
            f"UPDATE event SET bits = bits | {STALE} WHERE key BETWEEN ? AND ? AND source = ? AND revision = ? "
            f"AND {IS_THERE}",
            (first, last, number, revision),
        )


def stale_events(db: apsw.Connection, at: SliceContext) -> list[tuple[int, int]]:
    """Return (key, bits) of the events that a finished derivation did not make again.

    None if bytes of the revision are gone: a missing event may be due to that, and stays.
    """
    found: list[tuple[int, int]] = []
    if db.execute("SELECT EXISTS (SELECT 1 FROM hole WHERE source = ? AND revision = ?)", at[:2]).get:
        for first, last in session_ranges(db, at.source):
            db.execute(
                f"UPDATE event SET bits = bits & ~{STALE} WHERE key BETWEEN ? AND ? AND source = ? AND revision = ? "
                f"AND bits & {STALE}",
                (first, last, at.source, at.revision),
            )
        return found
    for first, last in session_ranges(db, at.source):
        rows: Iterable[Any] = db.execute(
            f"SELECT key, bits FROM event WHERE key BETWEEN ? AND ? AND source = ? AND revision = ? AND bits & {STALE}",
            (first, last, at.source, at.revision),
        )
        found += rows
    return found


def end_refresh(db: apsw.Connection, at: SliceContext) -> None:
    """Record that the revision has been derived again."""
    db.execute("UPDATE revision SET is_refreshing = 0 WHERE source = ? AND revision = ?", (at.source, at.revision))


def session_ranges(db: apsw.Connection, source: int) -> list[tuple[int, int]]:
    """Return the first and last possible event key of every session that a source gave events to."""
    return [span_of(number) for number in column(db, "SELECT session FROM session_source WHERE source = ?", (source,))]


def _count(db: apsw.Connection, table: str, column: str, at: SliceContext, counts: dict[str, int]) -> None:
    if counts:
        db.executemany(
            f"INSERT INTO {table} VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            [(at.source, at.revision, name, count) for name, count in counts.items()],
        )


class SourceReader(PooledReader):
    """Reads sources, the completeness ledger, defects and the change log."""

    def sources(self, agent: str = "", *, session: str = "") -> list[SourceRow]:
        """Return every known source (of an agent, of one of its sessions by its native id), without parser state."""
        columns = SOURCE_COLUMNS.replace(" state,", " x'',")
        rows: Iterable[Any] = self._db.execute(
            f"SELECT {columns} FROM source WHERE (?1 = '' OR agent = ?1) AND (?2 = '' OR session = ?2) "
            "ORDER BY agent, path",
            (agent, pack_text(session)),
        )
        return [source_row(row) for row in rows]

    def parsed_by(self) -> list[tuple[str, int]]:
        """Return each agent with every version of a parser that read records of it."""
        return list(query(self._db, "SELECT DISTINCT agent, parser_version FROM source WHERE records > 0"))

    def ledgers(self, source_id: str = "") -> Iterator[LedgerRow]:
        """Yield the ledger of every revision of every source (one source after the other), or of one."""
        with self._reading() as db:
            rows: list[Any] = db.execute(
                "SELECT source_id, agent, path, session, status, r.revision, bytes_seen, r.committed_bytes, r.records, "
                "events, unknown, replays, defects, r.observed_at, is_refreshing, s.number FROM source s "
                "JOIN revision r ON r.source = s.number "
                "WHERE ?1 = '' OR source_id = ?1 ORDER BY s.agent, s.path, s.number, r.revision",
                (source_id,),
            ).fetchall()
            holed = set(db.execute("SELECT DISTINCT source, revision FROM hole").fetchall())
            for source, agent, path, session, status, revision, *counts, is_refreshing, number in rows:
                uid = session_uid(agent, unpack_text(session)) if session else ""
                holes = tuple(revision_holes(db, number, revision)) if (number, revision) in holed else ()
                values: list[Any] = [source, agent, unpack_text(path), uid, status, revision, *counts, holes]
                values.append(bool(is_refreshing))
                yield LedgerRow(*values)

    def defects(self, source_id: str = "", *, limit: int = 1000) -> list[LedgerDefect]:
        """Return the stored defects (of one source), in order of place."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT code, detail, source_id, path, d.revision, record, offset FROM defect d "
            "JOIN source s ON s.number = d.source WHERE ?1 = '' OR source_id = ?1 "
            "ORDER BY path, source, d.revision, record, offset, code LIMIT ?2",
            (source_id, limit),
        )
        return [LedgerDefect(code, told, source, unpack_text(path), *at) for code, told, source, path, *at in rows]

    def event_places(self, source_id: str) -> Iterator[EventPlace]:
        """Yield the places of the records of a source's stored events, hidden ones too, for `verify`."""
        with self._reading() as db:
            number = db.execute("SELECT number FROM source WHERE source_id = ?", (source_id,)).get
            if number is None:
                return
            for first, last in session_ranges(db, number):
                rows: list[Any] = db.execute(
                    "SELECT revision, record, offset, length, sha FROM event WHERE key BETWEEN ? AND ? AND source = ?",
                    (first, last, number),
                ).fetchall()
                for row in dict.fromkeys(rows):
                    yield EventPlace(*row)

    def changes_after(self, consumer: str, *, limit: int = 10_000) -> list[ChangeRange]:
        """Return the entries of the change log that a consumer has not acknowledged, oldest first."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT id, session, first_seq, last_seq FROM change "
            "WHERE id > coalesce((SELECT position FROM consumer WHERE name = ?), 0) ORDER BY id LIMIT ?",
            (consumer, limit),
        )
        return [ChangeRange(*row) for row in rows]

    chunks = of_db(revision_chunks)
    last_change = of_db(last_change)
