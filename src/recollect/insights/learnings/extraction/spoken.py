"""Extracts what people say: things to remember, rules, corrections, actions, local services.

A message is read as its words stand: only prose that a person typed, sentence by sentence, never a question, a thought,
somebody else's words, code or a pasted text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from recollect.insights.language.changed_next import is_changed_next
from recollect.insights.language.detection import scripts
from recollect.insights.language.introduced import is_said_by_others
from recollect.insights.language.left_open import (
    PUT_OFF,
    SAYS_LEFT,
    is_supposed,
    leaves_open,
    may_leave_open,
    places_of_duty,
    put_off_in,
)
from recollect.insights.language.pack import SCRIPTS, Meaning, SpokenRule
from recollect.insights.language.prose_mask import lower, project
from recollect.insights.language.reader import languages, readings, words_of
from recollect.insights.language.sentences import Words, sentences
from recollect.insights.language.substance import is_for_all, makes_sense, names_something, outlasts, points_outside
from recollect.insights.language.tools import NAMES_TOOL, TOOLS, tools_in
from recollect.late import late_pattern
from recollect.model.learnings.learnings import Priority
from recollect.privacy.password_sentences import tells_credential

CAP: Final = 65_536
"""Characters of a message that are read."""
MOST_SENTENCES: Final = 14
"""A longer message describes a task; only what is asked to be remembered or holds from now on is taken from it."""
MOST_OF_A_MESSAGE: Final = 4
_LONG: Final = 2_400
"""Characters of prose from which a message counts as a description too."""
_LONGEST_MARKED: Final = 4_000
"""Characters of a message that the language packs read; longer ones are mostly pasted."""
_LEAST: Final = 6
_AROUND: Final = " \t\r\n,;:–—-"
_CLAUSE: Final = 24
"""Characters that may stand between "in every project" and the comma behind it ("that I work on")."""
_LONGEST_POINTING: Final = 80
"""Characters of a message that only says to remember what was said."""
_OF_A_CORRECTION: Final = 2
"""Words of a correction that name something, from which it may point at what it corrects."""
_MOST_STATED: Final = 4
"""Sentences of a message of which one may be what is to be remembered."""
_OF_ITSELF: Final = late_pattern(r"(?:i|i'm|i've|i'll|let me|done|ich|lass mich)\b")
_STATED: Final = late_pattern(
    r"\b(?:is|are|was|were|has|have|had|needs?|requires?|runs?|lives?|listens?|uses?|must|should|may|can|cannot|can't"
    r"|takes?|goes|belongs?|expires?|rotates?|happens?|fails?|works?|starts?|means|contains?|costs?|deploys?|returns?"
    r"|gets?|comes?|sits?|points?|exists?|supports?|depends?|accepts?|holds?|stays?"
    r"|ist|sind|war|hat|haben|braucht|brauchen|läuft|laufen|liegt|liegen|muss|müssen|soll|darf|kann|heißt|gehört|kommt"
    r"|geht|nutzt|nutzen|verwendet|steht|gilt|kostet|dauert|startet)\b"
)
"""Verbs of statements: what holds none is no thing to be remembered."""
_LOCAL: Final = late_pattern(r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::\d{2,5})?")
_LEAD_INS: Final = 5
_SCRIPTED: Final = late_pattern(
    r"\s*(?:<|you are (?:an?|the|now|in|working|helping)\b|your task is\b|act as\b|# ?(?:role|task|instructions"
    r"|context|goal)"
    r"|we're currently solving|this session is being continued|caveat: the messages below|du bist (?:ein|der|die)\b)",
    re.IGNORECASE,
)
"""How prompts begin that a program or a template wrote."""
_QUESTION: Final = ("?", "？", "か。", "吗", "嗎", "呢")
_POLITE: Final = late_pattern(
    r"(?:can|could|would|will) you (?:please |kindly |also )?(?=(?:always|never|remember|keep in mind|from now on"
    r"|stop|remind)\b)"
    r"|(?:kannst|könntest|würdest) du (?:bitte |dir bitte )?(?=(?:immer|nie|ab jetzt|in zukunft|künftig)\b)"
)
"""Questions in form that are orders."""


class Said(NamedTuple):
    """A statement to learn: characters start to end of the message, and the text to store; "" if it refers to an
    earlier message ("remember that").
    """

    rule: SpokenRule
    start: int
    end: int
    text: str
    language: Words
    is_order: bool
    """Whether the words say how to work (else they state something)."""
    is_for_all: bool
    """Whether they say that it holds in every repository."""

    @property
    def rule_id(self) -> str:
        """The rule as everybody else knows it."""
        return self.rule.id if self.is_marked else f"{self.language.pack.code}.{self.rule.id}"

    @property
    def is_marked(self) -> bool:
        """Whether a marker of the language packs says it, rather than a rule on what should be learned."""
        return not self.rule.cues


_PLAIN_WORD: Final = late_pattern(r"[^\W\d_]+")
_ENGLISH: Final = frozenset(
    "the to is it you and of that this for with on be are if should can we have add use make not in my your just"
    " when from".split()
)
_NOT_ENGLISH: Final = frozenset(
    "der die das und ist nicht ein eine wir ich es zu den mit für auf bitte el la los las que para por con una en"
    " no del y o"
    " le les des est pas une pour dans sur on tu nous não uma os um com se da do em isso".split()
)
"""The commonest words of the other languages of Latin script; the others have a script of their own."""
_BANS: Final = late_pattern(
    r"\b(?:off limits|under no circumstances|never|forbidden|not allowed|must not|mustn't|no more|no longer|scratch"
    r" that|changed my mind"
    r"|change of plan|slept on it|never mind what|undo|revert|roll back|back to|(?:i|we) (?:said|thought|wanted))\b"
)
_MEANINGS: Final[dict[str, Meaning]] = {
    "rule": "rule",
    "preference": "rule",
    "ban": "correction",
    "reversal": "correction",
}
_RULES_OF_MARKERS: Final = {
    category: SpokenRule(f"marked as {category}", meaning, 0.55, (), "") for category, meaning in _MEANINGS.items()
}
_REFUSAL: Final = late_pattern(r"(?:no|nope|nah|wrong|stop|nein|nee|falsch|halt)\s*[,.:;!–—-]+\s*")
_OF_TOOLS: Final = SpokenRule("tool", "rule", 0.6, tuple(sorted(TOOLS)), "")
_WEAK: Final = (".none", ".none_of")
"""Markers of a plain "no X", which mostly says what there is."""


class _Sentence(NamedTuple):
    start: int
    end: int
    low: str


def things_said(text: str, *, after_work: bool) -> list[Said]:
    """Return what a message that a person typed says that should be learned, in order; at most four.

    after_work: the assistant has said or done something before; only then there is something to correct.
    """
    text = text[:CAP]
    low = lower(text)
    possible, cues = _cues_in(low)
    heard = [language for language in possible if not cues.isdisjoint(language.cues)]
    has_markers = len(low) <= _LONGEST_MARKED and _may_have_markers(low)
    names_tool = not cues.isdisjoint(TOOLS) and NAMES_TOOL.search(low) is not None
    if not (heard or has_markers or names_tool) or is_scripted(text):
        return []
    prose = _with_local_addresses(lower(project(text, of_human=True)), low)
    ranges = [_Sentence(start, end, prose[start:end]) for start, end in sentences(prose)]
    is_long = len(ranges) > MOST_SENTENCES or sum(len(s.low) for s in ranges) > _LONG
    wanted: set[Meaning] = {"explicit", "rule", "action"} if is_long else {"explicit", "rule", "action", "place"}
    if after_work and not is_long:
        wanted.add("correction")
    found: list[Said] = []
    for place in range(len(ranges)):
        said = _said_at(text, ranges, place, heard, wanted)
        if said is None and names_tool and not is_long:
            said = _tools_settled(text, ranges[place])
        if said is not None and not any(one.start < said.end and said.start < one.end for one in found):
            found.append(said)
    if has_markers and not is_long:
        found += _marked(text, ranges, found, wanted)
    found = [said for said in found if not any(tells_credential(words) for words in _sentences_of(said, text, ranges))]
    found = [said for said in found if not is_changed_next(text, said.start, said.end - 1)]
    return sorted(found, key=lambda said: said.start)[:MOST_OF_A_MESSAGE]


def is_scripted(text: str) -> bool:
    """Return whether a program or template wrote a message, by its beginning."""
    return _SCRIPTED.match(text) is not None


def is_stated(sentence: str) -> bool:
    """Return whether a person states something: no question, no doubt, no repetition of others' words."""
    low = lower(sentence)
    language = _likeliest(low)
    whole = (0, len(low))
    if low.rstrip(" .!)\"'").endswith(_QUESTION) or is_said_by_others(low, whole, whole, language):
        return False
    words = low[_after_lead_ins(low, language) :]
    around = (language.spoken("doubtful").search(low), language.spoken("reported").search(low))
    return not any(around) and language.spoken("questions").match(words) is None


