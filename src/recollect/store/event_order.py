# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The order of a session's events.

A newer version stands where its first version stood, and events of several sources stand in an order that does not
depend on which of them arrived first. A document that is rewritten grows in the midst, before what stands at its end; a
newer parser finds more in the midst of a file; a checkpoint tells a prompt before the session's own file does. A seq
says only what was seen first: `Arrangement` keeps the order of the newest version, with additions of earlier ones.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from recollect.model.payloads import KINDS
from recollect.store.row_keys import FLAG_GONE, FLAG_SHIFT, KIND_MASK, SEQ_BITS, SEQ_MASK, TS_QUALITIES, span_of
from recollect.store.rows import EventDraft, SessionPart
from recollect.store.session_rows import SessionRow
from recollect.store.sources import SliceContext

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


_REWIND, _USER = KINDS.index("rewind"), KINDS.index("user_message")
_TALK = frozenset(
    KINDS.index(kind)
    for kind in ("user_message", "assistant_message", "thinking", "tool_call", "tool_result", "file_edit", "compaction")
)
"""What stands where it happened; what is told of the session as a whole stands anywhere."""
_INFERRED = TS_QUALITIES.index("inferred")
_GONE = FLAG_GONE << FLAG_SHIFT
_TS, _TURN = 5, 6
"""Places in a new row of the event table."""
_encode = msgspec.msgpack.Encoder().encode


class Arrangement:
    """The order in which one source has a session's events, during the ingest of a slice."""

    def __init__(self, db: apsw.Connection, session: int, source: int) -> None:
        self._db = db
        self._session = session
        self._source = source
        stored = db.execute("SELECT seqs FROM arrangement WHERE session = ? AND source = ?", (session, source)).get
        self.is_stored = stored is not None
        self.before: list[int] = [] if stored is None else unpacked(stored)

    def take(self, keys: Sequence[int], first_new: int) -> None:
        """Take the keys of a slice's events, in order. first_new: the least key that no earlier slice had.

        What the slice doesn't hold keeps its place behind the event that it followed.
        """
        if not self.is_stored:
            first = self._session << SEQ_BITS
            rows = self._db.execute(
                "SELECT key FROM event WHERE key BETWEEN ? AND ? AND source = ? ORDER BY key",
                (first, min(first_new, first + SEQ_MASK + 1) - 1, self._source),
            )
            self.before = [key & SEQ_MASK for (key,) in rows]
        piece = list(dict.fromkeys(key & SEQ_MASK for key in keys))
        self._store(joined(self.before, piece))

    def _store(self, seqs: list[int]) -> None:
        place = (self._session, self._source)
        self._db.execute("INSERT OR REPLACE INTO arrangement VALUES (?, ?, ?)", (*place, _packed(seqs)))


def joined(before: Sequence[int], piece: Sequence[int]) -> list[int]:
    """Return a piece of the newest order, with the missing part of the earlier order inserted after what it followed.

    What followed nothing in the piece comes before it.
    """
    held = set(piece)
    behind: dict[int, list[int]] = {}
    last = -1
    for seq in before:
        if seq in held:
            last = seq
        else:
            behind.setdefault(last, []).append(seq)
    found = behind.get(-1, [])
    for seq in piece:
        found.append(seq)
        found += behind.get(seq, ())
    return found


def _packed(seqs: Iterable[int]) -> bytes:
    """Return seqs as runs that rise by one: the first of each, and how many they are."""
    runs: list[int] = []
    for seq in seqs:
        if runs and seq == runs[-2] + runs[-1]:
            runs[-1] += 1
        else:
            runs += (seq, 1)
    return _encode(runs)


def _numbers(keys: Sequence[int]) -> Any:
    return apsw.carray(array("q", keys or (-1,)))


