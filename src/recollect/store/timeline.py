# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Events in order of time, and an event's surroundings in its turn."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta, tzinfo
from typing import Any, NamedTuple

import apsw

from recollect.model.payloads import KINDS, Payload, ToolCall, ToolResult, UserMessage
from recollect.model.time import offsets_within
from recollect.model.usage import ActiveDay, ActivityReport, ActivityTotals
from recollect.store.events import EventReader, EventRow, codes_of
from recollect.store.row_keys import (
    HIDDEN,
    KIND_MASK,
    NOT_INDEXED,
    SEQ_BITS,
    SEQ_MASK,
    is_undone,
    kind_of_bits,
    role_of_bits,
    span_of,
)
from recollect.store.rows import Condition, EventFilter, Terms, TimelineEntry
from recollect.store.sessions import int_array, session_condition

SLOT_S = 300
_SLOT_US = SLOT_S * 1_000_000
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
    terms = Terms("ts >= ?", "ts < ?", values=(begin, end))
    if not asked.where.is_empty:
        condition, bound = session_condition(db, asked.where)
        numbers = [number for (number,) in db.execute(f"SELECT number FROM session WHERE {condition}", bound)]
        terms.add(f"key >> {SEQ_BITS} IN (SELECT value FROM carray(?))", int_array(numbers))
    working, values = terms.condition
    # One number for both: to tell numbers apart costs half of what rows of two cost. A slot fits where the seq stood.
    rows: Iterable[Any] = db.execute(
        f"SELECT DISTINCT (key & ~{SEQ_MASK}) | (ts / {_SLOT_US}) FROM event WHERE {working}", values
    )
    spans = offsets_within(begin, end, asked.zone)
    starts = [span.start_us // _SLOT_US for span in spans]
    found = []
    for (both,) in rows:
        session, slot = both >> SEQ_BITS, both & SEQ_MASK
        offset_us = spans[max(bisect_right(starts, slot) - 1, 0)].offset_us
        day, second = divmod(slot * SLOT_S + offset_us // 1_000_000, 86_400)
        if first <= day <= last:
            found.append(_Slot(session, slot, day, second // 3_600))
    return found


class Window(NamedTuple):
    """Which part of a timeline: times in UTC microseconds, `before` exclusive; at most `limit` lines from `offset`.

    kinds: of events, empty: all.
    """

    after: int | None
    before: int | None
    limit: int
    offset: int
    kinds: tuple[str, ...] = ()


def read_timeline(
    db: apsw.Connection, reader: EventReader, where: EventFilter, window: Window
) -> tuple[tuple[TimelineEntry, ...], int]:
    """Return lines of a timeline and how many events match, see `store.reader.Reader.timeline`."""
    condition, values = session_condition(db, where, after=window.after, before=window.before)
    sessions: list[Any] = db.execute(
        f"SELECT number, started_at, ended_at, event_count FROM session WHERE {condition} ORDER BY ended_at DESC",
        values,
    ).fetchall()
    is_one = len(where.sessions) == 1 and len(sessions) == 1
    keys, total = _of_session(db, sessions[0][0], window) if is_one else _over_sessions(db, sessions, window)
    rows = reader.by_key(keys)
    if not is_one:
        rows.sort(key=lambda row: (row.ts or 0, row.key))
    return tuple(_lines(db, reader, rows)), total


def _of_session(db: apsw.Connection, number: int, window: Window) -> tuple[list[int], int]:
    condition, values = _in_time(number, window)
    rows: Iterable[Any] = db.execute(
        f"SELECT key FROM event WHERE {condition} ORDER BY key LIMIT ? OFFSET ?",
        [*values, window.limit, window.offset],
    )
    keys = [key for (key,) in rows]
    return keys, db.execute(f"SELECT count(*) FROM event WHERE {condition}", values).get


_OUTLINE = codes_of("user_message", "compaction", "rewind", "file_edit")


def read_outline(
    db: apsw.Connection, reader: EventReader, number: int, at: int, limit: int
) -> tuple[list[TimelineEntry], int | None, int | None]:
    """Return the prompts, edits and cuts of a session around an event, and the nearest ones before and after them."""
    base = number << SEQ_BITS
    condition = f"NOT bits & {HIDDEN} AND bits & {KIND_MASK} IN ({_OUTLINE})"

    def keys(span: tuple[int, int], order: str, count: int) -> list[int]:
        statement = f"SELECT key FROM event WHERE key BETWEEN ? AND ? AND {condition} ORDER BY key {order} LIMIT ?"
        return [key for (key,) in db.execute(statement, (*span, count))]

    after = keys((base + at, base + SEQ_MASK), "ASC", limit + 1)
    before = keys((base, base + at - 1), "DESC", max(limit - len(after), limit // 2) + 1) if at else []
    shown_before, shown_after = before[: max(limit - len(after), limit // 2)], after[:limit]
    earlier = before[len(shown_before)] & SEQ_MASK if len(before) > len(shown_before) else None
    later = after[limit] & SEQ_MASK if len(after) > limit else None
    rows = reader.by_key([*shown_before, *shown_after])
    return list(_lines(db, reader, rows)), earlier, later


def _over_sessions(db: apsw.Connection, sessions: list[Any], window: Window) -> tuple[list[int], int]:
    """Walk the sessions from the last to end; stop looking for events once none can be newer than those found.

    A session entirely inside the requested range counts with all its events.
    """
    after, before = window.after, window.before
    wanted = window.limit + window.offset
    newest: list[tuple[int, int]] = []
    total = 0
    for number, started, ended, count in sessions:
        is_inside = (after is None or (started or after) >= after) and (before is None or (ended or 0) < before)
        counts_all = is_inside and not window.kinds
        condition, values = _in_time(number, window)
        total += count if counts_all else db.execute(f"SELECT count(*) FROM event WHERE {condition}", values).get
        if not wanted or ended is None or (len(newest) >= wanted and ended < newest[0][0]):
            continue
        rows: Iterable[Any] = db.execute(
            f"SELECT ts, key FROM event WHERE {condition} AND ts IS NOT NULL ORDER BY ts DESC, key DESC LIMIT ?",
            [*values, wanted],
        )
        for line in rows:
            if len(newest) < wanted:
                heapq.heappush(newest, line)
            elif line > newest[0]:
                heapq.heapreplace(newest, line)
    ordered = sorted(newest, reverse=True)
    return [key for _ts, key in ordered[window.offset :]], total


def _in_time(number: int, window: Window) -> Condition:
    terms = Terms(f"key BETWEEN ? AND ? AND NOT bits & {HIDDEN}", values=span_of(number))
    if window.kinds:
        terms.add(f"bits & {KIND_MASK} IN ({codes_of(*window.kinds)})")
    terms.given(("ts >= ?", window.after), ("ts < ?", window.before))
    return terms.condition


def _lines(db: apsw.Connection, reader: EventReader, rows: list[EventRow]) -> Iterable[TimelineEntry]:
    found: Iterable[Any] = db.execute(
        "SELECT number, uid, agent, repo FROM session WHERE number IN (SELECT value FROM carray(?))",
        (int_array({row.key >> SEQ_BITS for row in rows}),),
    )
    facts = {number: rest for number, *rest in found}
    for row in rows:
        uid, agent, repo = facts[row.key >> SEQ_BITS]
        yield TimelineEntry(
            ts=row.ts,
            session_uid=uid,
            seq=row.key & SEQ_MASK,
            agent=agent,
            kind=kind_of_bits(row.bits),
            role=role_of_bits(row.bits),
            turn_index=row.turn,
            summary=reader.summary(row),
            repo=repo,
            is_undone=is_undone(row.bits),
        )


_CALLS_LOOKED_AT = 8
"""Calls before a result, and results after a call, that are compared: agents call several tools at once."""
_PROMPTS_LOOKED_AT = 4
"""Messages before an event that may be a harness's and not a person's."""
_REPLY = codes_of("assistant_message")
_TOLD = codes_of("user_message", "assistant_message", "thinking", "tool_call", "tool_result", "file_edit")
_FOLLOWING = 2


def read_related(reader: EventReader, rows: Sequence[EventRow]) -> dict[int, dict[str, int]]:
    """Return, by key, the keys of what belongs to each event in its turn, by label, see `recall.answers.RelatedEvent`.

    A statement asks for what is near all of the events: the hits of a page have few others in common. Where the prompt
    of a turn is forgotten, its neighbours are of other turns, and nothing is told of them.
    """
    kinds = {row.key: KINDS[row.bits & KIND_MASK] for row in rows}
    asked = _prompts(reader, [key for key, kind in kinds.items() if kind != "user_message"], is_after=False)
    following = _prompts(reader, list(kinds), is_after=True)
    # The last reply before the person spoke again.
    stops = {key: following[key].key if key in following else key | SEQ_MASK for key in kinds}
    replies = reader.nearest(set(stops.values()), _REPLY, is_after=False)
    turns_of_replies = {reply.key: reply.turn for reply in reader.by_key(set(replies.values()))}
    related: dict[int, dict[str, int]] = {}
    for row in rows:
        key, kind = row.key, kinds[row.key]
        found: dict[str, int | None] = {}
        if key in asked and asked[key].turn == row.turn:
            found["asked"] = asked[key].key
        if kind in ("tool_call", "tool_result"):
            found["result" if kind == "tool_call" else "call"] = _other_half(reader, row)
        reply = replies.get(stops[key], key)
        if reply > key and turns_of_replies[reply] != row.turn:
            reply = _last_reply(reader, row, stops[key])
        found["answer"] = reply if reply > key else None
        if kind == "assistant_message" and key in following:
            found["reply"] = following[key].key
        related[key] = {label: place for label, place in found.items() if place is not None and place != key}
    return related


def read_following(reader: EventReader, key: int) -> list[int]:
    """Return the keys of the two shown events after an event, in order."""
    return [row.key for row in reader.near(key, _TOLD, _FOLLOWING, is_after=True)]


def _last_reply(reader: EventReader, row: EventRow, stop: int) -> int:
    """Return the key of the last reply of an event's turn after it, 0 without one; the next prompt is forgotten."""
    condition = f"NOT bits & {NOT_INDEXED} AND bits & {KIND_MASK} IN ({_REPLY}) AND turn = {row.turn}"
    found = reader.in_range(row.key + 1, stop, include_hidden=False, condition=condition)
    return max((reply.key for batch in found for reply in batch), default=0)


def _prompts(reader: EventReader, keys: Sequence[int], *, is_after: bool) -> dict[int, EventRow]:
    """Return, by key, the nearest message of a person after or before each; what a harness injects is none."""
    found: dict[int, EventRow] = {}
    seen_to = {key: key for key in keys}
    for _ in range(_PROMPTS_LOOKED_AT):
        if not seen_to:
            break
        near = reader.nearest(set(seen_to.values()), codes_of("user_message"), is_after=is_after)
        rows = {row.key: row for row in reader.by_key(set(near.values()))}
        is_said = {
            row.key: isinstance(payload, UserMessage) and payload.origin != "injected"
            for row, payload in reader.light_payloads(list(rows.values()))
        }
        seen_to = {key: near[place] for key, place in seen_to.items() if near.get(place) in is_said}
        found |= {key: rows[place] for key, place in seen_to.items() if is_said[place]}
        seen_to = {key: place for key, place in seen_to.items() if not is_said[place]}
    return found


def _other_half(reader: EventReader, row: EventRow) -> int | None:
    is_call = KINDS[row.bits & KIND_MASK] == "tool_call"
    wanted = next(_call_id_of(payload) for _, payload in reader.light_payloads([row]))
    if not wanted:
        return None
    kinds = codes_of("tool_result" if is_call else "tool_call")
    near = sorted(reader.near(row.key, kinds, _CALLS_LOOKED_AT, is_after=is_call))
    return next((one.key for one, payload in reader.light_payloads(near) if _call_id_of(payload) == wanted), None)


def _call_id_of(payload: Payload) -> str:
    return payload.call_id if isinstance(payload, ToolCall | ToolResult) else ""
