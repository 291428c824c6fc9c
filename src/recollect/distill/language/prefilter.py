"""The prefilter: which patterns may match in a message, and where their words stand.

In most messages no pattern has all of its words. So the distinct words of a message are looked up first; where they
stand is found for those patterns alone that are left.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import accumulate
from operator import or_
from typing import Final, NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from recollect.distill.language.patterns import Group, Pattern, is_spaced, typical_length
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
_SEEN: Final = 1 << 14
"""Words that a prefilter knows not to look at again; when there are more, it begins anew."""

_FEW: Final = 8
"""Phrases up to which looking for one after the other is cheaper than an automaton."""

_WORD: Final = re.compile(r"[\w-]+")
_BREAK: Final = re.compile(r"\n(?:[^\S\n]*\n|(?![\s*]*[^\W\d_]))")
"""A line's end that no sentence goes beyond (`sentences`): of an empty line, or where no letter comes next."""
_NO_WORD: Final = re.compile(r"[^\w-]")
_LOOKED_BACK: Final = 64
"""Characters before a place in which its last word is looked for; a longer one opens nothing."""
_LAST_WORD: Final = re.compile(r"\w+\Z")
_JOINING: Final = (".", "/")
"""What joins the word after it to what is before (`patterns.alternatives`); behind a word both end it."""
_SKIPPED: Final = " \t*"
"""What may stand between a clause and what is before it; emphasis is none of the prose."""
_BLANKS: Final = {code: " " for code in range(128) if not _WORD.match(chr(code))}


class Candidate(NamedTuple):
    """A pattern and the groups that it needs. bits: all of them. first: the number of the group that begins it, -1 for
    none known. key: of its rarest one. others: of those that stand near the one that is looked for first."""

    order: int
    pattern: Pattern
    bits: int
    first: int
    key: int
    others: tuple[int, ...]
    reach: int
    any_of: tuple[int, ...] = ()
    """Lists of which a phrase must stand in the neighbourhood: reasons, for rules that ask for one."""


class Spot(NamedTuple):
    """A place where a pattern may match: that of its first word, else of its rarest one."""

    position: int
    candidate: Candidate


class Said:
    """A message as every prefilter reads it: in lower case, blanks for line ends."""

    def __init__(self, low: str) -> None:
        self._low = low
        self.flat = flat = low.replace("\n", " ")
        self._pieces = (flat.translate(_BLANKS) if flat.isascii() else _NO_WORD.sub(" ", flat)).split(" ")
        self.words = frozenset(self._pieces)
        """Its words, each once; what a hyphen or underscore joins is one."""

    def positions(self, words: Collection[str]) -> dict[str, list[int]]:
        """Return where each of some words stands."""
        found: dict[str, list[int]] = {}
        ends = list(accumulate(map(len, self._pieces)))
        for number, piece in enumerate(self._pieces):
            if piece in words:
                found.setdefault(piece, []).append(ends[number] - len(piece) + number)
        return found

    @cached_property
    def _breaks(self) -> list[int]:
        return [found.start() for found in _BREAK.finditer(self._low)]

    def around(self, position: int) -> tuple[int, int]:
        """Return a range that no sentence around a position leaves."""
        place = bisect_right(self._breaks, position)
        return self._breaks[place - 1] if place else 0, (*self._breaks[place : place + 1], len(self._low))[0]

    def may_begin(self, position: int, openings: frozenset[str]) -> bool:
        """Return whether a clause may begin at a position. openings: the last words of what may stand before one."""
        start, end = self.around(position)
        if end - start > SENTENCE_CHARACTERS:  # where it is cut, the rest begins as well
            return True
        before = self._low[max(start, position - _LOOKED_BACK) : position].rstrip(_SKIPPED)
        if not before or not _is_letter(before[-1]):
            return True
        last = _LAST_WORD.search(before[before.rfind(" ") + 1 :])
        return last is None or last[0] in openings