def _sentences_of(said: Said, text: str, ranges: Sequence[_Sentence]) -> Iterator[str]:
    return (text[one.start : one.end] for one in ranges if one.start < said.end and said.start < one.end)


def _may_have_markers(low: str) -> bool:
    """Return whether a message is worth the language packs: they cost as much as all rules here together.

    It is if it is not English, or is English with a word that marks a ban or a change of mind.
    """
    words = _PLAIN_WORD.findall(low, 0, 1_500)
    english = sum(map(_ENGLISH.__contains__, words))
    others = sum(map(_NOT_ENGLISH.__contains__, words))
    return english <= others or (not low[:1_500].isascii() and english < 4) or _BANS.search(low) is not None


def _marked(text: str, ranges: Sequence[_Sentence], found: Sequence[Said], wanted: set[Meaning]) -> Iterator[Said]:
    """Yield sentences in which distilling's language packs see a rule, a preference, a ban or a change of mind.

    They know eight languages far beyond the rules here. Not taken are their English rules and preferences, which are
    mostly about the product that is being built ("all events should have …").
    """
    taken = [(said.start, said.end) for said in found]
    for marker in sorted(readings(text, "human"), key=lambda r: (r.start, r.end, r.rule_id)):
        meaning = _MEANINGS.get(marker.rule.category)
        is_spec = marker.rule.category in ("rule", "preference") and marker.language == "en"
        if meaning not in wanted or is_spec or marker.rule.strength != "strong" or marker.rule_id.endswith(_WEAK):
            continue
        one = next((s for s in ranges if s.start <= marker.start < s.end), None)
        language = words_of(marker.language)
        if one is None or any(start < one.end and one.start < end for start, end in taken):
            continue
        place = (marker.start - one.start, min(marker.end, one.end) - one.start)
        is_others = is_said_by_others(one.low, (0, len(one.low)), place, language)
        if is_others or language.spoken("doubtful").search(one.low) or language.spoken("reported").search(one.low):
            continue
        taken.append((one.start, one.end))
        start = one.start + _after_lead_ins(one.low, language)
        rule = _RULES_OF_MARKERS[marker.rule.category]
        kept = text[start : one.end].strip(_AROUND)
        if _says_enough(kept, rule.meaning, language) and outlasts(kept, language):
            yield Said(rule, start, one.end, kept, language, meaning == "rule", is_for_all(one.low, language))


