"""The wire of kimi-cli: `{timestamp, message: {type, payload}}`, one line per event.

Evidence: format notes: Kimi CLI, "wire.jsonl v1"; kimi_cli/wire/types.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.kimi.content import (
    add_call,
    add_result,
    content_of,
    media_of,
    origin_of,
)
from recollect.agents.kimi.state import MAX_ARGUMENT_CHARS, KimiReading, OpenCall, named_text
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.content.openai import arguments_of
from recollect.agents.kit.naming import is_encodable, is_storable
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_RECORD = frozenset(("timestamp", "message"))
_USAGE = frozenset(("input_other", "output", "input_cache_read", "input_cache_creation"))
_STATUS = frozenset(
    (
        "context_usage", "context_tokens", "max_context_tokens", "token_usage", "message_id", "plan_mode", "mcp_status",
    )
)  # fmt: skip
_TEXT = frozenset(("type", "text"))
_THINK = frozenset(("type", "think", "encrypted"))
_CALL = frozenset(("type", "id", "function", "extras"))
_RESULT = frozenset(("tool_call_id", "return_value", "result"))
_ASIDES = {
    "TurnEnd": "turn_ended",
    "StepBegin": "step_started",
    "StepInterrupted": "interrupted",
    "StepRetry": "retry",
    "CompactionBegin": "compaction_started",
    "HookTriggered": "hook",
    "HookResolved": "hook",
    "MCPLoadingBegin": "mcp",
    "MCPLoadingEnd": "mcp",
    "MCPStatusSnapshot": "mcp",
    "MCPServerSnapshot": "mcp",
    "ToolCallRequest": "tool_request",
    "BtwBegin": "side_question",
    "BtwEnd": "side_question",
}
"""Records that say only that something happened, and the lifecycle events they become."""


def start(reading: KimiReading) -> None:
    """Give the session's start, once: with the first record of a wire."""
    if reading.now("is_started"):
        return
    state = reading.state
    reading.set(is_started=True)
    version = text(reading.value.get("protocol_version"))
    begun = SessionStart(
        tool_version=f"wire {version}" if version else "",
        parent_session=state.parent_session,
        agent_name=state.agent if state.parent_session else "",
    )
    reading.add(begun, native_id="start")


def read_wire(reading: KimiReading) -> None:
    """Give the events of one record of the first generation's wire."""
    value = reading.value
    reading.date(value.get("timestamp"))
    start(reading)
    message = reading.mapping(value, "message")
    kind = text(message.get("type"))
    payload = reading.mapping(message, "payload")
    if kind != "ToolCallPart":
        reading.set(open_call=OpenCall())
    reader = _READERS.get(kind)
    if reader is not None:
        reader(reading, payload)
    elif kind in _ASIDES:
        detail = without_opaque(payload)
        call_id = text(payload.get("tool_call_id"))
        reading.add(Lifecycle(_ASIDES[kind], text=_words(payload), detail=detail or None, call_id=call_id))
    else:
        reading.unknown(kind or "wire", without_opaque(payload or value))
    reading.extra(value, _RECORD, "wire")


def _words(payload: dict[str, Any]) -> str:
    return "" if all(not isinstance(v, str) for v in payload.values()) else flatten(without_opaque(payload))


def _turn(reading: KimiReading, payload: dict[str, Any]) -> None:
    said, parts = content_of(reading, payload.get("user_input"))
    name = named_text(reading, "user", said)
    reading.add(UserMessage(said, origin_of(said), parts), "user", native_id=name)
    reading.extra(payload, frozenset(("user_input",)), "TurnBegin")