class _Phrase(NamedTuple):
    """A phrase of patterns. groups: the numbers of those that it is in, also as bits; is_begun: also longer words.
    borders: whether an expression lets it begin, and end, only where a word does (`patterns.alternatives`). word: the
    rarest that stands wherever the phrase does, and where in it; "" for none. words: all such words."""

    text: str
    groups: tuple[int, ...]
    bits: int
    is_begun: bool
    borders: tuple[bool, bool]
    word: str
    offset: int
    words: frozenset[str]

    def positions(self, flat: str, of_words: Mapping[str, Sequence[int]]) -> list[int]:
        """Return where it stands between its borders. of_words: where its `word` does."""
        text, offset, length = self.text, self.offset, len(self.text)
        if self.word:
            starts = [at - offset for at in of_words.get(self.word, ()) if at >= offset]
            if length > len(self.word):
                starts = [at for at in starts if flat.startswith(text, at)]
        else:
            starts, at = [], flat.find(text)
            while at >= 0:
                starts.append(at)
                at = flat.find(text, at + 1)
        return [
            at
            for at in starts
            if (not at or flat[at - 1] == " " or self._may_follow(flat[at - 1]))
            and self._may_precede(flat[at + length : at + length + 1] or " ")
        ]

    def _may_follow(self, before: str) -> bool:
        if self.borders[0]:
            return not _is_letter(before) and before != "-" and before not in _JOINING
        return not before.isalnum() or self.text[0] >= _SPACELESS or before >= _SPACELESS

    def _may_precede(self, after: str) -> bool:
        if self.is_begun:
            return True
        if self.borders[1]:
            return not _is_letter(after) and after != "-"
        return not (after.isalnum() and self.text[-1].isalnum()) or self.text[-1] >= _SPACELESS


class Places:
    """Where the words of groups stand in a message: ascending positions, found when they are asked for."""

    def __init__(
        self,
        said: Said,
        prefilter: Prefilter,
        possible: Sequence[Candidate],
        phrases: Sequence[_Phrase],
        covered: str = "",
    ) -> None:
        """possible: the patterns all of whose words are there. phrases: theirs. covered: the prose; "": all counts."""
        self.said = said
        self.possible = possible
        self._prefilter = prefilter
        self._phrases, self._covered = phrases, covered
        self._beginning: dict[int, list[int]] = {}

    @cached_property
    def _of_groups(self) -> dict[int, list[int]]:
        needed = {group for one in self.possible for group in (one.key, one.first, *one.others)}
        found: dict[int, list[int]] = {}
        of_words = self.said.positions({phrase.word for phrase in self._phrases})
        for phrase in self._phrases:
            positions = self._in_prose(phrase.positions(self.said.flat, of_words))
            if positions:
                for group in needed.intersection(phrase.groups):
                    found.setdefault(group, []).extend(positions)
        return {group: sorted(positions)[:_PLACES] for group, positions in found.items()}

    def of(self, group: int) -> Sequence[int]:
        """Return the positions at which an expression may find a word of a group."""
        return self._of_groups.get(group, ())

    def beginning(self, group: int) -> list[int]:
        """Return those positions of a group at which a clause may begin."""
        found = self._beginning.get(group)
        if found is None:
            found = self._beginning[group] = [at for at in self.of(group) if self._prefilter.may_begin(at, self.said)]
        return found

    def has(self, group: int, start: int, end: int) -> bool:
        """Return whether an expression may find a word of a group in a range."""
        return _first(self.of(group), start, end) >= 0

    def listed(self, number: int, start: int, end: int) -> int:
        """Return the first position of a phrase of a list in a range, -1 for none."""
        return _first(self._listed.get(number, ()), start, end)

    def uncovered(self, covered: str, spots: Sequence[Spot]) -> Places:
        """Return those that stand in prose: where the covered text still has the letter of the raw one. spots: of these
        places; no other pattern is looked for."""
        possible = {spot.candidate.order: spot.candidate for spot in spots}
        return Places(self.said, self._prefilter, tuple(possible.values()), self._phrases, covered)

    @cached_property
    def _listed(self) -> dict[int, list[int]]:
        found = self._prefilter.listed(self.said.flat)
        return {number: self._in_prose(positions) for number, positions in found.items()}

    def _in_prose(self, positions: list[int]) -> list[int]:
        raw, covered = self.said.flat, self._covered
        return [p for p in positions if raw[p] == covered[p]] if covered else positions


