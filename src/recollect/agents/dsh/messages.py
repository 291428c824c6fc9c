"""Messages, calls, results and tokens.

Evidence: format notes: other agents, DeepSeek Harness; `SessionEventMap` as its readers check it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.dsh.state import Reading
from recollect.agents.dsh.stream import drop_streamed
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.calls import arrived, expect, give_edits
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.edits import edits_of
from recollect.agents.kit.naming import name_of, short
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Json,
    Lifecycle,
    Part,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_USER_FIELDS = frozenset(("id", "role", "content", "source", "turn"))
_ASSISTANT_FIELDS = frozenset(("turn", "step", "message", "usage", "stream", "interrupted"))
_MESSAGE_FIELDS = frozenset(("id", "role", "content", "source"))
_CALL_FIELDS = frozenset(("turn", "step", "callId", "name", "arguments"))
_RESULT_FIELDS = frozenset(("turn", "step", "message", "error", "meta"))
_COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


def content_of(reading: Reading, content: Json, name: str) -> tuple[str, tuple[Part, ...]]:
    """Return the text and the attachments of a message; a block of an unknown type is an event of its own."""
    if isinstance(content, str):
        return content, ()
    said: list[str] = []
    parts: list[Part] = []
    for number, block in enumerate(items(content), 1):
        kind = text(mapping(block).get("type"))
        if kind == "text":
            said.append(reading.text(block, "text"))
        elif kind in ("image", "file"):
            parts.append(_attachment(kind, mapping(block.get("attachment"))))
        elif kind not in ("reasoning", "tool-call", "tool-result"):
            reading.unknown(kind or "block", without_opaque(block), native_id=f"{name}/block/{number}")
    return "\n".join(filter(None, said)), tuple(parts)


def _attachment(kind: str, attachment: dict[str, Any]) -> Part:
    """Return an attachment, which lies in a store of its own; only its names stand here."""
    media_type = text(attachment.get("mediaType")) or text(attachment.get("mimeType"))
    size = whole(attachment.get("size")) or whole(attachment.get("bytes")) or 0
    path = text(attachment.get("path")) or text(attachment.get("name"))
    return Part(kind, text(attachment.get("sha256")), media_type, max(0, size), path, text(attachment.get("locator")))


def read_user(reading: Reading, data: dict[str, Any]) -> None:
    """Give a message in the user's role; a person's has the source `user`."""
    name = short(text(data.get("id"))) or name_of(reading, "user", data)
    source = reading.mapping(data, "source")
    said, parts = content_of(reading, data.get("content"), name)
    origin = text(source.get("kind"))
    payload = UserMessage(said, "human" if origin == "user" else "injected", parts)
    reading.add(payload, "user", native_id=name)
    reading.extra(data, _USER_FIELDS, "user/message", native_id=name)


def read_system(reading: Reading, data: dict[str, Any]) -> None:
    """Give a system prompt."""
    message = mapping(data.get("message")) or data
    name = short(text(message.get("id"))) or name_of(reading, "system", data)
    said, _ = content_of(reading, message.get("content"), name)
    reading.add(Instructions(said, text(mapping(message.get("source")).get("kind"))), native_id=name)


def read_assistant(reading: Reading, data: dict[str, Any]) -> None:
    """Give a response: thoughts, text, and the calls it asked for."""
    drop_streamed(reading)
    message = reading.mapping(data, "message")
    name = short(text(message.get("id"))) or name_of(reading, "assistant", message)
    model = text(mapping(message.get("source")).get("model")) or reading.now("model")
    content = message.get("content")
    said, parts = content_of(reading, content, name)
    blocks = [mapping(block) for block in items(content)]
    thought = "\n".join(text(b.get("text")) for b in blocks if b.get("type") == "reasoning")
    if thought:
        reading.add(Thinking(thought), "assistant", native_id=f"{name}/thinking")
    if said or parts:
        stop = "interrupted" if data.get("interrupted") is True else ""
        reading.add(AssistantMessage(said, model, stop, parts=parts), "assistant", native_id=name)
    for block in blocks:
        if block.get("type") == "tool-call":
            _give_call(reading, text(block.get("id")), text(block.get("name")), block.get("arguments"))
    read_usage(reading, mapping(data.get("usage")) or _usage_in(data.get("stream")), model, name=name)
    reading.extra(message, _MESSAGE_FIELDS, "assistant/message.message", native_id=name)
    reading.extra(data, _ASSISTANT_FIELDS, "assistant/message", native_id=name)


def _usage_in(stream: Json) -> dict[str, Any]:
    """Return the last count of a stream: each is the running total of the response."""
    chunks = [mapping(mapping(item).get("chunk")) for item in items(stream)]
    return next((mapping(c.get("usage")) for c in reversed(chunks) if c.get("type") == "usage"), {})


def read_usage(reading: Reading, usage: dict[str, Any], model: str, *, name: str) -> None:
    """Give a response's tokens: what is cached is no part of the input, what is thought is part of the output."""
    put, got, read, written, thought = (reading.count(usage, field) for field in _COUNTS)
    if put or got or read or written:
        # A fork repeats records with their times; only messages have ids that no other session has.
        is_message = not name.startswith(("assistant:", "compaction:"))
        key = f"dsh:{name}" if is_message else f"dsh:{name}@{whole(reading.value.get('time'))}"
        payload = TokenUsage(model, put, got, read, written, reasoning_tokens=min(thought, got), dedupe_key=key)
        reading.add(payload, "assistant", native_id=f"{name}/usage")


