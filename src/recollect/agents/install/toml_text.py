"""Edits TOML text: appends our table, adds single keys to their table, and cuts our lines out.

What stands in an inline table or array goes through tomlkit, if that gives the rest back as it was (it moves tables
that are not in one piece). The standard decoder is the judge of every text.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recollect.agents.install.values import (
    AppendItem,
    Edit,
    SetKey,
    Undo,
    index_of_item,
    value_at,
    with_edit,
    without_edit,
)
from recollect.errors import SettingsInvalid, SettingsRefused

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


# Where the statements of a TOML document stand: tables, arrays of tables, and pairs, each with its full path.
#
# The standard decoder decides where a statement ends: a pair continues over as many lines as it takes to be valid.


class Statement(NamedTuple):
    """A statement and its place `[start, end)`, whole lines. kind: `table` is `[a.b]`, `item` is `[[a.b]]`; `blank`
    includes comments. path: the full one. nth: of an item, its number in its array.
    """

    kind: Literal["table", "item", "pair", "blank"]
    start: int
    end: int
    path: tuple[str, ...] = ()
    nth: int = 0


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a valid document, in order. `text` has no byte order mark."""
    table: tuple[str, ...] = ()
    items: dict[tuple[str, ...], int] = {}
    for start, end, stretch in _stretches(text):
        first = stretch.lstrip()[:2]
        if not first or first[0] == "#":
            yield Statement("blank", start, end)
        elif first == "[[":
            table = _path_of(tomllib.loads(stretch))
            nth = items.get(table, 0)
            items[table] = nth + 1
            yield Statement("item", start, end, table, nth)
        elif first[0] == "[":
            table = _path_of(tomllib.loads(stretch))
            yield Statement("table", start, end, table)
        else:
            yield Statement("pair", start, end, (*table, *_key_of(stretch)))


def value_place(stretch: str) -> tuple[int, int]:
    """Return the place of the value in the text of a pair."""
    key_end = _key_end(stretch)
    start = key_end + 1 + len(stretch[key_end + 1 :]) - len(stretch[key_end + 1 :].lstrip())
    whole = tomllib.loads(stretch)
    at = stretch.find("#", start)
    while at >= 0:
        if _parses_to(stretch[:at], whole):
            return start, len(stretch[:at].rstrip())
        at = stretch.find("#", at + 1)
    return start, len(stretch.rstrip())


def _stretches(text: str) -> Iterator[tuple[int, int, str]]:
    start = end = 0
    held = ""
    for line in _physical_lines(text):
        held += line
        end += len(line)
        if _is_complete(held):
            yield start, end, held
            start, held = end, ""
    if held:
        yield start, end, held


def _physical_lines(text: str) -> list[str]:
    """TOML's lines end with a line feed only."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _is_complete(stretch: str) -> bool:
    try:
        tomllib.loads(stretch)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _parses_to(text: str, value: Any) -> bool:
    try:
        return bool(tomllib.loads(text) == value)
    except tomllib.TOMLDecodeError:
        return False


def _key_end(stretch: str) -> int:
    """Return the place of the equals sign: the first one after a valid key."""
    at = stretch.find("=")
    while at >= 0 and not _is_complete(stretch[:at] + "= 0"):
        at = stretch.find("=", at + 1)
    return at


def _key_of(stretch: str) -> tuple[str, ...]:
    return _path_of(tomllib.loads(stretch[: _key_end(stretch)] + "= 0"))


def _path_of(value: Any) -> tuple[str, ...]:
    path: list[str] = []
    while isinstance(value, dict | list) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        key, value = next(iter(value.items()))
        path.append(key)
    return tuple(path)


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LINE = re.compile(r"line (\d+)")
BOM = "\ufeff"


def load(text: str) -> Any:
    """Return a document's value. Raises SettingsInvalid."""
    try:
        return tomllib.loads(text.removeprefix(BOM))
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        raise SettingsInvalid("not valid TOML", line=int(line[1]) if line else 0) from error


def new_document(value: Mapping[str, Any]) -> str:
    """Return the text of a new file with plain keys."""
    return "".join(f"{_key(key)} = {_inline(inner)}\n" for key, inner in value.items())


def insert(text: str, edit: Edit) -> str:
    """Return the text with an edit that is not in it yet."""
    wanted = with_edit(load(text), edit)
    for way in (_with_table_at_end, _with_pair):
        new = way(text, edit)
        if new is not None and _says(new, wanted):
            return new
    document = _document(text)
    import tomlkit

    here: Any = document
    for key in edit.path[:-1]:
        if key not in here:
            here[key] = tomlkit.table()
        here = here[key]
    last = edit.path[-1]
    if isinstance(edit, SetKey):
        here[last] = _inline_item(edit.value) if isinstance(edit.value, Mapping) else edit.value
    elif last in here:
        here[last].append(_inline_item(edit.value) if isinstance(edit.value, Mapping) else edit.value)
    else:
        here[last] = [edit.value]
    return _dumped(text, document)


def remove(text: str, undo: Undo) -> str:
    """Return the text without an edit, for a text that was changed since."""
    wanted = without_edit(load(text), undo)
    for new in _cuts(text, undo):
        if _says(new, wanted):
            return new
    document = _document(text)
    _take(document, undo)
    return _dumped(text, document)


