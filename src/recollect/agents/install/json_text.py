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

# Where every key, value and comma of a document stands.
#
# Comments and commas before an end are blanked, so that the standard decoder reads the rest, each token in its place.

_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\s\[{:,])\s*,(?=\s*[}\]])')
_decode = json.JSONDecoder().raw_decode
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
    load(text, comments=comments)
    plain = _plain(text) if comments else text.replace(BOM, " ", 1)
    return _node(plain, _skipped(plain, 0))


def skip_trivia(text: str, at: int) -> int:
    """Return the place after white space and comments."""
    return _skipped(_without_comments(text), at)


def comments_in(text: str, start: int, end: int) -> bool:
    """Return whether the text between two tokens contains a comment."""
    return "/" in text[start:end]


def _node(plain: str, at: int) -> Node:
    """Return the value at a place of a valid document."""
    if plain[at] not in "{[":
        return Node(at, *reversed(_decode(plain, at)))
    members: list[Member] = []
    here = _skipped(plain, at + 1)
    while plain[here] not in "}]":
        start, key = here, None
        if plain[at] == "{":
            key, here = _decode(plain, here)
            here = _skipped(plain, _skipped(plain, here) + 1)
            if any(member.key == key for member in members):
                raise _invalid(plain, start, f"the key {key!r} stands twice")
        members.append(Member(start, key, _node(plain, here)))
        here = _skipped(plain, members[-1].node.end)
        here = _skipped(plain, here + 1) if plain[here] == "," else here
    values = [member.node.value for member in members]
    value = dict(zip((m.key for m in members), values, strict=True)) if plain[at] == "{" else values
    return Node(at, here + 1, value, tuple(members))


def _skipped(plain: str, at: int) -> int:
    found = _SPACE.match(plain, at)
    return found.end() if found else at


def _plain(text: str) -> str:
    return _LAST_COMMA.sub(lambda token: _blank(token) if token[0].endswith(",") else token[0], _without_comments(text))


def _without_comments(text: str) -> str:
    return _TOKEN.sub(lambda token: _blank(token) if token[0][0] == "/" else token[0], text.replace(BOM, " ", 1))


def _blank(token: re.Match[str]) -> str:
    return re.sub(r"[^\r\n]", " ", token[0])


_SAME_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*.*?\*/)", re.DOTALL)
_DEFAULT_INDENT = "  "
_INLINE_CHARACTERS = 100
"""What is longer stands on lines of its own also where its neighbours share one."""


def load(text: str, *, comments: bool) -> Any:
    """Return a document's value; an empty one is an empty object. Raises SettingsInvalid.

    A key that stands twice is refused: agents differ in which one counts.
    """
    if is_blank(text):
        return {}
    plain = _plain(text) if comments else text.removeprefix(BOM)
    try:
        return json.loads(plain, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        is_end = plain[error.pos : error.pos + 1] in ("}", "]")  # wrong is then what stands before it
        raise _invalid(plain, len(plain[: error.pos].rstrip()) if is_end else error.pos, error.msg) from error
    except KeyError:
        return _node(plain, _skipped(plain, 0)).value  # finds the place of the second one, and raises
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"not valid JSON: {error}") from error


def _invalid(plain: str, at: int, why: str) -> SettingsInvalid:
    return SettingsInvalid(f"not valid JSON: {why}", line=plain.count("\n", 0, at) + 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise KeyError
    return value


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number")


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
        newline, unit = _newline(text), _unit(text)
        base = _line_indent(text, node.start)
        indent = base + unit
        made = newline + indent + _member_text(value, key, indent=indent, newline=newline, unit=unit)
        inside = text[node.start + 1 : node.end - 1]
        kept = inside.rstrip() if comments_in(text, node.start + 1, node.end - 1) else ""
        return text[: node.start + 1] + kept + made + newline + base + text[node.end - 1 :]
    last = node.members[-1]
    comma = skip_trivia(text, last.node.end)
    has_comma = text.startswith(",", comma)
    at = comma + 1 if has_comma else last.node.end
    line = _line_start(text, last.start)
    indent = text[line : last.start]
    if indent.strip(" \t") or not line:  # the last one stands behind something else
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


def _line_indent(text: str, at: int) -> str:
    line = text[_line_start(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1
