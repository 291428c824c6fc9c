# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Deletes insights, learnings and notes of sessions and events that go, and finds what these had taken back.

What was learned of a session goes with it, and so do facts that were made of what it came to. A diary entry that tells
of that session alone goes, one that tells of others too loses its name; a fact that cites it goes unless a person said
it. Everything that removes runs inside the writer's transactions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.insights.nodes import NODE_KINDS, Decision, Evidence, Node
from recollect.model.learnings.learnings import Learning
from recollect.store.connection import column, query
from recollect.store.context_rows import words_of
from recollect.store.entries import remove_entries, retell_entry
from recollect.store.erasure.note_rows import forget_evidence, forget_sessions, recording, remove_diary, remove_fact
from recollect.store.insight_writer import keep_base
from recollect.store.insights import decisions_of, decode_decision, outdone_in, unpack_node
from recollect.store.learnings import BY_CLOSING, decode_learning, decode_verdict, evidence_of
from recollect.store.notes import decode_diary, decode_fact, put_diary, put_fact
from recollect.store.row_keys import SEQ_MASK, unpack_event_id
from recollect.store.sessions import int_array


class Leaving(NamedTuple):
    """What is to go. whole: uids of sessions. partial: the keys of single events, by the uid of their session."""

    whole: Collection[str]
    partial: Mapping[str, Collection[int]]


def resting_on(db: apsw.Connection, leaving: Leaving) -> list[str]:
    """Return the names (`learning:ID`, `fact:ID`, `diary:ID`, `document:PLACE`) of what goes with events.

    Raises StoreCorrupt.
    """
    touched = _touched(db, leaving)
    gone = [learning_id for learning_id in sorted(touched) if not _stays(db, learning_id, touched[learning_id])]
    names = [f"learning:{learning_id}" for learning_id in gone]
    cited = {f"{uid}#{key & SEQ_MASK}" for uid, keys in leaving.partial.items() for key in keys}
    cited |= {f"learning:{learning_id}" for learning_id in touched}
    for (text,) in query(db, "SELECT json FROM fact WHERE json_extract(json, '$.reference') <> ''"):
        fact = decode_fact(text)
        uid = fact.reference.partition("#")[0]
        if fact.source != "person" and (fact.reference in cited or uid in leaving.whole):
            names.append(f"fact:{fact.id}")
    for (text,) in query(db, "SELECT json FROM diary"):
        entry = decode_diary(text)
        if entry.sessions and all(uid in leaving.whole for uid in entry.sessions):
            names.append(f"diary:{entry.id}")
    return [*names, *recording(db, leaving.whole).marks]


def _touched(db: apsw.Connection, leaving: Leaving) -> dict[str, dict[str, frozenset[str] | None]]:
    """Return the learnings that lose something, each with the sessions that it loses: their events, None for all."""
    found: dict[str, dict[str, frozenset[str] | None]] = {}
    for uid in leaving.whole:
        for table in ("learning_sighting", "learning_evidence"):
            for (learning_id,) in query(db, f"SELECT DISTINCT learning FROM {table} WHERE session_uid = ?", (uid,)):
                found.setdefault(learning_id, {})[uid] = None
    for uid, keys in leaving.partial.items():
        events = events_leaving(db, keys)
        for learning_id, event_id in query(
            db, "SELECT learning, event_id FROM learning_evidence WHERE session_uid = ?", (uid,)
        ):
            if event_id in events:
                found.setdefault(learning_id, {})[uid] = events
    return found


def events_leaving(db: apsw.Connection, keys: Collection[int]) -> frozenset[str]:
    """Return the ids of events by their keys."""
    ids = query(db, "SELECT event_id FROM event WHERE key IN (SELECT value FROM carray(?))", (int_array(keys),))
    return frozenset(unpack_event_id(event_id) for (event_id,) in ids)


