"""Rates an answer: known, unsure ("no exact match; closest results"), or nothing.

An absent everyday word proves nothing: people ask in other words than those that were written down. What tells whether
an answer is about a question is how much of it the best session holds, how much of it occurs nowhere, and how many
words it has, for of a long question even the right session lacks some. A logistic model makes one confidence of them.
It was fitted on questions of several writers and judged on the sets that it was not fitted on
(docs/development/recall-tuning.md, sixth round).

Only an identifier that occurs nowhere is a reason to answer nothing: it is the subject of what was asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.index.query.query_units import Unit

UNSURE_BELOW = 0.4
"""Confidence below which an answer says that it has no exact match."""
CERTAIN = 1.0
"""Of an answer that has all that was asked: a quoted phrase, an identifier, a pattern, every word in one session."""
IDENTIFIERS_ARE_SUBJECT = 0.5
"""From this share of a question's rareness on, absent identifiers are its subject. Other absent words prove nothing and
are left out."""
MOST_KEYWORDS = 2
"""Where so few words occur nowhere, all of them, there is no other word to go by."""
MIN_PASTED = 0.15
"""Of pasted output, whose paths and numbers are new every time, one session must hold this share of the rareness."""
_ALL = 0.999
_RESPELLED_SHARE = 0.5
"""A corrected word counts as absent to this share: the correction may mean something else."""
_MOST_WORDS = 12


class _Model(NamedTuple):
    """Weights of the logistic function. covered: the share of rareness that the best session holds. word: each word
    of the question. absent_word, absent: each word that never occurs, and the share of rareness of all of them.
    """

    bias: float
    covered: float
    word: float
    absent_word: float
    absent: float


_MODEL = _Model(bias=-5.0, covered=4.8, word=0.33, absent_word=0.67, absent=-5.4)

_YEAR = re.compile(r"(?:19|20)\d\d")
"""What happened in a year seldom names it."""
_ONSETS = frozenset(
    (
        "bl br ch cl cr dr dw fl fr gh gl gn gr kh kl kn kr ph pl pn pr ps pt qu rh sc sh sk sl sm sn sp sq st sv sw "
        "th tr ts tw wh wr"
    ).split()
)
_VOWELS = frozenset("aeiouy")


def covered_by(masks: Iterable[int], units: Sequence[Unit]) -> float:
    """Return the greatest share (0 to 1) of the units' rareness, absent ones included, that one of the masks holds.

    masks: a bit for each of `units`. units: those whose parts are units too count for these.
    """
    weights = [0.0 if unit.part_of else unit.idf * _present(unit) for unit in units]
    total = sum(unit.idf for unit in units if not unit.part_of)
    if not total:
        return 1.0
    return max((sum(w for i, w in enumerate(weights) if mask >> i & 1) for mask in set(masks)), default=0.0) / total


def confidence_of(units: Sequence[Unit], question: str, *, covered: float) -> float:
    """Tell how sure an answer is to be about plain words, 0 to 1.

    covered: see `covered_by`.
    """
    if "\n" in question.strip():
        return CERTAIN if covered >= MIN_PASTED else 0.0
    if covered >= _ALL:
        return CERTAIN
    whole = [unit for unit in units if not unit.part_of]
    absent = [unit for unit in whole if unit.is_absent]
    share = sum(unit.idf for unit in absent) / (sum(unit.idf for unit in whole) or 1.0)
    logit = (
        _MODEL.bias
        + _MODEL.covered * covered
        + _MODEL.word * min(len(whole), _MOST_WORDS)
        + _MODEL.absent_word * len(absent)
        + _MODEL.absent * share
    )
    return 1 / (1 + math.exp(-logit))


def absent_of(units: Sequence[Unit]) -> list[Unit]:
    """Return the units that never occur. The parts of `one-liner` count separately, and a year names nothing."""
    return [
        u for u in units if u.is_absent and not u.part_of and not _is_hyphenated(u) and not _YEAR.fullmatch(u.label)
    ]


def absent_subject(units: Sequence[Unit]) -> tuple[str, ...]:
    """Return the subject of a query, as typed, if it never occurs; empty if the query has other words.

    The subject is identifiers that make up most of the rareness, or all of at most MOST_KEYWORDS words. Other names do
    not count: a question may say Kubernetes where people wrote "the cluster".
    """
    whole = [u for u in units if not u.part_of]
    absent = absent_of(units)
    if len(absent) == len(whole) <= MOST_KEYWORDS:
        return tuple(typed(u) for u in absent)
    names = [u for u in absent if _is_identifier(typed(u))]
    named = sum(u.idf for u in names)
    there = sum(u.idf for u in whole if not u.is_absent)
    return tuple(typed(u) for u in names) if names and named >= IDENTIFIERS_ARE_SUBJECT * (named + there) else ()


def names_among(units: Sequence[Unit], question: str) -> list[Unit]:
    """Return the units that are names: capitalised inside the sentence, with signs, digits or inner capitals, or
    spelled as no English word begins (`nginx`, `btrfs`)."""
    start = re.search(r"\w", question)
    first = start.start() if start is not None else 0
    return [u for u in units if not u.part_of and not u.pieces and _is_name(u, question, first)]


def typed(unit: Unit) -> str:
    """Return a word of the query as it was typed, without the signs around it."""
    return unit.clause.text.strip(".,:;?!\"'`()")


def _present(unit: Unit) -> float:
    if unit.is_absent:
        return 0.0
    return 1 - _RESPELLED_SHARE if unit.respelled else 1.0


def _is_hyphenated(unit: Unit) -> bool:
    return len(unit.sequence) > 1 and re.fullmatch(r"\W*[^\W_]+(?:-[^\W_]+)+\W*", unit.clause.text) is not None


def _is_identifier(text: str) -> bool:
    """`max_retries`, `utf8`, `setOutput`, `a/b.py`; not `TLS`."""
    has_signs = re.search(r"\w[^\w\s'’]\w|_|\d", text) is not None
    return text.isascii() and (has_signs or re.search(r"[a-z][A-Z]", text) is not None)


def _is_name(unit: Unit, question: str, first: int) -> bool:
    text = unit.clause.text.strip(".,:;?!\"'`()[]{}<>")
    if not text or not text.isascii():
        return False
    if unit.sequence or _is_identifier(text) or any(c.isupper() for c in text[1:]):
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
