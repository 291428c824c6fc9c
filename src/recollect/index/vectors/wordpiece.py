"""Text to tokens of a BERT vocabulary, without the library that was used to make it.

The same pieces as BERT's uncased tokenizer (whitespace, punctuation and ideographs apart, lower case, accents taken
off, then the longest known piece first), with one difference that is meant: camelCase is cut where its parts meet.
Each distinct word is worked out once and then looked up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain

MAX_WORD_CHARS = 100
"""BERT's own limit: a longer word is one unknown token. Here it has none at all: hashes and base64 mean nothing."""
KEPT_WORDS = 200_000
"""Distinct words kept worked out; past that they are forgotten and begun anew (about 30 MB)."""

_RUN = re.compile(r"[^\s!-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""The blocks that BERT's tokenizer takes for ideographs (kana and hangul are not among them)."""


class WordPiece:
    """Token numbers of texts. Safe from many threads: a word worked out twice gives the same."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """vocabulary: pieces by number, those inside a word with a leading `##`."""
        self._starts: dict[str, int] = {}
        self._insides: dict[str, int] = {}
        for number, piece in enumerate(vocabulary):
            if piece.startswith("##") and len(piece) > 2:
                self._insides[piece[2:]] = number
            else:
                self._starts[piece] = number
        self._longest = max(map(len, (*self._starts, *self._insides)), default=0)
        self._known = _Known(self._pieces)

    def tokens(self, text: str) -> list[int]:
        """Return the token numbers of a text, in order; what no piece covers is left out."""
        return list(chain.from_iterable(map(self._looked_up(), _RUN.findall(text))))

    def distinct_tokens(self, text: str) -> list[int]:
        """Return each token number of a text once, in order of number."""
        return sorted(set(chain.from_iterable(map(self._looked_up(), set(_RUN.findall(text))))))

    def _looked_up(self) -> Callable[[str], tuple[int, ...]]:
        if len(self._known) > KEPT_WORDS:
            self._known = _Known(self._pieces)
        return self._known.__getitem__

    def _pieces(self, run: str) -> tuple[int, ...]:
        if len(run) > MAX_WORD_CHARS and run.isascii():
            return ()
        found: list[int] = []
        for part in _CAMEL.split(run):
            for word in [part.lower()] if part.isascii() else _plain_words(part):
                found += self._word(word)
        return tuple(found)

    def _word(self, word: str) -> list[int]:
        """Return the longest pieces first; nothing where one is missing: BERT takes the whole word for unknown."""
        if len(word) > MAX_WORD_CHARS:
            return []
        found: list[int] = []
        start, known = 0, self._starts
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = known.get(word[start:end])
                if number is not None:
                    break
            else:
                return []
            found.append(number)
            start, known = end, self._insides
        return found


class _Known(dict[str, tuple[int, ...]]):
    """Runs of characters that were worked out; an unknown one is worked out when it is looked up."""

    def __init__(self, work_out: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, run: str) -> tuple[int, ...]:
        pieces = self[run] = self._work_out(run)
        return pieces


def _plain_words(run: str) -> list[str]:
    """Return a run as lower-case words without accents, cut at punctuation and around every ideograph."""
    words: list[str] = []
    word = ""
    for char in unicodedata.normalize("NFD", run).lower():
        category = unicodedata.category(char)
        if category == "Mn" or category in ("Cc", "Cf", "Co") or char == "\N{REPLACEMENT CHARACTER}":
            continue
        if category[0] == "P" or _is_ideograph(ord(char)):
            words += [word, char]
            word = ""
        else:
            word += char
    return [w for w in (*words, word) if w]


def _is_ideograph(code: int) -> bool:
    return code >= 0x3400 and any(first <= code <= last for first, last in _IDEOGRAPHS)
