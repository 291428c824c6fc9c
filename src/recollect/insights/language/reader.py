"""Finds the pack rules that match in a message, and the options that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from typing import Final, NamedTuple

from recollect.insights.language.detection import scripts, spoken
from recollect.insights.language.introduced import first_heading, is_introduced, is_said_by_others
from recollect.insights.language.options import Range, is_named, reason_in, trimmed
from recollect.insights.language.pack import SCRIPTS, PackRule, pack
from recollect.insights.language.patterns import TAKEN_IN
from recollect.insights.language.prefilter import Prefilter, Prose, Spots
from recollect.insights.language.prose_mask import CAP, folded, project
from recollect.insights.language.sentences import Clauses, Sentence, Words, sentences
from recollect.late import late_pattern
from recollect.model.insights.nodes import Polarity, Speaker

SENTENCES: Final = 96
"""Sentences of a message in which rules are tried, at most."""
READINGS: Final = 24
"""What is read in a message, at most."""

_REMEMBERED: Final = 512
"""Messages whose readings are remembered: the gate asks first, and the decider again, once a session is segmented."""
_REMEMBERED_CHARACTERS: Final = 8_192
"""Of a message that is remembered, at most."""

_VOIDING: Final = ("question", "undecided", "reported", "conditional", "corrected")
_NEGATED_CHARACTERS: Final = 40
_SLIP_CHARACTERS: Final = 120
"""Characters before a sentence of a reply in which the agent may say that its last step was a slip."""
_SHORT_WORDS: Final = 12
_TAIL: Final = 400
"""Characters at the end of a reply in which it may ask for an answer."""
_TRIES: Final = 160
"""Places in a sentence at which a pattern is tried, at most."""
_BLANKS: Final = late_pattern(r"\s+")
_NEXT: Final = late_pattern(r"[ \t]*([^\n.!?]{4,300})")
"""What follows a sentence in its line."""
_MARK: Final = late_pattern(r":(?=\s)|;|\s-\s|[：；]")
"""Behind it stands another thought: why, or what else."""
_THOUGHT: Final = late_pattern(r"(?=[^.!?。！？]{12})\s*\S+\s+\S+\s+\S+|[\u3040-\u9fff]{6}")
"""A thought of its own rather than a list, a name or a number."""
_FOLLOWING: Final = late_pattern(r"[ \t]*([^\n。！？!?]{4,160})")
"""The next sentence of the line, in scripts without blanks."""
_PAUSES: Final = tuple(",;:)–—，、；：）")
"""Marks between a clause that gives a reason and one that decides; a mere "and" separates neither."""
_UNCLEAR: Final = late_pattern("[\ud800-\udfff]")


class Reading(NamedTuple):
    """A matched rule. Ranges are in characters of the message; reason (0, 0): none. polarity: the rule's; but an
    adopted option must not begin with a negator ("use no Redis").
    """

    language: str
    rule: PackRule
    start: int
    end: int
    sentence: Sentence
    chosen: tuple[Range, ...]
    rejected: tuple[Range, ...]
    reason: Range
    is_named: bool
    polarity: Polarity

    @property
    def rule_id(self) -> str:
        """The rule as everybody else knows it: `<language>.<category>.<name>`."""
        return f"{self.language}.{self.rule.id}"


@cache
def words_of(code: str) -> Words:
    """Return the word lists of a language that ships."""
    found = pack(code)
    assert found is not None
    return Words(found)


@cache
def _prefilter(code: str, speaker: Speaker) -> Prefilter:
    return Prefilter(words_of(code), speaker)


@cache
def _of_script(script: str) -> tuple[Words, ...]:
    """Return the languages that are written in a script."""
    return tuple(words_of(code) for code, its in SCRIPTS.items() if its == script)


def languages(low: str) -> list[str]:
    """Return the codes of the languages that a text may be written in, in the order in which they are tried."""
    latin = spoken(low, _of_script("latin"))
    others = [words for script in scripts(low) if script != "latin" for words in _of_script(script)]
    return [words.pack.code for words in (*latin, *others)]


def readings(text: str, speaker: Speaker) -> Sequence[Reading]:
    """Return what the rules of the languages say about a message, in order. Bounded; pure; never raises on content."""
    return _remembered(text, speaker) if len(text) <= _REMEMBERED_CHARACTERS else _read(text, speaker)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, speaker: Speaker) -> Sequence[Reading]:
    return _read(text, speaker)


def _read(text: str, speaker: Speaker) -> Sequence[Reading]:
    text = _clear(text)
    raw = folded(text[:CAP])
    if not raw.strip():  # which would be of every language
        return ()
    message = _Message(text, raw, speaker)
    heard = [(words, list(_prefilter(words.pack.code, speaker).spots(message.said))) for words in message.languages]
    return tuple(message.readings(heard)) if any(spots for _, spots in heard) else ()


def _clear(text: str) -> str:
    """Return the text without halves of surrogate pairs, each replaced by one character."""
    return text if text.isascii() or not _UNCLEAR.search(text) else _UNCLEAR.sub("\ufffd", text)


class _Message:
    """One message while it is read."""

    def __init__(self, text: str, raw: str, speaker: Speaker) -> None:
        """raw: the whole text in lower case."""
        self.speaker = speaker
        self.languages = [words_of(code) for code in languages(raw)]
        """Those that it may be written in: "Use Redis, said Bob" reads well in two."""
        self._text, self._raw = text, raw
        self._prose = project(text, of_human=speaker == "human")
        self.said = Prose(folded(self._prose))
        self._low = self.said.low
        self._asked: dict[str, bool] = {}
        self._is_short = text.count(" ") < _SHORT_WORDS and len(text) < 12 * _SHORT_WORDS

    @cached_property
    def heading(self) -> int:
        """Place of its first heading, -1 for none."""
        return first_heading(self._raw)

    def readings(self, heard: Sequence[tuple[Words, Sequence[tuple[Sentence, Sequence[Spots]]]]]) -> list[Reading]:
        """Return the readings of every sentence with all words of a pattern."""
        seen: list[tuple[int, tuple[int, int], Reading]] = []
        for place, (words, of_language) in enumerate(heard):
            for tried, (sentence, spots) in enumerate(of_language):
                around = _Circumstances(self, sentence, words)
                seen += ((rich, (place, order), r) for rich, order, r in self._in_sentence(around, spots))
                if tried >= SENTENCES or len(seen) >= 4 * READINGS:
                    break
        return _best(seen)[:READINGS]

    def _in_sentence(self, around: _Circumstances, spots: Sequence[Spots]) -> Iterator[tuple[int, int, Reading]]:
        """Yield (richness, order of the rule, reading) of each match that decides something."""
        words = around.words
        for one in spots:
            rule = one.candidate.pattern.rule
            if rule.needs == ("reason",) and around.reason == (0, 0):
                continue
            for match in around.matches(one):
                if not around.stand(rule, match.end()) or ("offer" not in rule.allow and self._asks(words)):
                    break
                reading = self._reading(rule, match, around)
                if reading is not None:
                    yield bool(reading.chosen) + bool(reading.rejected), one.candidate.order, reading

    def _slots(
        self, rule: PackRule, match: re.Match[str], around: _Circumstances, reason: Range
    ) -> tuple[tuple[Range, ...], tuple[Range, ...]] | None:
        """Return what a match accepts and rejects, None if it captured words that name nothing: "do not use X" is
        not "do, not X".
        """
        slots: dict[str, list[Range]] = {"chosen": [], "rejected": []}
        is_hollow = False
        for name, value in match.groupdict().items():
            if value is None:
                continue
            slot, with_verb = name.rstrip("0123456789" + TAKEN_IN), name.endswith(TAKEN_IN)
            begin, end = match.span(name)
            end = reason[0] if begin < reason[0] < end else end
            span = trimmed(self._low, begin, end, around.words, with_verb=with_verb)
            if span is None:
                continue
            if self._is_nothing(span, around.words):
                is_hollow = is_hollow or (slot == "chosen" and around.words.is_hollow(self._low[slice(*span)]))
            elif not (
                with_verb and rule.category == "choice" and _is_verb_alone(self._low, match.start(name), span[1])
            ):
                slots[slot].append(span)
        if is_hollow and slots["rejected"] and not slots["chosen"]:
            return None
        return tuple(slots["chosen"]), tuple(slots["rejected"])

    def _is_nothing(self, span: Range, words: Words) -> bool:
        """Whether an option names nothing ("the second one"); a name may look like a common word ("Next", `just`)."""
        low = self._low[slice(*span)]
        return (words.is_hollow(low) or low in words.ordinals) and not is_named(self._text, self._prose, span)

    def _asks(self, words: Words) -> bool:
        """Whether a reply of the assistant ends by asking for an answer: then it proposes and decides nothing."""
        if self.speaker == "human":
            return False
        known = self._asked.get(words.pack.code)
        if known is None:
            start = max(0, len(self._low.rstrip()) - _TAIL)
            last = [s for s in sentences(self._low[start:]) if self._low[start + s.end - 1] in "?？"][-2:]
            known = any(words.has("offers", self._low, start + s.start, start + s.end) for s in last)
            self._asked[words.pack.code] = known
        return known

    def _reading(self, rule: PackRule, match: re.Match[str], around: _Circumstances) -> Reading | None:
        """Return a match as a reading, None where it names nothing or the rule needs more."""
        reason = around.reason
        slots = self._slots(rule, match, around, reason)
        if slots is None:
            return None
        chosen, rejected = _turned_down(*slots, self._low, around.words)
        polarity = "reject" if chosen != slots[0] and not chosen and rule.polarity == "adopt" else rule.polarity
        if any(match.groupdict().values()) and not chosen and not rejected and not rule.is_nameless:
            return None
        if rule.category == "choice" and rule.strength == "soft" and not chosen:
            return None  # "let's not overthink it" takes nothing
        first = (chosen or rejected or ((0, 0),))[0]
        if any(around.words.begins(name, self._raw, _bare(self._raw, first), first[1]) for name in rule.unless):
            return None
        named = any(is_named(self._text, self._prose, span) for span in (*chosen, *rejected))
        if "explained" in rule.needs and reason == (0, 0):
            reason = around.explanation(match.end())
        reason = reason_in(self._low, around.in_front(reason, match))
        facts = {
            "named": named,
            "explained": reason != (0, 0),
            "reason": reason != (0, 0),
            "contrast": bool(chosen and rejected),
            "short": self._is_short,
        }
        needs = rule.needs or (("named", "reason", "contrast") if rule.strength == "soft" else ())
        if needs and not any(facts[need] for need in needs):
            return None
        return Reading(
            around.words.pack.code, rule, match.start(), match.end(), around.sentence, chosen, rejected, reason, named,
            polarity,
        )  # fmt: skip


def _turned_down(
    chosen: tuple[Range, ...], rejected: tuple[Range, ...], low: str, words: Words
) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Return options with those that begin with a negator rejected: "rather no X", "lieber kein X"."""
    against: dict[Range, Range] = {}
    for span in chosen:
        negator = words.begins("negators", low, *span)
        rest = trimmed(low, negator.end(), span[1], words) if negator else None
        if rest is not None:
            against[span] = rest
    return tuple(s for s in chosen if s not in against), (*rejected, *against.values())


