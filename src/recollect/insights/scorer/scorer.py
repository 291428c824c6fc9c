"""Scores the sentences of a turn as a decision, learning or action."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.insights.scorer.features import BITS, PLACES, TokenSentence, Turn, TurnFeatures, features_of
from recollect.insights.scorer.few_sentences import few_features_of
from recollect.insights.scorer.weights import Subject, WeightTables, weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Sums = tuple[TurnFeatures, list[NDArray[np.int64]]]

_AT_ONCE: Final = 128
"""Turns that are scored together: those of most sessions. 128 times 80 sentences have numbers of 14 bits."""

_FEW_CHARACTERS: Final = 30_000
"""So much text in all is scored without numpy: to load that takes longer."""


class ScoredSentence(NamedTuple):
    """A sentence, and its sum of weights for each requested subject."""

    sentence: TokenSentence
    scores: dict[Subject, int]


class SentenceScorer:
    """Adds up learned weights. Safe from threads."""

    def __init__(self, known: WeightTables | None = None) -> None:
        """known: by default the weights that ship."""
        self._weights = known if known is not None else weights()
        self._few_left = _FEW_CHARACTERS

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
        if self._are_few(turns):
            yield from (self._few_scores_of(turn, subjects) for turn in turns)
            return
        for features, sums in self._sums_of(turns, subjects):
            scored = zip(features.sentences, zip(*(column.tolist() for column in sums), strict=True), strict=True)
            for count in features.counts:
                yield [
                    ScoredSentence(sentence, dict(zip(subjects, scores, strict=True)))
                    for sentence, scores in islice(scored, count)
                ]

    def likely_of(self, turns: Sequence[Turn], subject: Subject) -> Iterator[list[tuple[int, TokenSentence]]]:
        """Yield the sentences of each turn whose score has a confidence, with the score, in order."""
        if self._are_few(turns):
            for turn in turns:
                scored = ((one.scores[subject], one.sentence) for one in self._few_scores_of(turn, (subject,)))
                yield [found for found in scored if found[0] >= self._least(subject)]
            return
        import numpy as np

        for features, (sums,) in self._sums_of(turns, (subject,)):
            places = np.flatnonzero(sums >= self._least(subject))
            found = [(score, features.sentences[at]) for at, score in zip(places, sums[places].tolist(), strict=True)]
            ends = np.searchsorted(places, np.cumsum(features.counts)).tolist()
            yield from (found[start:end] for start, end in pairwise((0, *ends)))

    def _are_few(self, turns: Sequence[Turn]) -> bool:
        """Return whether turns are scored without numpy. Where that is loaded, it is faster."""
        if "numpy" in sys.modules:
            return False
        self._few_left -= sum(len(turn.text) for turn in turns)
        return self._few_left >= 0

    def _few_scores_of(self, turn: Turn, subjects: Sequence[Subject]) -> list[ScoredSentence]:
        """Return the scored sentences of a turn without numpy."""
        known, about = self._weights.tables, self._weights.about
        if about is None:
            return []
        of_subjects = [(subject, known[subject].__getitem__, about.tables[subject].bias) for subject in subjects]
        return [
            ScoredSentence(sentence, {name: bias + sum(map(weight, places)) for name, weight, bias in of_subjects})
            for sentence, places in few_features_of(turn)
        ]

    def _sums_of(self, turns: Sequence[Turn], subjects: Sequence[Subject]) -> Iterator[_Sums]:
        """Yield some turns at a time with their sentences' scores, an array for each subject. Without weights, the
        turns have no sentences."""
        import numpy as np

        about = self._weights.about
        tables = [np.frombuffer(self._weights.tables[subject], np.int8) for subject in subjects] if about else []
        for start in range(0, len(turns), _AT_ONCE):
            features = features_of(*turns[start : start + _AT_ONCE])
            if about is None or not features.sentences:
                yield features._replace(sentences=[]), [np.zeros(0, np.int64) for _ in subjects]
                continue
            # Of a sentence every place counts once: so they are told apart with the number of the sentence in front.
            keys = np.sort(features.owners << np.uint32(BITS) | features.places)
            once = keys[np.concatenate(([True], keys[1:] != keys[:-1]))]
            owners, places = (once >> np.uint32(BITS)).astype(np.int32), once & np.uint32(PLACES - 1)
            # The sums are of whole numbers, which floats add exactly.
            yield (
                features,
                [
                    np.bincount(owners, table[places], len(features.sentences)).astype(np.int64)
                    + about.tables[subject].bias
                    for subject, table in zip(subjects, tables, strict=True)
                ],
            )

    def _least(self, subject: Subject) -> float:
        """Return the least score that makes sure at all."""
        levels = self._weights.about.tables[subject].levels if self._weights.about is not None else ()
        return levels[0][0] if levels else math.inf

    def confidence(self, subject: Subject, score: int) -> int:
        """Return how sure a score makes, in hundredths; 0: not at all."""
        if score < self._least(subject) or self._weights.about is None:  # as of most sentences
            return 0
        return max(hundredths for least, hundredths in self._weights.about.tables[subject].levels if score >= least)
