"""What a reply of the assistant proposes: the options it lists, what it asks for, what it suggests."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from recollect.insights.language.options import Range, trimmed
from recollect.insights.language.pack import pack
from recollect.insights.language.projection import CAP, lower, project
from recollect.insights.language.reader import words_of
from recollect.insights.language.sentences import Sentence, Words, sentences

_TAIL: Final = 2_400
"""Characters at the end of a reply in which it may ask or suggest."""
_LABEL: Final = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+)?(?:\#{1,6}[ \t]+)?(?:\*\*)?(?:(?:option|variant|approach|variante|opción|opcion|opção"
    r"|opcao|вариант|方案|選択肢|案|选项|ansatz|enfoque|abordagem|approche)[ \t]*)?[(]?(\d{1,2}|[a-f])[).:：、]"
    r"(?:\*\*)?[ \t]*(\S[^\n]{1,400})",
    re.MULTILINE | re.IGNORECASE,
)
_BULLET: Final = re.compile(r"^[ \t]*([-*+•])[ \t]+(\S[^\n]{1,400})", re.MULTILINE)
_IN_LINE: Final = re.compile(
    r"(?<![^\s:,;])\(?(\d|[a-f])\)\s+([^\n();.?!]{3,200}?)"
    r"(?=[,;]?\s+(?:(?:or|and|oder|und|ou|et|или|либо|и|o|y|e)\s+)?\(?[\da-f]\)|[\n();.?!]|$)"
)
"""Options within a sentence: "either (a) a queue or (b) a table"."""
_ALTERNATIVES: Final = re.compile(r"[,;]?\s+(?:or|oder|ou|или|либо|o)\s+|还是|または|それとも")
_LISTED: Final = 12
_HEAD: Final = 40
"""Sentences at the beginning of a reply in which it may suggest something."""


class Listed(NamedTuple):
    """An option in a list of the reply: its label and the range of its words."""

    label: str
    span: Range


class Proposal(NamedTuple):
    """A reply that can be answered. (0, 0) where there is nothing of the kind.

    listed: options with labels. asked: the sentence that asks. offered: what it offers to do. suggested: what was
    suggested before. is_step: only a step of work is offered.
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
    """Return what was suggested, in the first of some sentences that suggests something by name."""
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
