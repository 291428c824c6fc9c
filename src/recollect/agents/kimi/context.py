"""The context of kimi-cli: what the model sees, in the roles of a chat API. A view where there is a wire.

What wire and context say alike has the same name in both (`state.named`), so that the copy is no second event.
Evidence: format notes: Kimi CLI, "context.jsonl"; recorded contexts of 2025-10; kimi_cli/soul/context.py.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kimi.content import (
    add_call,
    add_result,
    add_system_prompt,
    content_of,
    origin_of,
    split_note,
    thoughts_of,
)
from recollect.agents.kimi.state import KimiReading, named_text
from recollect.agents.kit.access import text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.content.openai import arguments_of
from recollect.model.payloads import AssistantMessage, Instructions, Lifecycle, SessionStart, Thinking, UserMessage

_MESSAGE = frozenset(("role", "content", "tool_calls", "tool_call_id", "name", "partial"))
_CALL = frozenset(("type", "id", "function", "extras"))


def read_context(reading: KimiReading) -> None:
    """Give the events of one row of a context."""
    value, state = reading.value, reading.state
    role = text(value.get("role"))
    if state.role == "old_context" and not state.is_started:
        reading.set(is_started=True)
        begun = SessionStart(parent_session=state.parent_session, agent_name=state.agent)
        reading.add(begun, native_id="start")
    if role == "_checkpoint":
        number = reading.whole(value, "id")
        reading.add(Lifecycle("checkpoint", detail={"id": number}), native_id=f"checkpoint:{number}")
        reading.extra(value, frozenset(("role", "id")), role)
    elif role == "_usage":
        # The size of the context, not what a response cost.
        count = reading.whole(value, "token_count")
        reading.add(Lifecycle("context_size", detail={"tokens": count}))
        reading.extra(value, frozenset(("role", "token_count")), role)
    elif role == "_system_prompt":
        add_system_prompt(reading, value.get("content"))
    elif role in ("user", "assistant", "tool", "system", "developer"):
        _message(reading, role)
        reading.extra(value, _MESSAGE, f"context.{role}")
    else:
        reading.unknown(role or "context", without_opaque(value))


def _message(reading: KimiReading, role: str) -> None:
    value = reading.value
    content = value.get("content")
    if role == "tool":
        note, rest = split_note(content)
        told = {"output": rest, "message": note}
        add_result(reading, reading.text(value, "tool_call_id"), told, ok=not note.startswith("ERROR"))
        return
    said, parts = content_of(reading, content)
    if role == "user":
        reading.add(UserMessage(said, origin_of(said), parts), "user", native_id=named_text(reading, "user", said))
    elif role == "assistant":
        _assistant(reading, content)
        for call in reading.items(value, "tool_calls"):
            _call(reading, call)
    else:
        reading.add(Instructions(said, role), native_id=named_text(reading, "system", said))


def _assistant(reading: KimiReading, content: Any) -> None:
    for thought in thoughts_of(content):
        body = text(thought.get("think"))
        is_sealed = not body and bool(thought.get("encrypted"))
        reading.add(Thinking(body, "", is_sealed), "assistant", native_id=named_text(reading, "thought", body))
    for part in content if isinstance(content, list) else [content]:
        said, media = content_of(reading, [part] if isinstance(part, dict) else part)
        if said or media:
            reading.add(AssistantMessage(said, parts=media), "assistant", native_id=named_text(reading, "said", said))


def _call(reading: KimiReading, call: Any) -> None:
    if not isinstance(call, dict):
        reading.unknown("tool_calls", call)
        return
    function = reading.mapping(call, "function")
    arguments = arguments_of(reading, function.get("arguments"))
    add_call(reading, reading.text(call, "id"), reading.text(function, "name"), arguments)
    reading.extra(call, _CALL, "tool_call")
