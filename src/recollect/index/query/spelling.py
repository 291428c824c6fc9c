"""Suggests a spelling: the most frequent index term that is one or two changes from an unknown word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from recollect.index.text.mentions import ordinary_words
from recollect.index.text.schema import TEXT
from recollect.index.text.shards import Shard

MIN_LETTERS = 5
"""A shorter word has too many neighbours that mean something else."""
TWO_CHANGES_FROM = 8
"""Letters from which two changes are looked for, behind a prefix that is right."""
MIN_FREQUENCY = 2
"""Documents that must have a term: one alone may be a misspelling itself."""
MAX_CORRECTED = 3
"""Words of one question."""
_PREFIX_LETTERS = 4
_PREFIX_LIMIT = 1000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ASKING = frozenset(
    "warum wieso weshalb wann welche welcher welches welchen wohin woher womit wodurch worauf pourquoi comment quand "
    "quelle quels quelles porque cuando donde quien cuanto quando quale quali perche waarom wanneer hoeveel".split()
)
"""Words with which other languages ask; an index of English text has none of them, and they are right: `warum` is no
mistyped `warm`."""


def nearest_term(word: str, shards: Sequence[Shard]) -> str | None:
    """Return the most frequent term that is one change from the word, else (long words) two; None where none is.

    A change is a letter missing, added, another, or two neighbours swapped. Only words of the letters a to z, and none
    that English has: `cured` is no mistyped `curved`.
    """
    if len(word) < MIN_LETTERS or not (word.isascii() and word.isalpha()):
        return None
    if word in _ASKING or word in ordinary_words():
        return None
    found = _most_frequent(word, shards, _one_change_away)
    if found is None and len(word) >= TWO_CHANGES_FROM:
        found = _most_frequent(word, shards, _two_changes_away)
    return found


def _most_frequent(word: str, shards: Sequence[Shard], near: Callable[[str, Shard], set[str]]) -> str | None:
    terms = {term for shard in shards for term in shard.terms_like(word, near)}
    counts = {term: sum(shard.document_frequency(TEXT, term) for shard in shards) for term in terms}
    best = min(counts, key=lambda term: (-counts[term], term), default=None)
    return best if best is not None and counts[best] >= MIN_FREQUENCY else None


def _one_change_away(word: str, shard: Shard) -> set[str]:
    """Return the terms of a shard that are one change away.

    Most of them are nowhere: those with the word's beginning are looked up among all that have it, as far as these can
    be listed.
    """
    terms = _one_change(word)
    listed = shard.terms_with_prefix(TEXT, word[:_PREFIX_LETTERS], _PREFIX_LIMIT)
    is_whole = len(listed) < _PREFIX_LIMIT
    found = {term for term, _ in listed if term in terms}
    apart = (term for term in terms if not (is_whole and term.startswith(word[:_PREFIX_LETTERS])))
    return found | {term for term in apart if shard.searcher.doc_freq(TEXT, term)}


@lru_cache(maxsize=8)  # each shard is asked for the same ones
def _one_change(word: str) -> frozenset[str]:
    return frozenset(_changed(word))


def _changed(word: str) -> Iterator[str]:
    # The first letter is almost never wrong, and another first letter is another word: `tensor` is no `sensor`.
    for i in range(1, len(word) + 1):
        left, right = word[:i], word[i:]
        if right:
            yield left + right[1:]
            if i > 0 and len(right) > 1:
                yield left + right[1] + right[0] + right[2:]
        for letter in _LETTERS:
            yield left + letter + right
            if right and letter != right[0]:
                yield left + letter + right[1:]


def _two_changes_away(word: str, shard: Shard) -> set[str]:
    """Return the terms of a shard that are at most two changes away, behind the same beginning."""
    terms = shard.terms_with_prefix(TEXT, word[:_PREFIX_LETTERS], _PREFIX_LIMIT)
    return {term for term, _ in terms if abs(len(term) - len(word)) <= 2 and distance(word, term) <= 2}


def distance(a: str, b: str) -> int:
    """Return how many changes lie between two words (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row = row, [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before = previous
    return row[-1]
