# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The order of a session's events.

A newer version stands where its first version stood, and events of several sources stand in an order that does not
depend on which of them arrived first.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final

import apsw
import msgspec

from recollect.store.keys import SEQ_MASK, span_of

LightRow = tuple[
    int, bytes, int, int, int | None, int, int, int, int, int, int, bytes, int | bytes | None, int, int, str | None
]
"""The fields of `EventRow` without their names: making that of every row took a third of reading it."""
KEY: Final = 0
TS: Final = 4
SOURCE: Final = 6
LENGTH: Final = 10
"""Places in a `LightRow`."""
_decode = msgspec.msgpack.Decoder(list[int]).decode
_NO_LANE: Final = (1 << 16, "")


def arranged(db: apsw.Connection, session: int) -> dict[int, list[int]]:
    """Return the seqs of a session's events in order, by the number of the source that tells them so."""
    rows = db.execute("SELECT source, seqs FROM arrangement WHERE session = ?", (session,))
    return {source: unpacked(seqs) for source, seqs in rows}


def unpacked(stored: bytes) -> list[int]:
    """Return seqs that are stored as runs that rise by one."""
    runs = _decode(stored)
    return [seq for first, count in zip(runs[::2], runs[1::2], strict=True) for seq in range(first, first + count)]


def rows_of(db: apsw.Connection, keys: tuple[int, int], condition: str, order: str = "ORDER BY key") -> list[LightRow]:
    """Return the rows of a range of keys that meet a condition. condition, order: SQL of ours."""
    statement = (
        "SELECT key, event_id, part, bits, ts, turn, source, revision, record, offset, length, sha, NULL, "
        f"block, entry, NULL FROM event WHERE key BETWEEN ? AND ? AND {condition} {order}"
    )
    rows: list[Any] = db.execute(statement, keys).fetchall()
    return rows


def first_versions(db: apsw.Connection, number: int) -> dict[int, int]:
    """Return the key of the first version of every event of a session that replaced another."""
    pairs: list[Any] = db.execute(
        "SELECT key, by_key FROM replacement WHERE key BETWEEN ? AND ? ORDER BY key",
        span_of(number),
    ).fetchall()
    first: dict[int, int] = {}
    for key, by_key in pairs:
        first[by_key] = min(first.get(by_key, by_key), first.get(key, key))
    return first


def in_canonical_order(db: apsw.Connection, number: int, rows: list[LightRow]) -> list[LightRow]:
    """Return a session's rows, given in key order, in canonical order.

    A newer version takes the place of its first version, and the order of several sources does not depend on their
    arrival.
    """
    first = first_versions(db, number)
    if first:
        rows = sorted(rows, key=lambda row: (first.get(row[KEY], row[KEY]), row[KEY]))
    order = arranged(db, number)
    numbers = {row[SOURCE] for row in rows} | order.keys()
    if len(numbers) < 2 and not order:
        return rows
    found: Iterable[Any] = db.execute(
        "SELECT number, lane, source_id FROM source WHERE number IN (SELECT value FROM carray(?))",
        (apsw.carray(array("q", numbers)),),
    )
    lanes = {number: (lane, source_id) for number, lane, source_id in found}
    by_source = _by_source(rows, first, order, lanes)
    begins = {number: _rising(of)[0] for number, of in by_source.items()}
    ordered = sorted(by_source, key=lambda number: (lanes[number][0], begins[number], lanes[number][1]))
    base = by_source[ordered[0]]
    times = _rising(base)
    placed = [(place, 0, place, row) for place, row in enumerate(base)]
    for rank, source in enumerate(ordered[1:], 1):
        for place, (row, ts) in enumerate(zip(by_source[source], _rising(by_source[source]), strict=True)):
            placed.append((bisect_right(times, ts) - 1, rank, place, row))
    placed.sort(key=lambda item: item[:3])
    return [row for *_, row in placed]


def _by_source(
    rows: list[LightRow], first: dict[int, int], order: dict[int, list[int]], lanes: dict[int, tuple[int, str]]
) -> dict[int, list[LightRow]]:
    """Return the rows by the source that determines their place, each in its order.

    order: of the sources whose seqs do not determine it. first: the key of an event's first version.
    """
    found: dict[int, list[LightRow]] = {}
    left = rows
    for source in sorted({row[SOURCE] for row in rows} | order.keys(), key=lambda one: lanes.get(one, _NO_LANE)):
        places = {seq: place for place, seq in enumerate(order.get(source, ()))}
        own: list[tuple[int, LightRow]] = []
        others: list[LightRow] = []
        for row in left:
            place = places.get(row[KEY] & SEQ_MASK, places.get(first.get(row[KEY], row[KEY]) & SEQ_MASK))
            if place is not None or row[SOURCE] == source:
                own.append((len(places) if place is None else place, row))
            else:
                others.append(row)
        if own:
            own.sort(key=itemgetter(0))
            found[source] = [row for _, row in own]
        left = others
    return found


def _rising(rows: list[LightRow]) -> list[int]:
    """Return a time for each event, never less than the one before; those before the first time have it too.

    Without any time they are later than everything.
    """
    newest = next((ts for row in rows if (ts := row[TS]) is not None), 1 << 62)
    found = []
    for row in rows:
        ts = row[TS]
        if ts is not None and ts > newest:
            newest = ts
        found.append(newest)
    return found
