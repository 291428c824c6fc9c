"""Decides whether two learnings are the same, and rates confidence."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping

import msgspec

from recollect.insights.learnings.quote_check import folded, stems
from recollect.model.learnings.learnings import LEARNING_KINDS, Learning, LearningKind, Scope
from recollect.store.learnings import BY_CLOSING, BY_RULES, Sighting

LONGEST_TEXT = 300
"""Characters of a learning's text, and of a quote, at most."""
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.05, 0.99
_CLOSING = " \t\n.!,;:…。！，；："


def normalised(text: str) -> str:
    """Return a text for comparison: composed, case-folded, single spaces, without final punctuation."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(_CLOSING)


def learning_id(kind: LearningKind, scope: Scope, repo: str, path: str, text: str) -> str:
    """Return the id of a learning: "l" and 20 hex digits of the hash of its normalised content.

    The same thing heard twice has one id: case, white space and punctuation at the end don't count. repo counts for the
    scopes repo and path, path for the scope path.
    """
    place = {"user": ("", ""), "repo": (repo, ""), "path": (repo, path)}[scope]
    content = "\0".join((kind, scope, *place, normalised(text)))
    return "l" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def id_everywhere(kind: LearningKind, text: str) -> str:
    """Return the id of a learning that holds everywhere: that of most preferences in earlier versions, which took one
    to hold everywhere unless its words named the repository."""
    return learning_id(kind, "user", "", "", text)


def confidence_of(features: Mapping[str, float]) -> float:
    """Return the confidence that features come to: their sum, between 0.05 and 0.99, on three digits.

    Features are named by what they say ("explicit", "passed again") and add up, so that each can be read beside it.
    """
    return round(min(MOST_CONFIDENCE, max(LEAST_CONFIDENCE, sum(features.values()))), 3)


def bounded(text: str, limit: int = LONGEST_TEXT) -> str:
    """Return a text on one line, cut at a word where it is longer than `limit`, with an ellipsis."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    gap = cut.rfind(" ")
    return (cut[:gap] if gap > limit // 2 else cut).rstrip() + "…"


_LEAST_SHARED = 2 / 3
"""Of the words of a model's note, those that stand in what rules found in the same words of the same event."""


def is_models(sighting: Sighting) -> bool:
    """Return whether a model said so."""
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
    """Return whether both have the same words, or cite the same words of an event for the same kind of thing."""
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
    """Return whether a quotation of one is part of one of the other, from the same event."""
    quotes = {(e.session_uid, e.event_id, e.part): folded(e.quote).casefold() for e in one.evidence if e.quote}
    for e in other.evidence:
        known, quote = quotes.get((e.session_uid, e.event_id, e.part), ""), folded(e.quote).casefold()
        if known and quote and (known in quote or quote in known):
            return True
    return False
