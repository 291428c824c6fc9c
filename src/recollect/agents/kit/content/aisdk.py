"""Messages of the AI SDK (`ModelMessage`), as several agents write them: text, reasoning, tool-call, tool-result.

Tolerant: any decoded JSON. Evidence: the AI SDK's published types, versions 4 to 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import base64_part, content_text, without_opaque
from recollect.agents.kit.content.openai import data_url_part
from recollect.agents.kit.reading import Reading
from recollect.agents.kit.turns import give_call, give_result
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Json,
    Lifecycle,
    Origin,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_ALL = frozenset(("type", "providerOptions", "providerMetadata", "experimental_providerMetadata"))
_FIELDS: dict[str, frozenset[str]] = {
    "text": _ALL | {"text"},
    "reasoning": _ALL | {"text", "signature"},
    "redacted-reasoning": _ALL | {"data"},
    "image": _ALL | {"image", "mediaType", "mimeType"},
    "file": _ALL | {"data", "mediaType", "mimeType", "filename"},
    "tool-call": _ALL | {"toolCallId", "toolName", "input", "args", "providerExecuted", "title"},
    "tool-result": _ALL
    | {"toolCallId", "toolName", "output", "result", "content", "isError", "error", "text", "value"},
}
_SPOKEN = frozenset(("text", "image", "file"))
_FAILED = frozenset(("error-text", "error-json", "execution-denied"))
_OUTPUTS = frozenset(("text", "json", "content", *_FAILED))


class Speaker(NamedTuple):
    """Who wrote a message, and what is known of it beside its content. fields: what the agent adds to blocks."""

    role: str
    name: str | None
    """The message's id, which names what is in it; None: its record's hash does."""
    model: str = ""
    origin: Origin = "human"
    fields: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    """Types of blocks that the caller reads itself."""


def read_content(reading: Reading[Any], content: Json, speaker: Speaker) -> None:
    """Give what a message holds: its texts, images and files as one message, the other blocks one by one."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if blocks is None:
        return
    if not isinstance(blocks, list):
        reading.wrong("content")
        reading.kept("content", blocks, native_id=speaker.name)
        return
    is_said = False
    for number, block in enumerate(blocks, 1):
        kind = text(mapping(block).get("type"))
        if kind in _SPOKEN and not is_said:
            is_said = True
            _say(reading, blocks, speaker)
        if kind not in speaker.others:
            _read_block(reading, block, kind, f"{speaker.name}/{number}" if speaker.name else None, speaker)


def output_of(block: dict[str, Any]) -> tuple[str, bool | None, Json]:
    """Return what a tool gave back as (text, whether it went well, structured)."""
    output = block.get("output", block.get("result", block.get("content")))
    is_error = block.get("isError") is True
    kind = text(mapping(output).get("type"))
    if isinstance(output, dict) and kind in _OUTPUTS:
        value = output.get("value", output.get("reason"))
        is_fine = kind not in _FAILED and not is_error
        if isinstance(value, str):
            return value, is_fine, None
        if kind == "content":
            return content_text(value), is_fine, None
        return "", is_fine, without_opaque(value)
    ok = False if is_error else None
    if output is None:
        said = text(block.get("text")) or text(block.get("value"))
        error = text(block.get("error"))
        return said or error, False if error else ok, None
    if isinstance(output, str):
        return output, ok, None
    if isinstance(output, list):
        return content_text(output), ok, None
    return "", ok, without_opaque(output)


def _say(reading: Reading[Any], blocks: list[Any], speaker: Speaker) -> None:
    texts: list[str] = []
    parts: list[Part] = []
    for block in map(mapping, blocks):
        kind = block.get("type")
        if kind == "text":
            texts.append(reading.text(block, "text"))
        elif kind in ("image", "file"):
            parts.append(_part(reading, block, kind))
    said = "\n".join(t for t in texts if t)
    if not said and not parts:
        return
    if speaker.role == "user":
        reading.add(UserMessage(said, speaker.origin, tuple(parts)), "user", native_id=speaker.name)
    elif speaker.role == "assistant":
        message_id = speaker.name or ""
        message = AssistantMessage(said, speaker.model, message_id=message_id, parts=tuple(parts))
        reading.add(message, "assistant", native_id=speaker.name)
    elif speaker.role == "system":
        reading.add(Instructions(said, "system"), native_id=speaker.name)
    else:
        reading.add(Lifecycle("message", text=said, detail={"role": speaker.role}), native_id=speaker.name)


def _part(reading: Reading[Any], block: dict[str, Any], kind: str) -> Part:
    data = block.get("image", block.get("data"))
    media_type = text(block.get("mediaType")) or text(block.get("mimeType"))
    path = text(block.get("filename"))
    if isinstance(data, str) and (data.startswith("data:") or "://" in data[:16]):
        part, is_readable = data_url_part(kind, data)
    else:
        part, is_readable = base64_part(kind, media_type, data, path=path)
    if not is_readable:
        reading.wrong(f"{kind}.data", "bad_base64")
    return part


def _read_block(reading: Reading[Any], block: Json, kind: str, where: str | None, speaker: Speaker) -> None:
    known = _FIELDS.get(kind)
    if known is None or not isinstance(block, dict):
        if isinstance(block, str):
            reading.kept("text", block, native_id=where)
        else:
            reading.unknown(kind or "block", block, native_id=where)
        return
    read = _READERS.get(kind)
    if read is not None:
        read(reading, block, where, speaker)
    reading.extra(block, known | speaker.fields, kind, native_id=where)


def _read_reasoning(reading: Reading[Any], block: dict[str, Any], where: str | None, speaker: Speaker) -> None:
    thought = text(block.get("text"))
    is_encrypted = not thought and bool(block.get("signature") or block.get("data"))
    if thought or is_encrypted:
        message_id = speaker.name or ""
        reading.add(Thinking(thought, message_id, is_encrypted), "assistant", native_id=where)


def _read_call(reading: Reading[Any], block: dict[str, Any], where: str | None, speaker: Speaker) -> None:
    name = reading.text(block, "toolName")
    call_id = reading.text(block, "toolCallId")
    arguments = block.get("input", block.get("args"))
    give_call(reading, ToolCall(call_id, name, canonical_tool(name), arguments, speaker.name or ""), where)


def _read_result(reading: Reading[Any], block: dict[str, Any], where: str | None, speaker: Speaker) -> None:
    del speaker
    said, ok, structured = output_of(block)
    parts = tuple(
        _part(reading, item, "image")
        for item in map(mapping, items(mapping(block.get("output")).get("value")))
        if item.get("type") in ("media", "image-data") and isinstance(item.get("data"), str)
    )
    name = reading.text(block, "toolName")
    call_id = reading.text(block, "toolCallId")
    give_result(reading, ToolResult(call_id, name, ok, text=said, structured=structured, parts=parts), where)


_READERS: dict[str, Callable[[Reading[Any], dict[str, Any], str | None, Speaker], None]] = {
    "reasoning": _read_reasoning,
    "redacted-reasoning": _read_reasoning,
    "tool-call": _read_call,
    "tool-result": _read_result,
}
