"""What people say that is worth keeping and that no rule understands: learned weights tell it from other talk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from recollect.insights.language.substance import is_for_all_in_any, makes_sense
from recollect.insights.learnings.extraction.spoken import Said
from recollect.insights.scorer import SentenceScorer, Turn
from recollect.insights.scorer.scorer import ScoredSentence
from recollect.insights.scorer.weights import Subject
from recollect.model.learnings.learnings import LearningKind
from recollect.privacy.sentences import tells_credential

OF_A_MESSAGE: Final = 2
"""Learnings of a message, at most: the likeliest."""
MOST_CONFIDENCE: Final = 0.6
"""As of what a model says: other sessions, or a person, bear it out."""
_KINDS: Final[tuple[tuple[Subject, LearningKind], ...]] = (
    ("preference", "preference"), ("correction", "correction"), ("fact", "fact"),
)  # fmt: skip
_SUBJECTS: Final[tuple[Subject, ...]] = ("learning", "action", *(subject for subject, _ in _KINDS))
_JUDGED: Final = ("rule", "correction")
"""What a rule finds of these meanings needs consent: it also fires where somebody only talks."""


class Worth(NamedTuple):
    """A sentence worth keeping: characters of the message, what it is, how sure that is, and whether it holds
    everywhere."""

    start: int
    end: int
    kind: LearningKind
    confidence: float
    is_for_all: bool


class ScoredMessage:
    """A message of a person as the weights see it. Without weights, rules alone count."""

    def __init__(self, scorer: SentenceScorer, text: str, before: str) -> None:
        self._scorer = scorer
        self._text = text
        self._found: Sequence[ScoredSentence] = scorer.scores(Turn(text, "human", before), _SUBJECTS)

    def agrees(self, said: Said) -> bool:
        """Tell whether what a rule found may be a learning: the weights don't speak against it."""
        if said.rule.meaning not in _JUDGED:
            return True
        scores = [
            one.scores["learning"]
            for one in self._found
            if one.sentence.start < said.end and said.start < one.sentence.end
        ]
        return not scores or max(scores) >= self._scorer.consent

    def worth_keeping(self, said: Sequence[Said]) -> list[Worth]:
        """Return what is worth keeping beside what rules found, in order."""
        likely: list[tuple[int, Worth]] = []
        for one in self._found:
            start, end = one.sentence.start, one.sentence.end
            text = self._text[start:end]
            kind, score, hundredths = self._kind_of(one)
            is_known = any(other.start < end and start < other.end for other in said)
            if not hundredths or is_known or not makes_sense(text) or tells_credential(text):
                continue
            sure = min(MOST_CONFIDENCE, hundredths / 100)
            likely.append((score, Worth(start, end, kind, sure, is_for_all_in_any(text))))
        best = sorted(likely, key=lambda scored: -scored[0])[:OF_A_MESSAGE]
        return sorted(worth for _, worth in best)

    def _kind_of(self, one: ScoredSentence) -> tuple[LearningKind, int, int]:
        """Return what a sentence is, its score and confidence in hundredths; 0: nothing."""
        action = self._scorer.confidence("action", one.scores["action"])
        if action:
            return "action", one.scores["action"], action
        kind = max(_KINDS, key=lambda named: one.scores[named[0]])[1]
        return kind, one.scores["learning"], self._scorer.confidence("learning", one.scores["learning"])
