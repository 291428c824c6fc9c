"""A scanner of JSON with places: where every key, value, comma and comment of a document stands.

The standard decoder gives values without places. Comments and trailing commas are told and may be refused (`json`) or
taken (`jsonc`). A key that stands twice is refused: agents differ in which one counts.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from recollect.errors import SettingsInvalid

MAX_DEPTH = 200
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}
BOM = "\ufeff"


class Node(NamedTuple):
    """A value and its place `[start, end)`. members: of an object or array, in order."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()


class Member(NamedTuple):
    """A member of an object, or an element of an array (`key` is None). start: of the key, or of the element."""

    start: int
    key: str | None
    node: Node


def scan(text: str, *, comments: bool) -> Node:
    """Return the document's value with places. Raises SettingsInvalid with the line of what is wrong."""
    scanner = _Scanner(text, comments)
    start = scanner.skip(len(BOM) if text.startswith(BOM) else 0)
    node = scanner.value(start, 0)
    rest = scanner.skip(node.end)
    if rest != len(text):
        scanner.fail(rest, "something stands after the end of the document")
    return node


def skip_trivia(text: str, at: int) -> int:
    """Return the place after white space and comments."""
    return _Scanner(text, True).skip(at)


def comments_in(text: str, start: int, end: int) -> bool:
    """Tell whether a stretch between two tokens holds a comment."""
    return "/" in text[start:end]


class _Scanner:
    def __init__(self, text: str, comments: bool) -> None:
        self._text = text
        self._comments = comments

    def fail(self, at: int, why: str) -> SettingsInvalid:
        """Raise with the line of a place."""
        raise SettingsInvalid(f"not valid JSON: {why}", line=self._text.count("\n", 0, at) + 1)

    def skip(self, at: int) -> int:
        while True:
            at = _end(_SPACE, self._text, at)
            if not self._text.startswith(("//", "/*"), at):
                return at
            if not self._comments:
                self.fail(at, "it has a comment")
            comment = _COMMENT.match(self._text, at)
            if comment is None:
                self.fail(at, "a comment has no end")
            else:
                at = comment.end()

    def value(self, at: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail(at, f"it is deeper than {MAX_DEPTH} levels")
        first = self._text[at : at + 1]
        if first in "{[" and first:
            return self._container(at, depth, "}" if first == "{" else "]")
        if first == '"':
            end = self._string_end(at)
            return Node(at, end, json.loads(self._text[at:end]))
        for word, value in _WORDS.items():
            if self._text.startswith(word, at):
                return Node(at, at + len(word), value)
        number = _NUMBER.match(self._text, at)
        if number is None:
            self.fail(at, "a value is missing" if at < len(self._text) else "it ends too early")
            raise AssertionError
        return Node(at, number.end(), json.loads(number[0]))

    def _string_end(self, at: int) -> int:
        string = _STRING.match(self._text, at)
        if string is None:
            self.fail(at, "a string is wrong or missing")
            raise AssertionError
        return string.end()

    def _container(self, at: int, depth: int, closing: str) -> Node:
        members: list[Member] = []
        here = self.skip(at + 1)
        while not self._text.startswith(closing, here):
            member = self._member(here, depth, closing)
            if member.key is not None and any(m.key == member.key for m in members):
                self.fail(here, f"the key {member.key!r} stands twice")
            members.append(member)
            here = self.skip(member.node.end)
            if self._text.startswith(",", here):
                comma, here = here, self.skip(here + 1)
                if self._text.startswith(closing, here) and not self._comments:
                    self.fail(comma, "a comma stands before the end")
            elif not self._text.startswith(closing, here):
                self.fail(here, f"a comma or `{closing}` is missing" if here < len(self._text) else "it ends too early")
        if closing == "}":
            value: Any = {str(m.key): m.node.value for m in members}
        else:
            value = [m.node.value for m in members]
        return Node(at, here + 1, value, tuple(members))

    def _member(self, at: int, depth: int, closing: str) -> Member:
        if closing == "]":
            return Member(at, None, self.value(at, depth + 1))
        end = self._string_end(at)
        colon = self.skip(end)
        if not self._text.startswith(":", colon):
            self.fail(colon, "a colon is missing")
        return Member(at, json.loads(self._text[at:end]), self.value(self.skip(colon + 1), depth + 1))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
