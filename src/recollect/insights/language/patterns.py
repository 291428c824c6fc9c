"""Compiles a pack's patterns to regular expressions and to words that must occur first.

The form of a pattern: packs/README.md. Every expression is bounded: slots and gaps have a greatest length, and no
repetition stands in another one that could match the same text in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from recollect.errors import BrokenInvariant
from recollect.insights.language.pack import Pack, PackRule, phrases
from recollect.late import PATTERNS, late_pattern

_PART: Final = late_pattern(
    r"\^{1,2}|\$|~|,|\+?\([^()]*\)|\[[^\[\]]*\]|<[\w|*]*\*[\w|*]*(?:-\w+)?>\??|\+?<\w+>\??|\{\w+(?::\d+)?\}|[^\s]+"
)
_SLOT_WORDS: Final = 12
_SLOT_CHARACTERS: Final = 40
_GAP_WORDS: Final = 4
_GAP_CHARACTERS: Final = 8
_FORM_CHARACTERS: Final = 24
"""Letters that a `*` of a word form stands for, at most."""

SPACELESS: Final = "\u2e80"
"""The first character of scripts that separate no words."""

TAKEN_IN: Final = "v"
"""Ends the name of a group whose option holds its verb."""

_BEFORE: Final = r"(?<![\w./-])"
_AFTER: Final = r"(?![\w-])"
_WORDS: Final = late_pattern(r"\w(?:.*\w)?\*?", re.DOTALL)
"""A phrase that begins and ends with a letter or digit, or continues (`*`)."""
_WORD: Final = r"(?!-\s)[^\s,;:!?]+(?::[^\s,;:!?]+)*"
_COMMA: Final = r"\s*[,;:-]"
_NO_SPACES: Final = r"[^,;:!?，。；：！？、\n]"
_CJK_COMMA: Final = r"\s*[,;:，；：、-]"
_END: Final = r"(?=\s*(?:$|[,;:.!?)]|…|-\s))"
_CJK_END: Final = r"(?=\s*(?:$|[,;:.!?)…，。；：！？、]|-\s))"


class _Part(NamedTuple):
    """A part of a pattern. kind: literal, form, slot, gap, comma, end. literals: what it may be; of a form: what it may
    not be; () for others. name: of a slot; the form itself."""

    kind: str
    literals: tuple[str, ...] = ()
    is_optional: bool = False
    name: str = ""
    words: int = _SLOT_WORDS
    or_comma: bool = False
    """Whether a comma will do as well: `(and|,)`, `[,]`."""
    is_taken_in: bool = False
    """A literal that belongs to the option after it (`+<verbs> {rejected}`)."""

    @property
    def is_needed(self) -> bool:
        """Whether one of its words occurs wherever the pattern matches."""
        return self.kind == "literal" and not self.is_optional and not self.or_comma


Group = tuple[str, ...]
"""Lower-case words of which one must occur; a `*` at the end: also longer words."""


class Gap(NamedTuple):
    """What may occur between two groups of a pattern. least, most: words; is_comma: a comma or the like is required;
    or_comma: one is allowed; is_end: the clause ends after it.
    """

    least: int = 0
    most: int = 0
    is_comma: bool = False
    or_comma: bool = False
    is_end: bool = False


class Pattern:
    """One pattern of a rule.

    is_at_start, is_at_sentence: it matches only at the start of a clause, of a sentence.
    """

    def __init__(self, rule: PackRule, written: str, pack: Pack) -> None:
        self.rule = rule
        self.is_at_start = written.lstrip().startswith("^")
        self.is_at_sentence = written.lstrip().startswith("^^")
        self.written = written
        self._pack = pack

    @cached_property
    def _parts(self) -> list[_Part]:
        return list(_parts(self.written, self._pack))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All that must occur wherever it matches, in their order."""
        groups = tuple(_distinct(part.literals) for part in self._parts if part.is_needed)
        if not groups:
            raise BrokenInvariant(f"the pattern {self.written!r} of {self.rule.id} has no word that must occur")
        return groups

    @property
    def begins(self) -> bool:
        """Whether a match begins with the first group."""
        return self._parts[0].is_needed

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps before each group, and after the last."""
        return tuple(_gaps(self._parts))

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The expression over lower-case text."""
        try:
            return PATTERNS.compile("".join(_expressions(self._parts, self._pack.spaces)))
        except re.error as error:
            raise BrokenInvariant(f"the pattern {self.written!r} of {self.rule.id} is none: {error}") from error


def _gaps(parts: Sequence[_Part]) -> Iterator[Gap]:
    """Yield the gaps before each needed part, and after the last."""
    gap, is_headed = Gap(), False
    for part in parts:
        if part.is_needed:
            yield gap
            gap, is_headed = Gap(), part.is_taken_in
            continue
        words = max((phrase.count(" ") + 1 for phrase in part.literals), default=0)
        if part.kind == "form":
            words, least = 1, int(not part.is_optional)
        elif part.kind == "slot":
            words, is_headed, least = part.words - is_headed, False, int(not is_headed)
        else:
            words, least = _GAP_WORDS if part.kind == "gap" else words, 0
        gap = Gap(
            gap.least + least,
            gap.most + words,
            gap.is_comma or part.kind == "comma",
            gap.or_comma or part.or_comma,
            gap.is_end or part.kind == "end",
        )
    yield gap


@lru_cache(maxsize=4096)
def _distinct(literals: tuple[str, ...]) -> Group:
    return tuple(sorted({p.lower().replace("’", "'") for p in literals}))