@cache
def _listening(*, is_latin: bool) -> tuple[tuple[Words, ...], AhoCorasick]:
    """Return the languages of Latin script, or all, in the order in which they are tried, and what finds their cues."""
    found = tuple(words_of(code) for code, script in SCRIPTS.items() if script == "latin" or not is_latin)
    cues = TOOLS.union(*(language.cues for language in found))
    return found, AhoCorasick(sorted(cues), implementation=Implementation.DFA)


def _cues_in(low: str) -> tuple[Sequence[Words], frozenset[str]]:
    """Return the languages that may be heard in a text, and the cues in it."""
    found, matcher = _listening(is_latin=len(scripts(low)) == 1)
    return found, frozenset(matcher.find_matches_as_strings(low, overlapping=True))


def _with_local_addresses(prose: str, low: str) -> str:
    """Return prose in which addresses of this machine can be read; other links and inline code stay covered."""
    if "localhost" not in low and "0.0.1" not in low and "0.0.0.0" not in low:  # noqa: S104 - a text is looked for
        return prose
    for found in _LOCAL.finditer(low):
        if prose[found.start()].strip():
            prose = prose[: found.start()] + found[0] + prose[found.end() :]
    return prose


def _said_at(
    text: str, ranges: Sequence[_Sentence], place: int, heard: Sequence[Words], wanted: set[Meaning]
) -> Said | None:
    one = ranges[place]
    _, cues = _cues_in(one.low)
    for language in heard:
        is_refused = place > 0 and language.spoken("refusal").fullmatch(ranges[place - 1].low.strip()) is not None
        if not is_refused and cues.isdisjoint(language.cues):
            continue
        skipped = _after_lead_ins(one.low, language)
        words = one.low[skipped:]
        if polite := _POLITE.match(words):
            skipped += polite.end()
            words = one.low[skipped:].rstrip(" ?.")
        elif words.rstrip(" .!)\"'").endswith(_QUESTION) or language.spoken("questions").match(words):
            continue
        if is_refused and "correction" in wanted:
            words, skipped = f"no. {words}", skipped - 4
            cues = cues | {"no"}
        for rule in language.pack.spoken.rules:
            if rule.meaning in wanted and not cues.isdisjoint(rule.cues):
                said = _said_by(rule, text, ranges, place, (skipped, words), language)
                if said is not None:
                    return said
    return None