def _stays(db: apsw.Connection, learning_id: str, lost: Mapping[str, frozenset[str] | None]) -> bool:
    """Return whether another session, or other words of the person, support a learning; see `learnings.erasure`."""
    seen = query(
        db, "SELECT session_uid FROM learning_sighting WHERE learning = ? AND origin <> ?", (learning_id, BY_CLOSING)
    )
    if any(uid not in lost for (uid,) in seen):
        return True
    verdicts = query(db, "SELECT json FROM verdict WHERE learning = ?", (learning_id,))
    if any(decode_verdict(text).verdict == "said" for (text,) in verdicts):
        return True
    kept: str | None = db.execute("SELECT json FROM learning WHERE id = ?", (learning_id,)).get
    if kept is None or decode_learning(kept).kind == "pattern":
        return False
    return any(
        e.author == "user" and e.quote and not _is_lost(lost.get(e.session_uid, frozenset()), e.event_id)
        for e in evidence_of(db, learning_id)
    )


def _is_lost(events: frozenset[str] | None, event_id: str) -> bool:
    return events is None or event_id in events


def forget_learned(
    db: apsw.Connection, uid: str, nodes: Collection[str], *, events: Collection[str] | None = None
) -> None:
    """Delete what was learned of a session, and the facts made from that or from its nodes (their ids).

    events: only what rests on these, by id; None: all.
    """
    if events is None:
        ids = {
            found
            for table in ("learning_sighting", "learning_evidence")
            for (found,) in db.execute(f"SELECT DISTINCT learning FROM {table} WHERE session_uid = ?", (uid,))
        }
        forget_sessions(db, (uid,))
    else:
        ids = forget_evidence(db, uid, events)
    for learning_id in ids:  # one that others speak of too is told in their words from now on
        text: Any = db.execute("SELECT json FROM learning WHERE id = ?", (learning_id,)).get
        if text is not None:
            left: Any = db.execute(
                "SELECT session_uid FROM learning_evidence WHERE learning = ? LIMIT 1", (learning_id,)
            ).get
            for kind in ("learning", "action"):
                retell_entry(db, f"{kind}:{learning_id}", decode_learning(text).text, session_uid=left or "")
    _remove_facts(db, {*nodes, *(f"learning:{learning_id}" for learning_id in ids)})


def forget_named(db: apsw.Connection, uid: str) -> None:
    """Delete the notes and tags of a session that goes as a whole."""
    rows: list[Any] = db.execute(
        "SELECT json FROM diary WHERE EXISTS "
        "(SELECT 1 FROM json_each(diary.json, '$.sessions') AS said WHERE said.value = ?)",
        (uid,),
    ).fetchall()
    for entry in (decode_diary(text) for (text,) in rows):
        others = tuple(other for other in entry.sessions if other != uid)
        if others:
            put_diary(db, msgspec.structs.replace(entry, sessions=others))
        else:
            remove_diary(db, entry.id)
    _forget_citing(db, lambda reference: reference == uid or reference.rpartition("#")[0] == uid)
    db.execute("DELETE FROM tag WHERE session_uid = ?", (uid,))
    remove_entries(db, column(db, "SELECT uid FROM entry WHERE session_uid = ?", (uid,)))


def forget_cited(db: apsw.Connection, uid: str, seqs: Collection[int]) -> None:
    """Delete facts that cite events of a session that go."""
    cited = {f"{uid}#{seq}" for seq in seqs}
    _forget_citing(db, cited.__contains__)


def _forget_citing(db: apsw.Connection, is_meant: Callable[[str], bool]) -> None:
    rows: list[Any] = db.execute("SELECT json FROM fact WHERE json_extract(json, '$.reference') <> ''").fetchall()
    for fact in (decode_fact(text) for (text,) in rows):
        if not is_meant(fact.reference):
            continue
        if fact.source == "person":
            put_fact(db, msgspec.structs.replace(fact, reference=""))
        else:
            remove_fact(db, fact.id)


