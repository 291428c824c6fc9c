"""Tools of goose: their canonical names, what an edit's arguments ask for, and what a result holds.

Evidence: format notes: goose; the arguments of the developer extension in its two generations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.edits import edits_of
from recollect.model.payloads import FileEdit, Json, Part
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_OWN = ("developer__", "platform__", "todo__", "subagent__", "summon__", "dynamic_task__", "skills__")
"""Extensions that come with goose; the tools of all others are those of an MCP server."""
_WRITES = frozenset(("write", "str_replace", "insert", "edit_file", "create"))
"""Commands of `text_editor` that change a file; `view` and `undo_edit` give no text."""
_MAX_COUNT = 1 << 53


class Answer(NamedTuple):
    """What a tool gave back."""

    text: str
    ok: bool | None
    exit_code: int | None = None
    structured: Json = None
    parts: tuple[Part, ...] = ()
    is_readable: bool = True


def canonical(name: str) -> str:
    """Return the canonical name of a tool; goose writes `extension__tool`."""
    own = next((prefix for prefix in _OWN if name.startswith(prefix)), None)
    return canonical_tool(name if own is None else name.removeprefix(own))


def edits_asked_by(name: str, arguments: Json) -> tuple[FileEdit, ...]:
    """Return the edits that a call asks for."""
    given = mapping(arguments)
    tool = name.rpartition("__")[2]
    if tool == "text_editor" and text(given.get("command")) not in _WRITES:
        return ()
    if tool == "text_editor" and given.get("command") == "insert":
        given = {"path": given.get("path"), "old_str": "", "new_str": given.get("new_str")}
    elif tool == "edit" and "before" in given:
        given = {"path": given.get("path"), "old_str": given.get("before"), "new_str": given.get("after")}
    elif canonical(name) != "edit":
        return ()
    return edits_of(given) if given else ()


def answer_of(result: dict[str, Any]) -> Answer:
    """Read `toolResult`: `{status, value}` with a list, or an object around the list; or `{status, error}`."""
    if result.get("status") == "error" or ("error" in result and "value" not in result):
        error = result.get("error")
        return Answer(error if isinstance(error, str) else flatten(error), False)
    value = result.get("value", result if "content" in result else None)
    outer = mapping(value)
    texts, parts, is_readable = _contents(outer.get("content") if outer else value)
    structured = outer.get("structuredContent")
    exit_code = whole(mapping(structured).get("exit_code", mapping(structured).get("exitCode")))
    is_failed = outer.get("isError") is True or exit_code not in (None, 0)
    ok = False if is_failed else True if result.get("status") == "success" or outer.get("isError") is False else None
    return Answer("\n".join(texts), ok, exit_code, _beyond(structured, texts), parts, is_readable)


def _contents(content: Json) -> tuple[list[str], tuple[Part, ...], bool]:
    """Return texts, images, and whether these could be read. What is said to user and model alike comes once."""
    texts: list[str] = []
    parts: list[Part] = []
    is_readable = True
    for item in [content] if isinstance(content, str) else items(content):
        block = mapping(item)
        kind = text(block.get("type"))
        said = ""
        if kind in ("image", "audio"):
            part, is_fine = base64_part(kind, text(block.get("mimeType")), block.get("data"))
            parts.append(part)
            is_readable = is_readable and is_fine
        elif kind == "resource_link":
            parts.append(Part(type=kind, media_type=text(block.get("mimeType")), url=text(block.get("uri"))))
        elif kind == "resource":
            said = _resource(mapping(block.get("resource")), parts)
        elif kind == "text" or (not kind and "text" in block):
            said = text(block.get("text"))
        else:
            said = item if isinstance(item, str) else flatten(without_opaque(item))
        if said and said.strip() not in (known.strip() for known in texts):
            texts.append(said)
    return texts, tuple(parts), is_readable


def _resource(resource: dict[str, Any], parts: list[Part]) -> str:
    """Return the text of an embedded resource; its bytes become a part."""
    uri, media_type = text(resource.get("uri")), text(resource.get("mimeType"))
    if "blob" in resource:
        part, _ = base64_part("resource", media_type, resource.get("blob"), path=uri)
        parts.append(part)
        return ""
    parts.append(Part(type="resource", media_type=media_type, url=uri))
    return text(resource.get("text"))


def _beyond(structured: Json, texts: list[str]) -> Json:
    """Return what a structured result holds beyond the text."""
    if not isinstance(structured, dict):
        return structured
    said = "\n".join(texts)
    rest = {
        k: v
        for k, v in structured.items()
        if k not in ("exit_code", "exitCode")
        and v not in (None, "", [], {}, False)
        and not (isinstance(v, str) and v.strip() in said)
    }
    return rest or None


def clamped(count: int) -> int:
    """Return a count that can be added up for ever."""
    return min(count, _MAX_COUNT)
