"""Tells whether a decision says in other words what a person took back.

Words are compared by what they are for and what they are against: "in Postgres rather than Redis" is for Postgres.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

# Texts, compiled when a person has taken something back: a hook has no time for patterns that it does not meet.
_WORD = r"[^\W\d_][\w-]+"
_AGAINST = (
    r"\b(?:not|never|no|without|rather than|instead of|over|away from|from(?! now)|nicht|kein\w*|nie|statt|anstatt|pas"
    r"|plutôt que|nunca|en vez de)\b([^,.;:!?()]*)"
)
_FILLERS = frozenset(
    "decision decided we us let lets our the this that these those and but for with from into are will shall should"
    " must all always please keep use using used now here instead in on of to is be it its at as by or so an let's"
    " we'll because wir die der das den und mit für immer nur les des pour avec".split()
)
_LEAST = 2
"""Words that both must have, beside what was wrong."""


class Leaning(NamedTuple):
    """The words of a text without fillers and plural s. against: those behind "not", "rather than" and the like."""

    pro: frozenset[str]
    against: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """All words."""
        return self.pro | self.against


@cache
def sides_of(text: str) -> Leaning:
    """Return the two sides of a text."""
    text = text.casefold()
    against = _words(" ".join(re.findall(_AGAINST, text)))
    return Leaning(_words(re.sub(_AGAINST, " ", text)) - against, against)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in re.findall(_WORD, text) if word not in _FILLERS)


def says_again(statement: str, wrong: str, right: str) -> bool:
    """Return whether a decision restates what a person called wrong. right: what they put in its place, "" for nothing.

    It has to be for the wrong thing, and about the same; what is for the right one as well stays.
    """
    decided, said = sides_of(statement), sides_of(wrong)
    if not right:
        is_crossed = said.pro & decided.against or said.against & decided.pro
        return not is_crossed and _shares(said.words, decided.words, _LEAST + 1)
    correct = sides_of(right)
    rejected = correct.against or said.pro - correct.words
    if decided.pro & correct.pro & said.against or rejected & decided.against or not rejected & decided.pro:
        return False
    return _shares((said.words & correct.words) - rejected, decided.words, _LEAST)


def _shares(wanted: frozenset[str], found: frozenset[str], least: int) -> bool:
    """Return whether two thirds of some words are there, and no fewer than a number of them."""
    shared = len(wanted & found)
    return shared >= least and 3 * shared >= 2 * len(wanted)
