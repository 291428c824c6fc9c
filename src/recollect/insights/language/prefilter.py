"""Finds the patterns that may match a message, and where they may begin.

Most messages hold no pattern's words. So one pass of an automaton says which words stand in which sentence, and only
patterns whose rarest word is there are looked at. The patterns that are left are followed from word to word, in
order, before any expression is made or tried: of generated messages 10 % are read on, of real ones 18 % (54 and 45 %
when words only had to be near each other).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, reduce
from operator import or_
from typing import Any, Final, NamedTuple

import msgspec
from ahocorasick_rs import AhoCorasick, Implementation

from recollect.insights.language.pack import PackRule
from recollect.insights.language.patterns import SPACELESS, Gap, Pattern, is_spaced
from recollect.insights.language.sentences import ABBREVIATED, SENTENCE_CHARACTERS, Words
from recollect.insights.language.tables import PARSED
from recollect.late import late_pattern
from recollect.model.insights.nodes import Speaker

_PLACES: Final = 512
"""Places of a group in a stretch of text, at most; who repeats a word more often does not decide by it."""
_BEHIND: Final = (0, 1 << 60, 0)
"""A match behind every text: what was found before it is looked at."""
_FOLLOWED: Final = 8
"""Places of the next group that are looked at; if none of them will do, one behind them is taken to."""
_LISTS: Final = ("reported", "undecided", "hypothetical", "reasons", "reasons_next", "weighed", "negators")
"""The fixed lists whose words are looked for anywhere in a sentence."""

_WORD: Final = late_pattern(r"[\w-]+")
_BEHIND_LINE: Final = r"(?:[^\S\n]*\n|(?![\s*]*[^\W\d_]))"
_LINE_END: Final = late_pattern(rf"\n{_BEHIND_LINE}")
_CUT: Final = late_pattern(
    rf"[.!?…。！？\n](?:(?<=\n){_BEHIND_LINE}"
    r"|(?<=[.!?…])[.!?…]*[\"')\]]*(?=\s|$)|(?<=[。！？])[。！？]*[」』）]?)"
)
"""The end of a sentence (as in `sentences`), or a line's end that none goes beyond: of an empty line, or where no
letter comes next. It begins with a set of characters, so that the rest is not tried at every place."""
_COVERED: Final = ("`", '"', "://", "“", "„", "«", "「", "『")
"""What may open something that is covered up, with the marks in it (`projection`)."""
_ABBREVIATED: Final = frozenset(abbreviation[-3:] for abbreviation in ABBREVIATED)
"""How what may be no end of a sentence ends."""
_NO_WORD: Final = late_pattern(r"[^\w-]")
_BEYOND: Final = late_pattern(r"[^\x00-\x7f]+")
_LETTER: Final = late_pattern(r"\w")
_MARK: Final = late_pattern(r"[,;!?]|:\s|\s-\s")
"""What stands in no slot (`patterns`)."""
_CJK_MARK: Final = late_pattern(r"[,;!?，。；：！？、]|:\s")
_COMMA: Final = late_pattern(r"[,;:，；：、-]")
_END: Final = late_pattern(r"[\n,;:.!?)…，。；：！？、]|-\s")
"""Where a clause may end; a line may end a sentence."""
_LOOKED_BACK: Final = 64
"""Characters before a place in which its last word is looked for; a longer one opens nothing."""
_LAST_WORD: Final = late_pattern(r"\w+\Z")
_JOINING: Final = (".", "/")
"""What joins the word after it to what is before (`patterns.alternatives`); behind a word both end it."""
_SKIPPED: Final = " \t*"
"""What may stand between a clause and what is before it; emphasis is none of the prose."""
_BLANKS: Final = {code: " " for code in range(128) if not _WORD.match(chr(code))}


class Candidate(NamedTuple):
    """A pattern and the groups that it needs. groups: their numbers, in order. first: the number of its first group,
    -1 for none. any_of: lists of which a phrase must occur nearby: reasons, for rules that need one.
    """

    order: int
    pattern: Pattern
    groups: tuple[int, ...]
    first: int
    any_of: tuple[int, ...]


class Spot(NamedTuple):
    """A place where a pattern may match: that of its first word, else of its first group."""

    position: int
    candidate: Candidate


Place = tuple[int, int]
"""Characters of a message, half-open."""
_RulePatterns = tuple[PackRule, tuple[Pattern, ...]]


class Said:
    """A message as every prefilter reads it: in lower case, blanks for line ends and for emphasis."""

    def __init__(self, low: str) -> None:
        self.low = low
        self.flat = flat = low.replace("\n", " ").replace("*", " ")  # emphasis is none of the prose
        self.spaced = _spaced(flat)
        """The same with a blank for whatever is of no word; what a hyphen or underscore joins is one word."""

    @cached_property
    def stretches(self) -> list[Place]:
        """What no sentence leaves, in order."""
        return list(self._mixed()) if _may_cover(self.low) else _between_ends(self.low)

    @cached_property
    def starts(self) -> list[int]:
        """Where each stretch begins."""
        return [start for start, _ in self.stretches]

    def _mixed(self) -> Iterator[Place]:
        """Yield the ranges, cut at the ends of sentences only in lines where no mark can be one that is covered up."""
        low, start = self.low, 0
        for mark in _LINE_END.finditer(low):
            yield from self._line(start, mark.start())
            start = mark.start()
        yield from self._line(start, len(low))

    def _line(self, start: int, end: int) -> Iterator[Place]:
        line = self.low[start:end]
        if _may_cover(line):
            yield start, end
        else:
            yield from ((start + first, start + last) for first, last in _between_ends(line))

    def may_begin(self, position: int, within: Place, openings: frozenset[str]) -> bool:
        """Return whether a clause may begin at a position. openings: the last words of what may precede one."""
        if within[1] - within[0] > SENTENCE_CHARACTERS:  # where it is cut, the rest begins as well
            return True
        before = self.low[max(within[0], position - _LOOKED_BACK) : position].rstrip(_SKIPPED)
        if not before or not _is_letter(before[-1]):
            return True
        last = _LAST_WORD.search(before[before.rfind(" ") + 1 :])
        return last is None or last[0] in openings


def _spaced(flat: str) -> str:
    """Return a text with a blank for every character outside of words."""
    if not flat.isascii():
        # Mostly only dashes, quotes and the like are beyond ASCII. Without these, it takes a fraction of the time.
        beyond = set(_BEYOND.findall(flat))
        if _LETTER.search(" ".join(beyond)):
            return _NO_WORD.sub(" ", flat)
        for marks in beyond:
            flat = flat.replace(marks, " " * len(marks))
    return flat.translate(_BLANKS)


def _between_ends(low: str) -> list[Place]:
    """Return the ranges between the ends of sentences."""
    start, found = 0, []
    for mark in _CUT.finditer(low):
        at, end = mark.span()
        if low[at] == "\n":
            end = at
        elif low[end - 3 : end] in _ABBREVIATED:
            continue
        found.append((start, end))
        start = end
    found.append((start, len(low)))
    return found


def _may_cover(text: str) -> bool:
    """Whether something in a text may be covered up."""
    return any(mark in text for mark in (_COVERED[:3] if text.isascii() else _COVERED))


class _Phrase(NamedTuple):
    """A phrase of patterns. is_begun: also longer words. borders: whether an expression lets it begin, and end, only
    where a word does (`patterns.alternatives`)."""

    text: str
    is_begun: bool
    borders: tuple[bool, bool]

    def places(self, flat: str, start: int, end: int) -> Iterator[Place]:
        """Yield its places between its borders in a range."""
        text, length = self.text, len(self.text)
        at = flat.find(text, start, end)
        while at >= 0:
            if (not at or flat[at - 1] == " " or self._may_follow(flat[at - 1])) and self._may_precede(
                flat[at + length : at + length + 1] or " "
            ):
                stop = at + length
                while self.is_begun and text[-1] < SPACELESS and stop < len(flat) and _is_letter(flat[stop]):
                    stop += 1
                yield at, stop
            at = flat.find(text, at + 1, end)

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


class _Told(NamedTuple):
    """A phrase, and the groups that it is in, as bits."""

    phrase: _Phrase
    bits: int


class Stretch:
    """Words of a message within one sentence, and the places of groups in them."""

    def __init__(self, said: Said, prefilter: Prefilter, place: Place, told: Sequence[_Told]) -> None:
        """told: the phrases in it, by their words at least."""
        self.within = place
        self._said, self._prefilter, self._flat = said, prefilter, said.flat
        self._told = told
        self._found: dict[int, list[Place]] = {}
        # What is covered up may hold marks, and words that then are none.
        self._is_plain = not _may_cover(said.flat[slice(*place)])
        self._mark = _MARK if prefilter.words.pack.spaces else _CJK_MARK

    def of(self, group: int) -> list[Place]:
        """Return the places of a group."""
        found = self._found.get(group)
        if found is None:
            among = {told.phrase.text: told.phrase for told in self._told if told.bits >> group & 1}
            places = [place for phrase in among.values() for place in phrase.places(self._flat, *self.within)]
            found = self._found[group] = sorted(places)[:_PLACES]
        return found

    def begins(self, candidate: Candidate) -> Sequence[int]:
        """Return the places of a pattern's first group that all others follow."""
        pattern, groups = candidate.pattern, candidate.groups
        if not all(self.of(group) for group in groups):
            return ()
        gaps = pattern.gaps
        possible = [place for place in self.of(groups[-1]) if self._may_close(place[1], gaps[-1])]
        for at in range(len(groups) - 2, -1, -1):
            after, gap = possible, gaps[at + 1]
            possible = [place for place in self.of(groups[at]) if self._goes_on(place[1], after, gap)]
            if not possible:
                return ()
        starts = sorted({start for start, _ in possible})
        if pattern.is_at_start and candidate.first >= 0:
            return [at for at in starts if self._prefilter.may_begin(at, self._said, self.within)]
        return starts

    def _goes_on(self, end: int, after: Sequence[Place], gap: Gap) -> bool:
        """Whether one of some places may be the next group behind a gap."""
        at = bisect_left(after, (end, 0))
        for tried, place in enumerate(after[at : at + _FOLLOWED + 1]):
            if tried == _FOLLOWED or self._may_join(end, place[0], gap):
                return True
        return False

    def _may_join(self, end: int, start: int, gap: Gap) -> bool:
        """Whether a gap may match what is between two places."""
        if gap.is_comma and _COMMA.search(self._flat, end, start) is None:
            return False
        if not self._is_plain:
            return True
        between = self._flat[end:start]
        if not (gap.is_comma or gap.or_comma):
            if self._prefilter.words.pack.spaces:
                words = len(between.split()) if between != " " else 0
                if not gap.least <= words <= gap.most:
                    return False
            if self._mark.search(between) is not None:
                return False
        return True

    def _may_close(self, end: int, gap: Gap) -> bool:
        """Whether a gap may match what is after the last group."""
        stop = self.within[1]
        if gap.is_comma and _COMMA.search(self._flat, end, stop) is None:
            return False
        if not gap.is_end or gap.is_comma or gap.or_comma or not self._is_plain:
            return True
        found = _END.search(self._said.low, end, stop)
        return (
            stop - end > SENTENCE_CHARACTERS
            or len(self._flat[end : found.start() if found else stop].split()) <= gap.most
        )


