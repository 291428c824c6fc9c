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
_BLANKS: Final = {code: " " for code in range(128) if not _TOKEN.match(chr(code)) and chr(code) != "'"}
_TOKENS: Final = 96
_TELLING: Final = 2
"""Stop words that tell a language; one alone ("no") is of many."""
_MANY: Final = 4
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


def _tokens(low: str) -> list[str]:
    """Return the first words of a text."""
    head = low[: 12 * _TOKENS]
    if not head.isascii():
        return _TOKEN.findall(head)[:_TOKENS]
    # The same, three times as fast: only what has an apostrophe needs the expression.
    found: list[str] = []
    for piece in head.translate(_BLANKS).split(maxsplit=_TOKENS)[:_TOKENS]:
        if "'" in piece:
            found += _TOKEN.findall(piece)
        else:
            found.append(piece)
    return found[:_TOKENS]


def spoken(low: str, packs: tuple[Words, ...]) -> list[Words]:
    """Return those packs of Latin script that a text may be written in, the likeliest first; all if nothing tells."""
    known = _known(packs)
    counts = [0] * len(packs)
    for token in _tokens(low):
        if token in known:
            for place in known[token]:
                counts[place] += 1
    best = max(counts, default=0)
    share = 0.0 if best < _TELLING else _SHARE_OF_MANY if best >= _MANY else _SHARE
    found = [(count, words) for count, words in zip(counts, packs, strict=True) if count >= share * best]
    return [words for _, words in sorted(found, key=lambda f: -f[0])]
