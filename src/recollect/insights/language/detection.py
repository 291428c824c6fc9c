"""Detects the languages of a message."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import repeat
from typing import Final

from recollect.insights.language.sentences import Words
from recollect.late import late_pattern

_CYRILLIC: Final = late_pattern(r"[\u0400-\u04ff]")
_KANA: Final = late_pattern(r"[\u3040-\u30ff]")
_HAN: Final = late_pattern(r"[\u4e00-\u9fff]")
_TOKEN: Final = late_pattern(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_BLANKS: Final = {code: " " for code in range(128) if not _TOKEN.match(chr(code)) and chr(code) != "'"}
_TOKENS: Final = 96
_COUNT: Final = _TOKENS.bit_length()
"""Bits of the count of a pack: all of them in one number are added at once."""
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
def _known(packs: tuple[Words, ...]) -> dict[str, int]:
    """Return the packs that have a word among their stop words, as one to be added to the count of each."""
    found: dict[str, int] = {}
    for place, words in enumerate(packs):
        for word in words.stop_words:
            found[word] = found.get(word, 0) | 1 << _COUNT * place
    return found


def _tokens(low: str) -> list[str]:
    """Return the first words of a text."""
    head = low[: 12 * _TOKENS]
    if not head.isascii():
        return _TOKEN.findall(head)[:_TOKENS]
    # The same, three times as fast: only what has an apostrophe needs the expression. Half of the head mostly does.
    pieces = head[: 7 * _TOKENS].translate(_BLANKS).split(maxsplit=_TOKENS)
    if len(pieces) <= _TOKENS and len(head) > 7 * _TOKENS:
        pieces = head.translate(_BLANKS).split(maxsplit=_TOKENS)
    pieces = pieces[:_TOKENS]
    if "'" not in head:
        return pieces
    found: list[str] = []
    for piece in pieces:
        if "'" in piece:
            found += _TOKEN.findall(piece)
        else:
            found.append(piece)
    return found[:_TOKENS]


def spoken(low: str, packs: tuple[Words, ...]) -> list[Words]:
    """Return those packs of Latin script that a text may be written in, the likeliest first; all if nothing tells."""
    return list(_leading(sum(map(_known(packs).get, _tokens(low), repeat(0))), packs))


@lru_cache(maxsize=4096)
def _leading(total: int, packs: tuple[Words, ...]) -> tuple[Words, ...]:
    """Return the packs of the most stop words. total: the counts of all of them."""
    counts = [total >> _COUNT * place & (1 << _COUNT) - 1 for place in range(len(packs))]
    best = max(counts, default=0)
    share = 0.0 if best < _TELLING else _SHARE_OF_MANY if best >= _MANY else _SHARE
    found = [(count, words) for count, words in zip(counts, packs, strict=True) if count >= share * best]
    return tuple(words for _, words in sorted(found, key=lambda f: -f[0]))