def _tools_settled(text: str, one: _Sentence) -> Said | None:
    """Return a sentence that says which tool of a kind is used, or not: "we switched to pnpm"."""
    if not tools_in(one.low).is_settled or not is_stated(one.low):
        return None
    language = _likeliest(one.low)
    skipped = _after_lead_ins(one.low, language)
    refusal = _REFUSAL.match(one.low, skipped)
    start = one.start + (refusal.end() if refusal else skipped)
    kept = text[start : one.end].strip(_AROUND)
    return Said(_OF_TOOLS, start, one.end, kept, language, is_order=True, is_for_all=is_for_all(one.low, language))


def _said_by(
    rule: SpokenRule,
    text: str,
    ranges: Sequence[_Sentence],
    place: int,
    at: tuple[int, str],
    language: Words,
) -> Said | None:
    skipped, words = at
    expression = language.said_by(rule)
    match = expression.match(words)
    if match is None or (rule.is_alone and len(ranges) > 1):
        return None
    one = ranges[place]
    is_doubtful = language.spoken("doubtful").search(words) or _is_reported(one.low, skipped, match, language)
    if is_doubtful and rule.meaning != "explicit":
        return None
    has_said = "said" in expression.groupindex and match["said"] is not None
    start = one.start + max(0, skipped + (match.start("said") if has_said else 0))
    end = one.start + max(0, skipped) + len(words) if not has_said else one.start + skipped + match.end("said")
    end = min(end, one.end)
    if rule.with_next:
        if place + 1 == len(ranges) or not _goes_on(ranges[place + 1].low, language):
            return None
        end = ranges[place + 1].end
    elif rule.meaning == "correction" and place + 1 < len(ranges) and _FORBIDS.match(lower(text[start:end])):
        after = ranges[place + 1]
        words_after = after.low[_after_lead_ins(after.low, language) :]
        if _is_near(text, one, after) and _goes_on(after.low, language) and not _FORBIDS.match(words_after):
            end = after.end
    before = ranges[place - 1] if place and _is_near(text, ranges[place - 1], one) else None
    if before is not None and not _may_stand_before(before.low, language):
        before = None
    is_momentary = rule.meaning == "correction" and not outlasts(text[start:end].strip(_AROUND), language)
    if before is not None and (is_momentary or (rule.with_before and rule.meaning != "explicit")):
        start = before.start + _after_lead_ins(before.low, language)
        is_momentary = is_momentary and not outlasts(text[start:end], language)
    kept = text[start:end].strip(_AROUND)
    if rule.meaning == "explicit" and (rule.with_before or not _says_enough(kept, "explicit", language)):
        return _meant_before(text, before, one, (rule, language, words))
    is_told = len(kept) >= _LEAST and any(c.isalpha() for c in kept) and _says_enough(kept, rule.meaning, language)
    if is_momentary or not is_told:
        return None
    return _said(rule, (start, end), kept, language, text[one.start : one.end])


