"""The clause analyser: which rules of the language packs match in a message, and what they say was chosen or rejected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from recollect.distill.language.options import Range, is_named, trimmed
from recollect.distill.language.pack import CODES, PackRule, pack
from recollect.distill.language.patterns import TAKEN_IN, Pattern
from recollect.distill.language.projection import CAP, lower, project
from recollect.distill.language.sentences import Clauses, Sentence, Words, sentences
from recollect.distill.language.telling import scripts, spoken
from recollect.model.nodes import Speaker

SENTENCES: Final = 96
"""Sentences of a message in which rules are tried, at most."""
READINGS: Final = 24
"""What is read in a message, at most."""

_VOIDING: Final = ("question", "undecided", "reported", "hypothetical", "conditional")
_NEGATED_CHARACTERS: Final = 40
_SHORT_WORDS: Final = 12
_TAIL: Final = 400
"""Characters at the end of a reply in which it may ask for an answer."""
_NEXT: Final = re.compile(r"[ \t]*([^\n.!?]{4,300})")
"""What follows a sentence in its line."""
_UNCLEAR: Final = re.compile("[\ud800-\udfff]")


class Reading(NamedTuple):
    """A rule that matched. Ranges are in characters of the message; reason (0, 0): none given."""

    language: str
    rule: PackRule
    start: int
    end: int
    sentence: Sentence
    chosen: tuple[Range, ...]
    rejected: tuple[Range, ...]
    reason: Range
    is_named: bool

    @property
    def rule_id(self) -> str:
        """The rule as everybody else knows it: `<language>.<category>.<name>`."""
        return f"{self.language}.{self.rule.id}"


class Tongue:
    """One language: its words and its patterns for one speaker."""

    def __init__(self, code: str, speaker: Speaker) -> None:
        found = pack(code)
        assert found is not None
        self.code = code
        self.words = words_of(code)
        self.patterns = tuple(
            (rank, Pattern(rule, written, found))
            for rank, rule in enumerate(found.rules)
            if rule.speaker in ("any", speaker)
            for written in rule.patterns
        )


class Prefilter:
    """Finds in one pass which patterns of some languages may match, and where."""

    def __init__(self, tongues: Iterable[Tongue]) -> None:
        owners: dict[str, list[tuple[Tongue, int, Pattern]]] = {}
        for tongue in tongues:
            for rank, pattern in tongue.patterns:
                for anchor in pattern.anchors:
                    owners.setdefault(anchor, []).append((tongue, rank, pattern))
        self._anchors = tuple(owners)
        self._owners = tuple(owners.values())
        self._search = AhoCorasick(self._anchors, implementation=Implementation.DFA) if owners else None

    def hits(self, low: str) -> list[tuple[int, int, int]]:
        """Return (anchor, start, end) for each that stands as a word (or its beginning) of its own."""
        if self._search is None:
            return []
        found = []
        for anchor, start, end in self._search.find_matches_as_indexes(low, overlapping=True):
            if start and low[start - 1].isalnum() and low[start].isascii() and low[start - 1].isascii():
                continue
            found.append((anchor, start, end))
        return found

    def anchor(self, number: int) -> str:
        """Return the text of an anchor."""
        return self._anchors[number]

    def owners(self, number: int) -> list[tuple[Tongue, int, Pattern]]:
        """Return what an anchor belongs to."""
        return self._owners[number]


@cache
def words_of(code: str) -> Words:
    """Return the word lists of a language that ships."""
    found = pack(code)
    assert found is not None
    return Words(found)


@cache
def _prefilter(found: tuple[str, ...], speaker: Speaker) -> Prefilter:
    shipped = [code for code in CODES if (p := pack(code)) is not None and p.script in found]
    return Prefilter([Tongue(code, speaker) for code in shipped])


def readings(text: str, speaker: Speaker) -> list[Reading]:
    """Return what the rules of the languages say about a message, in order. Bounded; pure; never raises on content."""
    text = _clear(text)
    low = lower(text[:CAP])
    prefilter = _prefilter(scripts(low), speaker)
    hits = prefilter.hits(low.replace("\n", " "))
    if not hits:
        return []
    return _Message(text, speaker, prefilter).readings(hits)


def _clear(text: str) -> str:
    """Return the text without halves of surrogate pairs, each replaced by one character."""
    return text if text.isascii() or not _UNCLEAR.search(text) else _UNCLEAR.sub("\ufffd", text)


class _Message:
    """One message while it is read."""

    def __init__(self, text: str, speaker: Speaker, prefilter: Prefilter) -> None:
        self._text = text
        self._speaker = speaker
        self._prefilter = prefilter
        self._prose = project(text, of_human=speaker == "human")
        self._low = lower(self._prose)
        self._asked: dict[str, bool] = {}
        self._is_short = text.count(" ") < _SHORT_WORDS and len(text) < 12 * _SHORT_WORDS

    def readings(self, hits: Sequence[tuple[int, int, int]]) -> list[Reading]:
        """Return the readings of every sentence with a hit."""
        low, flat = self._low, self._low.replace("\n", " ")
        hits = [h for h in hits if flat.startswith(self._prefilter.anchor(h[0]), h[1])]
        if not hits:
            return []
        candidates = {id(tongue.words): tongue.words for a, _, _ in hits for tongue, _, _ in self._prefilter.owners(a)}
        latin = [w for w in candidates.values() if w.pack.script == "latin"]
        allowed = {id(w) for w in (spoken(low, latin) if len(latin) > 1 else latin)}
        allowed |= {key for key, w in candidates.items() if w.pack.script != "latin"}
        found: list[Reading] = []
        for sentence, patterns in self._by_sentence(hits, allowed):
            found += self._in_sentence(sentence, patterns)
            if len(found) >= READINGS:
                break
        return found[:READINGS]

    def _by_sentence(
        self, hits: Sequence[tuple[int, int, int]], allowed: set[int]
    ) -> Iterator[tuple[Sentence, list[tuple[Tongue, int, Pattern]]]]:
        """Yield each sentence with a hit, and the patterns to be tried there in order of their rules."""
        at, number = 0, 0
        ordered = sorted(hits, key=lambda h: h[1])
        for sentence in sentences(self._low):
            while at < len(ordered) and ordered[at][1] < sentence.start:
                at += 1
            chosen: dict[int, tuple[Tongue, int, Pattern]] = {}
            while at < len(ordered) and ordered[at][1] < sentence.end:
                for owner in self._prefilter.owners(ordered[at][0]):
                    if id(owner[0].words) in allowed:
                        chosen.setdefault(id(owner[2]), owner)
                at += 1
            if chosen:
                number += 1
                yield sentence, sorted(chosen.values(), key=lambda o: (CODES.index(o[0].code), o[1]))
            if at >= len(ordered) or number >= SENTENCES:
                return

    def _in_sentence(self, sentence: Sentence, patterns: list[tuple[Tongue, int, Pattern]]) -> list[Reading]:
        seen: list[tuple[int, int, Reading]] = []
        circumstances: dict[str, _Circumstances] = {}
        for order, (tongue, _, pattern) in enumerate(patterns):
            around = circumstances.get(tongue.code)
            if around is None:
                around = circumstances[tongue.code] = _Circumstances(self._low, sentence, tongue.words, self._speaker)
            if not around.stand(pattern.rule) or (self._asks(tongue.words) and "offer" not in pattern.rule.allow):
                continue
            for match in around.matches(pattern):
                reading = self._reading(tongue, pattern.rule, match, around)
                if reading is not None:
                    richness = bool(reading.chosen) + bool(reading.rejected)
                    seen.append((-richness, order, reading))
        seen.sort(key=lambda s: (s[0], s[1], s[2].start))
        kept: list[Reading] = []
        for _, _, reading in seen:
            if all(reading.end <= other.start or reading.start >= other.end for other in kept):
                kept.append(reading)
        return sorted(kept, key=lambda r: r.start)

    def _asks(self, words: Words) -> bool:
        """Whether a reply of the assistant ends by asking for an answer: then it proposes and decides nothing."""
        if self._speaker == "human":
            return False
        known = self._asked.get(words.pack.code)
        if known is None:
            start = max(0, len(self._low.rstrip()) - _TAIL)
            last = [s for s in sentences(self._low[start:]) if self._low[start + s.end - 1] in "?？"][-2:]
            known = any(words.has("offers", self._low, start + s.start, start + s.end) for s in last)
            self._asked[words.pack.code] = known
        return known

    def _reading(self, tongue: Tongue, rule: PackRule, match: re.Match[str], around: _Circumstances) -> Reading | None:
        """Return a match as a reading, None where it names nothing or the rule needs more."""
        slots: dict[str, list[Range]] = {"chosen": [], "rejected": []}
        wanted = False
        for name, value in match.groupdict().items():
            if value is None:
                continue
            wanted = True
            with_verb = name.endswith(TAKEN_IN)
            span = trimmed(self._low, *match.span(name), tongue.words, with_verb=with_verb)
            if span is not None and not (with_verb and rule.category == "choice" and _is_verb_alone(self._low, match.start(name), span[1])):
                slots[name.rstrip("0123456789" + TAKEN_IN)].append(span)
        chosen, rejected = tuple(slots["chosen"]), tuple(slots["rejected"])
        if wanted and not chosen and not rejected and not rule.is_nameless:
            return None
        first = (chosen or rejected or ((0, 0),))[0]
        if any(tongue.words.begins(name, self._low, first[0], first[1]) for name in rule.unless):
            return None
        named = any(is_named(self._text, self._prose, span) for span in (*chosen, *rejected))
        reason = around.reason()
        facts = {
            "named": named,
            "reason": reason != (0, 0),
            "contrast": bool(chosen and rejected),
            "short": self._is_short,
        }
        needs = rule.needs or (("named", "reason", "contrast") if rule.strength == "soft" else ())
        if needs and not any(facts[need] for need in needs):
            return None
        return Reading(tongue.code, rule, match.start(), match.end(), around.sentence, chosen, rejected, reason, named)


def _is_verb_alone(low: str, start: int, end: int) -> bool:
    """Whether of a slot that begins with its verb only the verb is left: "just validate" names nothing."""
    return low[start:end].isascii() and " " not in low[start:end].strip()


class _Circumstances:
    """What is said around a match in its sentence, in one language; each is looked at when a rule asks."""

    def __init__(self, low: str, sentence: Sentence, words: Words, speaker: Speaker) -> None:
        self.sentence = sentence
        self._low, self._words, self._speaker = low, words, speaker
        self._clauses = Clauses(low, sentence, words)
        self._known: dict[str, bool] = {}

    def stand(self, rule: PackRule) -> bool:
        """Whether the sentence, and the end of the message, let a rule decide something."""
        if any(self._is(name) for name in _VOIDING if name not in rule.allow):
            return False
        return not any(self._words.has(name, self._low, *self.sentence) for name in rule.without)

    def matches(self, pattern: Pattern) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern that nothing before them in their clause voids."""
        low, (start, end) = self._low, self.sentence
        if pattern.is_at_start:
            last = -1
            for at in self._clauses.starts if not pattern.is_at_sentence else self._clauses.first:
                match = pattern.expression.match(low, at, end) if at >= last else None
                if match is not None:
                    last = match.end()
                    if self._holds(pattern.rule, match):
                        yield match
            return
        at = start
        for _ in range(8):
            match = pattern.expression.search(low, at, end)
            if match is None:
                return
            at = max(match.end(), match.start() + 1)
            if self._holds(pattern.rule, match):
                yield match

    def reason(self) -> Range:
        """Return the range of the reason given in the sentence or by the next one, (0, 0) for none."""
        found = self._words.has("reasons", self._low, *self.sentence)
        if found:
            return (found.start(), self.sentence.end)
        after = _NEXT.match(self._low, self.sentence.end)
        if after is not None and self._words.begins("reasons_next", self._low, *after.span(1)):
            return after.span(1)
        return (0, 0)

    def _holds(self, rule: PackRule, match: re.Match[str]) -> bool:
        """Whether no negator and no condition stands before the match in its clause."""
        clause = max(self._clauses.start_of(match.start()), match.start() - _NEGATED_CHARACTERS)
        if clause == match.start():
            return True
        if "negated" not in rule.allow and self._words.has("negators", self._low, clause, match.start()):
            return False
        return "conditional" in rule.allow or not self._words.begins("conditions", self._low, clause, match.start())

    def _is(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = getattr(self, f"_{name}")()
        return self._known[name]

    def _question(self) -> bool:
        low, words, (start, end) = self._low, self._words, self.sentence
        opening = self._clauses.starts
        is_request = self._speaker == "human" and any(words.begins("requests", low, at, end) for at in opening[:8])
        if is_request:
            return False
        tail = low[max(start, end - 3) : end].rstrip("\"')]」』） ")
        if tail.endswith(("?", "？")):
            return not self._is_tagged()
        particles = words.list("question_ends")
        stripped = low[start:end].rstrip("。.!！ \"')]」』）")
        if particles and any(m.end() == start + len(stripped) for m in particles.finditer(low, start, start + len(stripped))):
            return True
        return any(words.begins("questions", low, at, end) for at in self._clauses.first)

    def _hypothetical(self) -> bool:
        start, end = self.sentence
        reason = self._words.has("reasons", self._low, start + 1, end)  # what stands in the reason is no plan
        return self._words.has("hypothetical", self._low, start, reason.start() if reason else end) is not None

    def _is_tagged(self) -> bool:
        """Whether a question mark belongs to a tag ("…, ok?")."""
        end = self.sentence.end
        begin = self._clauses.start_of(end - 2)
        tag = self._words.begins("question_tags", self._low, begin, end)
        return tag is not None and begin > self.sentence.start and not self._low[tag.end() : end].strip(" ?!？！\"')")

    def _conditional(self) -> bool:
        return any(self._words.begins("conditions", self._low, at, self.sentence.end) for at in self._clauses.first)

    def _undecided(self) -> bool:
        return self._words.has("undecided", self._low, *self.sentence) is not None

    def _reported(self) -> bool:
        return self._words.has("reported", self._low, *self.sentence) is not None
