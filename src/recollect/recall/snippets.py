"""Finds the passages of a text with a question's words, and the densest one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from recollect.index.query.query_units import Unit
from recollect.index.vectors.texts import Passage, cut
from recollect.model.text import one_line
from recollect.recall.question_kinds import Sought

SHOWN_CHARS = 500
"""What an answer shows of a long text; 300 to 650 give the same (docs/development/recall-tuning.md)."""
WHOLE_CHARS = 650
"""A text of so many characters is shown whole."""
_SPREAD = 0.8
"""The matches of what is shown lie in this share of it; the rest is what stands around them."""
_MAX_FORMS = 20
"""Terms of a pattern, and of another name, looked for."""
_MAX_PLACES = 50
"""Places of one word looked at."""
_SEARCHED_CHARS = 65_536
_BEGINNINGS = ("\n", ". ", "? ", "! ", " ")
"""Where what is shown may begin and end, the best first."""


class _Densest(NamedTuple):
    """The rareness of the distinct words in the best stretch, and its first and last match."""

    mass: float
    first: int
    last: int


class Passages:
    """Compares texts with one question. Its words are taken with the forms that the index knows of them.

    sought: what it asks for. Of what is shown of a text this counts as much as one of the words.
    """

    def __init__(self, units: Sequence[Unit], sought: Sought = ()) -> None:
        self._words = [(unit.idf, _stems(_forms(unit))) for unit in units if not unit.is_absent]
        self._total = sum(idf for idf, _ in self._words) or 1.0
        self._sought = dict(enumerate(sought, len(self._words)))
        self._words += [(self._total / max(len(self._words), 1), ())] * len(sought)

    def shares(self, text: str) -> Iterator[tuple[Passage, float]]:
        """Yield the passages of a text, about SHOWN_CHARS each and every one half over the next.

        With each comes the share (0 to 1) of the question's rareness that is in it.
        """
        text = text[:_SEARCHED_CHARS]
        lowered = text.lower()
        places = self._places(lowered if len(lowered) == len(text) else text)
        starts = [place for place, _ in places]
        for passage in windows(text):
            first, last = bisect_left(starts, passage.start), bisect_left(starts, passage.end)
            inside = {number for _, number in places[first:last]}
            yield passage, sum(self._words[number][0] for number in inside) / self._total

    def shown(self, text: str, *, size: int = SHOWN_CHARS, most: int = WHOLE_CHARS) -> Passage:
        """Return what to show of a text: whole lines or sentences around the best matches, about `size` characters.

        most: a text of so many characters is shown whole.
        """
        text = text[:_SEARCHED_CHARS]
        if len(text) <= most:
            return Passage(0, len(text))
        lowered = text.lower()
        places = self._places(lowered if len(lowered) == len(text) else text)
        found = (
            (match.start(), n) for n, one in self._sought.items() for match in islice(one.finditer(text), _MAX_PLACES)
        )
        places = sorted((*places, *found))
        start = 0
        if places:
            best = self._densest(places, int(size * _SPREAD))
            start = min(best.first, max(0, (best.first + best.last - size) // 2))
        start = _beginning(text, start, size // 4) if start else 0
        end = start + size
        return Passage(start, len(text) if end >= len(text) else _end(text, start, end))

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Return (place, which word) of the question's words in a text in lower case, in order."""
        return sorted(
            (place, number)
            for number, (_, stems) in enumerate(self._words)
            for stem in stems
            for place in _places(text, stem)
        )

    def _densest(self, places: Sequence[tuple[int, int]], reach: int) -> _Densest:
        inside = [0] * len(self._words)
        best = _Densest(0.0, 0, 0)
        now = 0.0
        first = 0
        for place, number in places:
            if not inside[number]:
                now += self._words[number][0]
            inside[number] += 1
            while place - places[first][0] > reach:
                left = places[first][1]
                inside[left] -= 1
                if not inside[left]:
                    now -= self._words[left][0]
                first += 1
            if now > best.mass + 1e-9:
                best = _Densest(now, places[first][0], place)
        return best


