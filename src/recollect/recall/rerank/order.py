"""The order of the best of a question once more, by what only their texts and their places in sessions tell.

Of several events about the same thing that one answers which says it in one place, late, at the end of the work, in a
session that the words and the meaning have put first. Every number is here; how they were chosen and what was tried:
docs/recall-tuning.md, fourth round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from recollect.index.candidates import Wanted
from recollect.index.ranking import WEIGHTS, Ranked
from recollect.recall.passages import Passages
from recollect.recall.rerank.contextual import PassageMatch
from recollect.recall.rerank.narration import after_answers
from recollect.store.keys import ENTRY_BASE
from recollect.store.ports import SEQ_BITS, HitText, SessionKey

LOOKED_AT = 25
"""So many of the best are looked at: 30 give the same, 20 one question less."""

# What is added to a score, in shares of the best score of the question (without what a date adds).

SCATTERED = 0.7
"""Taken off for the share of the question that the text holds outside of its best passage."""
LATE = 0.2
"""For what an agent said and did at the end of a session; in proportion before that. What is said first is supposed and
planned, what is said last was found out. A person's words count as they stand: they ask."""
CLOSING = 0.08
"""For the reply that closes a turn of work: it sums up."""
LATER_SESSION = 0.05
"""Taken off for each factor of e in the place of the session among those found."""

MEANING = 0.5
"""What being near in meaning counts against the score, both standardised (docs/recall-tuning.md, fifth round)."""
UNSURE_MEANING = 2.0
"""The same where no session has the words of the question: what scores there are come of accidents."""
MIN_COMPARED = 3
"""Fewer cosines say nothing of each other."""

_SEQ_MASK = (1 << SEQ_BITS) - 1


class TextStore(Protocol):
    """What a second look asks of the store."""

    def texts(self, keys: Sequence[int]) -> Mapping[int, HitText]:
        """Return events by key; unknown keys are left out."""
        ...


def look_again(
    ranked: Sequence[Ranked], wanted: Wanted, sessions: Mapping[int, SessionKey], store: TextStore
) -> tuple[list[Ranked], Mapping[int, HitText]]:
    """Return the ranked of a question in their final order, and the texts that were read for it, by key.

    Nothing moves beyond the LOOKED_AT best, and nothing of these falls behind what comes after them.
    """
    texts = store.texts([item.candidate.key for item in ranked[:LOOKED_AT]])
    ranked = after_answers(ranked, texts)
    rest = ranked[LOOKED_AT:]
    best = ranked[0].score - (WEIGHTS.in_period if ranked[0].candidate.in_period else 0.0)
    least = rest[0].score if rest else 0.0
    passages = Passages(wanted.all_units)
    places: dict[str, int] = {}
    looked_at = []
    for item in ranked[:LOOKED_AT]:
        candidate = item.candidate
        session = sessions[candidate.session]
        place = places.setdefault(session.root_uid, len(places))
        gain = LATE * _lateness(item, session) - LATER_SESSION * math.log1p(place)
        if (text := texts.get(candidate.key)) is not None:
            gain -= SCATTERED * passages.scattered(text.text)
            gain += CLOSING if text.is_closing else 0.0
        looked_at.append(item._replace(score=max(item.score + best * gain, least)))
    return sorted(looked_at, key=lambda item: -item.score) + rest, texts


def by_meaning(ranked: Sequence[Ranked], near: Mapping[int, PassageMatch], *, weight: float = MEANING) -> list[Ranked]:
    """Return the ranked with the best in a new order: by score and nearness in meaning.

    near: of the LOOKED_AT best, and of others that may rise among them; these have the least score of the best. Both
    are standardised, and nearness counts `weight` times. One that could not be compared counts as the mean. The scores
    stay, in order: how sure an answer is does not change.
    """
    best = list(ranked[:LOOKED_AT])
    least = best[-1].score if best else 0.0
    rising = [item._replace(score=least) for item in ranked[LOOKED_AT:] if item.candidate.key in near]
    looked_at = best + rising
    known = [near[item.candidate.key].cosine for item in looked_at if item.candidate.key in near]
    if len(known) < MIN_COMPARED:
        return list(ranked)
    mean = sum(known) / len(known)
    cosines = [near[k].cosine if (k := item.candidate.key) in near else mean for item in looked_at]
    scores = [item.score for item in looked_at]
    order = [a + weight * b for a, b in zip(_standardised(scores), _standardised(cosines), strict=True)]
    best_first = sorted(range(len(looked_at)), key=lambda at: -order[at])
    told = sorted(scores, reverse=True)
    risen = {item.candidate.key for item in rising}
    rest = [item for item in ranked[LOOKED_AT:] if item.candidate.key not in risen]
    return [looked_at[at]._replace(score=score) for at, score in zip(best_first, told, strict=True)] + rest


def _standardised(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0
    return [(value - mean) / spread for value in values]


def _lateness(item: Ranked, session: SessionKey) -> float:
    """Return how far into its session an agent's event stands, 0 to 1; the middle for what is in no session."""
    candidate = item.candidate
    if candidate.session >= ENTRY_BASE:
        return 0.5
    if candidate.voice == "prompt":
        return 0.0
    return min(1.0, (candidate.key & _SEQ_MASK) / max(session.event_count, 1))
