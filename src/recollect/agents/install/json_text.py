"""Edits JSON and JSONC text: splices one member in or out and leaves the rest unchanged.

A new member stands after the last one, in the file's own indentation and line ends, behind a comment at the end of the
last one's line; a file that ends its lists with a comma gets one after ours too.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from recollect.agents.install.values import AppendItem, Edit, SetKey, Undo, index_of_item, is_still_ours, nested
from recollect.errors import SettingsInvalid

# A scanner of JSON with places: where every key, value, comma and comment of a document stands.
#
# The standard decoder gives values without places. Comments and trailing commas are told and may be refused (`json`) or
# taken (`jsonc`). A key that stands twice is refused: agents differ in which one counts.

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
    """Return whether the text between two tokens contains a comment."""
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
            found = _SPACE.match(self._text, at)
            at = found.end() if found else at
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


_SAME_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*.*?\*/)", re.DOTALL)
_DEFAULT_INDENT = "  "
_INLINE_CHARACTERS = 100
"""What is longer stands on lines of its own also where its neighbours share one."""


def load(text: str, *, comments: bool) -> Any:
    """Return a document's value; an empty one is an empty object. Raises SettingsInvalid.

    Most documents are plain JSON, which the standard decoder reads many times faster; what it does not take, the
    scanner reads, or says what is wrong with it.
    """
    if is_blank(text):
        return {}
    try:
        return json.loads(text.removeprefix(BOM), object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return scan(text, comments=comments).value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError
    return value


def _refuse(word: str) -> Any:
    raise ValueError(word)


def is_blank(text: str) -> bool:
    """Return whether a file is still empty."""
    return not text.removeprefix(BOM).strip()


def new_document(value: Any) -> str:
    """Return the text of a new file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def insert(text: str, edit: Edit, *, comments: bool) -> str:
    """Return the text with an edit that is not in it yet; its tables are known to be tables."""
    if is_blank(text):
        text = (BOM if text.startswith(BOM) else "") + "{}" + (text.removeprefix(BOM) or "\n")
    node = scan(text, comments=comments)
    for depth, key in enumerate(edit.path):
        member = _find(node, key)
        is_last = depth == len(edit.path) - 1
        if member is None or (member.node.value is None and (not is_last or isinstance(edit, AppendItem))):
            rest = nested(edit, depth)
            if member is not None:
                return _replaced(text, member.node, rest)
            return _with_member(text, node, rest, key=key)
        if is_last and isinstance(edit, SetKey):
            return _replaced(text, member.node, edit.value)
        node = member.node
    return _with_member(text, node, edit.value)


def remove(text: str, undo: Undo, *, comments: bool) -> str:
    """Return the text without an edit, for a text that was changed since."""
    chain: list[tuple[Node, Member]] = []
    node = scan(text, comments=comments)
    for key in undo.edit.path:
        member = _find(node, key)
        if member is None:
            return text
        chain.append((node, member))
        node = member.node
    levels = undo.made
    if isinstance(undo.edit, AppendItem):
        index = index_of_item(node.value, undo.edit.value) if isinstance(node.value, list) else None
        if index is None:
            return text
        chain.append((node, node.members[index]))
    elif not is_still_ours(node.value, undo):
        return text
    elif undo.replaced:
        return _replaced(text, node, undo.replaced[0])
    while levels and len(chain) > 1 and _is_alone(text, *chain[-1]):
        chain.pop()
        levels -= 1
    return _without_member(text, *chain[-1])


def _find(node: Node, key: str) -> Member | None:
    return next((m for m in node.members if m.key == key), None)


def _with_member(text: str, node: Node, value: Any, *, key: str | None = None) -> str:
    if not node.members:
        return _with_first(text, node, value, key)
    last = node.members[-1]
    comma = skip_trivia(text, last.node.end)
    has_comma = text.startswith(",", comma)
    at = comma + 1 if has_comma else last.node.end
    indent = text[_line_start(text, last.start) : last.start]
    if not _starts_line(text, last.start):
        made = _member_text(value, key, indent="", newline="")
        if len(made) <= _INLINE_CHARACTERS:
            return text[:at] + (f" {made}," if has_comma else f", {made}") + text[at:]
        indent = _line_indent(text, node.start) + _unit(text)
    made = _newline(text) + indent + _member_text(value, key, indent=indent, newline=_newline(text), unit=_unit(text))
    note = _SAME_LINE.match(text, at)
    behind = note.end() if note else at
    if has_comma:
        return text[:behind] + made + "," + text[behind:]
    return text[: last.node.end] + "," + text[last.node.end : behind] + made + text[behind:]


def _with_first(text: str, node: Node, value: Any, key: str | None) -> str:
    newline, unit = _newline(text), _unit(text)
    base = _line_indent(text, node.start)
    indent = base + unit
    made = newline + indent + _member_text(value, key, indent=indent, newline=newline, unit=unit)
    inside = text[node.start + 1 : node.end - 1]
    kept = inside.rstrip() if comments_in(text, node.start + 1, node.end - 1) else ""
    return text[: node.start + 1] + kept + made + newline + base + text[node.end - 1 :]


def _without_member(text: str, node: Node, member: Member) -> str:
    index = node.members.index(member)
    before = node.members[index - 1].node.end if index else node.start + 1
    comma = skip_trivia(text, member.node.end)
    has_comma = text.startswith(",", comma)
    lead = len(text[: member.start].rstrip(" \t\r\n"))
    if has_comma:
        return text[:lead] + text[comma + 1 :]
    if index:
        previous = skip_trivia(text, before)
        return text[:previous] + text[previous + 1 : max(lead, previous + 1)] + text[member.node.end :]
    rest = text[member.node.end : node.end - 1]
    return text[:lead] + (rest if rest.strip() else "") + text[node.end - 1 :]


def _is_alone(text: str, node: Node, member: Member) -> bool:
    if len(node.members) != 1:
        return False
    return not (comments_in(text, node.start + 1, member.start) or comments_in(text, member.node.end, node.end - 1))


def _replaced(text: str, node: Node, value: Any) -> str:
    indent = _line_indent(text, node.start)
    made = _value_text(value, indent=indent, newline=_newline(text), unit=_unit(text))
    return text[: node.start] + made + text[node.end :]


def _member_text(value: Any, key: str | None, *, indent: str, newline: str, unit: str = "") -> str:
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    return name + _value_text(value, indent=indent, newline=newline, unit=unit)


def _value_text(value: Any, *, indent: str, newline: str, unit: str) -> str:
    if not unit:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)


def _newline(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _unit(text: str) -> str:
    """Return one step of the file's indentation, by its first indented line."""
    for line in text.splitlines():
        stripped = line.lstrip(" \t")
        if stripped.startswith(('"', "{", "[")) and stripped != line:
            return line[: len(line) - len(stripped)]
    return _DEFAULT_INDENT


def _starts_line(text: str, at: int) -> bool:
    return not text[_line_start(text, at) : at].strip(" \t") and _line_start(text, at) > 0


def _line_indent(text: str, at: int) -> str:
    line = text[_line_start(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1
