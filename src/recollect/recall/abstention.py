"""How sure an answer is, and when to say that nothing is stored about a question.

An answer that is not about the question is worse than none. Four things tell: what share of the question's rareness
occurs nowhere in the memory, what share of it is names (`Kubernetes`, `nginx`) that occur nowhere, how much of the
whole the best event holds, and how near in meaning the nearest event is. A logistic model gives the confidence.

Calibrated on the development sets of two benchmarks, see docs/recall-tuning.md: 20 questions about things that occur
nowhere against 118 (agents' transcripts) and 997 (conversations) that can be answered, each group with the same weight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from recollect.index.units import Unit

ABSTAIN_BELOW = 0.25
"""Confidence below which a search answers that nothing is stored."""
CERTAIN = 1.0
"""Of an answer that has what was required: a quoted phrase, an identifier, a pattern."""
MIN_COVERED = 0.15
"""Of pasted output, whose paths and numbers are new every time, the best event must hold this share of the rareness."""
RESPELLED_SHARE = 0.5
"""A corrected word counts as absent to this share: the correction may mean something else."""


class _Model(NamedTuple):
    """Of the logistic function: weights of the shares absent, of absent names, covered, and of the similarity."""

    bias: float
    absent: float
    names: float
    covered: float
    similarity: float


FULL_DOCUMENTS = 20_000
"""From so many documents on, that a word occurs nowhere says all it can: a small memory lacks many by accident."""
_YEAR = re.compile(r"(?:19|20)\d\d")
"""What happened in a year seldom names it."""
_WITH_VECTORS = _Model(bias=2.5, absent=-8.0, names=-12.0, covered=1.0, similarity=2.0)
_WORDS_ONLY = _Model(bias=3.5, absent=-8.0, names=-12.0, covered=1.0, similarity=0.0)

_ONSETS = frozenset(
    (
        "bl br ch cl cr dr dw fl fr gh gl gn gr kh kl kn kr ph pl pn pr ps pt qu rh sc sh sk sl sm sn sp sq st sv sw "
        "th tr ts tw wh wr"
    ).split()
)
_VOWELS = frozenset("aeiouy")


def absent_names(units: Sequence[Unit], question: str) -> list[Unit]:
    """Return the absent units that are names: capitalised inside the sentence, with signs, digits or inner capitals,
    or spelled as no English word begins (`nginx`, `btrfs`)."""
    start = re.search(r"\w", question)
    first = start.start() if start is not None else 0
    return [u for u in units if u.is_absent and not u.part_of and not u.pieces and _is_name(u, question, first)]


class Judgement(NamedTuple):
    """confidence: 0..1 that the answer is about the question. absent: what of it occurs nowhere, as typed."""

    confidence: float
    absent: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether to say that nothing is stored."""
        return self.confidence < ABSTAIN_BELOW


def judge(
    units: Sequence[Unit], question: str, *, covered: float, similarity: float | None, documents: int
) -> Judgement:
    """Tell how sure an answer to plain words is.

    covered: the share of rareness, absent words left out, that the best event holds. similarity: of the nearest event;
    None where nothing has vectors. documents: in the index.
    """
    whole = [u for u in units if not u.part_of]
    total = sum(u.idf for u in whole)
    if not total:
        return Judgement(CERTAIN)
    absent = [u for u in whole if u.is_absent and not _is_hyphenated(u) and not _YEAR.fullmatch(u.label)]
    if "\n" in question.strip():
        return Judgement(CERTAIN if covered >= MIN_COVERED else 0.0, tuple(u.label for u in absent))
    names = absent_names(absent, question)
    respelled = sum(u.idf for u in whole if u.respelled) * RESPELLED_SHARE
    share = (sum(u.idf for u in absent) + respelled) / total
    model = _WORDS_ONLY if similarity is None else _WITH_VECTORS
    missing = model.absent * share + model.names * sum(u.idf for u in names) / total
    logit = model.bias + missing * min(1.0, math.log1p(documents) / math.log1p(FULL_DOCUMENTS))
    logit += model.covered * covered * (1 - share) + model.similarity * (similarity or 0.0)
    said = tuple(u.clause.text.strip(".,:;?!\"'`()") for u in names) or tuple(u.label for u in absent)
    return Judgement(1 / (1 + math.exp(-logit)), said)


def _is_hyphenated(unit: Unit) -> bool:
    """`one-liner` is two words; its parts tell."""
    return len(unit.sequence) > 1 and re.fullmatch(r"\W*[^\W_]+(?:-[^\W_]+)+\W*", unit.clause.text) is not None


def _is_name(unit: Unit, question: str, first: int) -> bool:
    text = unit.clause.text.strip(".,:;?!\"'`()[]{}<>")
    if not text:
        return False
    if unit.sequence or any(c.isdigit() for c in text) or any(c.isupper() for c in text[1:]):
        return True
    if text[0].isupper() and question.find(text) != first:
        return True
    word = unit.label
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return False
    if not _VOWELS.intersection(word):
        return True
    onset = word[:2]
    return not _VOWELS.intersection(onset) and onset not in _ONSETS
