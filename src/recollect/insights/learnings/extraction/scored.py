"""Uses learned weights on what people say: finds learnings, and rejects false matches of rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from recollect.insights.language.changed_next import is_changed_next
from recollect.insights.language.left_open import is_for_later
from recollect.insights.language.prose_mask import lower
from recollect.insights.language.substance import is_for_all_in_any, makes_sense, outlasts
from recollect.insights.learnings.extraction.spoken import OpenSentence, Said, is_scripted, is_stated
from recollect.insights.scorer import SentenceScorer, Turn
from recollect.insights.scorer.scorer import ScoredSentence
from recollect.insights.scorer.weights import KINDS
from recollect.model.learnings.learnings import LearningKind
from recollect.privacy.password_sentences import tells_credential

OF_A_MESSAGE: Final = 2
"""Learnings of a message, at most: the likeliest."""
MOST_CONFIDENCE: Final = 0.5
"""Less than of what a rule finds: other sessions, or a person, bear it out."""


class WorthKeeping(NamedTuple):
    """A sentence worth keeping: characters of the message, what it is, how sure that is, if it holds everywhere."""

    start: int
    end: int
    kind: LearningKind
    confidence: float
    is_for_all: bool


class ScoredMessage:
    """A message of a person as the weights see it. Without weights, rules alone count."""

    def __init__(self, scorer: SentenceScorer, text: str, found: Sequence[ScoredSentence]) -> None:
        """found: its sentences."""
        self._scorer = scorer
        self._text = text
        self._found = found

    @classmethod
    def each(cls, scorer: SentenceScorer, turns: Sequence[Turn]) -> Iterator[ScoredMessage]:
        """Yield the messages of a session: together they cost a third of what they cost one by one."""
        of_turns = scorer.scores_of(turns, ("learning", "action", *KINDS))
        return (cls(scorer, turn.text, found) for turn, found in zip(turns, of_turns, strict=True))

    def agrees(self, said: Said) -> bool:
        """Return whether a rule's find may be a learning: the weights do not speak against it."""
        if said.rule.id == "protested" or (said.rule.meaning != "correction" and not said.is_marked):
            return True  # "always …", "remember …", "no, never …": who says that means it
        scores = [
            one.scores["learning"]
            for one in self._found
            if one.sentence.start < said.end and said.start < one.sentence.end
        ]
        return not scores or max(scores) >= self._scorer.consent

    def worth_keeping(self, known: Sequence[Said | OpenSentence]) -> list[WorthKeeping]:
        """Return what is worth keeping beside what is known, in order."""
        if is_scripted(self._text):
            return []
        likely: list[tuple[int, WorthKeeping]] = []
        for one in self._found:
            kind, hundredths = self._kind_of(one)
            if not hundredths:
                continue
            _, start, end = one.sentence
            text = self._text[start:end]
            is_known = any(other.start < end and start < other.end for other in known)
            if is_known or not is_stated(text) or not makes_sense(text) or tells_credential(text):
                continue
            if is_changed_next(self._text, start, end - 1):
                continue
            if not (is_for_later(lower(text)) if kind == "action" else outlasts(text)):
                continue  # an order, which the session itself carries out, or what is over with it
            sure = min(MOST_CONFIDENCE, hundredths / 100)
            likely.append((hundredths, WorthKeeping(start, end, kind, sure, is_for_all_in_any(text))))
        best = sorted(likely, key=lambda scored: -scored[0])[:OF_A_MESSAGE]
        return sorted(worth for _, worth in best)

    def _kind_of(self, one: ScoredSentence) -> tuple[LearningKind, int]:
        """Return what a sentence is, and its confidence in hundredths; 0: nothing worth keeping."""
        action = self._scorer.confidence("action", one.scores["action"])
        if action:
            return "action", action
        kind = max(KINDS, key=lambda kind: one.scores[kind])
        return kind, self._scorer.confidence("learning", one.scores["learning"])
