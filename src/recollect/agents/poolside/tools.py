"""Calls, the person's verdict on them, and their results."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, whole
from recollect.agents.kit.calls import arrived, expect, give_edits
from recollect.agents.kit.edits import edits_of
from recollect.agents.kit.naming import short
from recollect.agents.poolside.state import Reading
from recollect.model.payloads import Json, Lifecycle, ToolCall, ToolResult
from recollect.model.tools import canonical_tool

_NS_PER_MS = 1_000_000
_TYPED = "_tool_result"


def read_call(reading: Reading, payload: dict[str, Any]) -> None:
    """Give a call. One that did not pass validation never ran, and nothing else follows: that is its result."""
    call_id, name = reading.text(payload, "id"), reading.text(payload, "name")
    arguments = _arguments(reading, payload)
    native_id = f"call:{short(call_id)}" if call_id else None
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments), "assistant", native_id=native_id)
    refused = reading.mapping(payload, "validation_error")
    if refused:
        said = reading.text(refused, "detail") or reading.text(refused, "kind")
        reading.add(ToolResult(call_id, name, False, text=said), "tool", native_id=_result_id(call_id))
        return
    edits = edits_of(arguments) if canonical_tool(name) == "edit" else ()
    expect(reading, call_id, name, edits)


def read_approval(reading: Reading, payload: dict[str, Any]) -> None:
    """Give the person's verdict; no result follows a denied call."""
    call_id, said = reading.text(payload, "tool_call_id"), reading.text(payload, "reason")
    is_denied = payload.get("denied") is True
    reading.add(Lifecycle("permission", text=said, detail={"denied": is_denied}, call_id=call_id))
    if is_denied:
        call = arrived(reading, call_id)
        reading.add(ToolResult(call_id, call.name, False, text=said), "tool", native_id=_result_id(call_id))


def read_result(reading: Reading, payload: dict[str, Any]) -> None:
    """Give a result. How it went stands in a part of the tool's own; read, write and edit have only `is_error`."""
    call_id = reading.text(payload, "id")
    call = arrived(reading, call_id)
    typed = {k: v for k, v in payload.items() if k.endswith(_TYPED) and v}
    facts = [mapping(part) for part in typed.values()]
    code = next((c for part in facts if (c := whole(part.get("exit_code"))) is not None), None)
    has_failed = payload.get("is_error") is True or bool(code) or any(part.get("success") is False for part in facts)
    latency = whole(payload.get("execution_latency"))
    said = reading.text(payload, "observation")
    reading.add(
        ToolResult(
            call_id=call_id,
            name=reading.text(payload, "tool_name") or call.name,
            ok=not has_failed,
            exit_code=code,
            text=said,
            structured=typed or None,
            duration_ms=latency // _NS_PER_MS if latency is not None else None,
        ),
        "tool",
        native_id=_result_id(call_id),
    )
    if payload.get("execution_error_kind") == "approval_denied":
        reading.add(Lifecycle("permission", text=said, detail={"denied": True}, call_id=call_id))
    if not has_failed:
        give_edits(reading, call.edits, short(call_id))


def _arguments(reading: Reading, payload: dict[str, Any]) -> Json:
    """Return a call's arguments; where they are not there decoded, the model's own text of them."""
    given, raw = payload.get("args"), payload.get("raw_args")
    if given is not None or not isinstance(raw, str):
        return given
    try:
        return msgspec.json.decode(raw.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        reading.wrong("raw_args", "bad_arguments")
        return raw


def _result_id(call_id: str) -> str | None:
    return f"result:{short(call_id)}" if call_id else None
