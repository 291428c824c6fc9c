"""How much each sentence of a turn looks like a decision, or like something worth keeping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.insights.scorer.features import Turn, features_of
from recollect.insights.scorer.tokens import TokenSentence
from recollect.insights.scorer.weights import Subject, WeightTables, weights


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
        import numpy as np

        about = self._weights.about
        features = features_of(turn)
        count = len(features.sentences)
        if about is None or not count:
            return []
        once = np.unique(features.owners << 32 | features.places)
        owners, places = once >> 32, once & 0xFFFFFFFF
        found: list[dict[Subject, int]] = [{} for _ in range(count)]
        for subject in subjects:
            # The sums are of whole numbers, which floats add exactly.
            sums = np.bincount(owners, self._weights.tables[subject][places], count)
            for scores, total in zip(found, sums, strict=True):
                scores[subject] = int(total) + about.tables[subject].bias
        return [ScoredSentence(*pair) for pair in zip(features.sentences, found, strict=True)]

    def confidence(self, subject: Subject, score: int) -> int:
        """Return how sure a score makes, in hundredths; 0: not at all."""
        about = self._weights.about
        levels = about.tables[subject].levels if about is not None else ()
        return max((hundredths for least, hundredths in levels if score >= least), default=0)
