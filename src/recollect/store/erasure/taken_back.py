"""Finds what decisions and learnings that go had taken back: without them it would hold again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.insights.nodes import NODE_KINDS, Decision
from recollect.model.learnings.learnings import Learning
from recollect.store.erasure.insight_rows import Leaving, events_leaving, events_of
from recollect.store.insights import decisions_of, decode_decision, outdone_in, unpack_node
from recollect.store.learnings import BY_CLOSING, decode_learning, evidence_of
from recollect.store.recent import words_of

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