def _cuts(text: str, undo: Undo) -> Iterator[str]:
    """Yield the text without the lines of ours; the second time without the table that was made for them too."""
    mark = BOM if text.startswith(BOM) else ""
    body = text.removeprefix(BOM)
    found = list(statements(body))
    edit = undo.edit
    data = value_at(load(text), edit.path)
    nth = index_of_item(data, edit.value) if isinstance(edit, AppendItem) and isinstance(data, list) else None
    for place, one in enumerate(found):
        if one.kind == "pair" and one.path == edit.path and isinstance(edit, SetKey):
            if undo.replaced:
                yield mark + _with_value(body, one, undo.replaced[0])
                return
            yield mark + body[: one.start] + body[one.end :]
            headers = [s for s in found[:place] if s.kind == "table" and s.path == edit.path[:-1]]
            for header in headers[-1:]:
                yield mark + body[: header.start] + body[header.end : one.start] + body[one.end :]
            return
        is_ours = one.nth == nth if isinstance(edit, AppendItem) else True
        if one.kind == ("item" if isinstance(edit, AppendItem) else "table") and one.path == edit.path and is_ours:
            yield mark + body[: one.start] + body[_end_of_table(found, place) :]
            return


def _end_of_table(found: Sequence[Statement], place: int) -> int:
    """Return where a table ends, its sub-tables with it: comments and empty lines at its end belong to what follows."""
    path = found[place].path
    end = found[place].end
    for one in found[place + 1 :]:
        if one.kind == "blank":
            continue
        if one.kind in ("table", "item") and (one.path[: len(path)] != path or one.path == path):
            break
        end = one.end
    return end


def _with_pair(text: str, edit: Edit) -> str | None:
    """Return the text with a pair added to the existing table, or with a new value in the existing pair."""
    if not isinstance(edit, SetKey):
        return None
    mark = BOM if text.startswith(BOM) else ""
    body = text.removeprefix(BOM)
    newline = "\r\n" if "\r\n" in text else "\n"
    line = f"{_key(edit.path[-1])} = {_inline(edit.value)}{newline}"
    at = 0 if len(edit.path) == 1 else None
    for one in statements(body):
        if one.kind == "pair" and one.path == edit.path:
            return mark + _with_value(body, one, edit.value)
        is_in_table = one.kind == "pair" and one.path[:-1] == edit.path[:-1] and at is not None
        if is_in_table or (one.kind == "table" and one.path == edit.path[:-1]):
            at = one.end
    if at is None:
        return None
    gap = newline if at and not body[:at].endswith("\n") else ""
    return mark + body[:at] + gap + (line.removesuffix(newline) if gap else line) + body[at:]


def _with_value(body: str, pair: Statement, value: Any) -> str:
    start, end = value_place(body[pair.start : pair.end])
    return body[: pair.start + start] + _inline(value) + body[pair.start + end :]


def _with_table_at_end(text: str, edit: Edit) -> str | None:
    """Return the text with a table of ours at its end; for a plain value, with the table around it."""
    if not isinstance(edit.value, Mapping):
        if isinstance(edit, AppendItem) or len(edit.path) == 1:
            return None
        edit = SetKey(edit.path[:-1], {edit.path[-1]: edit.value})
    newline = "\r\n" if "\r\n" in text else "\n"
    name = ".".join(_key(key) for key in edit.path)
    header = f"[[{name}]]" if isinstance(edit, AppendItem) else f"[{name}]"
    lines = [header, *(f"{_key(key)} = {_inline(inner)}" for key, inner in edit.value.items())]
    gap = ""
    if text.removeprefix(BOM):
        gap = newline if text.endswith("\n") else newline * 2
    return text + gap + newline.join(lines) + newline


def _says(text: str, wanted: Any) -> bool:
    try:
        return bool(load(text) == wanted)
    except SettingsInvalid:
        return False


def _document(text: str) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text.removeprefix(BOM))
    except TOMLKitError as error:
        raise SettingsInvalid(f"not valid TOML: {error}") from error
    if _dumped(text, document) != text:
        raise SettingsRefused("this TOML file cannot be changed without rewriting other parts of it")
    return document


def _dumped(text: str, document: TOMLDocument) -> str:
    import tomlkit

    return (BOM if text.startswith(BOM) else "") + tomlkit.dumps(document)


def _take(document: TOMLDocument, undo: Undo) -> None:
    """Take an edit out of inline tables and arrays."""
    tables: list[Any] = [document]
    for key in undo.edit.path[:-1]:
        tables.append(tables[-1][key])
    last = undo.edit.path[-1]
    levels = undo.made + 1
    if isinstance(undo.edit, AppendItem):
        del tables[-1][last][index_of_item(tables[-1][last].unwrap(), undo.edit.value)]
        if len(tables[-1][last]):
            return
        levels = undo.made
    elif undo.replaced:
        tables[-1][last] = undo.replaced[0]
        return
    for depth in range(len(tables) - 1, len(tables) - 1 - levels, -1):
        if depth < len(tables) - 1 and len(tables[depth + 1]):
            break
        del tables[depth][undo.edit.path[depth]]


def _inline_item(value: Mapping[str, Any]) -> Any:
    import tomlkit

    return tomlkit.value(_inline(value))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _inline(value: Any) -> str:
    """Return a value as TOML on one line. JSON's strings, numbers and truth are TOML's too."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return "{ " + inner + " }" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inline(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
