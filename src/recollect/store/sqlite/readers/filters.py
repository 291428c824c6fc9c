"""Which sessions a question is confined to, as SQL conditions."""

# ruff: noqa: S608  statements are put together of our own constants; values are always bound

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import apsw

from recollect.store.ports import EventFilter
from recollect.store.sqlite.event_ids import pack_text

Condition = tuple[str, list[Any]]
_LAST = "\U0010ffff"
EVERYTHING: Condition = ("1", [])


def session_condition(
    db: apsw.Connection, where: EventFilter, *, after: int | None = None, before: int | None = None
) -> Condition:
    """Return a condition over the table `session` and its values.

    after/before confine to sessions with a moment in [after, before); sessions without times are then left out.
    """
    terms: list[str] = []
    values: list[Any] = []
    if where.agents:
        terms.append(_is_one_of("agent", (agent.lower() for agent in where.agents), values))
    for column, wanted in (("repo", where.repos), ("git_branch", where.branches)):
        if wanted:
            terms.append(_is_one_of(column, containing(db, column, wanted), values))
    if where.sessions:
        numbers = {number for name in where.sessions for number in find_sessions(db, name)}
        terms.append("number IN (SELECT value FROM carray(?))")
        values.append(int_array(numbers))
    if where.tags:
        tagged = f"SELECT session_uid FROM tag WHERE name IN ({', '.join('?' * len(where.tags))})"
        terms.append(f"uid IN ({tagged})")
        values += where.tags
    if where.is_subagent is not None:
        terms.append("parent_uid <> ''" if where.is_subagent else "parent_uid = ''")
    if after is not None:
        terms.append("ended_at >= ?")
        values.append(after)
    if before is not None:
        terms.append("started_at < ?")
        values.append(before)
    return (" AND ".join(terms), values) if terms else EVERYTHING


def find_sessions(db: apsw.Connection, name: str, *, limit: int = 100) -> list[int]:
    """Return the numbers of the session with this uid or native id, else of those whose uid or native id begins so."""
    stored = pack_text(name)
    rows: Iterable[Any] = db.execute(
        "SELECT number FROM session WHERE uid = ?1 UNION SELECT number FROM session WHERE native_id = ?1", (stored,)
    ).fetchall()
    if not rows and name and isinstance(stored, str):
        rows = db.execute(
            "SELECT number FROM session WHERE uid >= ?1 AND uid < ?2 "
            "UNION SELECT number FROM session WHERE native_id >= ?1 AND native_id < ?2 LIMIT ?3",
            (name, name + _LAST, limit),
        )
    return [number for (number,) in rows]


def containing(db: apsw.Connection, column: str, wanted: tuple[str, ...], *, table: str = "session") -> list[str]:
    """Return the values of a column that contain one of the texts, or are one that begins with "=", in any case."""
    folded = [text.casefold() for text in wanted]
    whole = {text[1:] for text in folded if text.startswith("=")}
    parts = [text for text in folded if not text.startswith("=")]
    rows: Iterable[Any] = db.execute(f"SELECT DISTINCT {column} FROM {table}")
    return [v for (v,) in rows if v.casefold() in whole or any(text in v.casefold() for text in parts)]


def int_array(values: Iterable[int]) -> Any:
    """Return whole numbers to bind to carray(?), which takes no empty array: then one number that no row has."""
    numbers = array("q", values)
    return apsw.carray(numbers or array("q", (-1,)))


def _is_one_of(column: str, values: Iterable[str], bound: list[Any]) -> str:
    """Return a term that a column has one of some texts, and bind them. Not by carray, which refuses NULs."""
    stored = [pack_text(value) for value in values]
    bound += stored
    return f"{column} IN ({', '.join('?' * len(stored))})"
