# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Events as distilling reads them first: what lies in the archive stays there. A third of the cost of whole ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from recollect.errors import StoreCorrupt
from recollect.model.events import Event, SourceLocation
from recollect.model.payloads import KINDS
from recollect.store.blocks import BlockBody, decode_bodies_at_once
from recollect.store.bodies import decode_whole, is_whole, payload_without_record
from recollect.store.keys import ROLES, SEQ_BITS, TS_QUALITIES
from recollect.store.sqlite.bits import KIND_MASK, NOT_INDEXED, SIDECHAIN, UNDONE
from recollect.store.sqlite.connection import REBUILD_HINT
from recollect.store.sqlite.event_ids import unpack_event_id
from recollect.store.sqlite.light_rows import SOURCE, LightRow, rows_of
from recollect.store.sqlite.readers.filters import int_array

_SEQ_MASK = (1 << SEQ_BITS) - 1
_KEPT_FRAMES = 16
_KEPT_BODIES_BYTES = 4 << 20

_NOWHERE = SourceLocation("", 0, 0, 0, 0, "")


class Lacking(NamedTuple):
    """An event of which something was left out. body: its stored form, None where too many are known already."""

    row: LightRow
    body: bytes | None


def light_rows(db: apsw.Connection, keys: tuple[int, int], order: str) -> list[LightRow]:
    """Return the rows of a range of keys that a search may find, without parent and tool. order: SQL of ours."""
    return rows_of(db, keys, f"NOT bits & {NOT_INDEXED}", order)


def count_light(db: apsw.Connection, keys: tuple[int, int]) -> int:
    """Return how many rows `light_rows` has for a range of keys."""
    statement = f"SELECT count(*) FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {NOT_INDEXED}"
    return int(db.execute(statement, keys).get or 0)


def light_events(
    db: apsw.Connection, uid: str, rows: Sequence[LightRow], *, most_bytes: int | None = None,
    lacking: dict[tuple[str, int], Lacking] | None = None,
) -> list[Event]:  # fmt: skip
    """Return the events of rows of one session, see `store.insights.OfSession.events`. Raises StoreCorrupt.

    most_bytes: of all bodies together; the row that would exceed it and those behind it are not read. lacking: takes
    the events that are not whole, by (event_id, part).
    """
    sources = _source_ids(db, {row[SOURCE] for row in rows})
    frames: dict[int, list[BlockBody]] = {}
    kept_bytes = read_bytes = 0
    last_id, event_id, last_place, location = b"", "", (0, 0, 0, 0, 0, b""), _NOWHERE
    found: list[Event] = []
    for row in rows:
        key, stored_id, part, bits, ts, turn, source, revision, record, offset, length, sha, _, block, entry, _ = row
        bodies = frames.get(block)
        if bodies is None:
            if len(frames) >= _KEPT_FRAMES:
                frames.pop(next(iter(frames)))
            bodies = frames[block] = _frame(db, (key >> SEQ_BITS << SEQ_BITS) + block)
        if entry >= len(bodies):
            raise StoreCorrupt("the body of a stored event is missing", hint=REBUILD_HINT)
        body = bodies[entry].body
        read_bytes += len(body)
        if most_bytes is not None and read_bytes > most_bytes:
            break
        # Of the events of one record, which stand in a row, name and location are made once.
        if stored_id != last_id:
            last_id, event_id = stored_id, unpack_event_id(stored_id)
        place = (source, revision, offset, length, record, sha)
        if place != last_place:
            last_place = place
            location = SourceLocation(sources[source], revision, offset, length, record, sha.hex())
        if is_whole(body):
            payload = decode_whole(body)
        else:
            payload = payload_without_record(body)
            if lacking is not None:
                kept_bytes += len(body)
                lacking[event_id, part] = Lacking(row, body if kept_bytes <= _KEPT_BODIES_BYTES else None)
        found.append(
            Event(
                uid,
                key & _SEQ_MASK,
                event_id,
                part,
                KINDS[bits & KIND_MASK],
                payload,
                location,
                None,
                ts,
                TS_QUALITIES[bits >> 8 & 3],  # type: ignore[arg-type]  # a table of plain texts, for speed
                ROLES[bits >> 6 & 3],  # type: ignore[arg-type]
                turn,
                bool(bits & SIDECHAIN),
                is_undone=bool(bits & UNDONE),
            )
        )
    return found


def _frame(db: apsw.Connection, key: int) -> list[BlockBody]:
    data = db.execute("SELECT data FROM block WHERE key = ?", (key,)).get
    return decode_bodies_at_once(data) if data else []


def _source_ids(db: apsw.Connection, numbers: set[int]) -> dict[int, str]:
    rows: Iterable[Any] = db.execute(
        "SELECT number, source_id FROM source WHERE number IN (SELECT value FROM carray(?))", (int_array(numbers),)
    )
    return dict(rows)