def _remove_facts(db: apsw.Connection, references: Collection[str]) -> None:
    """Remove the facts that rest on one of these: ids of nodes, learnings."""
    if not references:
        return
    for fact_id, reference in query(db, "SELECT id, json_extract(json, '$.reference') FROM fact").fetchall():
        if reference in references:
            remove_fact(db, fact_id)


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
    """Remove a session's analysis: digest, signals, nodes and links. If the session remains, it is analysed again.

    Sessions whose nodes name this one are analysed again too, because their words may come from it. `revoked` history
    goes, and so does the summary of an evicted part, which no analysis can make again. events: ids of its events that
    go, if others stay; learnings and notes that rest on none of them are kept. named_by: if that is known already.
    """
    nodes = _forget_analysis(db, uid, touched)
    known = named_by if named_by is not None and uid in named_by else naming(db, (uid,))
    for other in known[uid]:
        keep_base(db, other)
        nodes += _forget_analysis(db, other, touched)
    gone = frozenset((uid, event_id) for event_id in events or ())
    ids = [found.id for found in nodes if events is None or not gone.isdisjoint(events_of(found))]
    forget_learned(db, uid, ids, events=events)
    db.execute("UPDATE eviction SET digest = '' WHERE session_uid = ?", (uid,))
    _forget_firings(db, uid)


def forget_uid(db: apsw.Connection, uid: str, touched: set[int], *, named_by: NamedBy | None = None) -> None:
    """Remove everything that names a session except its events: its analysis, decisions added to it, its pin, firings.

    The audit log keeps the action without naming the session.
    """
    forget_meaning(db, uid, touched, named_by=named_by)
    ids = column(db, "DELETE FROM added_decision WHERE session_uid = ? RETURNING id", (uid,))
    forget_learned(db, uid, ids)
    forget_named(db, uid)
    _forget_links(db, ids)
    for table in ("pin", "eviction"):
        db.execute(f"DELETE FROM {table} WHERE session_uid = ?", (uid,))
    for at, nonce, text in query(
        db, "SELECT at, nonce, json FROM audit WHERE instr(json, ?)", (msgspec.json.encode(uid).decode()[1:-1],)
    ).fetchall():
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


