"""How a tool's run went, what it changed in a canvas document, and the sources that an answer names."""

from __future__ import annotations

from typing import Any

from recollect.agents.chatgpt.contents import Said
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.payloads import FileEdit

_CREATE = "canmore.create_textdoc"
_UPDATE = "canmore.update_textdoc"
_WHOLE = ".*"
_SAYS = ("title", "url", "snippet", "text", "attribution", "q", "query", "name")
_MAX_REFERENCES = 400
_CANVAS = ("textdoc_id", "textdoc_type", "version", "title", "from_version", "create_source")


def failed(metadata: dict[str, Any], run: dict[str, Any]) -> bool | None:
    """Return False for a run that failed, True for one that succeeded, None where nothing says it.

    A message's own status tells only that it was delivered.
    """
    state = text(run.get("status")) or text(metadata.get("status"))
    if state.startswith("failed") or run.get("in_kernel_exception") or run.get("system_exception"):
        return False
    return True if state in ("success", "finished") else None


def structured_of(metadata: dict[str, Any], run: dict[str, Any], said: Said) -> dict[str, Any] | None:
    """Return what a result says beside its text; the code and the output of a run stand in call and text already."""
    found: dict[str, Any] = {}
    if run.get("status"):
        found["status"] = run["status"]
    broken = mapping(run.get("in_kernel_exception"))
    if broken:
        found["exception"] = {name: broken[name] for name in ("name", "args") if broken.get(name)}
    if run.get("system_exception"):
        found["system_exception"] = run["system_exception"]
    canvas = mapping(metadata.get("canvas"))
    if canvas:
        found["canvas"] = {name: canvas[name] for name in _CANVAS if canvas.get(name) is not None}
    for name in ("command", "args", "invoked_plugin"):
        if metadata.get(name):
            found[name] = metadata[name]
    if said.prompts:
        found["pictures"] = list(said.prompts)
    return found or None


def read_edits(
    reading: Reading[BaseState], key: str, call_id: str, tool: str, asked: dict[str, Any], canvas: dict[str, Any]
) -> None:
    """Give what a call changed in a canvas document. A pattern of `.*` stands for all of it; others are as written."""
    path = text(canvas.get("title")) or text(asked.get("name")) or text(canvas.get("textdoc_id"))
    if tool == _CREATE and isinstance(asked.get("content"), str):
        edit = FileEdit(path, "create", after=asked["content"], call_id=call_id)
        reading.add(edit, "tool", native_id=f"edit:{key}:1")
    elif tool == _UPDATE:
        for n, found in enumerate(map(mapping, items(asked.get("updates"))), 1):
            pattern, after = found.get("pattern"), found.get("replacement")
            before = pattern if isinstance(pattern, str) and pattern != _WHOLE else None
            edit = FileEdit(path, "modify", before, after if isinstance(after, str) else None, call_id=call_id)
            reading.add(edit, "tool", native_id=f"edit:{key}:{n}")


def read_references(metadata: dict[str, Any], names: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the pages and files that an answer names: their title, address and excerpt, each once."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    stack = [metadata[name] for name in reversed(names) if metadata.get(name)]
    while stack and len(found) < _MAX_REFERENCES:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            one = {name: value[name] for name in _SAYS if isinstance(value.get(name), str) and value[name].strip()}
            if "url" in one or "q" in one or "query" in one or one.keys() >= {"name", "text"}:
                found.setdefault(tuple(one.values()), one)
            stack.extend(v for v in reversed(value.values()) if isinstance(v, dict | list))
    return list(found.values())