def _steer(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Give what the person typed while the agent worked."""
    said, parts = content_of(reading, payload.get("user_input"))
    reading.add(UserMessage(said, "queued", parts), "user", native_id=named_text(reading, "user", said))
    reading.extra(payload, frozenset(("user_input",)), "SteerInput")


def _part(reading: KimiReading, payload: dict[str, Any]) -> None:
    kind = text(payload.get("type"))
    if kind == "text":
        said = reading.text(payload, "text")
        reading.add(AssistantMessage(said), "assistant", native_id=named_text(reading, "said", said))
        reading.extra(payload, _TEXT, "ContentPart.text")
    elif kind == "think":
        thought = reading.text(payload, "think")
        is_sealed = not thought and bool(payload.get("encrypted"))
        reading.add(Thinking(thought, "", is_sealed), "assistant", native_id=named_text(reading, "thought", thought))
        reading.extra(payload, _THINK, "ContentPart.think")
    elif kind.endswith("_url"):
        part = media_of(reading, payload, kind)
        reading.add(AssistantMessage(parts=(part,)), "assistant")
    else:
        reading.unknown(f"ContentPart/{kind}", without_opaque(payload))


def _call(reading: KimiReading, payload: dict[str, Any]) -> None:
    call_id = reading.text(payload, "id")
    function = reading.mapping(payload, "function")
    tool = reading.text(function, "name")
    written = function.get("arguments")
    name = add_call(reading, call_id, tool, arguments_of(reading, written))
    raw = written if isinstance(written, str) else ""
    if is_storable(name) and is_storable(tool) and is_storable(call_id) and len(raw) <= MAX_ARGUMENT_CHARS:
        reading.set(open_call=OpenCall(name, call_id, tool, raw if is_encodable(raw) else ""))
    reading.extra(payload, _CALL, "ToolCall")


def _call_part(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Give the last call again with one more piece of its arguments: a longer version of the same event."""
    before = reading.state.open_call
    piece = text(payload.get("arguments_part"))
    raw = before.arguments + piece
    if not before.name or len(raw) > MAX_ARGUMENT_CHARS or not is_encodable(raw):
        reading.kept("ToolCallPart", piece)
        return
    reading.set(open_call=OpenCall(before.name, before.call_id, before.tool, raw))
    arguments = arguments_of(reading, raw)
    call = ToolCall(before.call_id, before.tool, canonical_tool(before.tool), arguments)
    reading.add(call, "assistant", native_id=before.name)


def _result(reading: KimiReading, payload: dict[str, Any]) -> None:
    told = reading.mapping(payload, "return_value") or reading.mapping(payload, "result")
    is_error = told.get("is_error")
    ok = not is_error if isinstance(is_error, bool) else None
    add_result(reading, reading.text(payload, "tool_call_id"), told, ok=ok)
    reading.extra(payload, _RESULT, "ToolResult")


def _status(reading: KimiReading, payload: dict[str, Any]) -> None:
    usage = reading.mapping(payload, "token_usage")
    message_id = reading.text(payload, "message_id")
    if usage:
        # Without a message id the record's own time and place in the session stand in.
        key = message_id or f"{reading.state.session}:{reading.value.get('timestamp')}"
        counts = [
            reading.count(usage, n) for n in ("input_other", "output", "input_cache_read", "input_cache_creation")
        ]
        if any(counts):
            other, output, read, written = counts
            spent = TokenUsage("", other, output, read, written, dedupe_key=key)
            reading.add(spent, "assistant", native_id=f"usage:{key}")
        reading.extra(usage, _USAGE, "token_usage")
    facts = {
        k: v for k, v in payload.items() if k in _STATUS and k not in ("token_usage", "message_id") and v is not None
    }
    if facts:
        reading.add(Lifecycle("status", detail=facts))
    reading.extra(payload, _STATUS, "StatusUpdate")


def _request(reading: KimiReading, payload: dict[str, Any]) -> None:
    said = "\n".join(filter(None, (text(payload.get("action")), text(payload.get("description")))))
    rest = {k: v for k, v in payload.items() if k not in ("action", "description", "display", "tool_call_id") and v}
    call_id = text(payload.get("tool_call_id"))
    reading.add(Lifecycle("permission", text=said, detail=without_opaque(rest) or None, call_id=call_id))


def _response(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Give a decision; what the person told the model with it is a message of theirs."""
    rest = {k: v for k, v in payload.items() if k not in ("response", "feedback") and v}
    reading.add(Lifecycle("permission", text=flatten(payload.get("response")), detail=without_opaque(rest) or None))
    feedback = text(payload.get("feedback"))
    if feedback:
        reading.add(UserMessage(feedback, "queued"), "user", native_id=named_text(reading, "user", feedback))


def _question(reading: KimiReading, payload: dict[str, Any]) -> None:
    body = flatten(without_opaque(payload.get("questions") or payload.get("answers") or payload))
    name = "answer" if "answers" in payload else "question"
    reading.add(Lifecycle(name, text=body, call_id=text(payload.get("tool_call_id"))))


def _subagent(reading: KimiReading, payload: dict[str, Any]) -> None:
    """Give nothing but the first sign of a subagent: its own wire says everything that is repeated here."""
    call_id = text(payload.get("parent_tool_call_id")) or text(payload.get("task_tool_call_id"))
    event = mapping(payload.get("event"))
    if text(event.get("type")) != "TurnBegin":
        return
    agent = {k: payload[k] for k in ("agent_id", "subagent_type") if text(payload.get(k))}
    reading.add(Lifecycle("subagent", detail=agent or None, call_id=call_id))


def _notification(reading: KimiReading, payload: dict[str, Any]) -> None:
    said = "\n".join(filter(None, (text(payload.get("title")), text(payload.get("body")))))
    rest = {k: v for k, v in payload.items() if k not in ("title", "body") and v not in (None, "", {})}
    reading.add(Lifecycle("notice", text=said, detail=without_opaque(rest) or None))


def _plan(reading: KimiReading, payload: dict[str, Any]) -> None:
    path = text(payload.get("file_path"))
    reading.add(Lifecycle("plan", text=reading.text(payload, "content"), detail={"path": path} if path else None))


def _compacted(reading: KimiReading, payload: dict[str, Any]) -> None:
    reading.add(Compaction(summary=flatten(without_opaque(payload))))


_READERS: dict[str, Callable[[KimiReading, dict[str, Any]], None]] = {
    "TurnBegin": _turn,
    "SteerInput": _steer,
    "ContentPart": _part,
    "ToolCall": _call,
    "ToolCallPart": _call_part,
    "ToolResult": _result,
    "StatusUpdate": _status,
    "ApprovalRequest": _request,
    "ApprovalResponse": _response,
    "ApprovalRequestResolved": _response,
    "QuestionRequest": _question,
    "QuestionResponse": _question,
    "SubagentEvent": _subagent,
    "Notification": _notification,
    "PlanDisplay": _plan,
    "CompactionEnd": _compacted,
}
