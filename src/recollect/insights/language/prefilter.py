"""Finds the patterns that may match in the sentences of a message, and where they may begin.

Most messages hold no pattern's words. So one pass of an automaton says which words are in the prose, and only patterns
whose rarest word is there are looked at. Those that are left are followed from word to word, in order, before any
expression is made or tried.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, reduce
from operator import or_
from typing import Any, Final, NamedTuple

import msgspec
from ahocorasick_rs import AhoCorasick, Implementation

from recollect.insights.language.pack import PackRule
from recollect.insights.language.patterns import SPACELESS, Gap, Pattern, is_spaced
from recollect.insights.language.sentences import Sentence, Words, sentences
from recollect.insights.language.tables import PARSED
from recollect.late import late_pattern
from recollect.model.insights.nodes import Speaker

_PLACES: Final = 512
"""Places of a group in a sentence, at most; who repeats a word more often does not decide by it."""
_FOLLOWED: Final = 8
"""Places of the next group that are looked at; if none of them will do, one behind them is taken to."""

_WORD: Final = late_pattern(r"[\w-]+")
_NO_WORD: Final = late_pattern(r"[^\w-]")
_BEYOND: Final = late_pattern(r"[^\x00-\x7f]+")
_LETTER: Final = late_pattern(r"\w")
_MARK: Final = late_pattern(r"[,;!?]|:\s|\s-\s")
"""What stands in no slot (`patterns`)."""
_CJK_MARK: Final = late_pattern(r"[,;!?，。；：！？、]|:\s")
_COMMA: Final = late_pattern(r"[,;:，；：、-]")
_END: Final = late_pattern(r"[,;:.!?)…，。；：！？、]|-\s")
"""Where a clause may end."""
_JOINING: Final = (".", "/")
"""What joins the word after it to what is before (`patterns.alternatives`); behind a word both end it."""
_BLANKS: Final = {code: " " for code in range(128) if not _WORD.match(chr(code))}


class Candidate(NamedTuple):
    """A pattern and the groups that it needs. groups: their numbers, in order. begins: it begins with the first."""

    order: int
    pattern: Pattern
    groups: tuple[int, ...]
    begins: bool


class Spots(NamedTuple):
    """Where a pattern may match in a sentence: the places of its first group that all others follow."""

    candidate: Candidate
    positions: Sequence[int]


Place = tuple[int, int]
"""Characters of a message, half-open."""
_RulePatterns = tuple[PackRule, tuple[Pattern, ...]]


class Prose:
    """The prose of a message (`prose_mask.project`, in lower case), as every language reads it."""

    def __init__(self, low: str) -> None:
        self.low = low
        self.flat = low.replace("\n", " ")

    @cached_property
    def spaced(self) -> str:
        """The same with a blank for whatever is of no word; what a hyphen or underscore joins is one word."""
        flat = self.flat
        if not flat.isascii():
            # Mostly only dashes, quotes and the like are beyond ASCII. Without these, it takes a fraction of the time.
            beyond = set(_BEYOND.findall(flat))
            if _LETTER.search(" ".join(beyond)):
                return _NO_WORD.sub(" ", flat)
            for marks in beyond:
                flat = flat.replace(marks, " " * len(marks))
        return flat.translate(_BLANKS)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences, in order."""
        return sentences(self.low)


class _Phrase(NamedTuple):
    """A phrase of patterns. is_begun: also longer words. borders: whether an expression lets it begin, and end, only
    where a word does (`patterns.alternatives`). groups: those that it is in."""

    text: str
    is_begun: bool
    borders: tuple[bool, bool]
    groups: tuple[int, ...] = ()

    def end(self, flat: str, at: int) -> int:
        """Return where the phrase ends that begins at a place; -1 if none does, between its borders."""
        text, stop = self.text, at + len(self.text)
        before, after = flat[at - 1] if at else " ", flat[stop : stop + 1] or " "
        if not (flat.startswith(text, at) and (before == " " or self._may_follow(before)) and self._may_precede(after)):
            return -1
        while self.is_begun and text[-1] < SPACELESS and stop < len(flat) and _is_letter(flat[stop]):
            stop += 1
        return stop

    def _may_follow(self, before: str) -> bool:
        if self.borders[0]:
            return not _is_letter(before) and before != "-" and before not in _JOINING
        return not before.isalnum() or self.text[0] >= SPACELESS or before >= SPACELESS

    def _may_precede(self, after: str) -> bool:
        if self.is_begun:
            return True
        if self.borders[1]:
            return not _is_letter(after) and after != "-"
        return not (after.isalnum() and self.text[-1].isalnum()) or self.text[-1] >= SPACELESS


