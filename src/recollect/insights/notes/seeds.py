"""Which facts follow from decisions and learnings. Pure: the same ones give the same facts.

A decision says what its repository `adopted`, `prefers`, `rejected` or `banned`, or, where it names no options, what
was `decided`. A learned fact is split at a verb that its words turn on (`The build needs Node 20`); one without such
a verb is what its repository `states`. Each fact refers to what it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from recollect.insights.notes.facts import NewFact
from recollect.model.insights.nodes import Decision
from recollect.model.learnings.learnings import Learning

EVERYWHERE = "user"
"""The subject of what holds in no repository, but wherever the person works."""
MAX_OBJECT_CHARS = 300
_MAX_SUBJECT_WORDS = 6
_VERBS = (
    "is in", "is on", "is at", "is", "are", "uses", "use", "needs", "need", "requires", "require", "runs on",
    "runs", "lives in", "listens on", "depends on", "deploys to", "belongs to", "has", "have", "means",
)  # fmt: skip
_PREDICATES = {"are": "is", "use": "uses", "need": "needs", "require": "requires", "have": "has"}
_SPLIT = re.compile(rf"(?P<subject>\S.{{0,120}}?)\s+(?P<verb>{'|'.join(_VERBS)})\s+(?P<object>\S.*)", re.S | re.I)
_NEGATED = re.compile(r"(?:not|no|never|n't)\b", re.I)
_ADOPTING = {"adopt": "adopted", "reverse": "adopted", "prefer": "prefers"}
_REFUSING = {"ban": "banned"}


class Decided(NamedTuple):
    """A decision that stood. reference: its id. ended_at: since when another took its place, None where none did."""

    decision: Decision
    repo: str
    recorded_at: int
    ended_at: int | None = None


def facts_of_decision(decided: Decided) -> list[NewFact]:
    """Return what a decision says."""
    decision = decided.decision
    begin = decision.ts if decision.ts is not None else decided.recorded_at
    end = decided.ended_at
    if end is not None and end <= begin:
        return []  # it never stood for a moment
    said = [(_ADOPTING.get(decision.polarity, "adopted"), text) for text in decision.chosen]
    said += [(_REFUSING.get(decision.polarity, "rejected"), text) for text in decision.rejected]
    if not said and decision.statement:
        said = [("decided", decision.statement)]
    return [
        NewFact(
            subject=decided.repo or EVERYWHERE,
            predicate=predicate,
            object=text,
            valid_from=begin,
            valid_to=end,
            repo=decided.repo,
            source="decision",
            reference=decision.id,
            status="derived",
            confidence=decision.confidence,
        )
        for predicate, text in _once(said)
    ]


def fact_of_learning(learning: Learning) -> NewFact | None:
    """Return what a learned fact says; None for a learning of another kind, or one that no short fact can hold."""
    text = " ".join(learning.text.split()).rstrip(".")
    if learning.kind != "fact" or not text or len(text) > MAX_OBJECT_CHARS:
        return None
    subject, predicate, said = learning.repo or EVERYWHERE, "states", text
    found = _SPLIT.fullmatch(text)
    if (
        found is not None
        and len(found["subject"].split()) <= _MAX_SUBJECT_WORDS
        and not _NEGATED.match(found["object"])
    ):
        verb = " ".join(found["verb"].lower().split())
        subject, predicate, said = found["subject"], _PREDICATES.get(verb, verb), found["object"]
    return NewFact(
        subject=subject,
        predicate=predicate,
        object=said,
        valid_from=learning.valid_from,
        valid_to=learning.valid_to,
        repo=learning.repo,
        source="learning",
        reference=f"learning:{learning.id}",
        status=learning.status if learning.status in ("hypothesis", "ranked") else "derived",
        confidence=learning.confidence,
    )


def _once(said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    tidy = ((predicate, " ".join(text.split())) for predicate, text in said)
    return [(p, text) for p, text in dict.fromkeys(tidy) if 0 < len(text) <= MAX_OBJECT_CHARS]
