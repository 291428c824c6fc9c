"""Finds the shortest words that name a chosen or rejected option."""

from __future__ import annotations

from typing import Final

from recollect.insights.language.prose_mask import OPAQUE
from recollect.insights.language.sentences import Words
from recollect.late import late_pattern

Range = tuple[int, int]
"""Characters of a message, half-open."""

_LEADING: Final = " \t\n([{\"'“„«`*_-–—:,;.、，"
_TRAILING: Final = " \t\n\"'”“»`*_:,;.!?…-–—、，。；！？"
_AFTER_REASON: Final = " \t\n,:;-–—、，：；"
_OPENERS: Final = {"(": ")", "[": "]", "（": "）"}
_NAMED: Final = late_pattern(r"[A-Z0-9_./\\<>(){}=#@+]|\w-\w")
_CAPITAL_AFTER: Final = late_pattern(r"(?<=[a-z])[A-Z]|[A-Z]{2}|\d|[_./\\<>(){}=#@+]")


def trimmed(low: str, start: int, end: int, words: Words, *, with_verb: bool = False) -> Range | None:
    """Return the range of the naming words in a slot, None where it names nothing (a pronoun, blanks, marks).

    with_verb: the slot begins with a verb, to which prepositions belong.
    """
    start = _without_articles(low, start, end, words)
    pronoun = words.begins("pronouns", low, start, end)
    if pronoun is not None and not low[pronoun.end() : end].strip(_TRAILING):
        return None
    if words.begins("conditions", low, start, end) is not None:
        return None
    for name in ("option_ends",) if with_verb else ("option_ends", "prepositions"):
        cut = words.has(name, low, min(start + 1, end), end)
        if cut is not None:
            end = cut.start()
    end = _balanced(low, start, end)
    while end > start and low[end - 1] in _TRAILING:
        end -= 1
    if end <= start or not any(c.isalnum() or c == OPAQUE for c in low[start:end]):
        return None
    pronoun = words.begins("pronouns", low, start, end)
    if pronoun is not None and pronoun.end() == end:
        return None
    return (start, end)


def reason_in(low: str, reason: Range) -> Range:
    """Return the range of a reason without trailing marks and without what follows a parenthesis around it."""
    start, end = reason
    end = _balanced(low, start, end)
    while end > start and low[end - 1] in _AFTER_REASON:
        end -= 1
    return start, end


def is_named(text: str, prose: str, span: Range) -> bool:
    """Whether an option is named rather than described: code, a name, a file, a number."""
    start, end = span
    if OPAQUE in prose[start:end]:
        return True
    if _CAPITAL_AFTER.search(text, start, end):
        return True
    begins_sentence = start == 0 or not prose[:start].rstrip(" \"'(`*_").endswith(
        tuple("abcdefghijklmnopqrstuvwxyz,:;-")
    )
    return any(c.isupper() for c in text[start + begins_sentence : end])


def _without_articles(low: str, start: int, end: int, words: Words) -> int:
    for _ in range(4):
        while start < end and low[start] in _LEADING:
            start += 1
        article = words.begins("articles", low, start, end)
        if article is None or article.end() >= end:
            return start
        start = article.end()
    return start


def _balanced(low: str, start: int, end: int) -> int:
    """Return the end before a parenthesis that is not closed, or before a closing one that was not opened."""
    depth: list[tuple[str, int]] = []
    for position in range(start, end):
        character = low[position]
        if character in _OPENERS:
            depth.append((_OPENERS[character], position))
        elif depth and character == depth[-1][0]:
            depth.pop()
        elif character in ")）]":
            return position
    return depth[0][1] if depth and depth[0][1] > start else end
