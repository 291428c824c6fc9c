# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Rows of facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from recollect.model.learnings.names import normal_name, normal_predicate
from recollect.model.learnings.notes import Fact
from recollect.store.keys import SEQ_BITS
from recollect.store.notes import FactFilter, fact_as_known, fact_entry
from recollect.store.sqlite.bits import is_undone
from recollect.store.sqlite.entries.writer import put_entries
from recollect.store.sqlite.insights.codec import unpack_node

_decode = msgspec.json.Decoder(Fact).decode
_SEQ_DIGITS = 8
_HOLDS_AT = "coalesce(valid_from <= :at, TRUE) AND coalesce(valid_to > :at, TRUE)"


def read_facts(db: apsw.Connection, where: FactFilter) -> list[Fact]:
    """Return facts, see `store.notes.NoteReader.facts`."""
    clauses, values = _clauses(where)
    rows: Any = db.execute(
        f"SELECT json FROM fact WHERE {' AND '.join(clauses) or 'TRUE'} "
        "ORDER BY coalesce(valid_from, recorded_at) DESC, recorded_at DESC, id",
        values,
    ).fetchall()
    return [fact for (text,) in rows if (fact := _as_known(_decode(text), where)) is not None]


def named_facts(db: apsw.Connection, name: str) -> list[Fact]:
    """Return the fact of an id, else those whose id begins so."""
    rows: Any = db.execute(
        "SELECT json FROM fact WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT 20", (name,)
    ).fetchall()
    found = [_decode(text) for (text,) in rows]
    return [fact for fact in found if fact.id == name] or found


def put_fact(db: apsw.Connection, fact: Fact) -> None:
    """Keep a fact and its entry, inside the caller's transaction."""
    db.execute(
        "INSERT OR REPLACE INTO fact VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            fact.id, normal_name(fact.subject), normal_predicate(fact.predicate), normal_name(fact.object),
            fact.valid_from, fact.valid_to, fact.repo, fact.recorded_at, fact.invalidated_at, fact.is_retracted,
            fact.batch, msgspec.json.encode(fact).decode(),
        ),
    )  # fmt: skip
    put_entries(db, [fact_entry(fact)])


def undone_facts(db: apsw.Connection, facts: Iterable[Fact]) -> frozenset[str]:
    """Return the ids of facts that rest on something undone, see `store.notes.NoteReader.undone`."""
    return frozenset(fact.id for fact in facts if fact.reference and _is_undone(db, fact.reference))


def _is_undone(db: apsw.Connection, reference: str) -> bool:
    kind, _, name = reference.partition(":")
    if kind == "decision":
        data: bytes | None = db.execute("SELECT data FROM node WHERE id = ?", (reference,)).get
        return data is not None and unpack_node(data).is_undone
    if kind == "learning":
        state: str | None = db.execute("SELECT state FROM learning WHERE id = ?", (name,)).get
        return state == "undone"
    uid, _, seq = reference.rpartition("#")
    if not uid or not seq.isdecimal() or len(seq) > _SEQ_DIGITS:
        return False
    bits: int | None = db.execute(
        f"SELECT bits FROM session JOIN event ON key = (number << {SEQ_BITS}) + ? WHERE uid = ?", (int(seq), uid)
    ).get
    return bits is not None and is_undone(bits)


def _clauses(where: FactFilter) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions that columns answer. What the memory knew at another time, only the facts themselves do."""
    clauses: list[str] = []
    values: dict[str, Any] = {}
    named = (
        ("subject = :subject", "subject", normal_name(where.subject)),
        ("predicate = :predicate", "predicate", normal_predicate(where.predicate)),
        ("object = :object", "object", normal_name(where.object)),
        ("(subject = :about OR object = :about)", "about", normal_name(where.about)),
        ("repo = :repo", "repo", where.repo),
        ("batch = :batch", "batch", where.batch),
    )
    for clause, name, value in named:
        if value:
            clauses.append(clause)
            values[name] = value
    if where.known_at is not None:
        clauses.append("recorded_at <= :known_at")
        values["known_at"] = where.known_at
    elif not where.is_history:
        clauses.append("NOT is_retracted")
        clauses.append("valid_to IS NULL" if where.at is None else _HOLDS_AT)
    elif where.at is not None:
        clauses.append(_HOLDS_AT)
    if where.at is not None:
        values["at"] = where.at
    return clauses, {name: value for name, value in values.items() if any(f":{name}" in c for c in clauses)}


def _as_known(fact: Fact, where: FactFilter) -> Fact | None:
    """Return a fact as the memory knew it at `where.known_at`; None where it is not asked for then."""
    if where.known_at is None:
        return fact
    known = fact_as_known(fact, where.known_at)
    if known is None:
        return None
    fact = known
    if where.at is not None and not _holds_at(fact, where.at):
        return None
    if where.is_history:
        return fact
    return None if fact.is_retracted or (where.at is None and fact.valid_to is not None) else fact


def _holds_at(fact: Fact, at: int) -> bool:
    return (fact.valid_from is None or fact.valid_from <= at) and (fact.valid_to is None or at < fact.valid_to)