def read_call(reading: Reading, data: dict[str, Any]) -> None:
    """Give a call as it began to run; its response asked for it under the same name."""
    call_id = reading.text(data, "callId")
    _give_call(reading, call_id, reading.text(data, "name"), data.get("arguments"))
    reading.extra(data, _CALL_FIELDS, "tool/call", native_id=f"call:{short(call_id)}")


def _give_call(reading: Reading, call_id: str, name: str, written: Json) -> None:
    arguments = written
    if isinstance(written, str):
        try:
            arguments = msgspec.json.decode(written.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            reading.wrong("arguments", "bad_arguments")
    native_id = f"call:{short(call_id)}" if call_id else name_of(reading, "call", name, arguments)
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments), "assistant", native_id=native_id)
    expect(reading, call_id, name, edits_of(arguments) if canonical_tool(name) == "edit" else ())


def read_result(reading: Reading, data: dict[str, Any]) -> None:
    """Give a result. A failure is told by the block, by an error beside the message, or by an exit code."""
    message = reading.mapping(data, "message")
    block = next((mapping(b) for b in items(message.get("content")) if mapping(b).get("type") == "tool-result"), {})
    call_id = text(mapping(message.get("source")).get("callId")) or text(block.get("toolCallId"))
    name = f"result:{short(call_id)}" if call_id else name_of(reading, "result", message)
    said, parts = content_of(reading, block.get("content"), name)
    error, meta = reading.mapping(data, "error"), data.get("meta")
    facts = mapping(meta)
    code = whole(facts.get("exitCode"))
    ok = block.get("isError") is not True and not error and not code
    call = arrived(reading, call_id)
    structured = without_opaque({k: v for k, v in (("error", error), ("meta", meta)) if v}) or None
    payload = ToolResult(call_id, call.name, ok, code, said or flatten(error), structured, parts=parts)
    reading.add(payload, "tool", native_id=name)
    if ok:
        give_edits(reading, call.edits, short(call_id))
    reading.extra(data, _RESULT_FIELDS, "tool/result", native_id=name)


def see_model(reading: Reading, model: str) -> None:
    """Give a change of model."""
    before, now = reading.now("model"), short(model)
    if now and now != before:
        reading.set(model=now)
        name = f"model@{whole(reading.value.get('time'))}"
        reading.add(Lifecycle("model", model=model), native_id=name)
