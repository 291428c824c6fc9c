"""Finds decisions of one repository that answer the same question differently, and says which one holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from recollect.insights.decisions.relations.stances import Stance, is_before, place_of
from recollect.insights.subjects import ends_with_path
from recollect.model.insights.nodes import Decision, Link, Relation

SAME_OPTION = 45
SAME_QUESTION = 60
SAME_REJECTED = 25
SAME_PLACE = 45
CHANGE = 30
NAMED = 20
SWAPPED = 20
EXPLICIT = 15
REVERSAL = 20
SHARED_PATH = 15
SHARED_QUESTION = 15
SAME_SESSION = 10
"""Contributions to the confidence of a link, in hundredths; docs/distill.md, "Links", says what each stands for."""
THRESHOLD = 75
MAX_OPEN = 8
"""Standing decisions of the other side that a new one is compared with, the newest first."""


class _Topic(NamedTuple):
    """What two decisions may disagree on: one option, one question, what both turned down, or what both are for."""

    kind: str
    key: str


def conflicts(stances: Iterable[Stance], roots: Mapping[str, str]) -> list[Link]:
    """Return the links between decisions, ordered by (newer, older); the same for any order of `stances`.

    roots: the root session of each session; a decision for one session counts within its root only. Decisions without
    an order contradict each other. Each decision is compared with at most `MAX_OPEN` standing ones for each topic.
    """
    timelines: dict[_Topic, list[Stance]] = {}
    for stance in sorted(stances, key=_order):
        for topic in _topics(stance):
            timelines.setdefault(topic, []).append(stance)
    found: dict[tuple[str, str], Link] = {}
    for topic, timeline in timelines.items():
        if len(timeline) > 1:
            for link in _along(topic, timeline, roots):
                key = (link.newer, link.older)
                if key not in found or found[key].confidence < link.confidence:
                    found[key] = link
    return [found[key] for key in sorted(found)]


def _order(stance: Stance) -> tuple[bool, int, str, str, tuple[int, ...], str]:
    d = stance.decision
    return (d.ts is None, d.ts or 0, d.session_uid, d.location.source_id, place_of(d), d.id)


def _topics(stance: Stance) -> Iterator[_Topic]:
    for key in stance.for_ | stance.against:
        yield _Topic("option", key)
    if stance.for_:
        for key in stance.against:
            yield _Topic("rejected", key)
        if stance.question:
            yield _Topic("question", stance.question)
    for key in stance.places:
        yield _Topic("place", key)


def _along(topic: _Topic, timeline: list[Stance], roots: Mapping[str, str]) -> Iterator[Link]:
    """Yield the links of one topic. What was superseded no longer stands, so that the work is linear."""
    standing: list[Stance] = []
    for stance in timeline:
        compared = 0
        for other in reversed(standing):
            if compared >= MAX_OPEN:
                break
            if not _disagree(topic, other, stance):
                continue
            if topic.kind == "place" and compared:
                break  # several may stand for one place; only of the newest it is plain that it is the one changed
            compared += 1
            link = _link(topic, other, stance, roots)
            if link is not None:
                yield link
                if link.relation != "contradicts":
                    standing.remove(other)
        standing.append(stance)
        del standing[: -4 * MAX_OPEN]


def _disagree(topic: _Topic, one: Stance, other: Stance) -> bool:
    if topic.kind == "option":
        return (topic.key in one.for_) != (topic.key in other.for_)
    if topic.kind == "place":
        return other.is_change and _is_replaced(one, other)
    return not one.for_ & other.for_


def _is_replaced(older: Stance, newer: Stance) -> bool:
    """Say whether one of two decisions for the same place takes what cannot stand beside what the other one says."""
    if older.for_ and newer.for_:
        return not older.for_ & newer.for_
    return any(set(taken.split()) <= set(key.split()) for taken in newer.for_ for key in older.against) or any(
        set(taken.split()) <= set(key.split()) for taken in older.for_ for key in newer.against
    )


def _link(topic: _Topic, one: Stance, other: Stance, roots: Mapping[str, str]) -> Link | None:
    order = is_before(one.decision, other.decision)
    older, newer = (other, one) if order is False else (one, other)
    if not _may_meet(older, newer, roots):
        return None
    features = _features(topic, older, newer)
    confidence = min(100, sum(features.values()))
    if confidence < THRESHOLD:
        return None
    relation: Relation = "contradicts"
    if order is not None and newer.decision.polarity == "reverse":
        relation = "reverses"
    elif order is not None and newer.authority >= older.authority:
        relation = "supersedes"
    return Link(
        newer=newer.decision.id,
        older=older.decision.id,
        relation=relation,
        since=newer.decision.ts if order is not None else max(_times(older, newer), default=None),
        confidence=confidence / 100,
        features={name: value / 100 for name, value in features.items()},
    )


def _times(*stances: Stance) -> list[int]:
    return [stance.decision.ts for stance in stances if stance.decision.ts is not None]


def _may_meet(one: Stance, other: Stance, roots: Mapping[str, str]) -> bool:
    """Say whether both could hold at one place: not what one message said or answered, nor what is for other files."""
    a, b = one.decision, other.decision
    if a.id == b.id:
        return False
    if a.conversation and a.conversation == b.conversation and not other.is_change:
        return False
    if not _events(a).isdisjoint(_events(b)):
        return False
    if "session" in (a.scope, b.scope) and roots.get(a.session_uid, a.session_uid) != roots.get(
        b.session_uid, b.session_uid
    ):
        return False
    if "path" in (a.scope, b.scope) and a.paths and b.paths:
        return _share_path(a.paths, b.paths)
    return True


def _events(decision: Decision) -> set[tuple[str, str, int]]:
    """Return the messages that a decision rests on: an answer rests on the proposal too."""
    return {(e.session_uid, e.event_id, e.part) for e in decision.evidence}


def _share_path(paths: Iterable[str], others: Iterable[str]) -> bool:
    others = list(others)[:32]
    return any(ends_with_path(p, o) or ends_with_path(o, p) for p in list(paths)[:32] for o in others)


def _features(topic: _Topic, older: Stance, newer: Stance) -> dict[str, int]:
    found: dict[str, int] = {}
    names = older.distinctive | newer.distinctive
    if topic.kind == "option":
        found["same_option"] = SAME_OPTION
        found["explicit"] = EXPLICIT
        if topic.key in names:
            found["named"] = NAMED
        if older.for_ & newer.against and newer.for_ & older.against:
            found["swapped"] = SWAPPED
    elif topic.kind == "place":
        found["same_place"] = SAME_PLACE
        if newer.is_change:
            found["change"] = CHANGE
    elif topic.kind == "question":
        found["same_question"] = SAME_QUESTION
        if older.for_ & names or newer.for_ & names:
            found["named"] = NAMED
    else:
        found["same_rejected"] = SAME_REJECTED
        if topic.key in names:
            found["named"] = NAMED
    if topic.kind != "question" and older.question and older.question == newer.question:
        found["shared_question"] = SHARED_QUESTION
    if newer.decision.polarity == "reverse":
        found["reversal"] = REVERSAL
    if _share_path(older.decision.paths, newer.decision.paths):
        found["shared_path"] = SHARED_PATH
    if older.decision.session_uid == newer.decision.session_uid:
        found["same_session"] = SAME_SESSION
    return found
