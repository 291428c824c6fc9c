# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Taking away what was distilled, written and noted of a session that is forgotten, wholly or in part."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import apsw
import msgspec

from recollect.model.insights.nodes import Evidence, Node
from recollect.store.sqlite.erasure.learnings import forget_learned, forget_named
from recollect.store.sqlite.insights.base import keep_base
from recollect.store.sqlite.insights.codec import unpack_node

_WORDS = re.compile(rb"[^\s\"#\\,;()<>\[\]{}]+")
"""What may be a session's uid where a node quotes it; `#` begins the number of an event."""
_BEHIND = b".:/-!?'`"
"""What may follow it in a sentence."""
_MASK = "[forgotten]"
"""Stands in the audit for the uid of a session that was forgotten."""


NamedBy = Mapping[str, Collection[str]]
"""Of sessions that are forgotten: the sessions with a node that names them."""


def forget_meaning(
    db: apsw.Connection, uid: str, touched: set[int], *, events: Collection[str] | None = None,
    named_by: NamedBy | None = None,
) -> None:  # fmt: skip
    """Remove a session's analysis: digest, signals, nodes and links. The session, if it is there, is analysed anew.

    So are sessions whose nodes name this one: what they say may be told from it. `revoked` history goes too, and what
    an evicted part of the session came to, which no analysis can tell again. events: the ids of those of its events
    that go, where others stay; what was learned or noted and rests on none of them is kept. named_by: where that is
    known already.
    """
    nodes = _forget_analysis(db, uid, touched)
    known = named_by if named_by is not None and uid in named_by else naming(db, (uid,))
    for other in known[uid]:
        keep_base(db, other)
        nodes += _forget_analysis(db, other, touched)
    gone = frozenset((uid, event_id) for event_id in events or ())
    ids = [found.id for found in nodes if events is None or not gone.isdisjoint(_events_of(found))]
    forget_learned(db, uid, ids, events=events)
    db.execute("UPDATE eviction SET digest = '' WHERE session_uid = ?", (uid,))
    _forget_firings(db, uid)


def forget_uid(db: apsw.Connection, uid: str, touched: set[int], *, named_by: NamedBy | None = None) -> None:
    """Remove everything that names a session but its events: its meaning, decisions added to it, its pin, firings.

    The audit keeps that something was done, without saying of which session.
    """
    forget_meaning(db, uid, touched, named_by=named_by)
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


def _forget_analysis(db: apsw.Connection, uid: str, touched: set[int]) -> list[Node]:
    """Return the nodes that there were."""
    nodes: list[Node] = []
    found: Any = db.execute("SELECT number, repo FROM analysis WHERE session_uid = ?", (uid,)).fetchone()
    if found is not None:
        number, repo = found
        nodes = [unpack_node(data) for (data,) in db.execute("SELECT data FROM node WHERE analysis = ?", (number,))]
        ids = [found.id for found in nodes]
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
    return nodes


def _events_of(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (session uid, event id) of all that a node rests on, wherever it names it."""
    if isinstance(value, Evidence):
        yield value.session_uid, value.event_id
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _events_of(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _events_of(item)


def _forget_links(db: apsw.Connection, ids: Iterable[str]) -> None:
    for node_id in ids:
        db.execute("DELETE FROM link WHERE newer = ?1 OR older = ?1", (node_id,))


def naming(db: apsw.Connection, uids: Collection[str]) -> NamedBy:
    """Return for each of these sessions the others with a node that names it: their evidence, or words, may be of it.

    One look at all nodes, however many sessions are asked for.
    """
    wanted = {uid.encode(): uid for uid in uids}
    found: dict[str, dict[str, None]] = {uid: {} for uid in uids}
    rows: Iterable[Any] = db.execute(
        "SELECT session_uid, data FROM node JOIN analysis ON analysis.number = node.analysis"
    )
    for other, data in rows:
        text = msgspec.json.encode(unpack_node(data))
        words = set(_WORDS.findall(text))
        for word in (words | {word.rstrip(_BEHIND) for word in words}) & wanted.keys():
            if wanted[word] != other:
                found[wanted[word]][other] = None
    return found


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