class _Prepared(msgspec.Struct, array_like=True):
    """What a prefilter makes of the rules of a language, in a form that can be kept.

    patterns: of each the numbers of its groups, that of its rarest one, and whether it begins with the first. keys: how
    many groups are the rarest of a pattern. texts: what is looked for, with the groups of all its phrases as bits, in
    hexadecimal digits. phrases: those of each text, read where it is found.
    """

    patterns: list[tuple[tuple[int, ...], int, bool]]
    keys: int
    texts: dict[str, str]
    phrases: list[msgspec.Raw]


class Prefilter:
    """Finds the patterns of a language whose words follow each other in a sentence."""

    def __init__(self, words: Words, speaker: Speaker) -> None:
        self.words = words
        rules = [(rule, patterns) for rule, patterns in words.patterns if rule.speaker in ("any", speaker)]
        prepared = _prepared_of(words, speaker, rules)
        self._keys = (1 << prepared.keys) - 1
        self._by_key: list[list[tuple[int, Candidate]]] = [[] for _ in range(prepared.keys + 1)]
        """Patterns with their groups as bits, by the number of their rarest group and one."""
        patterns = [pattern for _, of_rule in rules for pattern in of_rule]
        for order, (pattern, (groups, key, begins)) in enumerate(zip(patterns, prepared.patterns, strict=True)):
            bits = reduce(or_, (1 << number for number in groups))
            self._by_key[key + 1].append((bits, Candidate(order, pattern, groups, begins)))
        self._phrases = prepared.phrases
        self._told: dict[int, list[_Phrase]] = {}
        self._found = tuple((int(bits, 16), text[0] != " ") for text, bits in prepared.texts.items())
        self._search = AhoCorasick(tuple(prepared.texts), implementation=Implementation.ContiguousNFA)
        self._mark = _MARK if words.pack.spaces else _CJK_MARK

    def spots(self, prose: Prose) -> Iterator[tuple[Sentence, list[Spots]]]:
        """Yield the sentences in which patterns may match, in order, each with those in the order of the rules."""
        matches = self._search.find_matches_as_indexes(f" {prose.spaced} ", overlapping=True)
        found_in = self._found
        # Most messages nowhere hold all words of a pattern, and where one does, most of what is found is of others.
        phrases = {match[0]: found_in[match[0]][0] for match in matches}
        wanted = self._among(reduce(or_, phrases.values(), 0))
        if not wanted:
            return
        needed = reduce(or_, [bits for bits, _ in wanted])
        places = sorted(  # by the blank in front of the text
            (start - found_in[number][1], number) for number, start, _ in matches if phrases[number] & needed
        )
        first = 0
        for sentence in prose.sentences:
            first = bisect_left(places, (sentence.start, 0), first)
            last = bisect_left(places, (sentence.end, 0), first)
            absent = ~reduce(or_, [phrases[number] for _, number in places[first:last]], 0)
            if candidates := [candidate for bits, candidate in wanted if not bits & absent]:
                found = self._of_sentence(prose.flat, sentence, candidates, places[first:last])
                if found:
                    yield sentence, found

    def _among(self, groups: int) -> list[tuple[int, Candidate]]:
        """Return the patterns whose groups are all among some, given as bits, in the order of the rules."""
        keys, absent, found = groups & self._keys, ~groups, list[tuple[int, Candidate]]()
        while keys:
            key = keys & -keys
            keys ^= key
            found += [one for one in self._by_key[key.bit_length()] if not one[0] & absent]
        return sorted(found, key=lambda one: one[1].order)

    def _of_sentence(
        self, flat: str, sentence: Sentence, candidates: Sequence[Candidate], matches: Sequence[tuple[int, int]]
    ) -> list[Spots]:
        places: dict[int, list[Place]] = {}
        for at, number in matches:
            for phrase in self._told_by(number):
                end = phrase.end(flat, at)
                for group in phrase.groups if 0 <= end <= sentence.end else ():
                    places.setdefault(group, []).append((at, end))
        places = {group: sorted(of_group)[:_PLACES] for group, of_group in places.items()}
        found = []
        for candidate in candidates:
            if all(group in places for group in candidate.groups):
                of_groups = [places[group] for group in candidate.groups]
                if starts := self._begins(flat, sentence.end, of_groups, candidate.pattern.gaps):
                    found.append(Spots(candidate, starts))
        return found

    def _told_by(self, text: int) -> list[_Phrase]:
        """Return the phrases that a text stands for, by its number."""
        told = self._told.get(text)
        if told is None:
            told = self._told[text] = msgspec.msgpack.decode(self._phrases[text], type=list[_Phrase])
        return told

    def _begins(self, flat: str, stop: int, of_groups: list[list[Place]], gaps: Sequence[Gap]) -> list[int]:
        """Return the places of the first group that all others follow."""
        possible = [place for place in of_groups[-1] if self._may_close(flat, place[1], stop, gaps[-1])]
        for at in range(len(of_groups) - 2, -1, -1):
            after, gap = possible, gaps[at + 1]
            possible = [place for place in of_groups[at] if self._goes_on(flat, place[1], after, gap)]
        return sorted({start for start, _ in possible})

    def _goes_on(self, flat: str, end: int, after: Sequence[Place], gap: Gap) -> bool:
        """Whether one of some places may be the next group behind a gap."""
        at = bisect_left(after, (end, 0))
        for tried, place in enumerate(after[at : at + _FOLLOWED + 1]):
            if tried == _FOLLOWED or self._may_join(flat, end, place[0], gap):
                return True
        return False

    def _may_join(self, flat: str, end: int, start: int, gap: Gap) -> bool:
        """Whether a gap may match what is between two places."""
        if gap.is_comma and _COMMA.search(flat, end, start) is None:
            return False
        if not (gap.is_comma or gap.or_comma):
            if self.words.pack.spaces:
                between = flat[end:start]
                words = len(between.split()) if between != " " else 0
                if not gap.least <= words <= gap.most:
                    return False
            return self._mark.search(flat, end, start) is None
        return True

    def _may_close(self, flat: str, end: int, stop: int, gap: Gap) -> bool:
        """Whether a gap may match what is after the last group."""
        if gap.is_comma and _COMMA.search(flat, end, stop) is None:
            return False
        if not gap.is_end or gap.is_comma or gap.or_comma:
            return True
        found = _END.search(flat, end, stop)
        return len(flat[end : found.start() if found else stop].split()) <= gap.most


