"""Tool calls and their results in a stream of Copilot session events.

A call is written twice, in the model's message and when it starts; the first sighting gives the event.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.copilot.edits import arguments_of, edits_of_call
from recollect.agents.kit.copilot.state import Call, CopilotState, call_named, storable, with_call
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Json, Part, ToolCall, ToolResult
from recollect.model.tools import canonical_tool

S = TypeVar("S", bound=CopilotState)

_EXIT = re.compile(r"(?:exited|completed) with (?:exit )?code:? (-?\d{1,9})\b|^exit code: (-?\d{1,9})\b", re.M)
_TAIL_CHARS = 300
"""The shell tool writes how a command ended at the end of its output."""
_REQUEST_FIELDS = frozenset((
    "toolCallId", "name", "arguments", "type", "intentionSummary", "toolTitle", "mcpServerName", "mcpToolName",
))  # fmt: skip
_START_FIELDS = frozenset((
    "toolCallId", "toolName", "arguments", "mcpServerName", "mcpToolName", "parentToolCallId", "model", "turnId",
    "interactionId", "shellToolInfo", "rte", "displayVerbatim",
))  # fmt: skip
_END_FIELDS = frozenset((
    "toolCallId", "toolName", "success", "model", "interactionId", "turnId", "result", "error", "toolTelemetry",
    "parentToolCallId", "isUserRequested", "rte", "sandboxed",
))  # fmt: skip
_RESULT_FIELDS = frozenset((
    "content", "detailedContent", "contents", "result_type", "resultType", "text_result_for_llm", "textResultForLlm",
    "error", "session_log", "sessionLog", "toolTelemetry",
))  # fmt: skip


def read_call(
    reading: Reading[S], request: dict[str, Any], *, message_id: str, session: str | None, is_start: bool = False
) -> None:
    """Give a tool call, unless it was given already; the start of one adds which MCP server runs it."""
    call_id = reading.text(request, "toolCallId")
    name = reading.text(request, "toolName" if is_start else "name") or reading.text(request, "name")
    is_mcp = bool(text(request.get("mcpServerName")))
    known = call_named(reading.now("calls"), call_id)
    if known is not None and (not is_mcp or known.is_mcp):
        return
    arguments = arguments_of(request.get("arguments"))
    message_id = message_id or (known.message_id if known is not None else "")
    canonical = "mcp" if is_mcp else canonical_tool(name)
    payload = ToolCall(call_id, name, canonical, arguments, message_id)
    reading.add(payload, "assistant", native_id=f"call:{call_id}" if call_id else None, session=session)
    call = Call(
        call_id,
        storable(name),
        storable(message_id),
        is_mcp,
        prompt=text(mapping(arguments).get("prompt")) if canonical == "task" else "",
        edits=edits_of_call(name, arguments, call_id),
    )
    reading.set(calls=with_call(reading.now("calls"), call))
    if not is_start:
        reading.extra(request, _REQUEST_FIELDS, "toolRequest", native_id=f"call:{call_id}" if call_id else None)


def read_start(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a call that its start is the first to tell of; also one that the user asked for."""
    read_call(reading, data, message_id="", session=session, is_start=True)
    reading.extra(data, _START_FIELDS, "tool.execution_start")


def read_complete(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a tool's result, and the edits of its call if it succeeded."""
    call_id = reading.text(data, "toolCallId")
    call = call_named(reading.now("calls"), call_id)
    name = call.name if call is not None else text(data.get("toolName"))
    result = data.get("result")
    found = {"content": result} if isinstance(result, str) else reading.mapping(data, "result")
    error = mapping(data.get("error"))
    body = _first(found, "content", "text_result_for_llm", "textResultForLlm") or text(error.get("message"))
    detailed = text(found.get("detailedContent"))
    body = body or detailed
    parts, exit_code, rest = _contents(reading, found)
    if exit_code is None and (not name or canonical_tool(name) == "shell"):
        exit_code = _exit_code(body, data)
    is_ok = _is_ok(reading, data, found, exit_code)
    edits = call.edits if call is not None and is_ok else ()
    structured = _structured(found, error, detailed if detailed not in body and not edits else "", rest)
    payload = ToolResult(
        call_id, name, is_ok, exit_code, body, structured, _duration(data) or _duration(found), tuple(parts)
    )
    reading.add(payload, "tool", native_id=f"result:{call_id}" if call_id else None, session=session)
    for i, edit in enumerate(edits):
        shown = edit
        if not edit.diff and edit.before is None and edit.after is None and len(edits) == 1:
            shown = msgspec.structs.replace(edit, diff=detailed)
        reading.add(shown, "tool", native_id=f"edit:{call_id}:{i}", session=session)
    reading.extra(data, _END_FIELDS, "tool.execution_complete")
    reading.extra(found, _RESULT_FIELDS, "tool.execution_complete.result")


def _is_ok(reading: Reading[S], data: dict[str, Any], found: dict[str, Any], exit_code: int | None) -> bool | None:
    """A command that ran and failed is written with `success: true`: its exit code decides."""
    if exit_code not in (None, 0):
        return False
    success = data.get("success")
    if isinstance(success, bool):
        return success
    if success is not None:
        reading.wrong("success")
    written = _first(found, "result_type", "resultType")
    if written:
        return written == "success"
    return False if data.get("error") else None


def _exit_code(body: str, data: dict[str, Any]) -> int | None:
    telemetry = mapping(data.get("toolTelemetry"))
    for place in (mapping(telemetry.get("metrics")), mapping(telemetry.get("properties"))):
        for key in ("exitCode", "exit_code"):
            found = whole(place.get(key))
            if found is not None:
                return found
    ends = list(_EXIT.finditer(body[-_TAIL_CHARS:]))
    return int(ends[-1][1] or ends[-1][2]) if ends else None


def _contents(reading: Reading[S], found: dict[str, Any]) -> tuple[list[Part], int | None, list[Json]]:
    """Return the images, the exit code and whatever else the blocks of a result in its native form hold."""
    parts: list[Part] = []
    exit_code: int | None = None
    rest: list[Json] = []
    for block in items(found.get("contents")):
        one = mapping(block)
        kind = text(one.get("type"))
        if kind in ("image", "audio"):
            part, is_readable = base64_part(kind, text(one.get("mimeType")), one.get("data"))
            if not is_readable:
                reading.wrong("result.contents.data", "bad_base64")
            parts.append(part)
        elif kind in ("terminal", "shell_exit"):
            exit_code = whole(one.get("exitCode"))
        elif kind != "text":
            rest.append(without_opaque(block))
    return parts, exit_code, rest


def _structured(found: dict[str, Any], error: dict[str, Any], detailed: str, rest: list[Json]) -> Json:
    """Return what a result says beyond its text: a fuller form, an error code, blocks of other kinds."""
    told: dict[str, Json] = {}
    if detailed:
        told["detailedContent"] = detailed
    if error.get("code"):
        told["code"] = error["code"]
    if found.get("error"):
        told["error"] = found["error"]
    if rest:
        told["contents"] = rest
    return told or None


def _duration(data: dict[str, Any]) -> int | None:
    return whole(mapping(mapping(data.get("toolTelemetry")).get("metrics")).get("durationMs"))


def _first(found: dict[str, Any], *names: str) -> str:
    return next((v for v in map(found.get, names) if isinstance(v, str) and v), "")
