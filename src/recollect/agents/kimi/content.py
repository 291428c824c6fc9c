"""What messages and tool results hold, in the wire of both generations and in the context.

Evidence: format notes: Kimi CLI; kosong/message.py, kosong/tooling.
"""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.kimi.state import KimiReading, named
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.calls import Waiting, arrived, expect, file_edits
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.edits import edits_asked
from recollect.agents.kit.naming import content_sha256
from recollect.model.payloads import FileEdit, Instructions, Origin, Part, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_DATA_URL = re.compile(r"data:([^;,]{0,100})(?:;[^,]{0,100})?,")
_EXIT_CODE = re.compile(r"exit code:? ?(-?\d{1,9})\b")
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")
_NOTE = re.compile(r"\A<system>(.*?)</system>\s*", re.DOTALL)
_INJECTED = ("<system-reminder>", "<system>", "<git-context>", "<notification")
_TAIL_CHARS = 200
_DISPLAY = frozenset(("type", "path", "old_text", "new_text", "is_summary", "old_start", "new_start"))


def content_of(reading: KimiReading, content: Any) -> tuple[str, tuple[Part, ...]]:
    """Return text and media of a content: text, or a list of parts."""
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        if content is not None:
            reading.wrong("content")
        return flatten(content) if content is not None else "", ()
    texts: list[str] = []
    parts: list[Part] = []
    for item in content:
        kind = text(item.get("type")) if isinstance(item, dict) else ""
        if kind.endswith("_url"):
            parts.append(media_of(reading, item, kind))
        elif kind == "text":
            texts.append(text(item.get("text")))
        elif kind == "think":
            continue
        else:
            texts.append(item if isinstance(item, str) else flatten(without_opaque(item)))
    return "\n".join(filter(None, texts)), tuple(parts)


def media_of(reading: KimiReading, item: dict[str, Any], kind: str) -> Part:
    """Return an `image_url`, `audio_url` or `video_url` part; the bytes of a data URL become a hash."""
    name = kind.removesuffix("_url")
    written = item.get(kind)
    url = text(written) or text(mapping(written).get("url"))
    found = _DATA_URL.match(url)
    if found is None:
        return Part(type=name, url=url)
    part, is_readable = base64_part(name, found[1], url[found.end() :])
    if not is_readable:
        reading.wrong(kind, "bad_base64")
    return part


def thoughts_of(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a content that are thoughts."""
    return [item for item in items(content) if isinstance(item, dict) and item.get("type") == "think"]


def origin_of(said: str) -> Origin:
    """Say who wrote a text in the user's role, by the forms that Kimi itself puts there."""
    if said.lstrip().startswith(_INJECTED):
        return "injected"
    return "command" if _COMMAND.match(said) else "human"


def add_call(reading: KimiReading, call_id: str, tool: str, arguments: Any, message_id: str = "") -> str:
    """Give a tool call and remember it until its result comes; return the name it was given under."""
    name = named(reading, "call", call_id)
    expect(reading, call_id, tool, edits_asked(tool, arguments))
    call = ToolCall(call_id, tool, canonical_tool(tool), arguments, message_id)
    reading.add(call, "assistant", native_id=name)
    return name


def add_result(reading: KimiReading, call_id: str, told: dict[str, Any], *, ok: bool | None) -> None:
    """Give a tool result and the edits it applied.

    told: `output` (text or parts), `message` (what the tool says about it), `display` (blocks for people), and others.
    """
    call = arrived(reading, call_id)
    said, parts = content_of(reading, told.get("output"))
    message = text(told.get("message"))
    body = f"{said}\n{message}" if said and message and message not in said else said or message
    blocks = [mapping(block) for block in items(told.get("display"))]
    diffs = [block for block in blocks if block.get("type") == "diff"]
    shown = [block for block in blocks if block.get("type") != "diff" and flatten(block) not in body]
    rest = {k: v for k, v in told.items() if k not in ("output", "message", "display", "is_error", "isError") and v}
    if shown:
        rest["display"] = shown
    tool = call.name if call else ""
    name = named(reading, "result", call_id)
    result = ToolResult(
        call_id, tool, ok, exit_code(tool, body, ok=ok), body, without_opaque(rest) or None, parts=parts
    )
    reading.add(result, "tool", native_id=name)
    if ok is not False:
        for i, edit in enumerate(_edits(reading, call, call_id, diffs)):
            reading.add(edit, "tool", native_id=f"{name.replace('result:', 'edit:', 1)}:{i}")


def split_note(content: Any) -> tuple[str, Any]:
    """Return what the agent says of a result in the context, in a leading `<system>` text, and the content itself."""
    if isinstance(content, str):
        found = _NOTE.match(content)
        return (found[1], content[found.end() :]) if found else ("", content)
    parts = items(content)
    first = mapping(parts[0]) if parts else {}
    found = _NOTE.match(text(first.get("text")))
    if found is None:
        return "", content
    rest = text(first.get("text"))[found.end() :]
    return found[1], [*([{**first, "text": rest}] if rest else []), *parts[1:]]


def exit_code(tool: str, body: str, *, ok: bool | None) -> int | None:
    """Return the exit code that a command's result ends with."""
    if canonical_tool(tool) != "shell" and ok is not False:
        return None
    found = _EXIT_CODE.search(body[-_TAIL_CHARS:])
    return int(found[1]) if found else None


def add_system_prompt(reading: KimiReading, prompt: object) -> None:
    """Give a system prompt; every repetition of the same one is the same event."""
    said = text(prompt)
    if said:
        reading.add(Instructions(said, "system"), native_id=f"system:{content_sha256(said)}")


def _edits(reading: KimiReading, call: Waiting | None, call_id: str, diffs: list[dict[str, Any]]) -> list[FileEdit]:
    """Return the edits that the result shows, else those that the call asked for."""
    for block in diffs:
        reading.extra(block, _DISPLAY, "display.diff")
    if not diffs:
        return file_edits(call) if call else []
    paths = {text(block.get("path")) for block in diffs}
    is_whole = call is not None and all(edit.before is not None or edit.after is not None for edit in call.edits)
    if call and call.edits and is_whole and all(whole(block.get("is_summary")) for block in diffs):
        return [edit for edit in file_edits(call) if edit.path in paths or not edit.path]
    return [
        FileEdit(
            text(block.get("path")),
            "modify" if text(block.get("old_text")) else "create",
            text(block.get("old_text")) or None,
            text(block.get("new_text")),
            call_id=call_id,
        )
        for block in diffs
    ]