class Places:
    """Where a prefilter's patterns may begin in a message, and the places of its lists' phrases."""

    def __init__(self, said: Said, prefilter: Prefilter) -> None:
        self.said = said
        self._prefilter = prefilter
        self._covered = ""

    def spots(self) -> list[Spot]:
        """Return where patterns may begin, in order."""
        found: list[Spot] = []
        for stretch, possible in self._prefilter.possible(self.said):
            for candidate in possible:
                found += [Spot(at, candidate) for at in stretch.begins(candidate) if self._is_near(at, candidate)]
        return sorted(found, key=lambda s: (s.position, s.candidate.order)) if found else found

    def _is_near(self, position: int, candidate: Candidate) -> bool:
        near, far = position - SENTENCE_CHARACTERS, position + 2 * SENTENCE_CHARACTERS
        return not candidate.any_of or any(self.listed(number, near, far) >= 0 for number in candidate.any_of)

    def cover(self, covered: str) -> None:
        """Keep only places in prose: where the covered text still has the raw letter."""
        self._covered = covered
        self.__dict__.pop("_listed", None)

    def listed(self, number: int, start: int, end: int) -> int:
        """Return the first position of a phrase of a list in a range, -1 for none."""
        positions = self._listed.get(number, ())
        at = bisect_left(positions, start)
        return positions[at] if at < len(positions) and positions[at] < end else -1

    @cached_property
    def _listed(self) -> dict[int, list[int]]:
        raw, covered = self.said.low.replace("\n", " "), self._covered
        found = self._prefilter.listed(raw)
        if not covered:
            return found
        return {number: [p for p in positions if raw[p] == covered[p]] for number, positions in found.items()}


