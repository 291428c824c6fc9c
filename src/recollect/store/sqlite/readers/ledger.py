"""Reading sources, the completeness ledger, defects and the change log."""

# ruff: noqa: S608  statements are put together of our own constants; values are always bound

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import msgspec

from recollect.model.ids import session_uid
from recollect.store.ports import ChangeRange, DefectRow, DriftRow, EventPlace, LedgerRow, SourceRow
from recollect.store.sqlite.common_reads import revision_holes
from recollect.store.sqlite.event_ids import pack_text, unpack_text
from recollect.store.sqlite.session_facts import decode_facts
from recollect.store.sqlite.writing.ledger import SOURCE_COLUMNS, session_ranges, source_row


def read_sources(db: apsw.Connection, agent: str, session: str) -> list[SourceRow]:
    """Return every known source (of an agent, of one of its sessions by its native id), without parser state."""
    columns = SOURCE_COLUMNS.replace(" state,", " x'',")
    rows: Iterable[Any] = db.execute(
        f"SELECT {columns} FROM source WHERE (?1 = '' OR agent = ?1) AND (?2 = '' OR session = ?2) "
        "ORDER BY agent, path",
        (agent, pack_text(session)),
    )
    return [source_row(row) for row in rows]


def read_ledgers(db: apsw.Connection, of_source: str) -> Iterator[LedgerRow]:
    """Yield the ledger of every revision of every source, or of one."""
    rows: list[Any] = db.execute(
        "SELECT source_id, agent, path, session, status, r.revision, bytes_seen, r.committed_bytes, r.records, events, "
        "unknown, replays, defects, r.observed_at, is_refreshing, s.number FROM source s "
        "JOIN revision r ON r.source = s.number "
        "WHERE ?1 = '' OR source_id = ?1 ORDER BY s.agent, s.path, s.number, r.revision",
        (of_source,),
    ).fetchall()
    holed = set(db.execute("SELECT DISTINCT source, revision FROM hole").fetchall())
    for source_id, agent, path, session, status, revision, *counts, is_refreshing, number in rows:
        uid = session_uid(agent, unpack_text(session)) if session else ""
        holes = tuple(revision_holes(db, number, revision)) if (number, revision) in holed else ()
        values: list[Any] = [source_id, agent, unpack_text(path), uid, status, revision, *counts, holes]
        values.append(bool(is_refreshing))
        yield LedgerRow(*values)


def read_defects(db: apsw.Connection, source_id: str, limit: int) -> list[DefectRow]:
    """Return the stored defects (of one source), in order of place."""
    rows: Iterable[Any] = db.execute(
        "SELECT source_id, path, d.revision, record, offset, code, detail FROM defect d "
        "JOIN source s ON s.number = d.source WHERE ?1 = '' OR source_id = ?1 "
        "ORDER BY path, source, d.revision, record, offset, code LIMIT ?2",
        (source_id, limit),
    )
    return [DefectRow(source, unpack_text(path), *rest) for source, path, *rest in rows]


def read_drift(db: apsw.Connection) -> tuple[DriftRow, ...]:
    """Return what the newest revisions hold that no parser knows, by agent and version of the agent."""
    rows: Iterable[Any] = db.execute(
        "SELECT s.agent, coalesce(e.facts, x''), d.kind, d.name, d.count, s.path, d.revision, d.record, d.offset "
        "FROM drift d JOIN source s ON s.number = d.source AND s.revision = d.revision "
        "LEFT JOIN session e ON e.agent = s.agent AND e.native_id = s.session "
        "ORDER BY s.agent, d.kind, d.name, s.path"
    )
    found: dict[tuple[str, str, str, str], DriftRow] = {}
    for agent, facts, kind, name, count, path, revision, record, offset in rows:
        version = decode_facts(facts).tool_version if facts else ""
        key = (agent, version, kind, name)
        known = found.get(key)
        if known is None:
            found[key] = DriftRow(agent, version, kind, name, count, 1, unpack_text(path), revision, record, offset)
        else:
            found[key] = msgspec.structs.replace(known, count=known.count + count, sources=known.sources + 1)
    return tuple(sorted(found.values(), key=lambda row: (row.agent, row.version, -row.count, row.kind, row.name)))


def read_event_places(db: apsw.Connection, source_id: str) -> Iterator[EventPlace]:
    """Yield where the records of a source's stored events lie, each record once, session by session."""
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


def read_changes(db: apsw.Connection, consumer: str, limit: int) -> list[ChangeRange]:
    """Return the entries of the change log that a consumer has not acknowledged, oldest first."""
    rows: Iterable[Any] = db.execute(
        "SELECT id, session, first_seq, last_seq FROM change "
        "WHERE id > coalesce((SELECT position FROM consumer WHERE name = ?), 0) ORDER BY id LIMIT ?",
        (consumer, limit),
    )
    return [ChangeRange(*row) for row in rows]
