"""One line of an event's text around the words asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.model.text import one_line

SNIPPET_CHARS = 240
_LEAD_CHARS = 40
_MAX_PLACES = 50
"""Places of one word looked at; a text with more is full of it anyway."""


def snippet(text: str, forms: Iterable[str], patterns: Iterable[re.Pattern[str]] = ()) -> str:
    """Return at most SNIPPET_CHARS characters of the text on one line, around its densest run of matches.

    forms: words as they stand in the text, in lower case, longest window first by how many *different* ones it
    holds. Without a match the text's beginning.
    """
    places = _places(text, forms, patterns)
    if not places:
        return one_line(text, SNIPPET_CHARS)
    start = _densest(places)
    begin = max(0, start - _LEAD_CHARS)
    if begin:
        space = text.find(" ", begin, start)
        begin = space + 1 if space >= 0 else begin
    lead = "…" if begin else ""
    return lead + one_line(text[begin : begin + SNIPPET_CHARS * 3], SNIPPET_CHARS - len(lead))


def _places(text: str, forms: Iterable[str], patterns: Iterable[re.Pattern[str]]) -> list[tuple[int, int]]:
    """(position, which form) of matches, in order."""
    places: list[tuple[int, int]] = []
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text  # a letter whose small form is longer: positions would be wrong
    for number, form in enumerate(sorted({form for form in forms if form})):
        at = lowered.find(form)
        while at >= 0 and len(places) < _MAX_PLACES * (number + 1):
            # The end of a word may be anything, so that inflections count; its beginning is a word's or a part's.
            if at == 0 or not text[at - 1].isalnum() or text[at].isupper():
                places.append((at, number))
            at = lowered.find(form, at + len(form))
    for number, pattern in enumerate(patterns, start=1000):
        found_pattern = pattern.search(text)
        if found_pattern is not None:
            places.append((found_pattern.start(), number))
    return sorted(places)


def _densest(places: list[tuple[int, int]]) -> int:
    best, best_start = (0, 0), places[0][0]
    first = 0
    inside: dict[int, int] = {}
    for last, (position, form) in enumerate(places):
        inside[form] = inside.get(form, 0) + 1
        while position - places[first][0] > SNIPPET_CHARS - _LEAD_CHARS:
            left = places[first][1]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            first += 1
        size = (len(inside), last - first)
        if size > best:
            best, best_start = size, places[first][0]
    return best_start
