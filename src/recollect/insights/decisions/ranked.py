"""Finds decisions that no rule finds, with the scorer. Their status is `ranked`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recollect.insights.language.left_open import leaves_open
from recollect.insights.language.projection import lower
from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.substance import names_something
from recollect.insights.scorer import SentenceScorer
from recollect.insights.scorer.features import TokenSentence, TurnOfEvent, turns_of
from recollect.insights.stream import SessionEvents, evidence_of
from recollect.model.insights.nodes import Decision, Polarity, node_id
from recollect.privacy.sentences import tells_credential

OF_A_TURN: Final = 3
"""Decisions of a message, at most: the likeliest."""
LEAST_NAMES: Final = 2
"""Words that name something, at least, in a statement."""


class DecisionRanker:
    """The ranker that ships. Immutable, safe from threads."""

    def __init__(self, scorer: SentenceScorer | None = None) -> None:
        """scorer: by default with the weights that ship."""
        self._scorer = scorer or SentenceScorer()

    def decisions(self, session: SessionEvents, known: Sequence[Decision]) -> list[Decision]:
        """Return the decisions of a session beside those that rules found, in order; none without weights."""
        if self._scorer.missing:
            return []
        taken: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for decision in known:
            for piece in decision.evidence:
                taken.setdefault((piece.event_id, piece.part), []).append((piece.start, piece.end))
        found: list[Decision] = []
        turns = list(turns_of(session))
        of_turns = self._scorer.likely_of([one.turn for one in turns], "decision")
        for one, likely in zip(turns, of_turns, strict=True):
            if likely:
                found += self._of_turn(one, likely, taken.get((one.event.event_id, one.event.part), []))
        return found

    def _of_turn(
        self, one: TurnOfEvent, likely: Sequence[tuple[int, TokenSentence]], taken: Sequence[tuple[int, int]]
    ) -> list[Decision]:
        new = [scored for scored in likely if not _overlaps(scored[1], taken)]
        best = sorted(new, key=lambda scored: -scored[0])[:OF_A_TURN]
        found = (
            _decision(one, sentence, self._scorer.confidence("decision", score) / 100)
            for score, sentence in sorted(best, key=lambda scored: scored[1].start)
        )
        return [decision for decision in found if decision is not None]


def _overlaps(sentence: TokenSentence, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(start < sentence.end and sentence.start < end for start, end in ranges)


def _decision(one: TurnOfEvent, sentence: TokenSentence, confidence: float) -> Decision | None:
    """Return a sentence as a decision, without options, because nothing identifies them reliably.

    None if it contains a credential, says what is left to do, or names too little to be understood by itself ("yes,
    continue").
    """
    event, (_, start, end) = one.event, sentence
    statement = one.turn.text[start:end].strip()
    language = next(iter(languages(lower(statement))), "en")
    if (
        tells_credential(statement)
        or leaves_open(lower(statement))
        or names_something(statement, words_of(language)) < LEAST_NAMES
    ):
        return None
    polarity = _polarity(statement, language)
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