class Prefilter:
    """Finds the patterns of a language all of whose words stand near each other, and phrases of its lists."""

    def __init__(self, words: Words, speaker: Speaker) -> None:
        self.words = words
        self._numbers: dict[Group, int] = {}
        self._lists: dict[str, int] = {}
        rules = [(rule, patterns) for rule, patterns in words.patterns if rule.speaker in ("any", speaker)]
        for name in (*_LISTS, *(name for rule, _ in rules for name in rule.without)):
            listed = words.phrases(name)
            if listed:
                self._lists[name] = self._number(tuple(sorted(set(listed))))
        stems: dict[str, list[tuple[int, bool]]] = {}
        for group, number in self._numbers.items():
            for phrase in group:
                stems.setdefault(phrase.rstrip("*"), []).append((number, phrase.endswith("*")))
        self._owners = tuple(tuple(owners) for owners in stems.values())
        self._of_lists = AhoCorasick(tuple(stems), implementation=Implementation.DFA) if stems else None
        self._candidates: dict[int, list[Candidate]] = {}
        """By the bit of their key."""
        needed: dict[Group, int] = {}
        reasons = tuple(self._lists[name] for name in ("reasons", "reasons_next") if name in self._lists)
        for order, pattern in enumerate(pattern for _, patterns in rules for pattern in patterns):
            key = pattern.key
            telling = [g for g in pattern.groups if g == key or typical_length(g) >= _TELLING]
            needed.update((group, self._number(group)) for group in telling)
            needs = {needed[group] for group in telling}
            first = needed[pattern.first] if pattern.first in telling and pattern.first else -1
            any_of = reasons if pattern.rule.needs == ("reason",) else ()
            bits = sum(1 << number for number in needs)
            others = tuple(sorted(needs - {first if first >= 0 else needed[key]}))
            candidate = Candidate(order, pattern, bits, first, needed[key], others, pattern.reach, any_of)
            self._candidates.setdefault(1 << candidate.key, []).append(candidate)
        self._keys = sum(self._candidates)
        self._take(needed)
        self._openings = _openings(words)

    def _number(self, group: Group) -> int:
        return self._numbers.setdefault(group, len(self._numbers))

    def _take(self, needed: dict[Group, int]) -> None:
        """Sort the phrases that patterns need by what tells them: a word, the beginning of one, or they alone."""
        groups: dict[str, list[int]] = {}
        for group, number in needed.items():
            for phrase in group:
                groups.setdefault(phrase, []).append(number)
        self._whole: dict[str, list[_Phrase]] = {}
        self._begun: dict[str, list[_Phrase]] = {}
        self._untold: list[_Phrase] = []
        for phrase, numbers in groups.items():
            text, is_begun = phrase.rstrip("*"), phrase.endswith("*")
            borders = (
                (_is_letter(text[0]), not is_begun and _is_letter(text[-1])) if is_spaced(phrase) else (False, False)
            )
            told = list(_telling(text, borders, is_begun=is_begun)) if is_spaced(phrase) else []
            whole = {word: offset for word, offset, is_beginning in told if not is_beginning}
            word = max(whole, key=lambda w: (w not in self.words.stop_words, len(w), w), default="")
            bits = sum(1 << number for number in numbers)
            made = _Phrase(text, tuple(numbers), bits, is_begun, borders, word, whole.get(word, 0), frozenset(whole))
            if word:
                self._whole.setdefault(word, []).append(made)
            elif told:
                self._begun.setdefault(told[0][0], []).append(made)
            else:
                self._untold.append(made)
        untold = tuple(one.text for one in self._untold)
        self._search = AhoCorasick(untold, implementation=Implementation.DFA) if len(untold) > _FEW else None
        self._beginnings = sorted({len(word) for word in self._begun})
        self._seen: set[str] = set()
        self._told: dict[str, tuple[_Phrase, ...]] = {}

    def _telling(self, words: frozenset[str]) -> Mapping[str, Sequence[_Phrase]]:
        """Return the phrases that each word tells, at least for those of some words that tell any."""
        if not self._begun:
            return self._whole
        new = words - self._seen
        if new:
            self._look_at(new)
        return self._told

    def _look_at(self, words: frozenset[str]) -> None:
        """Find out which phrases each of some words tells."""
        if len(self._seen) > _SEEN:
            self._seen, self._told = set(), {}
        for word in words:
            told = list(self._whole.get(word, ()))
            for length in self._beginnings:
                if length > len(word):
                    break
                told += self._begun.get(word[:length], ())
            if told:
                self._told[word] = tuple(told)
        self._seen |= words

    def places(self, said: Said) -> Places | None:
        """Return where words of groups stand; None where no pattern has all of its words in the message."""
        words, flat = said.words, said.flat
        told = self._telling(words)
        found = [
            phrase
            for word in words & told.keys()
            for phrase in told[word]
            if phrase.text == word or (phrase.words <= words and phrase.text in flat)
        ]
        if self._search is not None:
            numbers = {match[0] for match in self._search.find_matches_as_indexes(flat, overlapping=True)}
            found += [self._untold[number] for number in numbers]
        else:
            found += [phrase for phrase in self._untold if phrase.text in flat]
        there = reduce(or_, (phrase.bits for phrase in found), 0)
        possible = [c for c in self._with_keys(there & self._keys) if c.bits & there == c.bits]
        if not possible:
            return None
        needed = reduce(or_, (candidate.bits for candidate in possible))
        return Places(said, self, possible, [phrase for phrase in found if phrase.bits & needed])

    def _with_keys(self, keys: int) -> Iterator[Candidate]:
        """Yield the patterns whose keys are among some, given as bits."""
        while keys:
            rest = keys & (keys - 1)
            yield from self._candidates[keys ^ rest]
            keys = rest

    def listed(self, flat: str) -> dict[int, list[int]]:
        """Return where phrases of lists stand as words of their own, by number of the list."""
        positions: dict[int, list[int]] = {}
        if self._of_lists is None:
            return positions
        padded, owners = f" {flat} ", self._owners
        for stem, start, end in self._of_lists.find_matches_as_indexes(padded, overlapping=True):
            if padded[start - 1].isalnum() and padded[start] < _SPACELESS and padded[start - 1] < _SPACELESS:
                continue
            is_whole = not (padded[end].isalnum() and padded[end - 1].isalnum()) or padded[end - 1] >= _SPACELESS
            for number, is_begun in owners[stem]:
                if is_whole or is_begun:
                    found = positions.setdefault(number, [])
                    if len(found) < _PLACES:
                        found.append(start - 1)
        for starts in positions.values():
            starts.sort()
        return positions

    def spots(self, places: Places) -> list[Spot]:
        """Return where patterns may match, all of whose telling words stand near each other."""
        found = [spot for candidate in places.possible for spot in self._near(candidate, places)]
        return sorted(found, key=lambda s: (s.position, s.candidate.order))

    def _near(self, candidate: Candidate, places: Places) -> Iterator[Spot]:
        first, reach = candidate.first, candidate.reach
        is_opening = first >= 0 and candidate.pattern.is_at_start
        for position in places.beginning(first) if is_opening else places.of(first if first >= 0 else candidate.key):
            if candidate.others:
                begin, end = places.said.around(position)
                start, end = position if first >= 0 else max(begin, position - reach), min(end, position + reach)
                if not all(places.has(group, start, end) for group in candidate.others):
                    continue
            near, far = position - SENTENCE_CHARACTERS, position + 2 * SENTENCE_CHARACTERS
            if not candidate.any_of or any(places.listed(number, near, far) >= 0 for number in candidate.any_of):
                yield Spot(position, candidate)

    def may_begin(self, position: int, said: Said) -> bool:
        """Return whether a clause may begin at a position."""
        return self._openings is None or said.may_begin(position, self._openings)

    def first_of(self, name: str, places: Places, start: int, end: int) -> int:
        """Return the first place of a phrase of a list in a range, -1 for none."""
        number = self._lists.get(name)
        return places.listed(number, start, end) if number is not None else -1


def _first(positions: Sequence[int], start: int, end: int) -> int:
    """Return the first of ascending positions in a range, -1 for none."""
    at = bisect_left(positions, start)
    return positions[at] if at < len(positions) and positions[at] < end else -1


def _telling(text: str, borders: tuple[bool, bool], *, is_begun: bool) -> Iterator[tuple[str, int, bool]]:
    """Yield the words that stand wherever a phrase does, where in it, and whether the word may go on."""
    for word in _WORD.finditer(text):
        is_last = word.end() == len(text)
        if (word.start() or borders[0]) and (not is_last or is_begun or borders[1]):
            yield word[0], word.start(), is_last and is_begun


def _openings(words: Words) -> frozenset[str] | None:
    """Return the last words of what may stand between a clause's border and its start, None where none can tell."""
    phrases = (*words.phrases("joints"), *words.phrases("lead_ins"))
    if not words.pack.spaces or any(phrase.endswith("*") for phrase in phrases):
        return None
    return frozenset(last[0] for phrase in phrases if (last := _LAST_WORD.search(phrase)))


def _is_letter(character: str) -> bool:
    """Whether a character is one of words, as expressions count them."""
    return character.isalnum() or character == "_"
