"""Words as they are typed without their accents: "decisión" or "decision"; "für", "fuer" or "fur"; "ещё" or "еще"."""

from __future__ import annotations

import unicodedata
from typing import Final

EXACT: Final = "="
"""Stands before a phrase of a pack that has no other spelling, since without accents it is another word (`=qué`)."""

_PLAIN: Final = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ё": "е"})
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_KEPT: Final = frozenset("йЙ")
"""Letters of their own that Unicode takes apart."""


def spellings(phrase: str) -> tuple[str, ...]:
    """Return how a lower-case phrase is typed: with its accents first, then without them, each once."""
    if phrase.startswith(EXACT):
        return (phrase[len(EXACT) :],)
    if phrase.isascii():
        return (phrase,)
    return tuple(dict.fromkeys((phrase, _plain(phrase), _plain(phrase.translate(_UMLAUTS)))))


class _Bare(dict[int, str]):
    """Letters without their accents, each taken apart when it is met first: a pack has thousands of words."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        base = unicodedata.normalize("NFD", letter)[0]
        self[code] = base if base.isascii() and letter not in _KEPT else letter
        return self[code]


_BARE: Final = _Bare()


def _plain(phrase: str) -> str:
    """Return a phrase without accents; letters of scripts other than Latin stay, but for ё."""
    return phrase.translate(_PLAIN).translate(_BARE)
