"""Decisions that no rule finds: sentences that the weights tell from others. Their status is `ranked`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from recollect.insights.decisions.scorer.features import Turn, features_of
from recollect.insights.decisions.scorer.tokens import TokenSentence
from recollect.insights.decisions.scorer.turns import TurnOfEvent, turns_of
from recollect.insights.decisions.scorer.weights import BIAS, Weights, confidence_of, weights
from recollect.insights.language.projection import lower
from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.substance import names_something
from recollect.insights.stream import SessionEvents, evidence_of
from recollect.model.insights.nodes import Decision, Polarity, node_id
from recollect.privacy.sentences import tells_credential

OF_A_TURN: Final = 3
"""Decisions of a message, at most: the likeliest."""
LEAST_NAMES: Final = 2
"""Words that name something, at least, in a statement."""


class ScoredSentence(NamedTuple):
    """A sentence, and the sum of its weights."""

    sentence: TokenSentence
    score: int


class SentenceScorer:
    """Finds decisions by learned weights. Immutable, safe from threads."""

    def __init__(self, table: Weights | None = None) -> None:
        """table: by default that which ships."""
        self._weights = table if table is not None else weights()

    @property
    def missing(self) -> str:
        """Why nothing can be scored; "" where it can."""
        return self._weights.missing

    def decisions(self, session: SessionEvents, known: Sequence[Decision]) -> list[Decision]:
        """Return the decisions of a session beside those that rules found, in order."""
        if self._weights.table is None:
            return []
        taken: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for decision in known:
            for piece in decision.evidence:
                taken.setdefault((piece.event_id, piece.part), []).append((piece.start, piece.end))
        found: list[Decision] = []
        for one in turns_of(session):
            ranges = taken.get((one.event.event_id, one.event.part), [])
            found += self._of_turn(one, ranges)
        return found

    def scores(self, turn: Turn) -> list[ScoredSentence]:
        """Return the sentences of a turn with their scores: whole numbers, the same on every machine."""
        import numpy as np

        table = self._weights.table
        features = features_of(turn)
        count = len(features.sentences)
        if table is None or not count:
            return []
        once = np.unique(features.owners << 32 | features.places)
        sums = np.bincount(once >> 32, table[once & 0xFFFFFFFF], count)  # whole numbers, which floats add exactly
        return [ScoredSentence(one, int(score) + BIAS) for one, score in zip(features.sentences, sums, strict=True)]

    def _of_turn(self, one: TurnOfEvent, taken: Sequence[tuple[int, int]]) -> list[Decision]:
        likely = [
            scored
            for scored in self.scores(one.turn)
            if confidence_of(scored.score) and not _overlaps(scored.sentence, taken)
        ]
        best = sorted(likely, key=lambda scored: -scored.score)[:OF_A_TURN]
        kept = sorted(best, key=lambda scored: scored.sentence.start)
        return [decision for scored in kept if (decision := _decision(one, scored)) is not None]


def _overlaps(sentence: TokenSentence, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(start < sentence.end and sentence.start < end for start, end in ranges)


def _decision(one: TurnOfEvent, scored: ScoredSentence) -> Decision | None:
    """Return a sentence as a decision, without options: nothing tells them surely.

    None where it tells a credential, or names too little to be understood by itself ("yes, go on").
    """
    event, (_, start, end) = one.event, scored.sentence
    statement = one.turn.text[start:end].strip()
    language = next(iter(languages(lower(statement))), "en")
    if tells_credential(statement) or names_something(statement, words_of(language)) < LEAST_NAMES:
        return None
    polarity = _polarity(statement, language)
    confidence = confidence_of(scored.score) / 100
    evidence = evidence_of(event, "statement", start, end)
    return Decision(
        id=node_id("decision", event.session_uid, event.event_id, event.part, start, end, "ranked"),
        session_uid=event.session_uid,
        location=evidence.location,
        ts=event.ts,
        turn_index=event.turn_index,
        status="ranked",
        confidence=confidence,
        features={"scorer": confidence},
        evidence=(evidence,),
        statement=statement,
        polarity=polarity,
        speaker=one.turn.speaker,
        language=language,
    )


def _polarity(statement: str, language: str) -> Polarity:
    """Return "reject" where the sentence holds a negator, else "adopt"."""
    low = lower(statement)
    return "reject" if words_of(language).has("negators", low, 0, len(low)) else "adopt"
