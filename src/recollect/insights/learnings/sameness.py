"""Whether a model says what rules found too. Then it is one learning, by the rules' name and in their words.

What the model quotes is more evidence of it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.insights.learnings.identity import learning_id, normalised
from recollect.insights.learnings.quotes import folded, stems
from recollect.model.learnings.learnings import LEARNING_KINDS, Learning
from recollect.store.learnings import BY_CLOSING, BY_RULES, Sighting

_LEAST_SHARED = 2 / 3
"""Of the words of a model's note, those that stand in what rules found in the same words of the same event."""


def is_models(sighting: Sighting) -> bool:
    """Tell whether a model said so."""
    return sighting.origin not in (BY_RULES, BY_CLOSING)


def joined(sightings: Iterable[Sighting], by_rules: Iterable[Learning]) -> list[Sighting]:
    """Return what a model said, by the name of what rules found where that says the same."""
    found = list(by_rules)
    united: dict[tuple[str, str, str], Sighting] = {}
    for sighting in sightings:
        one = sighting.learning
        head = next((other for other in found if other.id == one.id or says_same(other, one)), None)
        if head is not None and head.id != one.id:
            one = renamed(one, head)
        key = one.id, sighting.session_uid, sighting.origin
        if key in united:
            known = united[key].learning
            evidence = {(e.session_uid, e.event_id, e.part): e for e in (*one.evidence, *known.evidence)}
            one = msgspec.structs.replace(known, evidence=tuple(evidence.values()))
        united[key] = sighting._replace(learning=one)
    return list(united.values())


def says_same(by_rules: Learning, by_model: Learning) -> bool:
    """Tell whether both have the same words, or cite the same words of an event for the same kind of thing."""
    if (by_rules.kind == "action") != (by_model.kind == "action"):
        return False
    if normalised(by_rules.text) == normalised(by_model.text):
        return True
    if by_rules.kind != by_model.kind or not _cites_same(by_rules, by_model):
        return False
    words = stems(by_model.text)
    known = stems("\n".join((by_rules.text, *(e.quote for e in by_rules.evidence))))
    return bool(words) and len(words & known) >= _LEAST_SHARED * len(words)


def renamed(by_model: Learning, by_rules: Learning) -> Learning:
    """Return what a model said as a sighting of what rules found: what it says and where it holds is the rules'."""
    return msgspec.structs.replace(
        by_model,
        id=by_rules.id,
        kind=by_rules.kind,
        text=by_rules.text,
        scope=by_rules.scope,
        repo=by_rules.repo,
        path=by_rules.path,
        priority=by_rules.priority,
    )


def ids_of_same_words(learning: Learning, repo: str) -> set[str]:
    """Return the ids of learnings that have the same words, and are of another kind or hold elsewhere.

    repo: of the session.
    """
    kinds = [kind for kind in LEARNING_KINDS if (kind == "action") == (learning.kind == "action")]
    ids = {learning_id(kind, "user", "", "", learning.text) for kind in kinds}
    if repo:
        ids |= {learning_id(kind, "repo", repo, "", learning.text) for kind in kinds}
    if repo and learning.path:
        ids |= {learning_id(kind, "path", repo, learning.path, learning.text) for kind in kinds}
    return ids - {learning.id}


def _cites_same(one: Learning, other: Learning) -> bool:
    """Tell whether a quotation of one stands in one of the other, of the same event."""
    quotes = {(e.session_uid, e.event_id, e.part): folded(e.quote).casefold() for e in one.evidence if e.quote}
    for e in other.evidence:
        known, quote = quotes.get((e.session_uid, e.event_id, e.part), ""), folded(e.quote).casefold()
        if known and quote and (known in quote or quote in known):
            return True
    return False
