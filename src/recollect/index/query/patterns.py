"""Splits infix patterns and regular expressions into term conditions and a condition on the text.

The index knows terms (runs of letters and digits), so `/fetch_\\w+\\(timeout/` becomes the pieces `fetch$` and
`^timeout`, whose terms come from the vocabulary; events that have all pieces are then verified against their text.

Cost is bounded: repetition inside repetition, look-around and back references are refused, so that on one term
of at most 64 bytes, or one line of text, matching is polynomial of a small degree.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

import msgspec

from recollect.late import late_pattern

MAX_REPETITIONS = 3
MAX_LINE_CHARS = 2000
"""Verification looks at this much of a line of text."""

_ELEMENT = late_pattern(
    r"""
    (?: \\(?P<escape>.)
      | \[\^?\]?(?P<set>(?:\\.|[^\]\\])*)\]
      | (?P<open>\()
      | (?P<char>.)
    )""",
    re.X | re.S,
)
_QUANTIFIER = late_pattern(r"(?:[*+?]|\{\d*,?\d*\})[?+]?")
_NEEDS_LINES = late_pattern(r"\\[bBAZ]|(?<!\[)\^|[$*+{]")
"""What an expression may have that depends on where a line ends, or takes long where it does not end."""
_ESCAPED = late_pattern(r"\\.", re.S)
_ESCAPED_OR_LARGE = late_pattern(r"(\\.)|[A-Z]", re.S)
_BY_NUMBER = late_pattern(r"\\[xuUN0-9]")
"""Signs that are written by their number or name."""
_SIMPLE_SET = late_pattern(r"(?:[^\W_]-[^\W_]|[^\W_]|\\d)+")
_SIMPLE_GROUP = late_pattern(r"(?:\?:)?[^\W_|]*(?:\|[^\W_|]*)*")


class Piece(msgspec.Struct, frozen=True):
    """What one term must match: `pattern` is searched in it; `literal` occurs in every match, in lower case."""

    pattern: re.Pattern[str]
    literal: str


class TermPattern(msgspec.Struct, frozen=True):
    """Every piece must match a term of the event; then, where `text` is given, it must be found in its text."""

    pieces: tuple[Piece, ...]
    text: re.Pattern[str] | None

    def is_in(self, text: str) -> bool:
        """Verify against an event's text, line by line."""
        if self.text is None:
            return True
        if not _NEEDS_LINES.search(self.text.pattern):
            # What stands in a line stands in the whole text, too, and most texts have it nowhere.
            found = search_any_case(self.text, text)
            if found is None:
                return False
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.end()]
            if len(line) <= MAX_LINE_CHARS and line.splitlines() == [line]:
                return True
        return any(self.text.search(line[:MAX_LINE_CHARS]) for line in text.splitlines())