class _Needing(NamedTuple):
    """A pattern with the groups that it needs, as bits."""

    groups: int
    candidate: Candidate


class _Wanted:
    """Patterns by their keys. keys: the rarest group of each, as bits."""

    def __init__(self, number: int) -> None:
        """number: of all keys."""
        self.keys = 0
        self._by_key: list[list[_Needing]] = [[] for _ in range(number + 1)]
        """Patterns by the number of their key and one."""

    def add(self, candidate: Candidate, key: int) -> None:
        """Take a pattern in."""
        self.keys |= 1 << key
        self._by_key[key + 1].append(_Needing(reduce(or_, (1 << number for number in candidate.groups)), candidate))

    def among(self, groups: int) -> list[_Needing]:
        """Return the patterns whose groups are all among some, given as bits."""
        keys, absent, found = groups & self.keys, ~groups, list[_Needing]()
        while keys:
            key = keys & -keys
            keys ^= key
            found += [one for one in self._by_key[key.bit_length()] if not one[0] & absent]
        return found


class _Prepared(msgspec.Struct, array_like=True):
    """What a prefilter makes of the rules of a language, in a form that can be kept.

    lists: those that have phrases, in the order of their numbers. patterns: of each the numbers of its groups, that of
    its rarest one, and whether it begins with the first. keys: how many groups are the rarest of a pattern. texts: what
    is looked for, with the groups of all its phrases. phrases: those of each text, with the groups of each, read where
    the text is found. openings: see `_openings`. Groups are bits, in hexadecimal digits.
    """

    lists: list[str]
    patterns: list[tuple[tuple[int, ...], int, bool]]
    keys: int
    texts: dict[str, str]
    phrases: list[msgspec.Raw]
    openings: frozenset[str] | None


