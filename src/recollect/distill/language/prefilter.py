"""The prefilter: one pass over a message that says which patterns may match in it, and where their words stand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from recollect.distill.language.patterns import Group, Pattern, typical_length
from recollect.distill.language.sentences import SENTENCE_CHARACTERS, Words
from recollect.model.distilled.nodes import Speaker

_TELLING: Final = 3
"""Letters of a typical phrase of a group that is looked for; "in" or "to" are everywhere, the expression finds them."""
_PLACES: Final = 512
"""Places of a group in one message, at most; who repeats a word more often does not decide by it."""
_SPACELESS: Final = "\u2e80"
"""The first character of scripts that separate no words."""
_LISTS: Final = ("reported", "undecided", "hypothetical", "reasons", "reasons_next", "negators")
"""The fixed lists whose words are looked for anywhere in a sentence."""


class Candidate(NamedTuple):
    """A pattern and the numbers of the groups that it needs. first: of the group that begins it, -1 for none known.
    key: of its rarest one."""

    order: int
    pattern: Pattern
    needs: frozenset[int]
    first: int
    key: int
    reach: int
    any_of: tuple[int, ...] = ()
    """Groups of which one must stand in the neighbourhood: reasons, for rules that ask for one."""


class Spot(NamedTuple):
    """A place where a pattern may match: that of its first word, else of its rarest one."""

    position: int
    candidate: Candidate


class Places:
    """Where the words of each group stand in a message: ascending positions by number of the group."""

    def __init__(self, positions: dict[int, list[int]]) -> None:
        self.positions = positions

    def within(self, group: int, start: int, end: int) -> list[int]:
        """Return the positions of a group in a range."""
        found = self.positions.get(group, [])
        return found[bisect_left(found, start) : bisect_left(found, end)]

    def has(self, group: int, start: int, end: int) -> bool:
        """Return whether a group has a word in a range."""
        found = self.positions.get(group)
        if not found:
            return False
        at = bisect_left(found, start)
        return at < len(found) and found[at] < end

    def uncovered(self, raw: str, covered: str) -> Places:
        """Return those that stand in prose: where the covered text still has the letter of the raw one."""
        return Places({g: [p for p in found if raw[p] == covered[p]] for g, found in self.positions.items()})


class Prefilter:
    """Finds in one pass where words of a language's patterns and lists stand, and which patterns have all of theirs."""

    def __init__(self, words: Words, speaker: Speaker) -> None:
        self.words = words
        self._numbers: dict[Group, int] = {}
        self._lists: dict[str, int] = {}
        self._by_key: dict[int, list[Candidate]] = {}
        stems: dict[str, list[tuple[int, bool]]] = {}
        rules = [rule for rule in words.pack.rules if rule.speaker in ("any", speaker)]
        patterns = [Pattern(rule, written, words.pack) for rule in rules for written in rule.patterns]
        for name in (*_LISTS, *(name for rule in rules for name in rule.without)):
            listed = words.phrases(name)
            if listed:
                self._lists[name] = self._number(tuple(sorted(set(listed))), stems)
        reasons = tuple(self._lists[name] for name in ("reasons", "reasons_next") if name in self._lists)
        for order, pattern in enumerate(patterns):
            key = pattern.key
            needed = [g for g in pattern.groups if g == key or typical_length(g) >= _TELLING]
            needs = frozenset(self._number(group, stems) for group in needed)
            first = self._number(pattern.first, stems) if pattern.first in needed and pattern.first else -1
            any_of = reasons if pattern.rule.needs == ("reason",) else ()
            candidate = Candidate(order, pattern, needs, first, self._numbers[key], pattern.reach, any_of)
            self._by_key.setdefault(candidate.key, []).append(candidate)
        self._owners = tuple(tuple(owners) for owners in stems.values())
        self._search = AhoCorasick(tuple(stems), implementation=Implementation.DFA) if stems else None

    def _number(self, group: Group, stems: dict[str, list[tuple[int, bool]]]) -> int:
        if group not in self._numbers:
            number = self._numbers[group] = len(self._numbers)
            for phrase in group:
                stems.setdefault(phrase.rstrip("*"), []).append((number, phrase.endswith("*")))
        return self._numbers[group]

    def places(self, low: str) -> Places:
        """Return where the words of groups stand as words of their own; `low` in lower case, blanks for line ends."""
        positions: dict[int, list[int]] = {}
        if self._search is None:
            return Places(positions)
        padded, owners = f" {low} ", self._owners
        for stem, start, end in self._search.find_matches_as_indexes(padded, overlapping=True):
            if padded[start - 1].isalnum() and padded[start] < _SPACELESS and padded[start - 1] < _SPACELESS:
                continue
            is_whole = not (padded[end].isalnum() and padded[end - 1].isalnum()) or padded[end - 1] >= _SPACELESS
            for number, is_prefix in owners[stem]:
                if is_whole or is_prefix:
                    found = positions.get(number)
                    if found is None:
                        positions[number] = [start - 1]
                    elif len(found) < _PLACES:
                        found.append(start - 1)
        for starts in positions.values():
            starts.sort()
        return Places(positions)

    def spots(self, places: Places) -> list[Spot]:
        """Return where patterns may match, all of whose telling words stand near each other."""
        groups = places.positions.keys()
        found: list[Spot] = []
        for key in groups:
            for candidate in self._by_key.get(key, ()):
                if candidate.needs <= groups:
                    found += self._near(candidate, places)
        return sorted(found, key=lambda s: (s.position, s.candidate.order))

    @staticmethod
    def _near(candidate: Candidate, places: Places) -> Iterator[Spot]:
        first, reach = candidate.first, candidate.reach
        others = [g for g in candidate.needs if g != first]
        for position in places.positions[first if first >= 0 else candidate.key]:
            start = position if first >= 0 else position - reach
            if not all(places.has(group, start, position + reach) for group in others):
                continue
            near, far = position - SENTENCE_CHARACTERS, position + 2 * SENTENCE_CHARACTERS
            if not candidate.any_of or any(places.has(group, near, far) for group in candidate.any_of):
                yield Spot(position, candidate)

    def first_of(self, name: str, places: Places, start: int, end: int) -> int:
        """Return the first place of a phrase of a list in a range, -1 for none."""
        number = self._lists.get(name)
        found = places.within(number, start, end) if number is not None else []
        return found[0] if found else -1
