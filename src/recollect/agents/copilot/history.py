"""The oldest layout: one document per session with the messages of the chat API and a timeline of what was shown.

Evidence: readers of `history-session-state`; not in the format notes, and no sample of a real one was seen. Messages
have no ids and no times: they are named by what they say.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.content.openai import chat_content
from recollect.agents.kit.copilot.edits import arguments_of, edits_of_call
from recollect.agents.kit.copilot.state import Call, CopilotState, call_named, storable, with_call
from recollect.agents.kit.naming import Marks, name_of
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Lifecycle,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_DOCUMENT = frozenset(("sessionId", "startTime", "chatMessages", "timeline"))
_ROLES = frozenset(("user", "assistant", "tool", "system", "developer"))
_MESSAGE = frozenset(("role", "content", "tool_calls", "tool_call_id", "name", "id"))


class HistoryState(CopilotState, frozen=True, gc=False, omit_defaults=True):
    """The state of a Copilot CLI source; `marks` number equal messages."""

    marks: Marks = ()


def read_history(reading: Reading[HistoryState]) -> None:
    """Give the events of one element of an old document, or of the members around its arrays."""
    if not isinstance(reading.record.value, dict):
        read_odd(reading)
    elif reading.at == "chatMessages":
        _message(reading, reading.value)
    elif reading.at == "timeline":
        _shown(reading, reading.value)
    else:
        _document(reading, reading.value)


def _document(reading: Reading[HistoryState], value: dict[str, Any]) -> None:
    if "startTime" in value or "sessionId" in value:
        reading.date(value.get("startTime"), "startTime")
        if not reading.now("is_started"):
            reading.set(is_started=True)
            reading.add(SessionStart(originator="copilot-agent"), native_id="start")
    reading.native_id = "document"
    reading.extra(value, _DOCUMENT, "document")
    for message in items(value.get("chatMessages")):
        _message(reading, mapping(message))


def _message(reading: Reading[HistoryState], value: dict[str, Any]) -> None:
    role = text(value.get("role"))
    said, parts, is_readable = chat_content(value.get("content"))
    if not is_readable:
        reading.wrong("content", "bad_base64")
    name = reading.native_id = name_of(reading, role if role in _ROLES else "message", value)
    if role == "user":
        reading.add(UserMessage(said, parts=parts), "user")
    elif role == "tool":
        _result(reading, value, said)
    elif role in ("system", "developer"):
        reading.add(Instructions(said, f"{role} message"))
    elif role == "assistant":
        if said or parts or not items(value.get("tool_calls")):
            reading.add(AssistantMessage(said, parts=parts), "assistant")
        for i, call in enumerate(items(value.get("tool_calls"))):
            _call(reading, mapping(call), f"{name}/{i}")
    else:
        reading.unknown(f"message/{role}", value)
    reading.extra(value, _MESSAGE, "message")


def _call(reading: Reading[HistoryState], call: dict[str, Any], name: str) -> None:
    function = mapping(call.get("function"))
    call_id, tool = text(call.get("id")), text(function.get("name"))
    arguments = arguments_of(function.get("arguments"))
    reading.add(
        ToolCall(call_id, tool, canonical_tool(tool), arguments),
        "assistant",
        native_id=f"call:{call_id}" if call_id else name,
    )
    waiting = Call(call_id, storable(tool), edits=edits_of_call(tool, arguments, call_id))
    reading.set(calls=with_call(reading.now("calls"), waiting))


def _result(reading: Reading[HistoryState], value: dict[str, Any], said: str) -> None:
    """Give a result. The API's tool messages don't say how it went, so that edits are taken as made."""
    call_id = text(value.get("tool_call_id"))
    call = call_named(reading.now("calls"), call_id)
    name = call.name if call is not None else text(value.get("name"))
    reading.add(
        ToolResult(call_id, name, text=said), "tool", native_id=f"result:{call_id}" if call_id else reading.native_id
    )
    for i, edit in enumerate(call.edits if call is not None else ()):
        reading.add(edit, "tool", native_id=f"edit:{call_id}:{i}")


def _shown(reading: Reading[HistoryState], value: dict[str, Any]) -> None:
    """Give an entry of the timeline: it repeats the messages as the terminal showed them, and has their times."""
    reading.date(value.get("timestamp"))
    kind = text(value.get("type"))
    said = text(value.get("text"))
    rest = {k: v for k, v in value.items() if k not in ("type", "text", "id", "timestamp")}
    identity = text(value.get("id"))
    name = f"timeline:{identity}" if identity else name_of(reading, "timeline", value)
    reading.add(Lifecycle(f"timeline_{kind}" if kind else "timeline", text=said, detail=rest or None), native_id=name)
