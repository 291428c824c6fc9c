"""What words say by themselves: whether they name anything, and whether what they point at is among them."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from recollect.insights.language.pack import pack
from recollect.insights.language.projection import lower
from recollect.insights.language.reader import words_of
from recollect.insights.language.sentences import Words

_WORD: Final = re.compile(r"`[^`\n]+`|[^\W_](?:[\w'./:@#+-]*\w)?")
_LEAST_LETTERS: Final = 4
"""Letters that words of a script without blanks must have beside those of the fixed lists."""


def names_something(text: str, code: str) -> int:
    """Return how many words of a text name something: neither stop words, nor words that point ("the second one"),
    nor verbs that say nothing without their object ("use", "do")."""
    words = words_of(code)
    if not words.pack.spaces:
        return sum(c.isalnum() for c in text) // _LEAST_LETTERS
    return sum(_is_telling(word, words) for word in _WORD.findall(lower(text)))


def points_outside(text: str, code: str) -> bool:
    """Whether a text points at something that it does not name before: "it needs Docker", "never commit them"."""
    words = words_of(code)
    names = 0
    tokens = _WORD.findall(lower(text))
    for place, word in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        is_pointing = word in _listed(code, "pointers") or (
            word in _listed(code, "pointing_alone") and (not after or not _is_telling(after, words))
        )
        if is_pointing and not names:
            return True
        before = tokens[place - 1] if place else ""
        is_verb = word in _listed(code, "verbs") and before not in _listed(code, "articles") - _listed(code, "vague")
        names += _is_telling(word, words) and not is_verb
    return False


def is_for_all(text: str, code: str) -> bool:
    """Whether words say that something holds in every repository."""
    low = lower(text)
    return words_of(code).has("for_user", low, 0, len(low)) is not None


def _is_telling(word: str, words: Words) -> bool:
    return word.startswith("`") or not (word in _vague(words.pack.code) or words.is_hollow(word))


@cache
def _vague(code: str) -> frozenset[str]:
    words, found = words_of(code), pack(code)
    ordinals = found.lists.ordinals if found is not None else ()
    told = {word for name in ("vague", "negators", "pointers", "pointing_alone") for word in _listed(code, name)}
    told |= {word.strip() for listed in ordinals for word in listed.split(",")}
    return words.stop_words | told


@cache
def _listed(code: str, name: str) -> frozenset[str]:
    return frozenset(words_of(code).phrases(name))