@lru_cache(maxsize=4096)
def alternatives(listed: tuple[str, ...]) -> str:
    """Return an expression for one of some phrases, longest first, with word boundaries where they begin or end so."""
    ordered = sorted({p.lower() for p in listed}, key=lambda p: (-len(p), p))
    words = [p for p in ordered if _WORDS.fullmatch(p) and is_spaced(p)]
    found = [_literal(p) for p in ordered if p not in words]
    if words:  # one boundary for all: far less to compile and to try
        bodies = "|".join(_body(p) + (r"\w*" if p.endswith("*") else "") for p in words)
        found.insert(0, f"{_BEFORE}(?:{bodies}){_AFTER}")
    return f"(?:{'|'.join(found)})"


def _literal(phrase: str) -> str:
    body = _body(phrase)
    if not is_spaced(phrase):
        return body
    before = _BEFORE if re.match(r"\w", phrase) else ""
    after = rf"\w*{_AFTER}" if phrase.endswith("*") else _AFTER if re.search(r"\w$", phrase) else ""
    return before + body + after


def _body(phrase: str) -> str:
    return r"\s+".join(re.escape(word) for word in phrase.rstrip("*").split())


def is_spaced(phrase: str) -> bool:
    """Whether a phrase is of a script that separates words."""
    return phrase.isascii() or max(phrase) < SPACELESS


def _parts(written: str, pack: Pack) -> Iterator[_Part]:
    for found in _PART.findall(written):
        if found in ("^", "^^"):
            continue
        is_taken_in, piece = found[0] == "+", found.lstrip("+")
        if piece == "$":
            yield _Part("end")
        elif piece == "~":
            yield _Part("gap", is_optional=True)
        elif piece == ",":
            yield _Part("comma")
        elif piece[0] == "{":
            name, _, words = piece[1:-1].partition(":")
            yield _Part("slot", name=name, words=int(words or _SLOT_WORDS))
        elif piece[0] == "<" and "*" in piece:
            form, _, name = piece.rstrip("?")[1:-1].partition("-")
            yield _Part("form", _listed(name, pack) if name else (), piece.endswith("?"), name=form)
        elif piece[0] == "<":
            name = piece.rstrip("?")[1:-1]
            yield _Part("literal", _listed(name, pack), piece.endswith("?"), is_taken_in=is_taken_in)
        elif piece[0] in "([":
            among = phrases(piece[1:-1].replace("|", ","))
            or_comma = "," in (p.strip() for p in piece[1:-1].split("|"))
            yield _Part("literal", among, piece[0] == "[", or_comma=or_comma, is_taken_in=is_taken_in)
        else:
            yield _Part("literal", phrases(piece))


def _listed(name: str, pack: Pack) -> tuple[str, ...]:
    listed = pack.words.get(name, getattr(pack.lists, name, ""))
    found = phrases(listed) if isinstance(listed, str) else ()
    if not found:
        raise BrokenInvariant(f"the language pack {pack.code} has no list {name!r}")
    return found


def _expressions(parts: Sequence[_Part], spaces: bool) -> Iterator[str]:
    between = r"(?:\s+|(?<='))" if spaces else r"\s*"  # after "d'" no blank comes
    is_first, seen, head = True, {"chosen": 0, "rejected": 0}, ""
    for position, part in enumerate(parts):
        before = "" if is_first else between
        if part.is_taken_in:
            head = alternatives(part.literals)
            continue
        if part.kind == "end":
            yield _END if spaces else _CJK_END
        elif part.kind == "comma":
            yield _COMMA if spaces else _CJK_COMMA
        elif part.kind == "gap":
            yield rf"(?:{before}{_WORD}){{0,{_GAP_WORDS}}}?" if spaces else rf"{_NO_SPACES}{{0,{_GAP_CHARACTERS}}}?"
        elif part.kind == "slot":
            is_last = all(later.is_optional for later in parts[position + 1 :])
            yield before + _slot(part, seen, head, spaces=spaces, is_last=is_last)
            head = ""
        elif part.kind == "form" and not part.is_optional:
            yield before + _form(part)
        elif part.or_comma:
            yield _or_comma(part, before, spaces=spaces)
        elif part.is_optional:
            body = _form(part) if part.kind == "form" else alternatives(part.literals)
            yield f"(?:{body}{between})?" if is_first else f"(?:{before}{body})?"
            if is_first:
                continue
        else:
            yield before + alternatives(part.literals)
        is_first = False


def _form(part: _Part) -> str:
    """Return the expression of one word of a form that is no phrase of a list."""
    some = rf"[\w-]{{0,{_FORM_CHARACTERS}}}"
    forms = "|".join(_WORD if form == "*" else form.replace("*", some) for form in part.name.split("|"))
    word = f"{_BEFORE}(?:{forms}){_AFTER}"
    # The list is tried last: few words have the form.
    return f"(?={word})(?!{alternatives(part.literals)}){word}" if part.literals else word


def _or_comma(part: _Part, before: str, *, spaces: bool) -> str:
    comma = _COMMA if spaces else _CJK_COMMA
    words = f"{before}{alternatives(part.literals)}|" if part.literals else ""
    return f"(?:{words}{comma})" + ("?" if part.is_optional else "")


def _slot(part: _Part, seen: dict[str, int], head: str, *, spaces: bool, is_last: bool) -> str:
    """Return the expression of a slot. head: what is taken into it, after which the rest may be missing."""
    lazy = "" if is_last else "?"
    more = rf"(?:\s+{_WORD}){{0,{part.words - 1}}}{lazy}"
    if spaces:
        inner = f"{head or _WORD}{more}"
    else:
        inner = rf"{head}{_NO_SPACES}{{{0 if head else 1},{_SLOT_CHARACTERS}}}{lazy}"
    if part.name not in seen:
        return f"(?:{inner})"
    seen[part.name] += 1
    return f"(?P<{part.name}{seen[part.name]}{TAKEN_IN if head else ''}>{inner})"