def taken_back(
    db: apsw.Connection, base: int, before: Sequence[int], keys: Sequence[int]
) -> Iterator[tuple[int, bool]]:
    """Yield the keys of rewinds whose state differs between the newest version of a document and the one before.

    False: the newest version no longer has the rewind, so what it undid counts again. True: it has the rewind again.
    """
    held = {key & SEQ_MASK for key in keys}
    lost = [seq for last, seq in pairwise(before) if seq not in held and last in held]
    rows: Iterable[tuple[int, int]] = db.execute(
        f"SELECT key, bits FROM event WHERE key IN (SELECT value FROM carray(?)) AND bits & {KIND_MASK} = {_REWIND}",
        (_numbers([*(base + seq for seq in lost), *keys]),),
    )
    for key, bits in rows:
        is_back = key & SEQ_MASK in held
        if is_back == bool(bits & _GONE):
            yield key, is_back


class PartKeys(NamedTuple):
    """What a slice tells of a session: its part, the key of each event, and the rows of those that are new."""

    part: SessionPart
    keys: Sequence[int | None]
    rows: dict[int, list[Any]]


def settle(db: apsw.Connection, at: SliceContext, session: SessionRow, told: PartKeys) -> None:
    """Give new events of a rewritten document their turn, and a time between those of their neighbours.

    A shorter version counts its turns from one again; its repeated events show which turn that was. A time that the
    agent does not write lies between the previous version and this one.
    """
    pairs = [(draft, key) for draft, key in zip(told.part.events, told.keys, strict=True) if key is not None]
    if not told.rows or at.is_refreshing:
        return
    repeated = [key for _, key in pairs if key not in told.rows]
    rows: Iterable[tuple[int, int | None, int]] = db.execute(
        "SELECT key, ts, turn FROM event WHERE key IN (SELECT value FROM carray(?))", (_numbers(repeated),)
    )
    known = {key: (ts, turn) for key, ts, turn in rows}
    asked = {key: known[key][1] - draft.turn for draft, key in pairs if key in known and draft.kind == _USER}
    goes_on = not known and at.revision > 1 and _has_told(db, at, session)
    shift = next(iter(asked.values()), session.turn_count if goes_on else 0)
    for draft, key in pairs:
        shift = asked.get(key, shift)
        if key in told.rows:
            told.rows[key][_TURN] = max(0, draft.turn + shift)
    if told.part.is_undated:
        _date(pairs, told.rows, {key: ts for key, (ts, _) in known.items()}, session.ended_at)


def _has_told(db: apsw.Connection, at: SliceContext, session: SessionRow) -> bool:
    statement = "SELECT EXISTS (SELECT 1 FROM session_source WHERE session = ? AND source = ?)"
    return bool(db.execute(statement, (session.number, at.source)).get)


def _date(
    pairs: Sequence[tuple[EventDraft, int]], rows: dict[int, list[Any]], known: dict[int, int | None], last: int | None
) -> None:
    """Bring inferred times of new events between those of the events around them; at the end, behind all before."""
    least: int | None = None
    waiting: list[list[Any]] = []
    for draft, key in pairs:
        if key in rows:
            if draft.ts_quality == _INFERRED and draft.ts is not None:
                waiting.append(rows[key])
            continue
        ts = known.get(key)
        if ts is None or draft.kind not in _TALK:
            continue
        _spread(waiting, least, ts)
        waiting = []
        least = ts if least is None else max(least, ts)
    if waiting:
        floor = max((at for at in (least, last) if at is not None), default=None)
        _spread(waiting, floor, max(row[_TS] for row in waiting))


def _spread(rows: list[list[Any]], least: int | None, most: int) -> None:
    """Spread times evenly behind `least`, up to `most`, where they don't rise between the two by themselves."""
    times = [row[_TS] for row in rows]
    is_rising = all(one <= other for one, other in pairwise(times))
    if not rows or (is_rising and times[-1] <= most and (least is None or times[0] > least)):
        return
    start = min(times[0], most) if least is None else least
    for number, row in enumerate(rows, 1):
        row[_TS] = start + max(0, most - start) * number // len(rows)