def _meant_before(
    text: str, before: _Sentence | None, one: _Sentence, by: tuple[SpokenRule, Words, str]
) -> Said | None:
    """Return what "remember that" means: the sentence before it, else what an earlier message says."""
    rule, language, words = by
    if before is not None:
        start = before.start + _after_lead_ins(before.low, language)
        kept = text[start : before.end].strip(_AROUND)
        is_enough = _says_enough(kept, "explicit", language) and len(kept) >= _LEAST
        return _said(rule, (start, before.end), kept, language, kept) if is_enough else None
    is_alone = not text[: one.start].strip() and len(words) <= _LONGEST_POINTING
    return Said(rule, one.start, one.end, "", language, is_order=False, is_for_all=False) if is_alone else None


def _said(rule: SpokenRule, place: tuple[int, int], kept: str, language: Words, sentence: str) -> Said:
    is_order = language.spoken("orders").match(lower(kept)) is not None
    return Said(rule, *place, kept, language, is_order, is_for_all(f"{kept} {sentence}", language))


def _is_reported(low: str, skipped: int, match: re.Match[str], language: Words) -> bool:
    if language.spoken("reported").search(low):
        return True
    place = (skipped + match.start(), skipped + match.end()) if skipped >= 0 else (0, len(low))
    return is_said_by_others(low, (0, len(low)), place, language)


def _says_enough(kept: str, meaning: Meaning, words: Words) -> bool:
    """Return whether words make sense by themselves: they name something, and every reference has its target.

    A correction is shown beside what it corrects, so that it may refer to that if it says something of its own.
    """
    names = names_something(kept, words)
    least = _OF_A_CORRECTION if meaning == "correction" else 1 << 30
    return names > 0 and (names >= least or not points_outside(kept, words))


def statement_in(text: str, language: Words, *, of_human: bool) -> tuple[str, bool]:
    """Return the one thing that a message states, "" for none or several; and whether its words are an order.

    Of the assistant, nothing that it says of itself or asks.
    """
    prose = project(text, of_human=of_human)
    ranges = [prose[start:end] for start, end in sentences(prose)]
    if any(one.rstrip().endswith(_QUESTION) for one in ranges) or len(ranges) > _MOST_STATED:
        return "", False
    found = []
    for start, end in sentences(prose):
        low = lower(text[start:end])
        begin = start + _after_lead_ins(low, language)
        kept = text[begin:end].strip(_AROUND)
        low = lower(kept)
        is_own = not of_human and _OF_ITSELF.match(low) is not None
        if _STATED.search(low) and not is_own and _says_enough(kept, "explicit", language):
            found.append(kept)
    if len(found) != 1 or language.spoken("questions").match(lower(found[0])):
        return "", False
    return found[0], language.spoken("orders").match(lower(found[0])) is not None


def _after_lead_ins(low: str, language: Words) -> int:
    at, lead_in = 0, language.spoken("lead_ins")
    for _ in range(_LEAD_INS):
        found = lead_in.match(low, at)
        if found is None or found.end() == at or found.end() >= len(low):
            break
        at = found.end()
    everywhere = language.begins("for_user", low, at, len(low))
    if everywhere is None:
        return at
    comma = low.find(",", everywhere.end(), everywhere.end() + _CLAUSE)
    after = low[comma + 1 if comma >= 0 else everywhere.end() :].lstrip()
    return len(low) - len(after) if after else at


def _goes_on(low: str, language: Words) -> bool:
    """Return whether a sentence may say what is right after one that says what is wrong."""
    words = low[_after_lead_ins(low, language) :]
    if words.rstrip().endswith(_QUESTION) or language.spoken("questions").match(words):
        return False
    if language.spoken("doubtful").search(words):
        return False
    return language.spoken("orders").match(words) is not None or _STATES.match(words) is not None