class Prefilter:
    """Finds the patterns of a language whose words follow each other, and phrases of its lists."""

    def __init__(self, words: Words, speaker: Speaker) -> None:
        self.words = words
        rules = [(rule, patterns) for rule, patterns in words.patterns if rule.speaker in ("any", speaker)]
        prepared = _prepared_of(words, speaker, rules)
        self._lists = {name: number for number, name in enumerate(prepared.lists)}
        reasons = tuple(self._lists[name] for name in ("reasons", "reasons_next", "weighed") if name in self._lists)
        self._wanted = _Wanted(prepared.keys)
        patterns = [pattern for _, of_rule in rules for pattern in of_rule]
        for order, (pattern, (groups, key, begins)) in enumerate(zip(patterns, prepared.patterns, strict=True)):
            any_of = reasons if pattern.rule.needs == ("reason",) else ()
            self._wanted.add(Candidate(order, pattern, groups, groups[0] if begins else -1, any_of), key)
        self._phrases = prepared.phrases
        self._told: dict[int, list[_Told]] = {}
        self._found = tuple((int(bits, 16), text[0] != " ") for text, bits in prepared.texts.items())
        self._search = AhoCorasick(tuple(prepared.texts), implementation=Implementation.ContiguousNFA)
        self._openings = prepared.openings

    def _told_by(self, text: int) -> list[_Told]:
        """Return the phrases that a text stands for, by its number."""
        told = self._told.get(text)
        if told is None:
            phrases = msgspec.msgpack.decode(self._phrases[text], type=list[tuple[_Phrase, str]])
            told = self._told[text] = [_Told(phrase, int(bits, 16)) for phrase, bits in phrases]
        return told

    def possible(self, said: Said) -> Iterator[tuple[Stretch, list[Candidate]]]:
        """Yield the stretches of a message that hold all words of some patterns, and those."""
        matches = self._search.find_matches_as_indexes(f" {said.spaced} ", overlapping=True)
        found_in = self._found
        # Most messages nowhere hold all words of a pattern, and where one does, most of what is found is of others.
        phrases = {match[0]: found_in[match[0]][0] for match in matches}
        wanted = self._wanted.among(reduce(or_, phrases.values(), 0))
        if not wanted:
            return
        needed = reduce(or_, [one.groups for one in wanted])
        matches = [match for match in matches if phrases[match[0]] & needed]
        stretches, starts = said.stretches, said.starts
        first, number, groups, limit = 0, -1, 0, -1
        for place, (phrase, at, _) in enumerate((*matches, _BEHIND)):
            bits, is_shifted = found_in[phrase]
            if at - is_shifted >= limit:  # by the blank in front
                absent = ~groups
                if found := [candidate for needs, candidate in wanted if not needs & absent]:
                    told = [one for match in matches[first:place] for one in self._told_by(match[0])]
                    yield Stretch(said, self, stretches[number], told), found
                number = bisect_right(starts, at - is_shifted) - 1
                first, groups, limit = place, 0, stretches[number][1]
            groups |= bits

    @cached_property
    def _phrases_of_lists(self) -> tuple[AhoCorasick, tuple[tuple[tuple[int, bool], ...], ...]]:
        """An automaton of the lists' phrases, with the lists of each and whether it may continue."""
        stems: dict[str, list[tuple[int, bool]]] = {}
        for name, number in self._lists.items():
            for phrase in sorted(set(self.words.phrases(name))):
                stems.setdefault(phrase.rstrip("*"), []).append((number, phrase.endswith("*")))
        automaton = AhoCorasick(tuple(stems), implementation=Implementation.ContiguousNFA)
        return automaton, tuple(tuple(owners) for owners in stems.values())

    def listed(self, flat: str) -> dict[int, list[int]]:
        """Return the places of lists' phrases as whole words, by number of the list."""
        positions: dict[int, list[int]] = {}
        if not self._lists:
            return positions
        automaton, owners = self._phrases_of_lists
        padded = f" {flat} "
        for stem, start, end in automaton.find_matches_as_indexes(padded, overlapping=True):
            if padded[start - 1].isalnum() and padded[start] < SPACELESS and padded[start - 1] < SPACELESS:
                continue
            is_whole = not (padded[end].isalnum() and padded[end - 1].isalnum()) or padded[end - 1] >= SPACELESS
            for number, is_begun in owners[stem]:
                if is_whole or is_begun:
                    found = positions.setdefault(number, [])
                    if len(found) < _PLACES:
                        found.append(start - 1)
        for starts in positions.values():
            starts.sort()
        return positions

    def may_begin(self, position: int, said: Said, within: Place) -> bool:
        """Return whether a clause may begin at a position in a stretch."""
        return self._openings is None or said.may_begin(position, within, self._openings)

    def first_of(self, name: str, places: Places, start: int, end: int) -> int:
        """Return the first place of a phrase of a list in a range, -1 for none."""
        number = self._lists.get(name)
        return places.listed(number, start, end) if number is not None else -1


