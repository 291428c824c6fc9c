"""Answers to what was proposed: "yes", "no", "do that", "option 2", "the first one"."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal, NamedTuple

from recollect.insights.language.pack import CODES, pack, phrases
from recollect.insights.language.patterns import alternatives
from recollect.insights.language.projection import folded, project
from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.sentences import Words

ANSWER_CHARACTERS: Final = 320
"""A longer message is no answer by itself."""
_BARE_WORDS: Final = 14
_ORDINAL_WORDS: Final = 6
_PRAISE_WORDS: Final = 30

_NUMBER: Final = re.compile(r"[(\[]?(\d{1,2}|[a-f])(?![\w-])[.)\]:,]?(?=\s|$|[,.!])")
_BETWEEN: Final = re.compile(r"[\s,.!;:…，。！、)-]+")

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
    return re.compile(alternatives(named) + r"\s*[#(]?(\d{1,2}|[a-f])(?![\w-])") if named else None


@cache
def _ordinals(code: str) -> tuple[re.Pattern[str], ...]:
    found = pack(code)
    return tuple(re.compile(alternatives(phrases(o))) for o in found.lists.ordinals) if found else ()


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
