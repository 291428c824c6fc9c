"""How much of a question a text holds only here and there: what answers says it in one place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.index.units import Unit

PASSAGE_CHARS = 500
"""A long paragraph. 420 to 900 give the same."""
MAX_CHARS = 12_000
"""So much of a text is looked at."""
_MAX_PLACES = 50
"""Places of one word looked at."""


class Passages:
    """Compares texts with one question. Its words are taken with the forms that the index knows of them."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._words = [(unit.idf, _stems(term for term, _ in unit.terms)) for unit in units if not unit.is_absent]
        self._total = sum(idf for idf, _ in self._words) or 1.0

    def scattered(self, text: str) -> float:
        """Return the share (0 to 1) of the question's rareness that is in the text, but not in its best passage."""
        text = text[:MAX_CHARS].lower()
        if len(text) <= PASSAGE_CHARS:
            return 0.0
        places: list[tuple[int, int]] = []
        whole = 0.0
        for number, (idf, stems) in enumerate(self._words):
            found = [place for stem in stems for place in _places(text, stem)]
            if found:
                whole += idf
                places += [(place, number) for place in found]
        return (whole - self._densest(sorted(places))) / self._total

    def _densest(self, places: Sequence[tuple[int, int]]) -> float:
        inside = [0] * len(self._words)
        best = now = 0.0
        first = 0
        for place, number in places:
            if not inside[number]:
                now += self._words[number][0]
            inside[number] += 1
            while place - places[first][0] > PASSAGE_CHARS:
                left = places[first][1]
                inside[left] -= 1
                if not inside[left]:
                    now -= self._words[left][0]
                first += 1
            best = max(best, now)
        return best


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
