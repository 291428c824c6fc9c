"""Decisions that a person took back: the learning that the same words gave was corrected or retired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import apsw

from recollect.model.insights.nodes import Decision

_AGAINST = ("correct", "retire")


class TakenBack(NamedTuple):
    """The words of a learning that a person said is wrong, and when they said so, UTC microseconds."""

    words: str
    at: int


def taken_back(db: apsw.Connection) -> dict[str, list[TakenBack]]:
    """Return by event what the person said in it and took back later."""
    rows: Iterable[Any] = db.execute(
        "SELECT learning_evidence.event_id, learning.json ->> '$.text', verdict.at FROM verdict "
        "JOIN learning ON learning.id = verdict.learning "
        "JOIN learning_evidence ON learning_evidence.learning = learning.id "
        "WHERE verdict.verdict IN (?, ?) AND learning.kind <> 'pattern' "
        "AND learning_evidence.json ->> '$.author' = 'user' AND NOT EXISTS (SELECT 1 FROM verdict AS later "
        "WHERE later.learning = verdict.learning AND (later.at, later.nonce) > (verdict.at, verdict.nonce))",
        _AGAINST,
    )
    found: dict[str, list[TakenBack]] = {}
    for event_id, text, at in rows:
        found.setdefault(event_id, []).append(TakenBack(_words(text), at))
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
