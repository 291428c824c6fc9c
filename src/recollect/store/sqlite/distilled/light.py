# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Events as distilling reads them first: what lies in the archive stays there. A third of the cost of whole ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from recollect.errors import StoreCorrupt
from recollect.model.events import Event, SourceLocation
from recollect.model.payloads import KINDS
from recollect.store.blocks import BlockEntry, decode_frame_at_once
from recollect.store.bodies import payload_without_record
from recollect.store.keys import ROLES, SEQ_BITS, TS_QUALITIES
from recollect.store.sqlite.bits import KIND_MASK, NOT_INDEXED, is_sidechain
from recollect.store.sqlite.connection import REBUILD_HINT
from recollect.store.sqlite.event_ids import unpack_event_id
from recollect.store.sqlite.readers.events import EventRow
from recollect.store.sqlite.readers.filters import int_array

_SEQ_MASK = (1 << SEQ_BITS) - 1
_KEPT_FRAMES = 16


def light_rows(db: apsw.Connection, keys: tuple[int, int], order: str) -> list[EventRow]:
    """Return the rows of a range of keys that a search may find, without parent and tool. order: SQL of ours."""
    statement = (
        "SELECT key, event_id, part, bits, ts, turn, source, revision, record, offset, length, sha, NULL, "
        f"block, entry, NULL FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {NOT_INDEXED} {order}"
    )
    rows: Iterable[Any] = db.execute(statement, keys)
    return [EventRow(*row) for row in rows]


def count_light(db: apsw.Connection, keys: tuple[int, int]) -> int:
    """Return how many rows `light_rows` has for a range of keys."""
    statement = f"SELECT count(*) FROM event WHERE key BETWEEN ? AND ? AND NOT bits & {NOT_INDEXED}"
    return int(db.execute(statement, keys).get or 0)


def light_events(db: apsw.Connection, uid: str, rows: Sequence[EventRow]) -> list[Event]:
    """Return the events of rows of one session, see `store.distilled.OfSession.events`. Raises StoreCorrupt."""
    sources = _source_ids(db, {row.source for row in rows})
    frames: dict[int, list[BlockEntry]] = {}
    found: list[Event] = []
    for row in rows:
        key, bits = row.key, row.bits
        entries = frames.get(row.block)
        if entries is None:
            if len(frames) >= _KEPT_FRAMES:
                frames.pop(next(iter(frames)))
            entries = frames[row.block] = _frame(db, (key >> SEQ_BITS << SEQ_BITS) + row.block)
        if row.entry >= len(entries):
            raise StoreCorrupt("the body of a stored event is missing", hint=REBUILD_HINT)
        found.append(
            Event(
                uid,
                key & _SEQ_MASK,
                unpack_event_id(row.event_id),
                row.part,
                KINDS[bits & KIND_MASK],
                payload_without_record(entries[row.entry].body),
                SourceLocation(sources[row.source], row.revision, row.offset, row.length, row.record, row.sha.hex()),
                None,
                row.ts,
                TS_QUALITIES[bits >> 8 & 3],  # type: ignore[arg-type]  # a table of plain texts, for speed
                ROLES[bits >> 6 & 3],  # type: ignore[arg-type]
                row.turn,
                is_sidechain(bits),
            )
        )
    return found


def _frame(db: apsw.Connection, key: int) -> list[BlockEntry]:
    data = db.execute("SELECT data FROM block WHERE key = ?", (key,)).get
    return decode_frame_at_once(data) if data else []


def _source_ids(db: apsw.Connection, numbers: set[int]) -> dict[int, str]:
    rows: Iterable[Any] = db.execute(
        "SELECT number, source_id FROM source WHERE number IN (SELECT value FROM carray(?))", (int_array(numbers),)
    )
    return dict(rows)
