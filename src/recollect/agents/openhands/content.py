"""Content blocks, thoughts, arguments and results, as all generations of OpenHands write them.

Evidence: format notes: OpenHands; openhands/sdk/llm/message.py, openhands/tools/file_editor.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.openhands.state import OpenHandsReading
from recollect.model.payloads import FileEdit, Part, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_DATA_URL_CHARS = 200
_EDITS = frozenset(("create", "str_replace", "insert", "undo_edit", "write", "edit"))
_SAID = frozenset(("kind", "content", "output", "old_content", "new_content", "is_error", "exit_code", "error"))


def content_of(reading: OpenHandsReading, content: Any) -> tuple[str, tuple[Part, ...]]:
    """Return text and images of a content: text, one block, or a list of blocks."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    parts: list[Part] = []
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        if not isinstance(block, dict):
            texts.append(flatten(block))
        elif isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif "image_urls" in block or "image_url" in block:
            written = block.get("image_urls", block.get("image_url"))
            parts += [_image(reading, url) for url in (written if isinstance(written, list) else [written])]
        else:
            texts.append(flatten(without_opaque(block)))
    return "\n".join(filter(None, texts)), tuple(parts)


def _image(reading: OpenHandsReading, written: Any) -> Part:
    url = text(written) or text(mapping(written).get("url"))
    if not url.startswith("data:"):
        return Part(type="image", url=url)
    head, _, data = url.partition(",")
    media_type = head[len("data:") : _DATA_URL_CHARS].partition(";")[0]
    part, is_readable = base64_part("image", media_type, data)
    if not is_readable:
        reading.wrong("image_urls", "bad_base64")
    return part


def thoughts_of(holder: dict[str, Any]) -> tuple[str, bool]:
    """Return the readable reasoning of a message or action, and whether there is only an unreadable one."""
    said = text(holder.get("reasoning_content"))
    blocks = [mapping(block) for block in items(holder.get("thinking_blocks"))]
    shown = "\n".join(text(block.get("thinking")) for block in blocks if text(block.get("thinking")))
    item = mapping(holder.get("responses_reasoning_item"))
    summary = "\n".join(flatten(entry) for entry in (*items(item.get("summary")), *items(item.get("content"))))
    found = [piece for piece in (said, shown, summary) if piece]
    thought = "\n".join(piece for i, piece in enumerate(found) if not any(piece in other for other in found[:i]))
    return thought, not thought and bool(blocks or item)


def canonical_of(name: str, arguments: Any) -> str:
    """Return the canonical name of a tool; the file editor reads too."""
    found = canonical_tool(name)
    is_view = isinstance(arguments, dict) and arguments.get("command") == "view"
    return "read" if found == "edit" and is_view else found


def result_of(
    reading: OpenHandsReading, observation: dict[str, Any], *, call_id: str, name: str
) -> tuple[ToolResult, FileEdit | None]:
    """Return a tool's result and the edit that it shows was applied.

    A command that failed is marked by its exit code only, which may stand in the metadata; -1 means that it still runs.
    """
    said, parts = content_of(reading, observation.get("content"))
    error = text(observation.get("error"))
    body = "\n".join(filter(None, (said or text(observation.get("output")), error if error not in said else "")))
    code = whole(observation.get("exit_code"))
    if code is None:
        code = whole(mapping(observation.get("metadata")).get("exit_code"))
    is_running = code == -1
    flag = observation.get("is_error")
    ok: bool | None = None if is_running or (flag is None and code is None and not error) else True
    if flag is True or error or (code is not None and code not in (0, -1)) or observation.get("timeout") is True:
        ok = False
    rest = {k: v for k, v in observation.items() if k not in _SAID and v not in (None, "", [], {}, False)}
    result = ToolResult(
        call_id, name, ok, None if is_running else code, body, without_opaque(rest) or None, parts=parts
    )
    return result, None if ok is False else edit_of(observation, call_id)


def edit_of(observation: dict[str, Any], call_id: str) -> FileEdit | None:
    """Return the edit that an observation of the file editor shows; None where it only looked."""
    before, after = observation.get("old_content"), observation.get("new_content")
    command = text(observation.get("command"))
    if not isinstance(after, str) or (command and command not in _EDITS):
        return None
    is_new = observation.get("prev_exist") is False
    return FileEdit(
        text(observation.get("path")),
        "create" if is_new else "modify",
        before if isinstance(before, str) else None,
        after,
        call_id=call_id,
    )
