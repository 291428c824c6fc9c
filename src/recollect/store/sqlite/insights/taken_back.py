"""Decisions that a person took back: the learning that the same words gave was corrected or retired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import apsw

from recollect.model.insights.nodes import Decision
from recollect.store.sqlite.learnings.codec import decode_learning, evidence_of

_AGAINST = ("correct", "retire")


class TakenBack(NamedTuple):
    """The words of a learning that a person said is wrong, and when they said so, UTC microseconds."""

    words: str
    at: int


def taken_back(db: apsw.Connection) -> dict[str, list[TakenBack]]:
    """Return by event what the person said in it and took back later. Raises StoreCorrupt."""
    rows: Iterable[Any] = db.execute(
        "SELECT learning.id, learning.json, verdict.at FROM verdict JOIN learning ON learning.id = verdict.learning "
        "WHERE verdict.verdict IN (?, ?) AND NOT EXISTS (SELECT 1 FROM verdict AS later "
        "WHERE later.learning = verdict.learning AND (later.at, later.nonce) > (verdict.at, verdict.nonce))",
        _AGAINST,
    ).fetchall()
    found: dict[str, list[TakenBack]] = {}
    for learning_id, text, at in rows:
        learning = decode_learning(text)
        if learning.kind == "pattern":
            continue
        for event in {e.event_id for e in evidence_of(db, learning_id) if e.author == "user"}:
            found.setdefault(event, []).append(TakenBack(_words(learning.text), at))
    return found


def taken_back_at(decision: Decision, known: Mapping[str, Iterable[TakenBack]]) -> int | None:
    """Return when a person took back what a decision says, None where they did not."""
    said = _words(decision.statement)
    times = [
        one.at
        for evidence in decision.evidence
        for one in known.get(evidence.event_id, ())
        if one.words in said or said in one.words
    ]
    return min(times, default=None)


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!")
