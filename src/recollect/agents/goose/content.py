"""The blocks of one goose message, in a row of the database or a line of an older file.

Evidence: format notes: goose, "content_json"; the agent's published types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from recollect.agents.goose.state import Reading, occurrence
from recollect.agents.goose.tools import answer_of, canonical, edits_asked_by
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.calls import arrived, expect, file_edits
from recollect.agents.kit.content.anthropic import base64_part
from recollect.agents.kit.naming import content_name, short_name
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Json,
    Lifecycle,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten

_MADE_UP = re.compile(r"msg_\d{8}_\d+_")
"""Ids that a migration or an import gave to messages without one: another store of the same session has others."""
_INTERRUPTED_CALL = "Interrupted by the user"
_INTERRUPTED = re.compile(
    r"The existing call to \S+ was interrupted\. How would you like to proceed\?$"
    r"|We interrupted |Interrupted before the model replied"
)
"""What the harness says in the assistant's role after the user stopped it."""

_BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset(("type", "text", "annotations", "_meta")),
    "image": frozenset(("type", "data", "mimeType", "annotations", "_meta")),
    "thinking": frozenset(("type", "thinking", "signature")),
    "reasoning": frozenset(("type", "text")),
    "redactedThinking": frozenset(("type", "data")),
    "toolRequest": frozenset(("type", "id", "toolCall", "metadata", "_meta")),
    "frontendToolRequest": frozenset(("type", "id", "toolCall", "metadata", "_meta")),
    "toolResponse": frozenset(("type", "id", "toolResult", "metadata")),
    "toolConfirmationRequest": frozenset(("type", "id", "toolName", "arguments", "prompt")),
    "actionRequired": frozenset(("type", "data")),
    "systemNotification": frozenset(("type", "notificationType", "msg", "data")),
    "conversationCompacted": frozenset(("type", "msg")),
    "summarizationRequested": frozenset(("type", "msg")),
    "contextLengthExceeded": frozenset(("type", "msg")),
}
_NOTIFICATIONS = frozenset(("thinkingMessage", "inlineMessage", "creditsExhausted"))
_ACTIONS = frozenset(("toolConfirmation", "elicitation", "elicitationResponse"))


def name_of(reading: Reading, message_id: object, role: object, created: object, content: Json) -> str:
    """Return the name of a message: its id, else what it says and when. One id on two messages tells them apart."""
    said = [_gist(block) for block in items(content)] if isinstance(content, list) else [flatten(content)]
    gist = content_name([role, created, said])
    if isinstance(message_id, str) and message_id and not _MADE_UP.match(message_id):
        return occurrence(reading, short_name(message_id), gist)
    return occurrence(reading, gist, gist)


def _gist(block: Json) -> Json:
    """Return what stays of a block when titles and other notes are added to it."""
    if not isinstance(block, dict):
        return flatten(block)
    return [block.get(k) for k in ("type", "id", "text", "thinking", "msg")]


class Visibility:
    """Who sees a message: what only the model sees was written by the harness."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.is_seen_by_user = metadata.get("userVisible", metadata.get("user_visible")) is not False
        self.is_seen_by_agent = metadata.get("agentVisible", metadata.get("agent_visible")) is not False


def read_content(reading: Reading, role: str, content: Json, seen: Visibility, mid: str) -> None:
    """Give the events of a message's blocks: its texts as one message, the rest one by one."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        reading.wrong("content")
        reading.kept("content", blocks, native_id=mid)
        return
    is_said = False
    for number, block in enumerate(blocks, 1):
        if not is_said and text(mapping(block).get("type")) in ("text", "image"):
            is_said = True
            said, parts = _said(reading, blocks)
            _add_said(reading, role, said, parts, seen, mid)
        _read_block(reading, block, f"{mid}/{number}", mid)
    if not blocks and role == "assistant":
        reading.add(AssistantMessage(), "assistant", native_id=mid)
    is_talk = any(text(mapping(b).get("type")) in ("text", "toolRequest", "toolResponse") for b in blocks)
    if is_talk and seen.is_seen_by_user and not seen.is_seen_by_agent:
        reading.set(put_away=True)


def _said(reading: Reading, blocks: list[Any]) -> tuple[str, tuple[Part, ...]]:
    """Return all texts and images of a message."""
    texts: list[str] = []
    parts: list[Part] = []
    for block in blocks:
        kind = text(mapping(block).get("type"))
        if kind == "text":
            texts.append(reading.text(block, "text"))
        elif kind == "image":
            part, is_readable = base64_part("image", text(block.get("mimeType")), block.get("data"))
            parts.append(part)
            if not is_readable:
                reading.wrong("image.data", "bad_base64")
    return "\n".join(t for t in texts if t), tuple(parts)


def _add_said(reading: Reading, role: str, said: str, parts: tuple[Part, ...], seen: Visibility, mid: str) -> None:
    """Give a message's text: a person's, the model's, the harness's, or the summary of what was put away."""
    if not seen.is_seen_by_user:
        if reading.now("put_away") and said:
            reading.set(put_away=False)
            reading.add(Compaction(summary=said, continues_at=mid), native_id=f"{mid}/compaction")
        elif role == "user":
            reading.add(UserMessage(said, "injected", parts), "user", native_id=mid)
        else:
            reading.add(Lifecycle("context", text=said), native_id=mid)
    elif role == "user":
        reading.add(UserMessage(said, "human", parts), "user", native_id=mid)
    elif _INTERRUPTED.match(said):
        reading.add(Lifecycle("interrupted", text=said), native_id=mid)
    else:
        reading.add(AssistantMessage(said, parts=parts), "assistant", native_id=mid)


