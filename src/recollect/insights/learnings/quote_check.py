"""Whether what a model notes stands in what it was shown: its quotations, or a sentence that says the same in the same
words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from recollect.late import late_pattern

LEAST_QUOTE_CHARS: Final = 6
NAME: Final = late_pattern(r"`([^`\n]+)`|[\w@~]+(?:[-./:\\_@][\w*]+)+")
"""What is between backticks, and words with signs inside: commands, packages, paths, versions."""
_WORD: Final = late_pattern(r"\w{4,}")
_STEM: Final = 4
_LEAST_WORDS: Final = 3
"""Of a note that is compared with a sentence."""
_SAME: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "\u00a0": " ", "–": "-", "—": "-"})
_SENTENCE: Final = late_pattern(r"(?<=[.!?;])\s+|\n+")
_CLAUSE: Final = late_pattern(r"[,;:]\s+|\s[-–—]\s|\s(?:and|but|or|und|aber|oder|sondern)\s", re.IGNORECASE)
_FRAME: Final = frozenset("user proj repo pref want this that with here".split())
"""Beginnings of words by which a note introduces what somebody said."""
_FILLERS: Final = frozenset(
    "a an the to for in on of and but or is are be was has had it its i we my our der die das den dem ein im am zu und "
    "aber oder ist es wir".split()
)
_TURNING: Final = (
    late_pattern(
        r"\b(?:not|never|no|none|cannot|without|avoid|stop|nie|nicht|kein\w*|ohne|\w+n['’]t)\b", re.IGNORECASE
    ),
    late_pattern(
        r"\b(?:if|whether|unless|would|could|might|may|maybe|perhaps|wenn|falls|ob|vielleicht|könnte)\b", re.IGNORECASE
    ),
)
"""What turns a sentence into its opposite, or into what may be: a note that lacks it says something else."""


def folded(text: str) -> str:
    """Return a text as quotations are compared: white space, kinds of quotation marks and dashes don't count."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_SAME).split())


def stands_in(quote: str, text: str) -> bool:
    """Return whether a quote occurs in a text."""
    said = folded(quote)
    return len(said) >= LEAST_QUOTE_CHARS and said in folded(text)


def stems(text: str) -> set[str]:
    """Return the beginnings of a text's words; of what has inflections they stay the same."""
    return {word[:_STEM] for word in _WORD.findall(text.casefold())}


def saying(note: str, text: str) -> str:
    """Return the sentence that says all that a note says, "" for none."""
    sentences = (sentence.strip() for sentence in _SENTENCE.split(text))
    return next((one for one in sentences if len(one) >= LEAST_QUOTE_CHARS and _says(one, note)), "")


def _says(sentence: str, note: str) -> bool:
    """Return whether each part of a note repeats a part of a sentence: its words in their order, with "not" and "if"
    if that has them. A question says nothing.
    """
    if sentence.endswith("?") or sum(len(_words(part)) for part in _CLAUSE.split(note)) < _LEAST_WORDS:
        return False
    there = folded(sentence).casefold()
    names = {folded(found[1] or found[0]).casefold() for found in NAME.finditer(note)}
    parts = [sentence] if _turned(sentence) == (False, False) else _CLAUSE.split(sentence)
    return all(name in there for name in names) and all(
        any(_turned(part) == _turned(one) and _is_within(_words(one), _words(part)) for part in parts)
        for one in (_CLAUSE.split(note) if len(parts) > 1 else [note])
    )


def _turned(text: str) -> tuple[bool, bool]:
    denied, doubted = (bool(sign.search(text)) for sign in _TURNING)
    return denied, doubted


def _words(text: str) -> list[str]:
    """Return the telling words of a text: of a plain word the beginning, of one with digits or signs all of it."""
    words = (word for word in re.findall(r"\w+", text.casefold()) if word not in _FILLERS)
    stemmed = (word[:_STEM] if word.isalpha() else word for word in words)
    return [word for word in stemmed if word not in _FRAME]


def _is_within(words: Sequence[str], others: Iterable[str]) -> bool:
    """Return whether words occur among others in the same order."""
    rest = iter(others)
    return all(word in rest for word in words)