def _prepared_of(words: Words, speaker: Speaker, rules: Sequence[_RulePatterns]) -> _Prepared:
    """Return what an earlier process prepared, or prepare it: with the words of one language that takes 15 ms."""

    def make() -> dict[str, Any]:
        return {"prepared": msgspec.msgpack.encode(_prepare(words, rules))}

    kept = PARSED.made_of(msgspec.json.encode(words.pack).decode(), make, what=f" {speaker}")
    return msgspec.msgpack.decode(kept["prepared"], type=_Prepared)


def _prepare(words: Words, rules: Sequence[_RulePatterns]) -> _Prepared:
    named = dict.fromkeys((*_LISTS, *(name for rule, _ in rules for name in rule.without)))
    patterns = [pattern for _, of_rule in rules for pattern in of_rule]
    share = {
        group: sum(_share(phrase, words.stop_words) for phrase in group)
        for group in dict.fromkeys(group for pattern in patterns for group in pattern.groups)
    }
    keys = [min(pattern.groups, key=share.__getitem__) for pattern in patterns]
    # Keys have the lowest numbers, so that what is counted over them stays small.
    numbers = {group: number for number, group in enumerate(dict.fromkeys((*keys, *share)))}
    bits: dict[str, int] = {}
    for group, number in numbers.items():
        for phrase in group:
            bits[phrase] = bits.get(phrase, 0) | 1 << number
    of_texts: dict[str, list[tuple[_Phrase, int]]] = {}
    for written, groups in bits.items():
        found = _found_as(written)
        of_texts.setdefault(_spelled(found), []).append((found, groups))
    return _Prepared(
        [name for name in named if words.phrases(name)],
        [
            (tuple(numbers[group] for group in pattern.groups), numbers[key], pattern.begins)
            for pattern, key in zip(patterns, keys, strict=True)
        ],
        len(set(keys)),
        {text: f"{reduce(or_, [groups for _, groups in of_one]):x}" for text, of_one in of_texts.items()},
        [
            msgspec.Raw(msgspec.msgpack.encode([(found, f"{groups:x}") for found, groups in of_one]))
            for of_one in of_texts.values()
        ],
        _openings(words),
    )


