"""The order of a question's best events once more, passage by passage: each passage is given the value of what tells
that it holds the answer, and an event comes where its best passage puts it.

One linear model. Its weights were fitted on the labelled questions for work by `python -m benchmarks.rerank`, which
also tells how well it does on questions that it was not fitted on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from recollect.index.passages.cuts import Passage
from recollect.index.ranking import WEIGHTS as RANKING
from recollect.index.ranking import Ranked
from recollect.recall.passages import Passages
from recollect.recall.rerank.contextual import PassageMatch
from recollect.store.keys import ENTRY_BASE, SEQ_BITS
from recollect.store.rows import HitText, SessionKey

LOOKED_AT = 40
"""So many of the best are looked at: 60 win one question of three hundred and cost a sixth more time, 25 lose five."""
SHOWN_PASSAGES = 10
"""An event is shown with its best passage and with others that are among so many best of all; 6 to 15 give the same."""
MOST_OF_EVENT = 3
SEAT = 5
"""The talk nearest in meaning comes after at most so many others: it may share no word with the question."""
SHORT_CHARS = 80
_SEQ_MASK = (1 << SEQ_BITS) - 1


class Features(NamedTuple):
    """What is known of a passage and its event; also, by the same names, how much each of it counts.

    score: of the event, as a share of the best. near: the cosine of its best passage. nearer: how much nearer this one
    is. session_nearest, session_near: the best, and the mean of the three best, of the cosines of its session's events.
    words: the share of the question's rareness that the passage holds. late: how far into its session an agent's event
    stands, 0 to 1. closing: the reply that closes a turn of work. later_session: the log of its session's place.
    length: the log of the characters of the whole text. short: it has less than SHORT_CHARS. thinking, reply: its kind.
    in_period: it is of a date that the question names.
    """

    score: float = 0.0
    near: float = 0.0
    nearer: float = 0.0
    session_nearest: float = 0.0
    session_near: float = 0.0
    words: float = 0.0
    late: float = 0.0
    closing: float = 0.0
    later_session: float = 0.0
    length: float = 0.0
    short: float = 0.0
    thinking: float = 0.0
    reply: float = 0.0
    in_period: float = 0.0

    def times(self, weights: Features) -> float:
        """Return the sum of all, each times its weight."""
        return sum(a * b for a, b in zip(self, weights, strict=True))

    def meaning_times(self, factor: float) -> Features:
        """Return weights with what the contextual model says counting `factor` times."""
        return self._replace(
            near=self.near * factor,
            nearer=self.nearer * factor,
            session_nearest=self.session_nearest * factor,
            session_near=self.session_near * factor,
        )


ORDER = Features(
    score=3.2,
    near=3.8,
    nearer=6.9,
    session_nearest=3.8,
    session_near=3.7,
    words=5.6,
    late=1.2,
    closing=1.0,
    later_session=-0.28,
    length=-0.82,
    short=-2.7,
    thinking=-1.6,
    reply=-0.36,
    in_period=7.0,
)
"""Fitted, but for `in_period`: that a date prefers strongly is promised, and few questions name one."""
UNSURE_MEANING = 2.0
"""What the contextual model says counts so many times where no session has the words of the question: what scores there
are come of accidents."""


class TextStore(Protocol):
    """What a second look asks of the store."""

    def texts(self, keys: Sequence[int]) -> Mapping[int, HitText]:
        """Return events by key; unknown keys are left out."""
        ...


class Valued(NamedTuple):
    """A passage of an event, by its key."""

    key: int
    passage: Passage
    features: Features


class PassageOrder(NamedTuple):
    """ranked: in the final order. shown: of the best, by key, the passages to show, in the order of the text."""

    ranked: list[Ranked]
    shown: Mapping[int, list[Passage]]


def reorder(valued: Sequence[Valued], ranked: Sequence[Ranked], weights: Features = ORDER) -> PassageOrder:
    """Return the ranked with the events of `valued` first, by their best passage, and what to show of them.

    The scores stay, in order: how sure an answer is does not change.
    """
    order = sorted(((one.features.times(weights), -at, one) for at, one in enumerate(valued)), reverse=True)
    shown: dict[int, list[Passage]] = {}
    for at, (_, _, one) in enumerate(order):
        of_event = shown.setdefault(one.key, [])
        if not of_event or (at < SHOWN_PASSAGES and len(of_event) < MOST_OF_EVENT):
            of_event.append(one.passage)
    by_key = {item.candidate.key: item for item in ranked}
    first = [by_key[key] for key in shown]
    rest = [item for item in ranked if item.candidate.key not in shown]
    scores = sorted((item.score for item in first), reverse=True)
    placed = [item._replace(score=score) for item, score in zip(first, scores, strict=True)]
    return PassageOrder(placed + rest, {key: _merged(passages) for key, passages in shown.items()})


def seated(ranked: list[Ranked], key: int | None) -> list[Ranked]:
    """Return the ranked with an event in place SEAT at the latest, with the score of what stood there."""
    at = next((i for i, item in enumerate(ranked) if item.candidate.key == key), 0)
    if at <= SEAT:
        return ranked
    item = ranked[at]._replace(score=ranked[SEAT].score)
    return [*ranked[:SEAT], item, *ranked[SEAT:at], *ranked[at + 1 :]]


def value(
    ranked: Sequence[Ranked],
    texts: Mapping[int, HitText],
    near: Mapping[int, PassageMatch],
    sessions: Mapping[int, SessionKey],
    passages: Passages,
) -> Iterator[Valued]:
    """Yield every passage of the events that are looked at.

    ranked: these, best first. near: how near they are in meaning, as far as it is known; others count as the mean.
    """
    best = max((_undated(item) for item in ranked), default=0.0) or 1.0
    known = [match.cosine for match in near.values()]
    mean = sum(known) / len(known) if known else 0.0
    in_session: dict[int, list[float]] = {}
    for key, found in near.items():
        in_session.setdefault(key >> SEQ_BITS, []).append(found.cosine)
    session_near = {number: sorted(cosines, reverse=True) for number, cosines in in_session.items()}
    places: dict[str, int] = {}
    for item in ranked:
        candidate = item.candidate
        session = sessions[candidate.session]
        place = places.setdefault(session.root_uid, len(places))
        text = texts.get(candidate.key)
        if text is None:
            continue
        match = near.get(candidate.key)
        nearest = [*session_near.get(candidate.session, ()), mean, mean, mean][:3]
        of_event = Features(
            score=_undated(item) / best,
            near=mean if match is None else match.cosine,
            session_nearest=nearest[0],
            session_near=sum(nearest) / len(nearest),
            late=_lateness(item, session),
            closing=float(text.is_closing),
            later_session=math.log1p(place),
            length=math.log(50 + len(text.text)),
            short=float(len(text.text) < SHORT_CHARS),
            thinking=float(text.kind == "thinking"),
            reply=float(text.kind == "assistant_message"),
            in_period=float(candidate.in_period),
        )
        for passage, words in passages.shares(text.text or text.summary):
            nearer = 0.0 if match is None else match.within(passage) - match.cosine
            yield Valued(candidate.key, passage, of_event._replace(words=words, nearer=nearer))


def _undated(item: Ranked) -> float:
    """Return a score without what a date adds to it."""
    return item.score - (RANKING.in_period if item.candidate.in_period else 0.0)


def _lateness(item: Ranked, session: SessionKey) -> float:
    """Return how far into its session an agent's event stands, 0 to 1; the middle for what is in no session."""
    candidate = item.candidate
    if candidate.session >= ENTRY_BASE:
        return 0.5
    if candidate.voice == "prompt":
        return 0.0
    return min(1.0, (candidate.key & _SEQ_MASK) / max(session.event_count, 1))


def _merged(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages in the order of their text, those that touch or overlap as one."""
    merged: list[Passage] = []
    for one in sorted(passages):
        if merged and one.start <= merged[-1].end:
            merged[-1] = Passage(merged[-1].start, max(merged[-1].end, one.end))
        else:
            merged.append(one)
    return merged
