"""My Agent: one record in, its events out."""

from __future__ import annotations

from typing import Any

from myagent.declare import FACTS
from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading, read_odd
from recollect.agents.kit.calls import Waiting, arrived, edits_asked, expect, file_edits
from recollect.agents.kit.values import text
from recollect.model.payloads import (
    AssistantMessage,
    Lifecycle,
    SessionStart,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_COMMON = frozenset(("type", "id", "time"))
_FIELDS = {
    "session": _COMMON | {"cwd", "version", "parent"},
    "user": _COMMON | {"text"},
    "assistant": _COMMON | {"text", "model", "response", "usage"},
    "call": _COMMON | {"call", "tool", "arguments"},
    "result": _COMMON | {"call", "output", "exit_code"},
    "stopped": _COMMON,
}
"""The types of records and their fields, as this version knows them; anything else is kept and counted as drift."""


class MyAgentState(BaseState, frozen=True):
    """What is carried from record to record: calls whose result has not come yet."""

    waiting: tuple[Waiting, ...] = ()


_Reading = Reading[MyAgentState]


class MyAgentAdapter(KitAdapter[MyAgentState]):
    """The adapter of My Agent."""

    facts = FACTS
    state_type = MyAgentState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: every file begins with its session."""
        first = head.lstrip().partition(b"\n")[0]
        return "transcript" if b'"type": "session"' in first and b'"myagent' in first else None

    def read(self, reading: _Reading) -> None:
        """Turn one record into events."""
        value = reading.value
        kind = text(value.get("type"))
        if not value:
            read_odd(reading)
            return
        reading.date(value.get("time"), "time")
        reading.native_id = text(value.get("id")) or None
        read = _READERS.get(kind)
        if read is None:
            reading.unknown(kind or "record")
            return
        read(reading, value)
        reading.extra(value, _FIELDS[kind], kind)


def _session(reading: _Reading, value: dict[str, Any]) -> None:
    start = SessionStart(
        cwd=reading.text(value, "cwd"),
        tool_version=reading.text(value, "version").removeprefix("myagent "),
        parent_session=reading.text(value, "parent"),
    )
    reading.add(start, native_id="start")


def _user(reading: _Reading, value: dict[str, Any]) -> None:
    reading.add(UserMessage(reading.text(value, "text")))


def _assistant(reading: _Reading, value: dict[str, Any]) -> None:
    model, response = reading.text(value, "model"), reading.text(value, "response")
    reading.add(AssistantMessage(reading.text(value, "text"), model, message_id=response))
    usage = reading.mapping(value, "usage")
    if usage:
        cached = reading.count(usage, "cached")
        spent = TokenUsage(
            model=model,
            input_tokens=max(0, reading.count(usage, "input") - cached),
            output_tokens=reading.count(usage, "output"),
            cache_read_tokens=cached,
            dedupe_key=response,
        )
        reading.add(spent, "assistant", native_id=f"{reading.native_id}/usage" if reading.native_id else None)


def _call(reading: _Reading, value: dict[str, Any]) -> None:
    call_id, name, arguments = reading.text(value, "call"), reading.text(value, "tool"), value.get("arguments")
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments))
    expect(reading, call_id, name, edits_asked(name, arguments))


def _result(reading: _Reading, value: dict[str, Any]) -> None:
    call_id, code = reading.text(value, "call"), reading.whole(value, "exit_code")
    call = arrived(reading, call_id)
    ok = None if code is None else code == 0
    output = reading.text(value, "output")
    reading.add(ToolResult(call_id, call.name if call else "", ok, code, output))
    if call is not None and ok is not False:
        for number, edit in enumerate(file_edits(call)):
            reading.add(edit, native_id=f"edit:{call_id}:{number}")


def _stopped(reading: _Reading, _value: dict[str, Any]) -> None:
    reading.add(Lifecycle("interrupted"))


_READERS = {
    "session": _session,
    "user": _user,
    "assistant": _assistant,
    "call": _call,
    "result": _result,
    "stopped": _stopped,
}
