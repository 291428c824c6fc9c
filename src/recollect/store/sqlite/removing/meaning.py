# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Taking away what was distilled, written and noted of a session that is forgotten, wholly or in part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from recollect.store.sqlite.distilled.base import keep_base
from recollect.store.sqlite.distilled.packing import unpack_node
from recollect.store.sqlite.removing.learned import forget_learned, forget_named

_MASK = "[forgotten]"
"""Stands in the audit for the uid of a session that was forgotten."""


def forget_meaning(db: apsw.Connection, uid: str, touched: set[int]) -> None:
    """Remove a session's analysis: digest, signals, nodes and links. The session, if it is there, is analysed anew.

    So are sessions whose nodes name this one: what they say may be told from it. `revoked` history goes too, and what
    an evicted part of the session came to, which no analysis can tell again.
    """
    nodes = _forget_analysis(db, uid, touched)
    for other in _naming(db, uid):
        keep_base(db, other)
        nodes += _forget_analysis(db, other, touched)
    forget_learned(db, uid, nodes)
    db.execute("UPDATE eviction SET digest = '' WHERE session_uid = ?", (uid,))
    _forget_firings(db, uid)


def forget_uid(db: apsw.Connection, uid: str, touched: set[int]) -> None:
    """Remove everything that names a session but its events: its meaning, decisions added to it, its pin, firings.

    The audit keeps that something was done, without saying of which session.
    """
    forget_meaning(db, uid, touched)
    ids = [
        node_id for (node_id,) in db.execute("DELETE FROM added_decision WHERE session_uid = ? RETURNING id", (uid,))
    ]
    forget_learned(db, uid, ids)
    forget_named(db, uid)
    _forget_links(db, ids)
    for table in ("pin", "eviction"):
        db.execute(f"DELETE FROM {table} WHERE session_uid = ?", (uid,))
    rows: list[Any] = db.execute(
        "SELECT at, nonce, json FROM audit WHERE instr(json, ?)", (msgspec.json.encode(uid).decode()[1:-1],)
    ).fetchall()
    for at, nonce, text in rows:
        masked = msgspec.json.encode(_masked(msgspec.json.decode(text), uid)).decode()
        db.execute("UPDATE audit SET json = ? WHERE at = ? AND nonce = ?", (masked, at, nonce))


def _forget_analysis(db: apsw.Connection, uid: str, touched: set[int]) -> list[str]:
    """Return the ids of the nodes that there were."""
    ids: list[str] = []
    found: Any = db.execute("SELECT number, repo FROM analysis WHERE session_uid = ?", (uid,)).fetchone()
    if found is not None:
        number, repo = found
        ids = [node_id for (node_id,) in db.execute("SELECT id FROM node WHERE analysis = ?", (number,))]
        _forget_links(db, ids)
        # Bindings of other sessions that lead to a node of this one.
        for column in ("source", "episode"):
            db.executemany(f"DELETE FROM node WHERE {column} = ?", [(node_id,) for node_id in ids])
        for table in ("node", "digest", "signal"):
            db.execute(f"DELETE FROM {table} WHERE analysis = ?", (number,))
        db.execute("DELETE FROM analysis WHERE number = ?", (number,))
        db.execute("INSERT OR IGNORE INTO waiting_repo VALUES (?)", (repo,))
    session = db.execute(
        "UPDATE session SET analyzed_at = NULL, outcome = 'unknown', outcome_reason = '' WHERE uid = ? "
        "RETURNING number",
        (uid,),
    ).get
    if session is not None:
        touched.add(session)
    return ids


def _forget_links(db: apsw.Connection, ids: Iterable[str]) -> None:
    for node_id in ids:
        db.execute("DELETE FROM link WHERE newer = ?1 OR older = ?1", (node_id,))


def _naming(db: apsw.Connection, uid: str) -> list[str]:
    """Return the sessions with a node that names a session: its evidence, or words, may be of that one."""
    rows: Iterable[Any] = db.execute(
        "SELECT session_uid, data FROM node JOIN analysis ON analysis.number = node.analysis"
    ).fetchall()
    found: dict[str, None] = {}
    for other, data in rows:
        if other not in found and _names(unpack_node(data), uid):
            found[other] = None
    return list(found)


def _names(node: object, uid: str) -> bool:
    return uid.encode() in msgspec.json.encode(node)


def _forget_firings(db: apsw.Connection, uid: str) -> None:
    """Remove what an agent was given of a session, and what this session was given."""
    db.execute("DELETE FROM firing WHERE session = ?", (uid,))
    rows: list[Any] = db.execute("SELECT at, nonce, citations FROM firing WHERE instr(citations, ?)", (uid,)).fetchall()
    for at, nonce, citations in rows:
        cited = msgspec.json.decode(citations, type=list[str])
        if any(name.partition("#")[0] == uid for name in cited):
            db.execute("DELETE FROM firing WHERE at = ? AND nonce = ?", (at, nonce))


def _masked(value: Any, uid: str) -> Any:
    """Return decoded JSON without the uid, or a citation of it."""
    if isinstance(value, str):
        return _MASK if value.partition("#")[0] == uid else value
    if isinstance(value, list):
        return [_masked(item, uid) for item in value]
    if isinstance(value, dict):
        return {(_MASK if key == uid else key): _masked(item, uid) for key, item in value.items()}
    return value
