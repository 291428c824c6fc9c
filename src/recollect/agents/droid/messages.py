"""Messages: one line each, with Anthropic's blocks. The user's role also carries results, reminders and notices."""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.droid.results import operation_of, read_result
from recollect.agents.droid.state import Reading
from recollect.agents.kit.access import text
from recollect.agents.kit.calls import expect
from recollect.agents.kit.content.anthropic import CALL_TYPES, MEDIA_TYPES, block_text, media_part
from recollect.agents.kit.edits import edits_of
from recollect.agents.kit.naming import short
from recollect.model.payloads import AssistantMessage, Lifecycle, Part, Thinking, ToolCall, UserMessage
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_RECORD_FIELDS = frozenset(("type", "id", "timestamp", "parentId", "message"))
_MESSAGE_FIELDS = frozenset((
    "role", "content", "visibility", "modelId", "model", "reasoningEffort", "openaiMessageId", "openaiPhase",
    "openaiEncryptedContent", "openaiReasoningId", "chatCompletionReasoningField", "chatCompletionReasoningContent",
    "id",
))  # fmt: skip
_VISIBILITIES = frozenset(("llm_only", "user_only"))
_REMINDER = re.compile(r"\s*<system-(reminder|notification)>.*?</system-\1>\s*", re.DOTALL)
_FILE = re.compile(r"Contents of [^\n]{1,1000} \(lines \d+-\d+ of \d+\):\n")
"""A file named with @ in the prompt follows it as a block of its own."""


def read_message(reading: Reading) -> None:
    """Give the events of a message."""
    message = reading.mapping(reading.value, "message")
    role = reading.text(message, "role")
    content = message.get("content")
    if isinstance(content, str):
        blocks: list[Any] = [{"type": "text", "text": content}]
    else:
        blocks = content if isinstance(content, list) else []
        if content is not None and not isinstance(content, list):
            reading.wrong("message.content")
            blocks = [{"type": "text", "text": flatten(content)}]
    if role == "assistant":
        _read_assistant(reading, message, blocks)
    elif role == "user":
        _read_user(reading, message, blocks)
    else:
        reading.unknown(f"message/{role}" if role else "message")
    reading.extra(message, _MESSAGE_FIELDS, "message.message")
    reading.extra(reading.value, _RECORD_FIELDS, "message")


def _read_user(reading: Reading, message: dict[str, Any], blocks: list[Any]) -> None:
    visibility = reading.text(message, "visibility")
    reading.odd_value("message.visibility", visibility, _VISIBILITIES)
    said: list[str] = []
    injected: list[str] = []
    parts: list[Part] = []
    for number, block in enumerate(blocks, 1):
        kind = text(block.get("type")) if isinstance(block, dict) else ""
        if kind == "tool_result":
            read_result(reading, block)
        elif kind in MEDIA_TYPES:
            _add_media(reading, block, parts, said)
        elif kind == "text" or isinstance(block, str):
            human, harness = _sorted(block_text(block), is_first=number == 1)
            said.append(human)
            injected.append(harness)
        else:
            reading.unknown(kind or "block", block, native_id=_below(reading, f"block/{number}"))
    prompt, context = ("\n".join(filter(None, texts)) for texts in (said, injected))
    if visibility == "user_only":
        reading.add(Lifecycle("notice", text=prompt or context))
        return
    if visibility:
        prompt, context = "", "\n".join(filter(None, (prompt, context)))
    if context:
        reading.add(UserMessage(context, "injected"), "user", native_id=_below(reading, "context"))
    if prompt or parts:
        reading.add(UserMessage(prompt, "human", tuple(parts)), "user")


def _sorted(written: str, *, is_first: bool) -> tuple[str, str]:
    """Return (what the person wrote, what the harness added) of a block of text."""
    if not is_first and _FILE.match(written):
        return "", written
    reminders: list[str] = []
    while (found := _REMINDER.match(written)) is not None:
        reminders.append(found[0].strip())
        written = written[found.end() :]
    return written, "\n".join(reminders)


def _add_media(reading: Reading, block: dict[str, Any], parts: list[Part], said: list[str]) -> None:
    part, body, is_readable = media_part(block)
    parts.append(part)
    said.append(body)
    if not is_readable:
        reading.wrong("message.content.source.data", "bad_base64")


def _read_assistant(reading: Reading, message: dict[str, Any], blocks: list[Any]) -> None:
    model = reading.text(message, "modelId") or reading.text(message, "model")
    message_id = text(message.get("openaiMessageId"))
    counts: dict[str, int] = {}
    _see_model(reading, model)
    for number, block in enumerate(blocks, 1):
        kind = text(block.get("type")) if isinstance(block, dict) else ""
        if kind == "text" or isinstance(block, str):
            body = block_text(block)
            if body:
                reading.add(
                    AssistantMessage(body, model, "", message_id), "assistant", native_id=_next(reading, counts, "")
                )
        elif kind in ("thinking", "redacted_thinking"):
            thought = reading.text(block, "thinking") or text(block.get("text"))
            name = _next(reading, counts, "thinking")
            reading.add(Thinking(thought, message_id, is_encrypted=not thought), "assistant", native_id=name)
        elif kind in CALL_TYPES:
            _read_call(reading, block, message_id)
        elif kind in MEDIA_TYPES:
            part, body, _ = media_part(block)
            payload = AssistantMessage(body, model, "", message_id, (part,))
            reading.add(payload, "assistant", native_id=_next(reading, counts, "media"))
        else:
            reading.unknown(kind or "block", block, native_id=_below(reading, f"block/{number}"))


def _read_call(reading: Reading, block: dict[str, Any], message_id: str) -> None:
    call_id, name = reading.text(block, "id"), reading.text(block, "name")
    arguments = block.get("input")
    native_id = f"call:{short(call_id)}" if call_id else None
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments, message_id), "assistant", native_id=native_id)
    edits = edits_of(arguments, operation_of(name)) if canonical_tool(name) == "edit" else ()
    expect(reading, call_id, name, edits)


def _see_model(reading: Reading, model: str) -> None:
    before, now = reading.now("model"), short(model)
    if now and before and now != before:
        reading.add(Lifecycle("model", model=model), native_id=_below(reading, "model"))
    if now:
        reading.set(model=now)


def _next(reading: Reading, counts: dict[str, int], kind: str) -> str | None:
    """Return the name of the next block of a kind: the message's own, and below it from the second on."""
    count = counts[kind] = counts.get(kind, 0) + 1
    name = kind or "text"
    if not kind and count == 1:
        return reading.native_id
    return _below(reading, name if count == 1 else f"{name}/{count}")


def _below(reading: Reading, name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None