def events_of(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (session uid, event id) of all that a node rests on, wherever it names it."""
    if isinstance(value, Evidence):
        yield value.session_uid, value.event_id
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from events_of(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from events_of(item)


def _forget_links(db: apsw.Connection, ids: Iterable[str]) -> None:
    for node_id in ids:
        db.execute("DELETE FROM link WHERE newer = ?1 OR older = ?1", (node_id,))


def naming(db: apsw.Connection, uids: Collection[str]) -> NamedBy:
    """Return for each session the others with a node that names it: their evidence, or words, may come from it.

    One look at all nodes, however many sessions are given.
    """
    wanted = {uid.encode(): uid for uid in uids}
    found: dict[str, dict[str, None]] = {uid: {} for uid in uids}
    for other, data in query(db, "SELECT session_uid, data FROM node JOIN analysis ON analysis.number = node.analysis"):
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


_DECISION = NODE_KINDS.index("decision")
Overruling = Callable[[Iterable[Learning], Iterable[Decision], Collection[tuple[str, str]]], set[str]]
"""Returns the ids of those learnings that some decisions take back; the pairs are decisions with what outdid them."""


class HoldingAgain(NamedTuple):
    """What would hold again. decisions: those that say something else than the learnings do."""

    learnings: list[Learning]
    decisions: list[Decision]


def decisions_leaving(db: apsw.Connection, leaving: Leaving) -> list[Decision]:
    """Return the decisions that go with sessions and events. Raises StoreCorrupt."""
    found = []
    for uid, events in _leaving(db, leaving):
        rows: list[Any] = db.execute(
            "SELECT data FROM node WHERE analysis IN (SELECT number FROM analysis WHERE session_uid = ?) "
            "AND kind = ? AND revoked_at IS NULL ORDER BY id",
            (uid, _DECISION),
        ).fetchall()
        said = (unpack_node(data) for (data,) in rows)
        found += [one for one in said if isinstance(one, Decision) and _goes(one, uid, events)]
    for uid in leaving.whole:
        added: list[Any] = db.execute(
            "SELECT json FROM added_decision WHERE session_uid = ? AND revoked_at IS NULL ORDER BY id", (uid,)
        ).fetchall()
        found += [decode_decision(text) for (text,) in added]
    return found


def done_by(db: apsw.Connection, leaving: Leaving) -> list[str]:
    """Return the ids of the actions of which only what goes shows that they are done. Raises StoreCorrupt."""
    rows: list[Any] = db.execute(
        "SELECT learning, session_uid, learning_sighting.json FROM learning_sighting JOIN learning ON id = learning "
        "WHERE origin = ? AND learning.state = 'done' AND id NOT IN (SELECT learning FROM verdict) ORDER BY learning",
        (BY_CLOSING,),
    ).fetchall()
    lost = dict(_leaving(db, leaving))
    stays: dict[str, bool] = {}
    for learning_id, uid, text in rows:
        events = lost.get(uid, frozenset())
        is_lost = events is None or any(e.event_id in events for e in decode_learning(text).evidence)
        stays[learning_id] = stays.get(learning_id, False) or not is_lost
    return [learning_id for learning_id, is_kept in stays.items() if not is_kept]


def _leaving(db: apsw.Connection, leaving: Leaving) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Yield the sessions that lose something, with the ids of their events that go, None for all."""
    yield from ((uid, None) for uid in leaving.whole)
    yield from ((uid, events_leaving(db, keys)) for uid, keys in leaving.partial.items() if uid not in leaving.whole)


def _goes(decision: Decision, uid: str, events: frozenset[str] | None) -> bool:
    return events is None or any(at == uid and event in events for at, event in events_of(decision))


def taken_back_by(
    db: apsw.Connection, learnings: Collection[str], decisions: Collection[str], overruling: Overruling
) -> HoldingAgain:
    """Return what holds again once learnings and decisions (their ids) are gone. What a person gave a verdict on keeps
    it. Raises StoreCorrupt."""
    found = [one for one in _superseded(db) if one.id not in learnings]
    again = {one.id for one in found if one.superseded_by in learnings}
    for repo in sorted({one.repo for one in found if not one.superseded_by and one.repo}):
        here = [one for one in found if one.repo == repo and not one.superseded_by]
        said = [decision for decision, _ in decisions_of(db, repo) if not decision.is_undone]
        left = [decision for decision in said if decision.id not in decisions]
        outdone = outdone_in(db, repo)
        stays = [(older, newer) for older, newer in outdone if newer not in decisions]
        again |= overruling(here, said, outdone) - overruling(here, left, stays)
    held = [one for one in found if one.id in again]
    words = [words_of(one.text) for one in held]
    others = (one for one in _outdone(db, decisions) if not any(said in words_of(one.statement) for said in words))
    return HoldingAgain(held, list(others))


def _superseded(db: apsw.Connection) -> Iterator[Learning]:
    """Yield the learnings that another one, or a decision, took back; no action that repeats another one."""
    rows: list[Any] = db.execute(
        "SELECT json FROM learning WHERE state = 'superseded' "
        "AND (kind <> 'action' OR coalesce(json ->> '$.superseded_by', '') = '') "
        "AND id NOT IN (SELECT learning FROM verdict) ORDER BY id"
    ).fetchall()
    for (text,) in rows:
        learning = decode_learning(text)
        yield msgspec.structs.replace(learning, evidence=evidence_of(db, learning.id))


def _outdone(db: apsw.Connection, decisions: Collection[str]) -> Iterator[Decision]:
    """Yield the decisions that only these ones superseded, reversed or contradicted."""
    rows: list[Any] = db.execute(
        "SELECT node.data, newer FROM link JOIN node ON node.id = link.older "
        "WHERE link.revoked_at IS NULL AND node.revoked_at IS NULL AND link.relation <> 'produced' ORDER BY node.id"
    ).fetchall()
    by: dict[str, set[str]] = {}
    older: dict[str, Decision] = {}
    for data, newer in rows:
        decision = unpack_node(data)
        if isinstance(decision, Decision):
            older[decision.id] = decision
            by.setdefault(decision.id, set()).add(newer)
    for decision_id, newer in by.items():
        if decision_id not in decisions and newer <= set(decisions):
            yield older[decision_id]
