"""What learned weights make of what a person says: they refuse rules that misunderstand, and find actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from recollect.insights.language.substance import makes_sense
from recollect.insights.learnings.extraction.spoken import MARKED, Said, is_scripted, is_stated
from recollect.insights.scorer import SentenceScorer, Turn
from recollect.privacy.sentences import tells_credential

OF_A_MESSAGE: Final = 2
"""Actions of a message, at most: the likeliest."""
MOST_CONFIDENCE: Final = 0.6
"""As of what a model says: other sessions, or a person, bear it out."""


class LeftToDo(NamedTuple):
    """A sentence that leaves something for later: characters of the message, and how sure that is."""

    start: int
    end: int
    confidence: float


class ScoredMessage:
    """A message of a person as the weights see it. Without weights, rules alone count."""

    def __init__(self, scorer: SentenceScorer, text: str, before: str) -> None:
        self._scorer = scorer
        self._text = text
        self._found = scorer.scores(Turn(text, "human", before), ("learning", "action"))

    def agrees(self, said: Said) -> bool:
        """Tell whether what a rule found may be a learning: the weights don't speak against it."""
        if said.rule.meaning != "correction" and not said.rule.id.startswith(MARKED):
            return True  # "always …", "remember …": who says that means it
        scores = [
            one.scores["learning"]
            for one in self._found
            if one.sentence.start < said.end and said.start < one.sentence.end
        ]
        return not scores or max(scores) >= self._scorer.consent

    def left_to_do(self, said: Sequence[Said]) -> list[LeftToDo]:
        """Return what is left for later beside what rules found, in order."""
        if is_scripted(self._text):
            return []
        likely: list[tuple[int, LeftToDo]] = []
        for (_, start, end), scores in self._found:
            text = self._text[start:end]
            hundredths = self._scorer.confidence("action", scores["action"])
            is_known = any(other.start < end and start < other.end for other in said)
            if not hundredths or is_known or not is_stated(text) or not makes_sense(text) or tells_credential(text):
                continue
            likely.append((scores["action"], LeftToDo(start, end, min(MOST_CONFIDENCE, hundredths / 100))))
        best = sorted(likely, key=lambda scored: -scored[0])[:OF_A_MESSAGE]
        return sorted(action for _, action in best)
