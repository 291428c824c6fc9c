"""Edits YAML text by lines. ruamel.yaml only locates entries; it never writes.

Written is the plainest YAML: block mappings and lists, texts in double quotes as JSON writes them.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from recollect.agents.install.values import AppendItem, Edit, SetKey, Undo, index_of_item, is_still_ours, nested
from recollect.errors import SettingsInvalid, SettingsRefused

BOM = "\ufeff"
_STEP = 2
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS = frozenset("true false yes no on off null y n".split())


def load(text: str) -> Any:
    """Return a document's value; an empty one is an empty mapping. Raises SettingsInvalid."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text.removeprefix(BOM))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise SettingsInvalid(f"not valid YAML: {error.problem}", line=line) from error
    except (YAMLError, ValueError) as error:
        raise SettingsInvalid("not valid YAML") from error
    return {} if value is None else value


def new_document(value: Mapping[str, Any]) -> str:
    """Return the text of a new file."""
    return "".join(f"{line}\n" for key, inner in value.items() for line in _lines(key, inner))


def insert(text: str, edit: Edit) -> str:
    """Return the text with an edit that is not in it yet; its tables are known to be mappings."""
    node = _composed(text)
    if node is None:
        return _at_end(text, _indented(_nested_lines(edit, 0), 0))
    header = None
    for depth, key in enumerate(edit.path):
        found = _find(node, key)
        if found is None:
            return _into_mapping(text, node, header, (edit, depth))
        is_leaf = depth == len(edit.path) - 1
        if is_leaf and isinstance(edit, SetKey):
            return _replaced(text, found[1], edit.value)
        if found[1].tag.endswith(":null") or (is_leaf and not found[1].value):
            return _into_empty(text, found, (edit, depth))
        header, node = found
    if node.flow_style:
        at = node.value[-1].end_mark.index
        return text[:at] + ", " + json.dumps(edit.value, ensure_ascii=False) + text[at:]
    indent = text.rfind("-", 0, node.value[-1].start_mark.index)
    column = indent - (text.rfind("\n", 0, indent) + 1)
    return _at_line(text, _line_after(text, node.value[-1]), _indented(_item_lines(edit.value), column))


def remove(text: str, undo: Undo) -> str:
    """Return the text without an edit, for a text that was changed since."""
    chain: list[tuple[Any, Any]] = []
    node = _composed(text)
    for key in undo.edit.path:
        found = _find(node, key) if node is not None else None
        if found is None:
            return text
        chain.append((node, found))
        node = found[1]
    data = _value(text, undo.edit.path)
    levels = undo.made
    if isinstance(undo.edit, AppendItem):
        index = index_of_item(data, undo.edit.value) if isinstance(data, list) else None
        if index is None:
            return text
        if len(data) > 1 or not levels:
            item = node.value[index]
            if node.flow_style:
                raise SettingsRefused("an item in a YAML flow list was changed by hand; remove it by hand")
            dash = text.rfind("-", 0, item.start_mark.index)
            return _cut_lines(text, dash, _line_after(text, item))
        levels -= 1
    elif not is_still_ours(data, undo):
        return text
    elif undo.replaced:
        return _replaced(text, node, undo.replaced[0])
    while levels and len(chain) > 1 and len(chain[-1][0].value) == 1:
        chain.pop()
        levels -= 1
    parent, (key_node, value_node) = chain[-1]
    if parent.flow_style:
        raise SettingsRefused(f"{key_node.value} in a YAML flow mapping was changed by hand; remove it by hand")
    end = (
        _line_after(text, value_node)
        if value_node.end_mark.index > key_node.end_mark.index
        else _next_line(text, key_node.end_mark.index)
    )
    return _cut_lines(text, key_node.start_mark.index, end)


def _composed(text: str) -> Any:
    from ruamel.yaml import YAML

    load(text)
    return YAML(typ="safe", pure=True).compose(text)


def _value(text: str, path: tuple[str, ...]) -> Any:
    value = load(text)
    for key in path:
        value = value[key]
    return value


