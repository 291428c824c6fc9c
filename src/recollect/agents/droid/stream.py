"""Saved output of `droid exec --output-format stream-json`: a flat record for each message, call and result."""

from __future__ import annotations

from typing import Any

from recollect.agents.droid.results import add_result, operation_of
from recollect.agents.droid.state import Reading
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.calls import arrived, expect
from recollect.agents.kit.edits import edits_of
from recollect.agents.kit.naming import content_name, short
from recollect.model.payloads import (
    AssistantMessage,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_ENVELOPE = frozenset(("type", "id", "session_id", "sessionId", "timestamp"))
_FIELDS: dict[str, frozenset[str]] = {
    "system": frozenset(("subtype", "model", "cwd", "tools", "reasoning_effort", "reasoningEffort")),
    "message": frozenset(("role", "text")),
    "reasoning": frozenset(("text",)),
    "tool_call": frozenset(("toolCallId", "messageId", "toolId", "toolName", "parameters")),
    "tool_result": frozenset(("toolCallId", "messageId", "toolId", "isError", "value", "error")),
    "completion": frozenset(("finalText", "usage", "numTurns", "durationMs")),
    "error": frozenset(("source", "message")),
}


def stream_session(value: dict[str, Any]) -> str:
    """Return the session of a record of such output, "" for what is no such record."""
    kind = value.get("type")
    is_call = kind == "tool_call" and "toolName" in value and "parameters" in value
    is_end = kind == "completion" and "finalText" in value
    return text(value.get("session_id")) or text(value.get("sessionId")) if is_call or is_end else ""


def read_stream(reading: Reading) -> None:
    """Give the events of one record of saved output."""
    value = reading.value
    kind = reading.text(value, "type")
    reading.date(value.get("timestamp"))
    name = short(reading.text(value, "id"))
    reading.native_id = f"{kind}:{name or content_name(value)}" if kind in _FIELDS else None
    known = _FIELDS.get(kind)
    if known is None:
        reading.unknown(kind or "record")
        return
    match kind:
        case "system":
            start = SessionStart(cwd=reading.text(value, "cwd"), model=reading.text(value, "model"))
            reading.add(start, native_id="start")
            reading.set(model=short(start.model))
        case "message":
            _read_message(reading)
        case "reasoning":
            reading.add(Thinking(reading.text(value, "text")), "assistant")
        case "tool_call":
            _read_call(reading)
        case "tool_result":
            _read_result(reading)
        case "completion":
            _read_end(reading)
        case _:
            reading.add(Lifecycle("api_error", text=reading.text(value, "message")))
    reading.extra(value, _ENVELOPE | known, kind)


def _read_message(reading: Reading) -> None:
    said = reading.text(reading.value, "text")
    if reading.value.get("role") == "assistant":
        reading.add(AssistantMessage(said, reading.now("model")), "assistant")
        return
    head, mark, rest = said.partition("</system-reminder>")
    if mark and head.startswith("<system-reminder>"):
        reading.add(UserMessage(head + mark, "injected"), "user", native_id=f"{reading.native_id}/context")
        said = rest.lstrip()
    if said:
        reading.add(UserMessage(said), "user")


def _call_id(reading: Reading) -> str:
    return reading.text(reading.value, "toolCallId") or reading.text(reading.value, "id")


def _read_call(reading: Reading) -> None:
    call_id, name = _call_id(reading), reading.text(reading.value, "toolName")
    arguments = reading.value.get("parameters")
    native_id = f"call:{short(call_id)}" if call_id else None
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments), "assistant", native_id=native_id)
    edits = edits_of(arguments, operation_of(name)) if canonical_tool(name) == "edit" else ()
    expect(reading, call_id, name, edits)


def _read_result(reading: Reading) -> None:
    value = reading.value
    call_id = _call_id(reading)
    given = value.get("value", value.get("error"))
    facts = mapping(given)
    if not facts:
        add_result(reading, call_id, given if isinstance(given, str) else flatten(given), value.get("isError"))
        return
    exit_code = whole(facts.get("exitCode"))
    body = "\n".join(filter(None, (text(facts.get("stdout")), text(facts.get("stderr"))))) or flatten(facts)
    ok = value.get("isError") is not True and not exit_code
    call = arrived(reading, call_id)
    native_id = f"result:{short(call_id)}" if call_id else None
    reading.add(ToolResult(call_id, call.name, ok, exit_code, body), "tool", native_id=native_id)


def _read_end(reading: Reading) -> None:
    """Give the final answer, which no message repeats, and the tokens of the whole run."""
    value = reading.value
    said = reading.text(value, "finalText")
    if said:
        reading.add(AssistantMessage(said, reading.now("model")), "assistant")
    usage = reading.mapping(value, "usage")
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    put, got, read, written = (reading.count(usage, name) for name in names)
    if put or got or read or written:
        key = f"droid:{reading.state.session}:{reading.native_id}"
        payload = TokenUsage(reading.now("model"), put, got, read, written, dedupe_key=key)
        reading.add(payload, native_id=f"{reading.native_id}/usage")
