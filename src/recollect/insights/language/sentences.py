"""Splits prose into sentences and clauses."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from recollect.insights.language.pack import Pack, PackRule, SpokenRule, phrases
from recollect.insights.language.patterns import Pattern, alternatives
from recollect.insights.language.prose_mask import item_end
from recollect.late import PATTERNS, late_pattern

SENTENCE_CHARACTERS: Final = 600
"""A longer sentence is cut: what stands so far apart has nothing to do with each other."""

STOP: Final = late_pattern(r"[.!?…]+[\"')\]]*(?=\s|$)|[。！？]+[」』）]?")
"""The end of a sentence, unless it is that of an abbreviation."""
ABBREVIATED: Final = frozenset(
    "e.g. i.e. vs. etc. cf. approx. resp. z.b. bzw. d.h. u.a. ca. usw. p.ex. ex. ej. т.е. т.д. др.".split()
)
_WRAPPED: Final = 56
"""Shortest line that counts as wrapped where the next one goes on in lower case."""
_BREAK: Final = late_pattern(r"[,;:!?¡¿()…，；：、！？（）]+\s*|\s-\s+|\.\s+|[\"']\s+(?=\w)")
_WORD: Final = late_pattern(r"[\w']+")
_SHORTENED: Final = late_pattern(r"'(?:ve|re|ll|s|d|m|t)$")
_SPOKEN_PART: Final = late_pattern(r"(?<!\?P)<(\w+)>")
_LEAD_INS: Final = 6
"""Words skipped at the start of a clause, at most."""


class Sentence(NamedTuple):
    """A range of the message."""

    start: int
    end: int


def sentences(prose: str) -> list[Sentence]:
    """Return the sentences, in order, without the marks of list items and blanks around them."""
    found: list[Sentence] = []
    for start, end in _paragraph_lines(prose):
        at = start
        for mark in STOP.finditer(prose, start, end):
            before = prose.rfind(" ", at, mark.end()) + 1
            if prose[max(at, before) : mark.end()].lower() in ABBREVIATED:
                continue
            found += _cut(prose, at, mark.end())
            at = mark.end()
        found += _cut(prose, at, end)
    return found


def _paragraph_lines(prose: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines, wrapped ones joined, marks of list items left out."""
    start, begin, length = 0, -1, 0
    for line in prose.splitlines(keepends=True):
        body = line.strip()
        skipped = item_end(line)
        goes_on = begin >= 0 and length >= _WRAPPED and not skipped and body[:1].islower()
        if begin >= 0 and not goes_on:
            yield begin, start
            begin = -1
        if body and begin < 0:
            begin = start + skipped
        length = len(body)
        start += len(line)
    if begin >= 0:
        yield begin, start


def _cut(prose: str, start: int, end: int) -> Iterator[Sentence]:
    while start < end and prose[start].isspace():
        start += 1
    while end > start and prose[end - 1].isspace():
        end -= 1
    while end - start > SENTENCE_CHARACTERS:
        gap = prose.rfind(" ", start, start + SENTENCE_CHARACTERS)
        middle = gap if gap > start else start + SENTENCE_CHARACTERS
        yield Sentence(start, middle)
        start = middle
    if end > start:
        yield Sentence(start, end)