def _find(node: Any, key: str) -> tuple[Any, Any] | None:
    if not isinstance(node.value, list):
        raise SettingsRefused(f"{key} cannot be put into something that is not a mapping")
    return next(((k, v) for k, v in node.value if k.value == key), None)


def _into_mapping(text: str, node: Any, header: Any, what: tuple[Edit, int]) -> str:
    """Put an entry into a mapping: on the line after its name, or at the end of the document."""
    lines = _nested_lines(*what)
    if node.flow_style:
        if header is None:
            raise SettingsRefused("this YAML document is one flow mapping; write it as a block to have it changed")
        edit, depth = what
        made = f"{json.dumps(edit.path[depth])}: {json.dumps(nested(edit, depth), ensure_ascii=False)}"
        if node.value:
            at = node.value[-1][1].end_mark.index
            return text[:at] + ", " + made + text[at:]
        return text[: node.start_mark.index] + "{" + made + "}" + text[node.end_mark.index :]
    indent = node.value[0][0].start_mark.column
    if header is None:
        return _at_end(text, _indented(lines, indent))
    return _at_line(text, _next_line(text, header.end_mark.index), _indented(lines, indent))


def _into_empty(text: str, found: tuple[Any, Any], what: tuple[Edit, int]) -> str:
    """Insert a key's value where nothing, `{}` or `[]` is written."""
    key, value = found
    edit, depth = what
    lines = _value_lines(nested(edit, depth))
    indent = key.start_mark.column + _STEP
    start, end = value.start_mark.index, value.end_mark.index
    cut = text[:start].rstrip(" ") + text[end:] if end > start else text
    return _at_line(cut, _next_line(cut, key.end_mark.index), _indented(lines, indent))


def _cut_lines(text: str, at: int, end: int) -> str:
    return text[: text.rfind("\n", 0, at) + 1] + text[end:]


def _replaced(text: str, node: Any, value: Any) -> str:
    if isinstance(node.value, list) or node.style in ("|", ">"):
        raise SettingsRefused("a YAML block is in the place of a plain value")
    return text[: node.start_mark.index] + _scalar(value) + text[node.end_mark.index :]


def _line_after(text: str, node: Any) -> int:
    """Return the start of the line after the last one that a node has text on."""
    while isinstance(node.value, list) and node.value and not node.flow_style:
        node = node.value[-1][1] if isinstance(node.value[-1], tuple) else node.value[-1]
    end: int = node.end_mark.index
    if getattr(node, "style", None) in ("|", ">"):
        return _next_line(text, len(text[:end].rstrip()))
    return _next_line(text, end)


def _next_line(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _at_line(text: str, at: int, lines: list[str]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    block = "".join(line + newline for line in lines)
    if at == len(text) and not text.endswith("\n"):
        return text + newline + block.removesuffix(newline)
    return text[:at] + block + text[at:]


def _at_end(text: str, lines: list[str]) -> str:
    if re.search(r"^\.\.\.", text, re.MULTILINE):
        raise SettingsRefused("this YAML file has an end mark (`...`); nothing can be added after it")
    return _at_line(text, len(text), lines)


def _indented(lines: list[str], columns: int) -> list[str]:
    return [" " * columns + line for line in lines]


def _nested_lines(edit: Edit, depth: int) -> list[str]:
    return _lines(edit.path[depth], nested(edit, depth))


def _lines(key: str, value: Any) -> list[str]:
    name = key if _PLAIN.fullmatch(key) and key.lower() not in _WORDS else json.dumps(key, ensure_ascii=False)
    if isinstance(value, Mapping | list | tuple) and value:
        return [f"{name}:", *_indented(_value_lines(value), _STEP)]
    return [f"{name}: {_scalar(value)}"]


def _value_lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [line for key, inner in value.items() for line in _lines(key, inner)]
    return [line for item in value for line in _item_lines(item)]


def _item_lines(item: Any) -> list[str]:
    if isinstance(item, Mapping | list | tuple) and item:
        first, *rest = _value_lines(item)
        return [f"- {first}", *_indented(rest, _STEP)]
    return [f"- {_scalar(item)}"]


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    return json.dumps(value, ensure_ascii=False)
