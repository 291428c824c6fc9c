# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""When sessions worked: by day and hour, active time, concurrency."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date, timedelta, tzinfo
from typing import Any, NamedTuple

import apsw

from recollect.model.time import offsets_within
from recollect.model.usage import ActiveDay, ActivityReport, ActivityTotals
from recollect.store.keys import SEQ_BITS
from recollect.store.rows import EventFilter
from recollect.store.sessions import int_array, session_condition

SLOT_S = 300
_SLOT_US = SLOT_S * 1_000_000
_SEQ_MASK = (1 << SEQ_BITS) - 1
_DAY_US = 86_400_000_000
_YEAR = 365
_EPOCH = date(1970, 1, 1)


class ActivityQuestion(NamedTuple):
    """first, last: days of the span, in the zone."""

    where: EventFilter
    first: date
    last: date
    zone: tzinfo


class _Slot(NamedTuple):
    """A session in a slot. slot: its number since the epoch; day, hour: as the clocks of the zone showed them."""

    session: int
    slot: int
    day: int
    hour: int


def read_activity(db: apsw.Connection, asked: ActivityQuestion) -> ActivityReport:
    """Return when sessions worked. Hidden events count too: the agent worked when it wrote them."""
    begin, end = _number(asked.first), _number(asked.last)
    before = begin - (end - begin + 1)
    slots = _slots(db, asked, min(before, end - _YEAR + 1), end)
    hours = [[0] * 24 for _ in range(7)]
    for one in slots:
        if one.day >= begin:
            hours[(_EPOCH.weekday() + one.day) % 7][one.hour] += SLOT_S
    by_day: dict[int, list[_Slot]] = defaultdict(list)
    for one in slots:
        by_day[one.day].append(one)
    return ActivityReport(
        asked.first.isoformat(),
        asked.last.isoformat(),
        SLOT_S,
        _totals([one for one in slots if one.day >= begin]),
        _totals([one for one in slots if before <= one.day < begin]),
        tuple(map(tuple, hours)),
        tuple(_day(day, worked) for day, worked in sorted(by_day.items()) if day > end - _YEAR),
    )


def read_active_sessions(db: apsw.Connection, asked: ActivityQuestion, *, weekday: int, hour: int) -> tuple[str, ...]:
    """Return the uids of the sessions that worked in an hour of a weekday (0: Monday), those with most work first."""
    begin, end = _number(asked.first), _number(asked.last)
    worked = Counter(
        one.session
        for one in _slots(db, asked, begin, end)
        if one.hour == hour and (_EPOCH.weekday() + one.day) % 7 == weekday
    )
    rows: Iterable[Any] = db.execute(
        "SELECT number, uid FROM session WHERE number IN (SELECT value FROM carray(?))", (int_array(worked),)
    )
    return tuple(uid for number, uid in sorted(rows, key=lambda row: (-worked[row[0]], row[1])))


def _number(day: date) -> int:
    return (day - _EPOCH).days


def _totals(slots: list[_Slot]) -> ActivityTotals:
    at_once = Counter(one.slot for one in slots)
    return ActivityTotals(
        active_s=len(slots) * SLOT_S,
        any_s=len(at_once) * SLOT_S,
        sessions=len({one.session for one in slots}),
        days=len({one.day for one in slots}),
        most_at_once=max(at_once.values(), default=0),
    )


def _day(day: int, worked: list[_Slot]) -> ActiveDay:
    total = _totals(worked)
    return ActiveDay((_EPOCH + timedelta(days=day)).isoformat(), total.active_s, total.sessions, total.most_at_once)


def _slots(db: apsw.Connection, asked: ActivityQuestion, first: int, last: int) -> list[_Slot]:
    """Return the slots in which sessions worked on days of the zone, by number since the epoch."""
    begin, end = max(0, (first - 1) * _DAY_US), (last + 2) * _DAY_US  # the zone's days lie in these
    terms, values = ["ts >= ?", "ts < ?"], list[Any]((begin, end))
    if not asked.where.is_empty:
        condition, bound = session_condition(db, asked.where)
        numbers = [number for (number,) in db.execute(f"SELECT number FROM session WHERE {condition}", bound)]
        terms.append(f"key >> {SEQ_BITS} IN (SELECT value FROM carray(?))")
        values.append(int_array(numbers))
    # One number for both: to tell numbers apart costs half of what rows of two cost. A slot fits where the seq stood.
    rows: Iterable[Any] = db.execute(
        f"SELECT DISTINCT (key & ~{_SEQ_MASK}) | (ts / {_SLOT_US}) FROM event WHERE {' AND '.join(terms)}", values
    )
    spans = offsets_within(begin, end, asked.zone)
    starts = [span.start_us // _SLOT_US for span in spans]
    found = []
    for (both,) in rows:
        session, slot = both >> SEQ_BITS, both & _SEQ_MASK
        offset_us = spans[max(bisect_right(starts, slot) - 1, 0)].offset_us
        day, second = divmod(slot * SLOT_S + offset_us // 1_000_000, 86_400)
        if first <= day <= last:
            found.append(_Slot(session, slot, day, second // 3_600))
    return found