def search_any_case(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Search a text with a pattern that ignores case. Of ASCII it takes a tenth of the time in small letters."""
    small = _in_small_letters(pattern.pattern) if text.isascii() else None
    return pattern.search(text) if small is None else small.search(text.lower())


@lru_cache(maxsize=64)
def _in_small_letters(source: str) -> re.Pattern[str] | None:
    """Return the expression for texts in small letters; None where that may be another one."""
    plain = _ESCAPED.sub("", source)
    has_ranges = "[" in plain and ("-" in plain or plain != plain.lower())
    if has_ranges or not source.isascii() or _BY_NUMBER.search(source):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of signs that may mean more in later versions of Python
        return re.compile(_ESCAPED_OR_LARGE.sub(lambda found: found[1] or found[0].lower(), source))


def from_wildcard(text: str) -> tuple[TermPattern | None, str]:
    """Return (pattern, note) of words with `*`. A star matches any letters and digits within one word."""
    pieces: list[Piece] = []
    parts = [part for part in re.split(r"[^\w*]+|_", text) if any(c.isalnum() for c in part)]
    for part in parts:
        runs = part.split("*")
        pattern = ".*".join(re.escape(run) for run in runs)
        longest = max(runs, key=len).lower()
        if part.count("*") <= MAX_REPETITIONS:
            pieces.append(Piece(_compile(f"^{pattern}$"), longest))
        else:
            pieces.append(Piece(_compile(re.escape(longest)), longest))
    if not pieces:
        return None, ""
    whole = r"[^\W_]*".join(re.escape(run) for run in text.strip("*").split("*"))
    return TermPattern(tuple(pieces), _compile(whole) if len(pieces) > 1 else None), ""


def from_regex(source: str) -> tuple[TermPattern | None, str]:
    """Return (pattern, note) of a regular expression; without a pattern the note says why."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = _compile(source)
    except (re.error, OverflowError, RecursionError) as error:
        return None, f"/{source}/ is not a regular expression ({error}); taken as words"
    if re.search(r"\(\?[^:]|\\[1-9]", source):
        return None, f"/{source}/ uses look-around, flags or back references, which are not supported; taken as words"
    elements = _elements(source)
    if elements is None or sum(e.is_repeated for e in elements) > MAX_REPETITIONS:
        return None, f"/{source}/ repeats too much to be matched quickly; taken as words"
    if any(e.text == "|" for e in elements):
        if any(e.role in "sg" and e.text != "|" for e in elements):
            return (
                None,
                f"/{source}/ mixes alternatives with spaces or signs; use OR between two patterns. Taken as words",
            )
        return TermPattern((Piece(whole, ""),), None), ""
    pieces = _pieces(elements)
    if not pieces:
        return None, f"/{source}/ has no letters or digits to look for; taken as words"
    is_one_term = all(e.role in "lp" or e.is_anchor for e in elements)
    note = ""
    if not is_one_term:
        note = "a regular expression over several words is matched within one line"
    elif any(e.is_anchor for e in elements):
        note = "^ and $ in a regular expression stand for the ends of a word"
    return TermPattern(pieces, None if is_one_term else whole), note


class _Element(msgspec.Struct, frozen=True):
    """role: l literal letter or digit, p part of a word, s surely between words, g may be anything."""

    text: str
    role: str
    is_repeated: bool
    is_anchor: bool = False


def _elements(source: str) -> list[_Element] | None:
    """Return the top-level elements, or None where repetition is nested."""
    elements: list[_Element] = []
    at = 0
    while at < len(source):
        found = _ELEMENT.match(source, at)
        if found is None:
            return None
        stop = found.end()
        inner = ""
        if found["open"]:
            stop = _group_end(source, at)
            inner = source[at + 1 : stop - 1]
        quantifier = _QUANTIFIER.match(source, stop)
        is_repeated = quantifier is not None and not quantifier[0].startswith("?")
        if is_repeated and inner and re.search(r"[*+{|]", inner):
            return None
        if inner and len(re.findall(r"[*+{]", inner)) > 1:
            return None
        text = source[at : quantifier.end() if quantifier else stop]
        role, is_anchor = _role(found, inner, quantifier[0] if quantifier else "")
        elements.append(_Element(text, role, is_repeated or bool(re.search(r"[*+{]", inner)), is_anchor))
        at += len(text)
    return elements


def _role(found: re.Match[str], inner: str, quantifier: str) -> tuple[str, bool]:
    is_optional = quantifier[:1] in ("?", "*") or quantifier.startswith(("{0", "{,"))
    char = found["escape"] or found["char"] or ""
    if found["open"]:
        return ("p" if _SIMPLE_GROUP.fullmatch(inner) else "g"), False
    if found["set"] is not None:
        is_simple = not found[0].startswith("[^") and _SIMPLE_SET.fullmatch(found["set"])
        return ("p" if is_simple else "g"), False
    if found["escape"]:
        if char in "bAZ":
            return "s", True
        if char == "d":
            return "p", False
        if char in "wSDB":
            return ("p" if char == "w" and not quantifier else "g"), False
        if char in "nrtfvsW":
            return ("g" if is_optional else "s"), False
    elif char in "^$":
        return "s", True
    elif char in ".|":
        return "g", False
    if char.isalnum():
        return ("p" if quantifier else "l"), False
    return ("g" if is_optional else "s"), False


def _pieces(elements: list[_Element]) -> tuple[Piece, ...]:
    """The pieces that narrow the search; if none has a literal to look up, all of them (a slower scan)."""
    pieces: list[Piece] = []
    run: list[_Element] = []
    before = "g"
    for element in (*elements, _Element("", "g", False)):
        if element.role in "lp":
            run.append(element)
            continue
        if run:
            literal = _longest_literal(run)
            body = "".join(e.text for e in run)
            pattern = ("^" if before == "s" else "") + f"(?:{body})" + ("$" if element.role == "s" else "")
            pieces.append(Piece(_compile(pattern), literal))
            run = []
        before = element.role
    return tuple([p for p in pieces if len(p.literal) >= 2] or pieces)


def _longest_literal(run: list[_Element]) -> str:
    best = current = ""
    for element in run:
        current = current + element.text[-1] if element.role == "l" else ""
        best = max(best, current, key=len)
    return best.lower()


def _group_end(source: str, at: int) -> int:
    depth = 0
    while at < len(source):
        if source[at] == "\\":
            at += 2
            continue
        if source[at] == "[":
            closing = _ELEMENT.match(source, at)
            if closing is not None and closing["set"] is not None:
                at = closing.end()
                continue
        depth += (source[at] == "(") - (source[at] == ")")
        at += 1
        if depth == 0:
            return at
    return len(source)


def _compile(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)
