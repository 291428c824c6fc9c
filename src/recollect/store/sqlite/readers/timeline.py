"""What happened: in one session in order of seq, over sessions in order of time."""

# ruff: noqa: S608  statements are put together of our own constants; values are always bound

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw

from recollect.store.ports import SEQ_BITS, EventFilter, TimelineRow
from recollect.store.sqlite.bits import HIDDEN, is_undone, kind_of_bits, role_of_bits
from recollect.store.sqlite.readers.events import EventReader, EventRow
from recollect.store.sqlite.readers.filters import int_array, session_condition

_SEQ_MASK = (1 << SEQ_BITS) - 1


class Window(NamedTuple):
    """Which part of a timeline: times in UTC microseconds, `before` exclusive; at most `limit` lines from `offset`."""

    after: int | None
    before: int | None
    limit: int
    offset: int


def read_timeline(
    db: apsw.Connection, reader: EventReader, where: EventFilter, window: Window
) -> tuple[tuple[TimelineRow, ...], int]:
    """Return lines of a timeline and how many events match, see `store.ports.Reader.timeline`."""
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


def _over_sessions(db: apsw.Connection, sessions: list[Any], window: Window) -> tuple[list[int], int]:
    """Walk the sessions from the last to end; stop looking for events once none can be newer than those found.

    A session that lies wholly in the asked range counts with all its events.
    """
    after, before = window.after, window.before
    wanted = window.limit + window.offset
    newest: list[tuple[int, int]] = []
    total = 0
    for number, started, ended, count in sessions:
        is_inside = (after is None or (started or after) >= after) and (before is None or (ended or 0) < before)
        condition, values = _in_time(number, window)
        total += count if is_inside else db.execute(f"SELECT count(*) FROM event WHERE {condition}", values).get
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


def _in_time(number: int, window: Window) -> tuple[str, list[int]]:
    terms = [f"key BETWEEN ? AND ? AND NOT bits & {HIDDEN}"]
    values = [number << SEQ_BITS, (number << SEQ_BITS) + _SEQ_MASK]
    if window.after is not None:
        terms.append("ts >= ?")
        values.append(window.after)
    if window.before is not None:
        terms.append("ts < ?")
        values.append(window.before)
    return " AND ".join(terms), values


def _lines(db: apsw.Connection, reader: EventReader, rows: list[EventRow]) -> Iterable[TimelineRow]:
    found: Iterable[Any] = db.execute(
        "SELECT number, uid, agent, repo FROM session WHERE number IN (SELECT value FROM carray(?))",
        (int_array({row.key >> SEQ_BITS for row in rows}),),
    )
    facts = {number: rest for number, *rest in found}
    for row in rows:
        uid, agent, repo = facts[row.key >> SEQ_BITS]
        yield TimelineRow(
            ts=row.ts,
            session_uid=uid,
            seq=row.key & _SEQ_MASK,
            agent=agent,
            kind=kind_of_bits(row.bits),
            role=role_of_bits(row.bits),
            turn_index=row.turn,
            summary=reader.summary(row),
            repo=repo,
            is_undone=is_undone(row.bits),
        )