def _prepared_of(words: Words, speaker: Speaker, rules: Sequence[_RulePatterns]) -> _Prepared:
    """Return what an earlier process prepared, or prepare it: with the words of one language that takes 15 ms."""

    def make() -> dict[str, Any]:
        return {"prepared": msgspec.msgpack.encode(_prepare(words, rules))}

    kept = PARSED.made_of(msgspec.json.encode(words.pack).decode(), make, what=f" {speaker}")
    return msgspec.msgpack.decode(kept["prepared"], type=_Prepared)


def _prepare(words: Words, rules: Sequence[_RulePatterns]) -> _Prepared:
    patterns = [pattern for _, of_rule in rules for pattern in of_rule]
    share = {
        group: sum(_share(phrase, words.stop_words) for phrase in group)
        for group in dict.fromkeys(group for pattern in patterns for group in pattern.groups)
    }
    keys = [min(pattern.groups, key=share.__getitem__) for pattern in patterns]
    # Keys have the lowest numbers, so that what is counted over them stays small.
    numbers = {group: number for number, group in enumerate(dict.fromkeys((*keys, *share)))}
    groups_of: dict[str, list[int]] = {}
    for group, number in numbers.items():
        for phrase in group:
            groups_of.setdefault(phrase, []).append(number)
    of_texts: dict[str, list[_Phrase]] = {}
    for written, groups in groups_of.items():
        found = _found_as(written, tuple(groups))
        of_texts.setdefault(_spelled(found), []).append(found)
    return _Prepared(
        [
            (tuple(numbers[group] for group in pattern.groups), numbers[key], pattern.begins)
            for pattern, key in zip(patterns, keys, strict=True)
        ],
        len(set(keys)),
        {
            text: f"{reduce(or_, [1 << number for one in of_one for number in one.groups]):x}"
            for text, of_one in of_texts.items()
        },
        [msgspec.Raw(msgspec.msgpack.encode(of_one)) for of_one in of_texts.values()],
    )


@cache
def _share(phrase: str, common: frozenset[str]) -> float:
    """Return how often a phrase is said, roughly: the commonest words of the language most, others by their length."""
    if not is_spaced(phrase):
        return 0.02 * 0.1 ** min(len(phrase), 5)
    words = phrase.rstrip("*").split()
    rarest = min(0.01 if word in common else 0.01 * 0.5 ** min(len(word), 10) for word in words)
    return float(rarest * 0.1 ** (len(words) - 1))


def _found_as(phrase: str, groups: tuple[int, ...]) -> _Phrase:
    """Return a phrase in the form in which it is searched."""
    text, is_begun = phrase.rstrip("*"), phrase.endswith("*")
    borders = (_is_letter(text[0]), not is_begun and _is_letter(text[-1])) if is_spaced(phrase) else (False, False)
    return _Phrase(text, is_begun, borders, groups)


def _spelled(phrase: _Phrase) -> str:
    """Return a phrase as it is in a text with blanks for everything outside of words."""
    text = _NO_WORD.sub(" ", phrase.text)
    return " " * phrase.borders[0] + text + " " * phrase.borders[1]


def _is_letter(character: str) -> bool:
    """Whether a character is one of words, as expressions count them."""
    return character.isalnum() or character == "_"