_FORBIDS: Final = late_pattern(
    r"(?:please )?(?:don'?t|do not|never|stop|nicht|keine?|hör auf"
    r"|(?:you|the [\w`. -]{2,40}) (?:must|should|may|can) ?n(?:ot|'?t|ever)"
    r"|du darfst (?:[^,;:]{2,60} )?(?:nicht|nie|kein\w*))"
    r"\b[^,;:]*$"
)
"""What only forbids: the next sentence may say what is right."""
_STATES: Final = late_pattern(
    r"(?:it|that|this|they|the [\w`.-]{2,40}|[\w`.]{2,40}) (?:is|are|should|must|needs?|has|have|belongs?|goes"
    r"|lives)\b|instead\b|we\b"
    r"|(?:das|es|die|der) (?:ist|sind|muss|soll|gehört|heißt|liegt)\b|richtig\b|stattdessen\b"
)


def _may_stand_before(low: str, language: Words) -> bool:
    words = low.strip()
    return (
        len(words) >= _LEAST
        and not words.endswith(_QUESTION)
        and language.spoken("questions").match(words) is None
        and language.spoken("refusal").fullmatch(words) is None
    )


def _is_near(text: str, before: _Sentence, one: _Sentence) -> bool:
    return one.start - before.end < 40 and "\n\n" not in text[before.end : one.start]


def priority_of(text: str, language: Words | None = None) -> Priority:
    """Return the priority that words name, "" for none. language: by default the likeliest."""
    low = lower(text)
    language = language or _likeliest(low)
    if language.spoken("urgent").search(low):
        return "urgent"
    return "high" if language.spoken("important").search(low) else ""


def _likeliest(low: str) -> Words:
    return words_of(next(iter(languages(low)), "en"))


_LEAST_OPEN: Final = 16
_LONGEST_OPEN: Final = 260
_LONGEST_OPEN_MESSAGE: Final = 6_000


_LABEL: Final = late_pattern(r".[:：]|\s[–—-]\s")


class OpenSentence(NamedTuple):
    """A sentence that leaves something to do: characters of the text. is_named: they are only what is to be done."""

    start: int
    end: int
    is_named: bool = False


def left_open(text: str, *, of_human: bool = False) -> Iterator[OpenSentence]:
    """Yield the sentences of a message that leave work open, in order; of a person's "TODO: …" what stands behind."""
    if len(text) > _LONGEST_OPEN_MESSAGE or (of_human and is_scripted(text)):
        return
    prose = lower(project(text, of_human=of_human))
    places = places_of_duty(prose)
    if not of_human and not (places and may_leave_open(prose)):
        return
    for start, end in sentences(prose):
        low = prose[start:end]
        is_told = bisect_left(places, start) < bisect_left(places, end)
        is_open = is_told and _LEAST_OPEN <= end - start <= _LONGEST_OPEN and leaves_open(low)
        named = _left_by_name(low) if of_human else None
        if named is None and (not is_open or low.rstrip().endswith(":") or not is_stated(low)):
            continue
        begin, stop = named or (0, end - start)
        one = OpenSentence(start + begin, start + stop, is_named=named is not None)
        if makes_sense(said := text[one.start : one.end]) and not tells_credential(said):
            yield one


def _left_by_name(low: str) -> tuple[int, int] | None:
    """Return the characters of a person's sentence that name what is to be done later, None for none."""
    if _LABEL.search(low):
        skipped = _after_lead_ins(low, _likeliest(low))
        said = SAYS_LEFT.match(low[skipped:])
        if said is not None and not said["next"]:  # a person's next steps are an order
            start, words = skipped + said.start("said"), said["said"]
            return (start, start + len(PUT_OFF.sub("", words).rstrip(". "))) if is_stated(words) else None
    for named in put_off_in(low):
        start, end = low.find(named), low.find(named) + len(named)
        is_what = low[:start].endswith((" is ", " are ", " ist ", " sind "))  # "what remains is …" asks nothing
        is_told = is_stated(low[start:] if is_what else low) and not is_supposed(low)
        return ((start, end) if makes_sense(named) else (0, len(low))) if is_told else None
    return None
