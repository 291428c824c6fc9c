"""Recognises answers to proposals ("yes", "do that", "option 2") and proposals in a reply."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal, NamedTuple

from recollect.insights.language.options import Range, trimmed
from recollect.insights.language.pack import CODES, pack, phrases
from recollect.insights.language.patterns import alternatives
from recollect.insights.language.prose_mask import CAP, folded, lower, project
from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.sentences import Sentence, Words, sentences
from recollect.late import PATTERNS, late_pattern

_TAIL: Final = 2_400
"""Characters at the end of a reply in which it may ask or suggest."""
_LABEL: Final = late_pattern(
    r"^[ \t]*(?:[-*+•][ \t]+)?(?:\#{1,6}[ \t]+)?(?:\*\*)?(?:(?:option|variant|approach|variante|opción|opcion|opção"
    r"|opcao|вариант|方案|選択肢|案|选项|ansatz|enfoque|abordagem|approche)[ \t]*)?[(]?(\d{1,2}|[a-f])[).:：、]"
    r"(?:\*\*)?[ \t]*(\S[^\n]{1,400})",
    re.MULTILINE | re.IGNORECASE,
)
_BULLET: Final = late_pattern(r"^[ \t]*([-*+•])[ \t]+(\S[^\n]{1,400})", re.MULTILINE)
_IN_LINE: Final = late_pattern(
    r"(?<![^\s:,;])\(?(\d|[a-f])\)\s+([^\n();.?!]{3,200}?)"
    r"(?=[,;]?\s+(?:(?:or|and|oder|und|ou|et|или|либо|и|o|y|e)\s+)?\(?[\da-f]\)|[\n();.?!]|$)"
)
"""Options within a sentence: "either (a) a queue or (b) a table"."""
_ALTERNATIVES: Final = late_pattern(r"[,;]?\s+(?:or|oder|ou|или|либо|o)\s+|还是|または|それとも")
_LISTED: Final = 12
_HEAD: Final = 40
"""Sentences at the beginning of a reply in which it may suggest something."""


class Listed(NamedTuple):
    """An option in a list of the reply: its label and the range of its words."""

    label: str
    span: Range


class Proposal(NamedTuple):
    """A reply that can be answered. (0, 0) for a missing element.

    listed: options with labels. asked: the sentence that asks. offered: what it offers to do. suggested: an earlier
    suggestion. is_step: it offers only a step of work.
    """

    listed: tuple[Listed, ...]
    asked: Range
    offered: Range
    suggested: Range
    is_step: bool


def proposal_of(text: str, code: str) -> Proposal | None:
    """Return what a reply proposes, None for one that only reports. code: the language of the answer."""
    if pack(code) is None or not text:
        return None
    words = words_of(code)
    prose = project(text[:CAP], of_human=False)
    low = lower(prose)
    listed = _listed(text[: len(low)], low, words)
    said = sentences(low)
    tail = [s for s in said if s.end > len(low.rstrip()) - _TAIL]
    asked, offered, is_step = _asked(low, tail, words)
    # What is asked for refers to what was said last; without a question the reply begins with what it proposes.
    suggested = _suggested(low, [s for s in reversed(tail) if s.start < asked[0]], words) if asked != (0, 0) else (0, 0)
    if suggested == (0, 0):
        suggested = _suggested(low, said[:_HEAD], words)
    if not listed and asked == (0, 0) and suggested == (0, 0):
        return None
    return Proposal(listed, asked, offered, suggested, is_step)


def _listed(text: str, low: str, words: Words) -> tuple[Listed, ...]:
    """Return the last list of options that begins with its first label."""
    found: list[Listed] = []
    pattern = next((p for p in (_LABEL, _BULLET) if p.search(text)), _IN_LINE)
    if pattern is _IN_LINE and len(_IN_LINE.findall(text)) < 2:
        return ()
    for match in pattern.finditer(text):
        label = match[1].lower() if match[1].isalnum() else f"#{len(found) + 1}"
        if label in ("1", "a"):
            found = []
        start, end = match.span(2)
        stop = re.search(r"\*\*\s*[:.–—-]|\*\*$|[.:;]\s|\s[–—-]\s", text[start:end])
        span = trimmed(low, start, start + stop.start() if stop else end, words, with_verb=True)
        found.append(Listed(label, span if span is not None else (start, end)))
        if len(found) >= _LISTED:
            break
    return tuple(found)


def _asked(low: str, tail: list[Sentence], words: Words) -> tuple[Range, Range, bool]:
    """Return the last sentence that asks for an answer, what it offers, and whether that is but a step of work."""
    for sentence in reversed(tail[-8:]):
        start, end = sentence
        if not low[start:end].rstrip("\"')*_ ").endswith(("?", "？")) and not words.begins("offers", low, start, end):
            continue
        offer = words.has("offers", low, start, end)
        if offer is None:
            continue
        offered = _named(low, (offer.end(), end), (start, offer.start()), words)
        if offered is None:
            return (start, end), _suggested(low, [Sentence(start, offer.start())], words), False
        is_last = not words.pack.spaces  # the verb of what is offered stands at its end
        step = words.has("step_verbs", low, *offered) if is_last else words.begins("step_verbs", low, *offered)
        if step is not None and _is_generic(low, (step.end(), offered[1]), words):
            return (start, end), (0, 0), False
        return (start, end), offered, step is not None
    return (0, 0), (0, 0), False


def _suggested(low: str, among: list[Sentence], words: Words) -> Range:
    """Return the suggestion in the first of some sentences that names one."""
    for sentence in among:
        start, end = sentence
        if low[start:end].rstrip().endswith(("?", "？")):
            continue
        found = words.has("proposals", low, start, end)
        if found is None:
            continue
        span = _named(low, (found.end(), end), (start, found.start()), words)
        if span is not None:
            return span
    return (0, 0)


def _named(low: str, after: Range, before: Range, words: Words) -> Range | None:
    """Return what is named after the words that offer it; before them, where a language puts its verb last."""
    for span in (after,) if words.pack.spaces else (after, before):
        named = trimmed(low, *span, words, with_verb=True)
        if named is not None and not _is_generic(low, named, words):
            return named
    return None


def _is_generic(low: str, span: Range, words: Words) -> bool:
    """Whether a range has no word that names something."""
    generic = words.list("generic")
    rest = generic.sub(" ", low[slice(*span)]) if generic else low[slice(*span)]
    return not any(c.isalnum() or ord(c) == 0xE000 for c in rest)


def alternatives_in(low: str, span: Range) -> list[Range]:
    """Return the parts of a range that "or" separates, for answers such as "the former"."""
    start, end = span
    parts, at = [], start
    for match in _ALTERNATIVES.finditer(low, start, end):
        parts.append((at, match.start()))
        at = match.end()
    return [*parts, (at, end)]


ANSWER_CHARACTERS: Final = 320
"""A longer message is no answer by itself."""
_BARE_WORDS: Final = 14
_ORDINAL_WORDS: Final = 6
_PRAISE_WORDS: Final = 30

_NUMBER: Final = late_pattern(r"[(\[]?(\d{1,2}|[a-f])(?![\w-])[.)\]:,]?(?=\s|$|[,.!])")
_BETWEEN: Final = late_pattern(r"[\s,.!;:…，。！、)-]+")

Kind = Literal["yes", "no", "do_it", "option"]


class Answer(NamedTuple):
    """An answer in a message. label: "2", "b" … for an option, "#1" for the first one, "" otherwise. is_bare: nothing
    else is in the message."""

    kind: Kind
    language: str
    start: int
    end: int
    label: str = ""
    is_bare: bool = True

    @property
    def rule_id(self) -> str:
        """The answer as a rule of the gate."""
        return f"{self.language}.confirmation.{self.kind}"


def answers(text: str) -> tuple[Answer, ...]:
    """Return the answer that a human message begins with or consists of, () for none."""
    if len(text) > ANSWER_CHARACTERS or not text.strip():
        return ()
    low = folded(project(text, of_human=True))
    for code in sorted(languages(low), key=CODES.index):
        found = _option(low, code) or _whole(low, code)
        if found is not None:
            return (found,)
    return ()


@cache
def _labelled(code: str) -> re.Pattern[str] | None:
    """Return an expression for "option 2", "(b)" …; group 1 is the label."""
    found = pack(code)
    named = phrases(found.lists.option_words) if found else ()
    return PATTERNS.compile(alternatives(named) + r"\s*[#(]?(\d{1,2}|[a-f])(?![\w-])") if named else None


@cache
def _ordinals(code: str) -> tuple[re.Pattern[str], ...]:
    found = pack(code)
    return tuple(PATTERNS.compile(alternatives(phrases(o))) for o in found.lists.ordinals) if found else ()


def _option(low: str, code: str) -> Answer | None:
    words = words_of(code)
    is_question = low.rstrip().endswith(("?", "？")) or words.begins("questions", low, _first(low), len(low))
    if is_question:
        return None
    labelled = _labelled(code)
    match = labelled.search(low) if labelled else None
    negators = words.list("negators")
    if match is not None and not (negators and negators.search(low, 0, match.start())):
        after = low[match.end() : match.end() + 24]
        if not (negators and negators.search(after)):
            return Answer("option", code, match.start(), match.end(), match[1])
    number = _numbered(low, words)
    if number is not None:
        return Answer("option", code, number.start(1), number.end(1), number[1])
    is_short = len(low.split()) <= _ORDINAL_WORDS
    for place, expression in enumerate(_ordinals(code), 1):
        match = expression.search(low)
        if match is not None and (is_short or _is_named_alone(low, match, words)):
            return Answer("option", code, match.start(), match.end(), f"#{place}")
    return None


def _is_named_alone(low: str, match: re.Match[str], words: Words) -> bool:
    """Whether an ordinal with its article ends the first words of an answer: "ok, the second one, it is less work"."""
    before = low[: match.start()].split()
    if not before:  # "the latter" is one word in many languages: "letzteres. and make it smaller"
        return low[match.end() :].lstrip()[:1] in (".", "!")
    is_first = 0 < len(before) <= _ORDINAL_WORDS and len(low.split()) <= _BARE_WORDS
    if not is_first or words.begins("articles", before[-1], 0, len(before[-1])) is None:
        return False
    return low[match.end() :].lstrip()[:1] in tuple(",.;:!")


def _numbered(low: str, words: Words) -> re.Match[str] | None:
    """Return the bare number or letter of an option: all that is said, marked like an item, or praised."""
    count = len(low.split())
    if count > _PRAISE_WORDS:
        return None
    for match in _NUMBER.finditer(low):
        if match.start() and not low[match.start() - 1].isspace():
            continue
        is_all = not low[: match.start()].strip() and not low[match.end() :].strip(" .!")
        is_item = not low[: match.start()].strip() and low[match.end() - 1] in ".):,]" and count <= _BARE_WORDS
        after = _BETWEEN.match(low, match.end())
        is_label = match[1].isdigit() or not (low[: match.start()].strip() or match[1] in words.stop_words)
        if is_all or is_item or (is_label and after and words.begins("praise", low, after.end(), len(low))):
            return match
    return None


def _whole(low: str, code: str) -> Answer | None:
    """Return the answer that consists of phrases of the lists from its first word on."""
    words = words_of(code)
    at, end, kinds = _first(low), 0, list[Kind]()
    begin = at
    while at < len(low):
        kind, stop = _next(low, at, words)
        if kind is None:
            break
        between = _BETWEEN.match(low, stop)
        after = between.end() if between else stop
        rest = low[after:]
        is_over = not rest.strip() or (between is not None and between[0].strip() != "")
        if not is_over and _next(low, after, words)[0] is None and not words.begins("joints", low, after, len(low)):
            break  # "good catch", "i like that it is small": no answer
        kinds.append(kind)
        end = stop
        at = after
        if between is None:
            break
    if not kinds:
        return None
    rest = low[at:].strip()
    is_bare = not any(c.isalnum() for c in rest)
    kind = "do_it" if "do_it" in kinds else kinds[0]
    if rest.endswith(("?", "？")) and kind != "do_it":
        return None
    if words.has("undecided", low, at, len(low)):  # "sounds good, but let me sleep on it"
        return None
    return Answer(kind, code, begin, end, is_bare=is_bare)


def _next(low: str, at: int, words: Words) -> tuple[Kind | None, int]:
    best: tuple[Kind | None, int] = (None, at)
    kinds: tuple[Kind, ...] = ("do_it", "no", "yes")
    for kind in kinds:
        match = words.begins(kind, low, at, len(low))
        if match is not None and match.end() > best[1]:
            best = (kind, match.end())
    if best[0] is None:
        lead = words.begins("lead_ins", low, at, len(low))
        if lead is not None and lead.end() > at:
            after = _BETWEEN.match(low, lead.end())
            later = _next(low, after.end() if after else lead.end(), words) if after else (None, at)
            is_apart = after is not None and "," in after[0]
            if later[0] == "do_it" or (is_apart and later[0] == "no"):  # "hm, rather not"
                return later
    return best


def _first(low: str) -> int:
    return len(low) - len(low.lstrip())
