"""Tools of Forge: their canonical names, what an edit's arguments ask for, and what a result holds."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from recollect.agents.kit.calls import Waiting, edits_of
from recollect.agents.kit.content import base64_part, data_url_part
from recollect.agents.kit.values import items, mapping, text
from recollect.model.payloads import Json, Part
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_CANONICAL = {
    "fs_create": "edit", "fs_patch": "edit", "fs_read": "read", "fs_remove": "edit", "fs_search": "search",
    "fs_undo": "edit", "fs_write": "edit", "multi_patch": "edit", "net_fetch": "fetch", "patch": "edit",
    "process_shell": "shell", "remove": "edit", "sem_search": "search", "todo_read": "todo", "todo_write": "todo",
    "undo": "edit",
}  # fmt: skip
_OLD_PREFIX = "forge_tool_"
_EXIT_CODE = re.compile(r'<shell_output[^>]*\bexit_code="(-?\d{1,9})"|<exit_code>(-?\d{1,9})</exit_code>')
_STREAM = re.compile(r"<(stdout|stderr)\b[^>]*><!\[CDATA\[(.*?)\]\]></\1>", re.DOTALL)
_TAGS = re.compile(r"\s*<shell_output\b[^>]*>\s*|\s*</shell_output>\s*|<(?:stdout|stderr)\b[^>]*/>")
_WINDOW_CHARS = 4096
_NO_TEXT = ("remove", "undo", "fs_remove", "fs_undo")
_MAX_DEPTH = 8


class Output(NamedTuple):
    """The values of a tool's output."""

    texts: list[str]
    parts: list[Part]
    children: list[str]
    """Conversations of the agents that the tool started."""
    rest: list[Json]


def canonical(name: str) -> str:
    """Return the canonical name of a tool in any of Forge's generations of names."""
    short = name.removeprefix(_OLD_PREFIX)
    return _CANONICAL.get(short) or canonical_tool(short)


def call_of(call_id: str, name: str, arguments: Json) -> Waiting:
    """Return a call with the edits that it asks for."""
    short = name.removeprefix(_OLD_PREFIX)
    given = mapping(arguments)
    if canonical(name) != "edit" or short in _NO_TEXT:
        return Waiting(call_id, name)
    if "search" in given and "new_string" not in given:
        given = {**given, "new_string": given.get("content")}
    return Waiting(call_id, name, edits_of(given))


def removed_by(name: str, arguments: Json) -> str:
    """Return the path that a call deletes, or ""."""
    given = mapping(arguments)
    is_removal = name.removeprefix(_OLD_PREFIX) in ("remove", "fs_remove")
    return (text(given.get("path")) or text(given.get("file_path"))) if is_removal else ""


def exit_code_in(said: str) -> int | None:
    """Return the exit code that a shell's result states in its first tag."""
    found = _EXIT_CODE.search(said, 0, _WINDOW_CHARS)
    return int(found[1] or found[2]) if found else None


def printed_by(said: str) -> str:
    """Return what a shell printed, out of the tags around it; a result that holds more than that stays as it is."""
    if not said.startswith("<shell_output"):
        return said
    rest = _TAGS.sub("", _STREAM.sub("", said)).strip()
    return said if rest else "\n".join(body for _, body in _STREAM.findall(said) if body)


def output_of(values: Json) -> Output:
    """Read the values of an output: `{text: …}`, `{aI: {value, conversation_id}}`, images, and older variants."""
    output = Output([], [], [], [])
    for value in items(values):
        _read_value(value, output, 0)
    return output


def _read_value(value: Json, output: Output, depth: int) -> None:
    if value in ("empty", None) or depth >= _MAX_DEPTH:
        return
    if not isinstance(value, dict) or len(value) != 1:
        output.rest.append(value)
        return
    kind, inner = next(iter(value.items()))
    if kind in ("text", "markdown") and isinstance(inner, str):
        output.texts.append(inner)
    elif kind.lower() == "ai" and isinstance(inner, dict):
        output.texts.append(text(inner.get("value")))
        output.children.append(text(inner.get("conversation_id")))
    elif kind == "image" and isinstance(inner, dict):
        output.parts.append(data_url_part("image", text(inner.get("url")))[0])
    elif kind == "document" and isinstance(inner, dict):
        output.parts.append(document_part(inner))
    elif kind == "fileDiff" and isinstance(inner, dict):
        output.texts.append(f"[file diff: {text(inner.get('path'))}]")
        output.rest.append(inner)
    elif kind == "pair" and isinstance(inner, list) and inner:
        _read_value(inner[0], output, depth + 1)
    else:
        output.rest.append(value)


def document_part(document: dict[str, Any]) -> Part:
    """Return an attached document by its hash."""
    name, media_type = text(document.get("filename")), text(document.get("mime_type"))
    return base64_part("document", media_type, document.get("data"), path=name)[0]


def structured_of(output: Output) -> Json:
    """Return what of an output is neither text nor image, and where the agents it started spoke."""
    found: dict[str, Any] = {}
    children = [c for c in output.children if c]
    if children:
        found["conversations"] = children
    if output.rest:
        found["values"] = output.rest
    return found or None


def words_of(value: Json) -> str:
    """Return text as it is, and the text of anything else."""
    return value if isinstance(value, str) else "" if value is None else flatten(value)