def joined(text: str, shown: Sequence[Passage]) -> str:
    """Return passages of a text, in its order, with a mark where something is left out."""
    parts = [text[passage.start : passage.end].strip() for passage in shown]
    before, after = ("…" if shown[0].start else "", "…" if shown[-1].end < len(text) else "") if shown else ("", "")
    return before + "\n…\n".join(parts) + after


def finished(text: str, passage: Passage) -> Passage:
    """Return a passage that does not stop where it announces something: after a colon the next half is shown too."""
    if passage.end >= len(text) or not text[passage.start : passage.end].rstrip().endswith(":"):
        return passage
    end = passage.end + SHOWN_CHARS // 2
    return Passage(passage.start, len(text) if end >= len(text) else _end(text, passage.end, end))


def windows(text: str) -> list[Passage]:
    """Return the passages of a text: all of it, or pieces of about SHOWN_CHARS, every one half over the next."""
    if len(text) <= WHOLE_CHARS:
        return [Passage(0, len(text))]
    pieces = cut(text, size=SHOWN_CHARS // 2)
    return [Passage(one.start, other.end) for one, other in pairwise(pieces)]


def _beginning(text: str, start: int, reach: int) -> int:
    """Return where a line, else a sentence, else a word begins, at most `reach` characters before a place."""
    if start <= reach:
        return 0
    for mark in _BEGINNINGS:
        at = text.rfind(mark, max(0, start - reach), start)
        if at >= 0:
            return at + len(mark)
    return start


def _end(text: str, start: int, end: int) -> int:
    """Return where the last line, else sentence, else word ends that fits."""
    for mark in _BEGINNINGS:
        at = text.rfind(mark, start + (end - start) * 3 // 4, end)
        if at >= 0:
            return at + len(mark.rstrip())
    return end


def _forms(unit: Unit) -> Iterator[str]:
    """Yield the forms that a unit may have in a text, in lower case."""
    yield from (term for term, _ in unit.terms)
    for piece in (*unit.pieces, *unit.also):
        yield from piece[:_MAX_FORMS]
    if unit.sequence:
        yield from (unit.ident, unit.label)


def _stems(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms without those that begin with another: the end of a word may be anything."""
    kept: list[str] = []
    for term in sorted(set(terms)):
        if term and not (kept and term.startswith(kept[-1])):
            kept.append(term)
    return tuple(kept)


def _places(text: str, stem: str) -> list[int]:
    found: list[int] = []
    at = text.find(stem)
    while at >= 0 and len(found) < _MAX_PLACES:
        if at == 0 or not text[at - 1].isalpha():
            found.append(at)
        at = text.find(stem, at + len(stem))
    return found


SNIPPET_CHARS = 240
_LEAD_CHARS = 40
_MAX_PLACES = 50
"""Places of one word looked at; a text with more is full of it anyway."""


def snippet(text: str, forms: Iterable[str], patterns: Iterable[re.Pattern[str]] = ()) -> str:
    """Return at most SNIPPET_CHARS characters of the text on one line, around its densest run of matches.

    forms: words as they are in the text, in lower case; the window with the most *different* ones wins. Without a
    match, the text's beginning.
    """
    places = _form_places(text, forms, patterns)
    if not places:
        return one_line(text, SNIPPET_CHARS)
    start = _densest_forms(places)
    begin = max(0, start - _LEAD_CHARS)
    if begin:
        space = text.find(" ", begin, start)
        begin = space + 1 if space >= 0 else begin
    lead = "…" if begin else ""
    return lead + one_line(text[begin : begin + SNIPPET_CHARS * 3], SNIPPET_CHARS - len(lead))


def _form_places(text: str, forms: Iterable[str], patterns: Iterable[re.Pattern[str]]) -> list[tuple[int, int]]:
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


def _densest_forms(places: list[tuple[int, int]]) -> int:
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
