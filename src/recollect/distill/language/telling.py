"""Which languages a message is written in."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from recollect.distill.language.sentences import Words

_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")
_KANA: Final = re.compile(r"[\u3040-\u30ff]")
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_TOKENS: Final = 96
_TELLING: Final = 2
"""Stop words that tell a language; one alone ("no") is of many."""
_MANY: Final = 8
_SHARE_OF_MANY: Final = 0.75
"""Of many stop words: languages share some ("a", "no", "as"), so a second one needs more."""
_SHARE: Final = 0.5
"""Of the stop words of the leading language: what another one needs to be tried too."""


def scripts(text: str) -> tuple[str, ...]:
    """Return the scripts of a text: latin always (code and names are), and what else occurs in it."""
    if text.isascii():
        return ("latin",)
    found = ["latin"]
    if _CYRILLIC.search(text):
        found.append("cyrillic")
    if _KANA.search(text):
        found.append("kana")
    elif _HAN.search(text):
        found.append("han")
    return tuple(found)


@cache
def _known(packs: tuple[Words, ...]) -> dict[str, tuple[int, ...]]:
    """Return the packs, by place, that have a word among their stop words."""
    found: dict[str, tuple[int, ...]] = {}
    for place, words in enumerate(packs):
        for word in words.stop_words:
            found[word] = (*found.get(word, ()), place)
    return found


def spoken(low: str, packs: tuple[Words, ...]) -> list[Words]:
    """Return those packs of Latin script that the text may be written in; all of them where nothing tells."""
    known = _known(packs)
    counts = [0] * len(packs)
    for token in _TOKEN.findall(low, 0, 12 * _TOKENS)[:_TOKENS]:
        for place in known.get(token, ()):
            counts[place] += 1
    best = max(counts, default=0)
    if best < _TELLING:
        return list(packs)
    share = _SHARE_OF_MANY if best >= _MANY else _SHARE
    return [words for words, count in zip(packs, counts, strict=True) if count >= share * best]