def _bare(raw: str, span: Range) -> int:
    """Return where an option begins behind the marks of inline code or of a quotation."""
    start, end = span
    while start < end and raw[start] in "`\"'“„«":
        start += 1
    return start


def _best(seen: list[tuple[int, tuple[int, int], Reading]]) -> list[Reading]:
    """Return those that overlap with none that names more kinds of options or is of an earlier language or rule."""
    kept: list[Reading] = []
    for _, _, reading in sorted(seen, key=lambda s: (s[2].sentence, -s[0], s[1], s[2].start)):
        if all(reading.end <= other.start or reading.start >= other.end for other in kept[-2 * READINGS :]):
            kept.append(reading)
    return sorted(kept, key=lambda r: (r.start, r.end))


def _is_verb_alone(low: str, start: int, end: int) -> bool:
    """Whether of a slot that begins with its verb only the verb is left: "just validate" names nothing."""
    return low[start:end].isascii() and " " not in low[start:end].strip()


class _Circumstances:
    """What is said around a match in its sentence, in one language; each is looked at when a rule asks."""

    def __init__(self, message: _Message, sentence: Sentence, words: Words) -> None:
        self.sentence = sentence
        self.words = words
        self._message, self._low, self._speaker = message, message.said.low, message.speaker
        self._clauses = Clauses(self._low, sentence, words)
        self._known: dict[str, bool] = {}

    def stand(self, rule: PackRule, until: int) -> bool:
        """Whether the sentence lets a rule decide something whose words end at a place."""
        if any(self._is(name) for name in _VOIDING if name not in rule.allow):
            return False
        if "hypothetical" not in rule.allow:
            supposed = self._supposed
            if supposed >= 0 and not (supposed > until and _MARK.search(self._low, until, supposed)):
                return False
        return not any(self._has(name) for name in rule.without)

    def matches(self, spots: Spots) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern that nothing before them in their clause voids."""
        low, (start, end) = self._low, self.sentence
        pattern, at, tried = spots.candidate.pattern, start, 0
        for position in self._positions(spots):
            if position < at or tried >= _TRIES:
                continue
            tried += 1
            match = pattern.expression.match(low, position, end)
            if match is not None:
                at = max(match.end(), position + 1)
                if self._holds(pattern.rule, match):
                    yield match

    def _positions(self, spots: Spots) -> Sequence[int]:
        """Return where a pattern may begin: at its first word, and at the start of a clause where it asks for that."""
        pattern, (start, end) = spots.candidate.pattern, self.sentence
        begins = spots.positions if spots.candidate.begins else None
        if pattern.is_at_start:
            starts = self._clauses.first if pattern.is_at_sentence else self._clauses.starts
            return starts if begins is None else sorted(set(starts) & set(begins))
        if begins is not None:
            return begins
        return (
            [start, *(m.end() for m in _BLANKS.finditer(self._low, start, end))]
            if self.words.pack.spaces
            else range(start, end)
        )

    @cached_property
    def reason(self) -> Range:
        """Return the range of the reason given in the sentence or by the next one, (0, 0) for none."""
        start, end = self.sentence
        found = self._first_of("reasons", start, end)
        if found >= 0 and (not self.words.pack.spaces or " " in self._low[found:end].strip(" .!)")):
            return (found, end)
        after = _NEXT.match(self._low, end)
        if after is not None and (
            self.words.begins("reasons_next", self._low, *after.span(1))
            or self._first_of("weighed", *after.span(1)) >= 0
        ):
            return after.span(1)
        return (0, 0)

    def in_front(self, reason: Range, match: re.Match[str]) -> Range:
        """Return a reason before a match up to the deciding clause ("Since it is small, …")."""
        start, end = reason
        if not start < match.start() < end:
            return reason
        clause = self._clauses.start_of(match.start())
        return (start, clause) if clause > start and self._low[start:clause].rstrip()[-1:] in _PAUSES else reason

    def explanation(self, after: int) -> Range:
        """Return the range of the thought behind a colon, dash or semicolon after a place, (0, 0) for none."""
        low, end = self._low, self.sentence.end
        mark = _MARK.search(low, after, end)
        if mark is not None and _THOUGHT.match(low, mark.end(), end):
            return (mark.end(), end)
        following = None if self.words.pack.spaces else _FOLLOWING.match(low, end)
        if following is not None and self.words.has("reasons", low, *following.span(1)):
            return following.span(1)  # where a language puts "because" at the end, the next sentence says it
        return (0, 0)

    def _has(self, name: str) -> bool:
        return self._first_of(name, *self.sentence) >= 0

    def _first_of(self, name: str, start: int, end: int) -> int:
        """Return where the first phrase of a list in the sentence, or behind it, begins in a range, -1 for none."""
        found = self.words.has(name, self._low, start, max(end, self.sentence.end))
        return found.start() if found and found.start() < end else -1

    def _holds(self, rule: PackRule, match: re.Match[str]) -> bool:
        """Whether no negator and no condition precedes the match in its clause."""
        if "reported" not in rule.allow and any(
            is_said_by_others(self._low, self.sentence, match.span(), words) for words in self._message.languages
        ):
            return False
        clause = max(self._clauses.start_of(match.start()), match.start() - _NEGATED_CHARACTERS)
        if clause == match.start():
            return True
        if "negated" not in rule.allow and self._first_of("negators", clause, match.start()) >= 0:
            return False
        return "conditional" in rule.allow or not self._supposes(clause, match.start())

    def _is(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = getattr(self, f"_{name}")()
        return self._known[name]

    def _question(self) -> bool:
        low, words, (start, end) = self._low, self.words, self.sentence
        opening = self._clauses.starts
        is_request = self._speaker == "human" and any(words.begins("requests", low, at, end) for at in opening[:8])
        if is_request:
            return False
        tail = low[max(start, end - 3) : end].rstrip("\"')]」』） ")
        if tail.endswith(("?", "？")):
            return not self._is_tagged()
        particles = words.list("question_ends")
        stripped = low[start:end].rstrip("。.!！ \"')]」』）")
        if particles and any(
            m.end() == start + len(stripped) for m in particles.finditer(low, start, start + len(stripped))
        ):
            return True
        return any(words.begins("questions", low, at, end) for at in self._clauses.first)

    @cached_property
    def _supposed(self) -> int:
        """Where the words begin that make a sentence a supposition, -1 for none."""
        start, end = self.sentence
        reason = self._first_of("reasons", start + 1, end)  # what stands there is no plan
        return self._first_of("hypothetical", start, reason if reason >= 0 else end)

    def _is_tagged(self) -> bool:
        """Whether a question mark belongs to a tag ("…, ok?")."""
        end = self.sentence.end
        begin = self._clauses.start_of(end - 2)
        tag = self.words.begins("question_tags", self._low, begin, end)
        return tag is not None and begin > self.sentence.start and not self._low[tag.end() : end].strip(" ?!？！\"')")

    def _conditional(self) -> bool:
        return any(self._supposes(at, self.sentence.end) for at in self._clauses.first)

    def _supposes(self, start: int, end: int) -> bool:
        """Whether a range begins with a condition that is not just politeness ("if possible", a lead-in)."""
        condition = self.words.begins("conditions", self._low, start, end)
        if condition is None:
            return False
        polite = self.words.begins("lead_ins", self._low, start, self.sentence.end)
        return polite is None or polite.end() <= condition.end()

    def _undecided(self) -> bool:
        return self._has("undecided")

    def _reported(self) -> bool:
        return self._has("reported") or is_introduced(self._low, self._message.heading, self.sentence.start, self.words)

    def _corrected(self) -> bool:
        """Whether a reply corrects a slip of its own ("Oops, wrong folder."): what it takes instead is a step."""
        if self._speaker == "human":
            return False
        start, end = self.sentence
        begin = max(self._low.rfind("\n", 0, start) + 1, start - _SLIP_CHARACTERS)
        return self.words.has("slips", self._low, begin, end) is not None