class Words:
    """The lists of a pack as expressions, compiled on first use."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._made: dict[str, re.Pattern[str] | None] = {}
        self._first_words: dict[str, tuple[str, ...]] = {}
        self._spoken: dict[str, re.Pattern[str]] = {}

    def list(self, name: str) -> re.Pattern[str] | None:
        """Return an expression for one phrase of a list, None for an empty one."""
        if name not in self._made:
            found = self.phrases(name)
            self._made[name] = PATTERNS.compile(alternatives(found)) if found else None
        return self._made[name]

    def phrases(self, name: str) -> tuple[str, ...]:
        """Return the phrases of a list, in lower case."""
        listed = self.pack.words.get(name) or getattr(self.pack.lists, name, "")
        return tuple(p.lower().replace("’", "'") for p in phrases(listed)) if isinstance(listed, str) else ()

    def has(self, name: str, low: str, start: int, end: int) -> re.Match[str] | None:
        """Return the first phrase of a list in a range."""
        if name not in self._made and not any(low.find(word, start, end) >= 0 for word in self._beginnings(name)):
            return None
        expression = self.list(name)
        return expression.search(low, start, end) if expression else None

    def begins(self, name: str, low: str, start: int, end: int) -> re.Match[str] | None:
        """Return the phrase of a list with which a range begins."""
        if name not in self._made and not low.startswith(self._beginnings(name), start):
            return None
        expression = self.list(name)
        return expression.match(low, start, end) if expression else None

    def _beginnings(self, name: str) -> tuple[str, ...]:
        """Return the first words of a list's phrases. Where a text has none of them, the expression need not be
        compiled: for a short text that takes longer than all else."""
        found = self._first_words.get(name)
        if found is None:
            firsts = (phrase.rstrip("*").split(maxsplit=1) for phrase in self.phrases(name))
            found = self._first_words[name] = tuple({words[0] if words else "" for words in firsts})
        return found

    def spoken(self, name: str) -> re.Pattern[str]:
        """Return an expression that reads around what should be learned."""
        return self._expression(getattr(self.pack.spoken, name))

    def said_by(self, rule: SpokenRule) -> re.Pattern[str]:
        """Return the expression of a rule on what should be learned."""
        return self._expression(rule.pattern)

    def _expression(self, written: str) -> re.Pattern[str]:
        if written not in self._spoken:
            parts = self.pack.spoken.parts
            whole = _SPOKEN_PART.sub(lambda found: parts[found[1]], written)
            self._spoken[written] = PATTERNS.compile(whole.replace("\n", ""))
        return self._spoken[written]

    @cached_property
    def cues(self) -> frozenset[str]:
        """Pieces of which one occurs wherever a rule about learnings matches."""
        return frozenset(cue for rule in self.pack.spoken.rules for cue in rule.cues)

    @cached_property
    def patterns(self) -> tuple[tuple[PackRule, tuple[Pattern, ...]], ...]:
        """The rules with their patterns, in order."""
        return tuple((r, tuple(Pattern(r, written, self.pack) for written in r.patterns)) for r in self.pack.rules)

    def is_hollow(self, low: str) -> bool:
        """Whether words name nothing, be they many: "we've been", "please do"."""
        hollow = self._hollow
        return all(word in hollow or _SHORTENED.sub("", word) in hollow for word in _WORD.findall(low))

    @cached_property
    def _hollow(self) -> frozenset[str]:
        return frozenset(self.phrases("hollow"))

    @cached_property
    def ordinals(self) -> frozenset[str]:
        """The ways to say which of several, without saying of what: first, the second one."""
        told = (phrase for listed in self.pack.lists.ordinals for phrase in phrases(listed))
        return frozenset(phrase for phrase in told if " " not in phrase or phrase.endswith(" one"))

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The commonest words of the language."""
        return frozenset(self.pack.stop_words.split())


class Clauses:
    """Where the clauses of one sentence begin."""

    def __init__(self, low: str, sentence: Sentence, words: Words) -> None:
        start, end = sentence
        borders = [start, *(m.end() for m in _BREAK.finditer(low, start, end) if m.end() < end)]
        joints = words.list("joints")
        if joints is not None:
            borders += [_after_blank(low, m.end(), end) for m in joints.finditer(low, start, end)]
        self.borders = sorted({b for b in borders if b < end})
        self._starts: list[int] | None = None
        self._low, self._end, self._words = low, end, words

    @property
    def starts(self) -> list[int]:
        """Every place at which a pattern with `^` may begin: after a border, and after each lead-in there."""
        if self._starts is None:
            found = []
            for border in self.borders:
                at = border
                found.append(at)
                for _ in range(_LEAD_INS):
                    skipped = self._words.begins("lead_ins", self._low, at, self._end)
                    if skipped is None or skipped.end() == at:
                        break
                    at = _after_blank(self._low, skipped.end(), self._end)
                    found.append(at)
            self._starts = sorted(set(found))
        return self._starts

    @property
    def first(self) -> list[int]:
        """Those places in the first clause."""
        return [at for at in self.starts if self.start_of(at) == self.borders[0]]

    def start_of(self, position: int) -> int:
        """Return the start of the clause that holds a position."""
        return self.borders[max(0, bisect_right(self.borders, position) - 1)]


def _after_blank(low: str, position: int, end: int) -> int:
    while position < end and (low[position].isspace() or low[position] in ",，、:"):
        position += 1
    return position
