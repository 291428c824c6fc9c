"""Applies ignore rules as git does, from `.gitignore` and `.recollectignore`.

Made for a walk from the top down: a pattern is asked of an entry itself, never of what lies below it, because nothing
below an ignored folder is looked at. So git's own rule holds by itself, that a file cannot be taken back in where a
folder above it is out. Evidence: git's documentation of gitignore, "PATTERN FORMAT"; the tests ask git itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

IGNORE_NAMES = (".gitignore", ".recollectignore")
"""In this order: of two lines that match in one folder the last one holds, so ours is the stronger."""
MAX_IGNORE_BYTES = 256 * 1024
"""An ignore file is read no further than this."""
_MAX_PATTERN_CHARS = 1_000
_MOST_TOGETHER = 500
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9",
    "graph": "\\x21-\\x7e", "lower": "a-z", "print": "\\x20-\\x7e", "punct": "!-/:-@\\[-`{-~", "space": "\\s",
    "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip


class _Rule(NamedTuple):
    """One line. regex: of a path below the line's folder. takes_in: the line begins with an exclamation mark."""

    regex: re.Pattern[str]
    is_of_folders: bool
    takes_in: bool


class IgnoreRules:
    """The lines of one folder, or of a configuration. Immutable."""

    def __init__(self, lines: Iterable[str], *, is_any_case: bool = False) -> None:
        """lines: in the syntax of .gitignore; what cannot be understood matches nothing, as in git."""
        flags = re.DOTALL | (re.IGNORECASE if is_any_case else re.NOFLAG)
        self._rules = tuple(rule for line in lines if (rule := _rule(line, flags)) is not None)[::-1]
        # Most paths match no line: one expression tells that at once.
        union = "|".join(f"(?:{rule.regex.pattern})" for rule in self._rules)
        self._any = re.compile(union, flags) if 1 < len(self._rules) <= _MOST_TOGETHER else None

    def __bool__(self) -> bool:
        return bool(self._rules)

    def says(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether a path ("/"-separated, below the folder of these lines) is ignored; None: no line matches."""
        if self._any is not None and self._any.fullmatch(path) is None:
            return None
        for rule in self._rules:
            if (is_folder or not rule.is_of_folders) and rule.regex.fullmatch(path) is not None:
                return not rule.takes_in
        return None


NO_RULES = IgnoreRules(())


class IgnoreStack:
    """The rules in force in one folder: its own and those of every folder above. Immutable; `below` makes the next."""

    def __init__(self, layers: Sequence[tuple[str, IgnoreRules]] = ()) -> None:
        """layers: (folder of the lines, "" or ending with a slash; rules), weakest first."""
        self._layers = tuple((prefix, rules) for prefix, rules in layers if rules)

    def below(self, prefix: str, rules: IgnoreRules) -> IgnoreStack:
        """Return the rules with those of a deeper folder, which are stronger."""
        return IgnoreStack((*self._layers, (prefix, rules))) if rules else self

    def says(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether a path below the top is ignored; None: no line matches. Its folder must not be ignored."""
        for prefix, rules in reversed(self._layers):
            if not path.startswith(prefix):
                continue
            said = rules.says(path.removeprefix(prefix), is_folder=is_folder)
            if said is not None:
                return said
        return None


def lines_of(data: bytes) -> list[str]:
    """Return the lines of an ignore file. A byte order mark is skipped; names need not be UTF-8."""
    text = data[:MAX_IGNORE_BYTES].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _rule(line: str, flags: int) -> _Rule | None:
    bare = line.rstrip(" ")
    is_quoted = len(bare) < len(line) and (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
    text = bare + " " if is_quoted else bare
    if not text or text.startswith("#") or len(text) > _MAX_PATTERN_CHARS:
        return None
    takes_in = text.startswith("!")
    text = text[1:] if takes_in else text
    is_of_folders = text.endswith("/")
    text = text[:-1] if is_of_folders else text
    is_rooted = "/" in text
    text = text.removeprefix("/")
    if not text:
        return None
    pattern = _translated(text)
    if pattern is None:
        return None
    try:
        regex = re.compile(pattern if is_rooted else f"(?:.*/)?{pattern}", flags)
    except re.error:
        return None
    return _Rule(regex, is_of_folders, takes_in)


def _translated(text: str) -> str | None:
    """Return a pattern as a regular expression of a whole path; None for one that can match nothing.

    The lines come from any repository, so no line may take long: what follows an asterisk is matched at the first
    place that fits and never elsewhere, which is enough, because all that comes after it is free to begin later.
    """
    segments = text.split("/")
    out: list[str] = []
    group: list[str] | None = None  # the segments after a "**", of which more asterisks no longer exist
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        if len(segment) > 1 and not segment.strip("*"):
            if is_last:
                piece = ".+" if number else ".*"
                out.append(f"{_first_of(group)}{piece}" if group is not None else piece)
                return "".join(out)
            if group:
                out.append(_first_of(group))
            group = []
            continue
        piece_of = _segment(segment)
        if piece_of is None:
            return None
        (out if group is None else group).append(piece_of if is_last else f"{piece_of}/")
    if group is not None:
        out.append(f"(?:.*/)?{''.join(group)}")
    return "".join(out)


def _first_of(group: list[str]) -> str:
    return f"(?>(?:[^/]*/)*?{''.join(group)})" if group else "(?:.*/)?"


def _segment(text: str) -> str | None:
    """Return the pattern of one name; None where it can match nothing."""
    fixed: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        char = text[at]
        if char == "*":
            if fixed[-1] or len(fixed) == 1:
                fixed.append([])
            at += 1
        elif char == "?":
            fixed[-1].append("[^/]")
            at += 1
        elif char == "[":
            found = _bracket(text, at)
            if found is None:
                return None
            fixed[-1].append(found[0])
            at = found[1]
        else:
            at += char == "\\"
            if at == len(text):
                return None
            fixed[-1].append(re.escape(text[at]))
            at += 1
    first, *rest = ("".join(pieces) for pieces in fixed)
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle) + f"[^/]*{last}"


def _bracket(text: str, at: int) -> tuple[str, int] | None:
    """Return a set of characters as an expression and where it ends; None where it has no end. Never a slash."""
    end = at + 1
    is_not = text[end : end + 1] in ("!", "^")
    end += is_not
    items: list[str] = []
    first = end
    while end < len(text) and (text[end] != "]" or end == first):
        if text.startswith("[:", end) and (close := text.find(":]", end)) > 0:
            named = _CLASSES.get(text[end + 2 : close])
            if named is None:
                return None
            items.append(named)
            end = close + 2
            continue
        low, end = _one(text, end)
        if text[end : end + 1] == "-" and text[end + 1 : end + 2] not in ("]", ""):
            high, end = _one(text, end + 1)
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            items.append(re.escape(low))
    if end >= len(text):
        return None
    inside = "".join(items)
    if not inside:
        return ("[^/]" if is_not else "(?!)"), end + 1
    return f"(?!/)[{'^' if is_not else ''}{inside}]", end + 1


def _one(text: str, at: int) -> tuple[str, int]:
    at += text[at] == "\\" and at + 1 < len(text)
    return text[at], at + 1