def _read_block(reading: Reading, block: Json, name: str, mid: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    known = _BLOCK_FIELDS.get(kind) if isinstance(kind, str) else None
    if known is None or not isinstance(kind, str):
        reading.unknown(kind if isinstance(kind, str) else "block", block, native_id=name)
        return
    read = _BLOCKS.get(kind)
    if read is not None:
        read(reading, block, mid if kind in _CALLS else name)
    reading.extra(block, known, kind, native_id=name)


def _read_thinking(reading: Reading, block: dict[str, Any], name: str) -> None:
    thought = text(block.get("thinking")) or text(block.get("text"))
    is_encrypted = not thought and bool(block.get("signature") or block.get("data"))
    if thought or is_encrypted:
        reading.add(Thinking(thought, is_encrypted=is_encrypted), "assistant", native_id=f"{name}/thinking")


def _read_request(reading: Reading, block: dict[str, Any], mid: str) -> None:
    """Give a call. One that the model wrote so that it could not be read is no call."""
    call_id = reading.text(block, "id")
    native_id = f"{mid}/call:{short_name(call_id)}"
    asked = reading.mapping(block, "toolCall")
    value = mapping(asked.get("value")) or (asked if "name" in asked else {})
    if not value:
        error = asked.get("error")
        words = error if isinstance(error, str) else flatten(error)
        reading.add(Lifecycle("invalid_tool_call", text=words, call_id=call_id), native_id=native_id)
        return
    name = reading.text(value, "name")
    arguments = value.get("arguments")
    reading.add(ToolCall(call_id, name, canonical(name), arguments), "assistant", native_id=native_id)
    expect(reading, call_id, name, edits_asked_by(name, arguments))
    title = text(mapping(block.get("_meta")).get("goose.toolSummary.title"))
    if title:
        reading.add(Lifecycle("tool_title", text=title, call_id=call_id), native_id=f"{native_id}/title")


def _read_response(reading: Reading, block: dict[str, Any], mid: str) -> None:
    call_id = reading.text(block, "id")
    native_id = f"{mid}/result:{short_name(call_id)}"
    call = arrived(reading, call_id)
    answer = answer_of(reading.mapping(block, "toolResult"))
    if not answer.is_readable:
        reading.wrong("toolResult.content.data", "bad_base64")
    name = call.name if call is not None else ""
    result = ToolResult(call_id, name, answer.ok, answer.exit_code, answer.text, answer.structured, parts=answer.parts)
    reading.add(result, "tool", native_id=native_id)
    if answer.ok is False and answer.text.startswith(_INTERRUPTED_CALL):
        reading.add(Lifecycle("interrupted", text=answer.text, call_id=call_id), native_id=f"{native_id}/interrupted")
    if call is not None and answer.ok is not False:
        for number, edit in enumerate(file_edits(call), 1):
            reading.add(edit, "tool", native_id=f"{native_id}/edit/{number}")


def _read_confirmation(reading: Reading, block: dict[str, Any], name: str) -> None:
    asked = {"tool": block.get("toolName"), "arguments": block.get("arguments")}
    prompt = text(block.get("prompt"))
    call_id = text(block.get("id"))
    reading.add(Lifecycle("permission", text=prompt, detail=asked, call_id=call_id), native_id=name)


def _read_action(reading: Reading, block: dict[str, Any], name: str) -> None:
    data = reading.mapping(block, "data")
    action = data.get("actionType")
    reading.odd_value("actionRequired.actionType", action, _ACTIONS)
    if action == "toolConfirmation":
        _read_confirmation(reading, data, name)
        return
    words = text(data.get("message"))
    rest = {k: v for k, v in data.items() if k not in ("actionType", "id", "message")}
    kind = "answer" if action == "elicitationResponse" else "question" if action == "elicitation" else "action"
    reading.add(Lifecycle(kind, text=words, detail=rest or None), native_id=name)


def _read_notification(reading: Reading, block: dict[str, Any], name: str) -> None:
    kind = block.get("notificationType")
    reading.odd_value("systemNotification.notificationType", kind, _NOTIFICATIONS)
    detail = {"type": kind, "data": block.get("data")}
    shown = {k: v for k, v in detail.items() if v is not None}
    reading.add(Lifecycle("notification", text=text(block.get("msg")), detail=shown or None), native_id=name)


def _read_compacted(reading: Reading, block: dict[str, Any], name: str) -> None:
    """Give the mark of older versions; it says in a sentence that there was a compaction."""
    reading.set(put_away=False)
    reading.add(Compaction(summary=text(block.get("msg"))), native_id=name)


def _read_message(reading: Reading, block: dict[str, Any], name: str) -> None:
    kind = "api_error" if block.get("type") == "contextLengthExceeded" else "compaction_requested"
    reading.add(Lifecycle(kind, text=text(block.get("msg"))), native_id=name)


_CALLS = frozenset(("toolRequest", "frontendToolRequest", "toolResponse"))
"""Blocks with ids of their own; the others are named by their place in the message."""
_BLOCKS: dict[str, Callable[[Reading, dict[str, Any], str], None]] = {
    "thinking": _read_thinking,
    "reasoning": _read_thinking,
    "redactedThinking": _read_thinking,
    "toolRequest": _read_request,
    "frontendToolRequest": _read_request,
    "toolResponse": _read_response,
    "toolConfirmationRequest": _read_confirmation,
    "actionRequired": _read_action,
    "systemNotification": _read_notification,
    "conversationCompacted": _read_compacted,
    "summarizationRequested": _read_message,
    "contextLengthExceeded": _read_message,
}
