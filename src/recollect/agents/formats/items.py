"""Parses items of the OpenAI Agents SDK for JavaScript: messages, reasoning, calls and results."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.calls import decoded_arguments, give_call, give_result
from recollect.agents.kit.content import data_url_part
from recollect.agents.kit.values import items, mapping, text
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Json,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_TEXTS = ("text", "input_text", "output_text", "refusal")
_IMAGES = frozenset(("input_image", "image"))
_STATUSES = frozenset(("in_progress", "completed", "incomplete"))
_ALL = frozenset(("id", "type", "providerData", "status"))
_FIELDS: dict[str, frozenset[str]] = {
    "message": _ALL | {"role", "content"},
    "reasoning": _ALL | {"content", "rawContent"},
    "function_call": _ALL | {"name", "callId", "arguments", "namespace"},
    "function_call_result": _ALL | {"name", "callId", "output"},
}


def read_item(reading: Reading[Any], model: str, extras: frozenset[str]) -> None:
    """Emit what one item says. extras: fields that the agent adds."""
    item = reading.value
    kind = text(item.get("type"))
    if kind not in _FIELDS:
        reading.unknown(kind or "record")
        return
    if kind == "message":
        said, parts = _content(reading, reading.value.get("content"))
        role = reading.text(reading.value, "role")
        if role == "user":
            reading.add(UserMessage(said, parts=parts), "user")
        elif role == "assistant":
            if said or parts:
                reading.add(AssistantMessage(said, model, parts=parts), "assistant")
        elif role in ("system", "developer"):
            reading.add(Instructions(said, role))
        else:
            reading.unknown(role or "message")
    elif kind == "reasoning":
        pieces = items(item.get("rawContent")) or items(item.get("content"))
        thought = "\n".join(t for t in (text(mapping(p).get("text")) for p in pieces) if t)
        if thought:
            reading.add(Thinking(thought), "assistant")
    elif kind == "function_call":
        name, call_id = reading.text(item, "name"), reading.text(item, "callId")
        call = ToolCall(call_id, name, canonical_tool(name), decoded_arguments(item.get("arguments")))
        give_call(reading, call, reading.native_id)
    else:
        _read_result(reading)
    reading.odd_value(f"{kind}.status", item.get("status"), _STATUSES)
    reading.extra(item, _FIELDS[kind] | extras, kind)


def _content(reading: Reading[Any], content: Json) -> tuple[str, tuple[Part, ...]]:
    """Return a message's text and images; text may also be under the name of its type."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    parts: list[Part] = []
    for block in items(content):
        given = mapping(block)
        if text(given.get("type")) in _IMAGES:
            parts.append(
                reading.readable(
                    data_url_part("image", text(given.get("image", given.get("imageUrl")))), "content.image"
                )
            )
            continue
        found = next((given[k] for k in _TEXTS if isinstance(given.get(k), str)), None)
        texts.append(found if found is not None else flatten(block))
    return "\n".join(t for t in texts if t), tuple(parts)


def _read_result(reading: Reading[Any]) -> None:
    """Emit a result. Whether it is one is all that its status says."""
    item = reading.value
    output = item.get("output")
    if isinstance(output, dict) and isinstance(output.get("text"), str):
        output = output["text"]
    is_content = isinstance(output, str | list)
    said, parts = _content(reading, output if is_content else [output] if output else [])
    ok = False if item.get("status") == "incomplete" else None
    result = ToolResult(reading.text(item, "callId"), reading.text(item, "name"), ok, text=said, parts=parts)
    give_result(reading, result, reading.native_id)
