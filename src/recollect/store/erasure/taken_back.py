"""Finds what decisions and learnings that go had taken back: without them it would hold again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.insights.nodes import NODE_KINDS, Decision
from recollect.model.learnings.learnings import Learning
from recollect.store.erasure.insight_rows import Leaving, events_leaving, events_of
from recollect.store.insights import decisions_of, unpack_node
from recollect.store.learnings import decode_learning, evidence_of

_DECISION = NODE_KINDS.index("decision")
_decode_decision = msgspec.json.Decoder(Decision).decode
Overruling = Callable[[Iterable[Learning], Iterable[Decision]], set[str]]
"""Returns the ids of those learnings that some decisions take back."""


class HoldingAgain(NamedTuple):
    """What would hold again. decisions: those that say something else than the learnings do."""

    learnings: list[Learning]
    decisions: list[Decision]


def decisions_leaving(db: apsw.Connection, leaving: Leaving) -> list[Decision]:
    """Return the decisions that go with sessions and events. Raises StoreCorrupt."""
    found = []
    for uid in (*leaving.whole, *leaving.partial):
        rows: list[Any] = db.execute(
            "SELECT data FROM node WHERE analysis IN (SELECT number FROM analysis WHERE session_uid = ?) "
            "AND kind = ? AND revoked_at IS NULL ORDER BY id",
            (uid, _DECISION),
        ).fetchall()
        events = None if uid in leaving.whole else events_leaving(db, leaving.partial[uid])
        for (data,) in rows:
            decision = unpack_node(data)
            if isinstance(decision, Decision) and (
                events is None or any(at == uid and event in events for at, event in events_of(decision))
            ):
                found.append(decision)
    for uid in leaving.whole:
        added: list[Any] = db.execute(
            "SELECT json FROM added_decision WHERE session_uid = ? AND revoked_at IS NULL ORDER BY id", (uid,)
        ).fetchall()
        found += [_decode_decision(text) for (text,) in added]
    return found


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
        again |= overruling(here, said) - overruling(here, left)
    held = [one for one in found if one.id in again]
    words = [_words(one.text) for one in held]
    others = (one for one in _outdone(db, decisions) if not any(said in _words(one.statement) for said in words))
    return HoldingAgain(held, list(others))


def _superseded(db: apsw.Connection) -> Iterator[Learning]:
    """Yield the learnings that another one, or a decision, took back. An action only repeats another one."""
    rows: list[Any] = db.execute(
        "SELECT json FROM learning WHERE state = 'superseded' AND kind <> 'action' "
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


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!")