@cache
def _share(phrase: str, common: frozenset[str]) -> float:
    """Return how often a phrase is said, roughly: the commonest words of the language most, others by their length."""
    if not is_spaced(phrase):
        return 0.02 * 0.1 ** min(len(phrase), 5)
    words = phrase.rstrip("*").split()
    rarest = min(0.01 if word in common else 0.01 * 0.5 ** min(len(word), 10) for word in words)
    return float(rarest * 0.1 ** (len(words) - 1))


def _found_as(phrase: str) -> _Phrase:
    """Return a phrase in the form in which it is searched."""
    text, is_begun = phrase.rstrip("*"), phrase.endswith("*")
    if not is_spaced(phrase):
        return _Phrase(text, is_begun, (False, False))
    return _Phrase(text, is_begun, (_is_letter(text[0]), not is_begun and _is_letter(text[-1])))


def _spelled(phrase: _Phrase) -> str:
    """Return a phrase as it is in a text with blanks for everything outside of words."""
    text = _NO_WORD.sub(" ", phrase.text)
    return " " * phrase.borders[0] + text + " " * phrase.borders[1]


def _openings(words: Words) -> frozenset[str] | None:
    """Return the last words of what may come between a clause's border and its start, None if unknown."""
    phrases = (*words.phrases("joints"), *words.phrases("lead_ins"))
    if not words.pack.spaces or any(phrase.endswith("*") for phrase in phrases):
        return None
    return frozenset(last[0] for phrase in phrases if (last := _LAST_WORD.search(phrase)))


def _is_letter(character: str) -> bool:
    """Whether a character is one of words, as expressions count them."""
    return character.isalnum() or character == "_"
