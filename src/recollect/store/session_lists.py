# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Lists of sessions in any order, and a session's family: its predecessors and successors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from recollect.model.ids import session_uid
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.model.sessions import Outcome, Session
from recollect.store.rows import EventFilter
from recollect.store.session_facts import decode_facts
from recollect.store.sessions import int_array, read_sessions, session_condition, title_of

SessionOrder = Literal[
    "recent", "start", "title", "agent", "repo", "outcome", "turns", "active", "cost", "errors", "edits"
]
_ANALYSIS = "(SELECT number FROM analysis WHERE session_uid = session.uid)"
_ERRORS = f"(SELECT count FROM signal WHERE kind = {SIGNAL_KINDS.index('error')} AND analysis = {_ANALYSIS})"
_ACTIVE = f"(SELECT json_extract(json, '$.cost.active_s') FROM digest WHERE analysis = {_ANALYSIS})"
_ORDERS: dict[SessionOrder, str] = {
    "recent": "coalesce(ended_at, started_at, 0)", "start": "coalesce(started_at, ended_at, 0)",
    "title": "title_of(facts)", "agent": "agent", "repo": "repo COLLATE NOCASE", "outcome": "outcome",
    "turns": "turn_count", "edits": "coalesce(json_extract(kind_counts, '$.file_edit'), 0)",
    "active": f"coalesce({_ACTIVE}, -1)", "errors": f"coalesce({_ERRORS}, -1)", "cost": "cost_of(uid)",
}  # fmt: skip
MAX_RELATIVES = 300
_GENERATIONS = 32


class SessionQuestion(NamedTuple):
    """Which sessions are listed, and in which order. title: a part of it, in any case. after/before: UTC microseconds,
    a session has a moment in [after, before)."""

    where: EventFilter = EventFilter()
    title: str = ""
    outcome: Outcome | Literal[""] = ""
    after: int | None = None
    before: int | None = None
    by: SessionOrder = "recent"
    is_descending: bool = True


class ListedSession(msgspec.Struct, frozen=True):
    """A line of a list. active_s, errors: None before the session is analysed. cost_usd: None without a known price."""

    session: Session
    active_s: float | None
    errors: int | None
    cost_usd: float | None = None


def list_sessions(
    db: apsw.Connection, asked: SessionQuestion, costs: dict[str, float], *, limit: int, offset: int
) -> tuple[list[ListedSession], int]:
    """Return a page of sessions and how many there are. costs: by uid, for the order of that name."""
    db.create_scalar_function("title_of", _title_of, 1)
    db.create_scalar_function("cost_of", lambda *uid: costs.get(str(uid[0]), -1.0), 1)
    condition, values = session_condition(db, asked.where, after=asked.after, before=asked.before)
    if asked.outcome:
        condition, values = f"{condition} AND outcome = ? AND analyzed_at IS NOT NULL", [*values, asked.outcome]
    if asked.title:
        condition, values = f"{condition} AND instr(title_of(facts), ?)", [*values, asked.title.casefold()]
    total: int = db.execute(f"SELECT count(*) FROM session WHERE {condition}", values).get
    direction = "DESC" if asked.is_descending else "ASC"
    rows: list[Any] = db.execute(
        f"SELECT number, uid, {_ACTIVE}, {_ERRORS}, analyzed_at FROM session WHERE {condition} "
        f"ORDER BY {_ORDERS[asked.by]} {direction}, coalesce(ended_at, started_at, 0) DESC, uid LIMIT ? OFFSET ?",
        [*values, limit, offset],
    ).fetchall()
    found = {
        session.session_uid: session
        for session in read_sessions(
            db, "number IN (SELECT value FROM carray(?))", [int_array(number for number, *_ in rows)]
        )
    }
    lines = [
        ListedSession(found[uid], active_s, errors if errors is not None or analyzed_at is None else 0)
        for _number, uid, active_s, errors, analyzed_at in rows
    ]
    return lines, total


def _title_of(*facts: Any) -> str:
    return title_of(decode_facts(facts[0])).casefold()


class Relative(msgspec.Struct, frozen=True):
    """A session of a family. depth: how many levels below the first. how: its relation to the one above it."""

    session: Session
    depth: int
    how: Literal["", "subagent", "fork", "resumed"]


def read_family(db: apsw.Connection, session: Session) -> list[Relative]:
    """Return the sessions that one came from and all that came from them, each below its own origin, oldest first;
    at most `MAX_RELATIVES`. A session without relatives is alone in it."""
    origins = _origins(db, session.agent)
    first, seen = session.session_uid, set[str]()
    while first in origins and first not in seen and len(seen) < _GENERATIONS:
        seen.add(first)
        first = origins[first][0]
    below: dict[str, list[str]] = {}
    for uid, (origin, _how) in origins.items():
        below.setdefault(origin, []).append(uid)
    placed: list[tuple[str, int]] = []
    waiting, known = [(first, 0)], {first}
    while waiting and len(placed) < MAX_RELATIVES:
        uid, depth = waiting.pop()
        placed.append((uid, depth))
        later = [one for one in below.get(uid, ()) if one not in known]
        known.update(later)
        waiting += [(one, depth + 1) for one in reversed(later)]
    marks = ", ".join("?" * len(placed))
    found = {one.session_uid: one for one in read_sessions(db, f"uid IN ({marks})", [uid for uid, _ in placed])}
    return [
        Relative(found[uid], depth, origins[uid][1] if uid in origins else "") for uid, depth in placed if uid in found
    ]


def _origins(db: apsw.Connection, agent: str) -> dict[str, tuple[str, Literal["subagent", "fork", "resumed"]]]:
    """Return which session each session of an agent came from, oldest first."""
    rows: Iterable[Any] = db.execute(
        "SELECT uid, parent_uid, facts FROM session WHERE agent = ? AND (parent_uid <> '' OR "
        "instr(facts, CAST('forked_from' AS BLOB)) OR instr(facts, CAST('resumed_from' AS BLOB))) "
        "ORDER BY coalesce(started_at, 0), uid",
        (agent,),
    )
    found: dict[str, tuple[str, Literal["subagent", "fork", "resumed"]]] = {}
    for uid, parent, packed in rows:
        facts = decode_facts(packed)
        if parent:
            found[uid] = (parent, "subagent")
        elif facts.forked_from:
            found[uid] = (session_uid(agent, facts.forked_from), "fork")
        elif facts.resumed_from:
            found[uid] = (session_uid(agent, facts.resumed_from), "resumed")
    return {uid: origin for uid, origin in found.items() if origin[0] != uid}
