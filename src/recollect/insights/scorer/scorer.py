"""How much each sentence of a turn looks like a decision, or like something worth keeping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from recollect.insights.scorer.features import BITS, TokenSentence, Turn, features_of
from recollect.insights.scorer.weights import Subject, WeightTables, weights

_AT_ONCE: Final = 32
"""Turns that are scored together. More would not save time; 32 times 80 sentences have numbers of 12 bits."""


class ScoredSentence(NamedTuple):
    """A sentence, and its sum of weights for each subject asked for."""

    sentence: TokenSentence
    scores: dict[Subject, int]


class SentenceScorer:
    """Adds up learned weights. Immutable, safe from threads."""

    def __init__(self, known: WeightTables | None = None) -> None:
        """known: by default the weights that ship."""
        self._weights = known if known is not None else weights()

    @property
    def missing(self) -> str:
        """Why nothing can be scored; "" where it can."""
        return self._weights.missing

    @property
    def consent(self) -> int:
        """The least score as a learning that a sentence needs which a rule takes for one."""
        return self._weights.about.consent if self._weights.about is not None else 0

    def scores(self, turn: Turn, subjects: Sequence[Subject]) -> list[ScoredSentence]:
        """Return the sentences of a turn with whole numbers, the same on every machine; none without weights."""
        return next(self.scores_of([turn], subjects))

    def scores_of(self, turns: Sequence[Turn], subjects: Sequence[Subject]) -> Iterator[list[ScoredSentence]]:
        """Yield the scored sentences of each turn, as `scores` returns them."""
        for start in range(0, len(turns), _AT_ONCE):
            yield from self._scored(turns[start : start + _AT_ONCE], subjects)

    def _scored(self, turns: Sequence[Turn], subjects: Sequence[Subject]) -> Iterator[list[ScoredSentence]]:
        import numpy as np

        about = self._weights.about
        features = features_of(*turns) if about is not None else None
        if about is None or features is None or not features.sentences:
            yield from ([] for _ in turns)
            return
        # Of a sentence every place counts once: so they are told apart with the number of the sentence in front.
        keys = np.sort((features.owners << BITS | features.places).astype(np.int32))
        once = keys[np.concatenate(([True], keys[1:] != keys[:-1]))]
        owners, places = once >> BITS, once & (1 << BITS) - 1
        # The sums are of whole numbers, which floats add exactly.
        sums = [
            (np.bincount(owners, self._weights.tables[subject][places], len(features.sentences))).astype(np.int64)
            + about.tables[subject].bias
            for subject in subjects
        ]
        scored = zip(features.sentences, zip(*(column.tolist() for column in sums), strict=True), strict=True)
        for count in features.counts:
            yield [
                ScoredSentence(sentence, dict(zip(subjects, scores, strict=True)))
                for sentence, scores in islice(scored, count)
            ]

    def confidence(self, subject: Subject, score: int) -> int:
        """Return how sure a score makes, in hundredths; 0: not at all."""
        about = self._weights.about
        levels = about.tables[subject].levels if about is not None else ()
        if not levels or score < levels[0][0]:  # as of most sentences
            return 0
        return max(hundredths for least, hundredths in levels if score >= least)
