"""Calls, and what came back: beside the call itself (`toolCallStates`), in a message of role `tool`, or both.

Evidence: format notes: Continue; a trimmed capture of the CLI.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.continue_.state import ContinueReading
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.calls import arrived, expect, give_edits
from recollect.agents.kit.content.anthropic import content_text, without_opaque
from recollect.agents.kit.edits import Operation, edits_of
from recollect.agents.kit.naming import name_of
from recollect.agents.kit.reading import remember
from recollect.model.payloads import FileEdit, Json, Lifecycle, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_CALL = frozenset(("id", "type", "function", "index"))
_STATE = frozenset(
    (
        "toolCallId toolCall status parsedArgs processedArgs output tool mcpUiState autoApplyStreamId precomputedPolicy"
    ).split()
)
_STATUSES = frozenset(("generating", "generated", "calling", "done", "errored", "canceled"))
_OK = {"done": True, "errored": False, "canceled": False}
_EDITORS: dict[str, Operation] = {
    "write": "modify",
    "edit": "modify",
    "multiedit": "modify",
    "edit_existing_file": "modify",
    "create_new_file": "create",
    "single_find_and_replace": "modify",
    "multi_edit": "modify",
}
_EXIT_CODE = re.compile(r"\bexit(?:ed with)? code[: ]{1,2}(-?\d{1,9})\b")
_HEAD_CHARS = 400
_MAX_ANSWERED = 256


def read_calls(reading: ContinueReading, item: dict[str, Any], message: dict[str, Any]) -> None:
    """Give the calls of an item and the results that its states hold."""
    states = {text(mapping(s).get("toolCallId")): mapping(s) for s in reading.items(item, "toolCallStates")}
    written = reading.items(message, "toolCalls")
    calls = [mapping(call) for call in written] or [mapping(state.get("toolCall")) for state in states.values()]
    for call in calls:
        if call:
            _give_call(reading, call, states.get(text(call.get("id")), {}))
        else:
            reading.wrong("toolCalls")
    for call_id, state in states.items():
        _read_state(reading, call_id, state)


def _give_call(reading: ContinueReading, call: dict[str, Any], state: dict[str, Any]) -> None:
    function = reading.mapping(call, "function")
    call_id, name = reading.text(call, "id"), reading.text(function, "name")
    arguments = _arguments(reading, function.get("arguments"), state)
    native_id = f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments)
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments), "assistant", native_id=native_id)
    operation = _EDITORS.get(name.lower().removeprefix("builtin_"))
    expect(reading, call_id, name, edits_of(arguments, operation) if operation else ())
    reading.extra(call, _CALL, "toolCall", native_id=native_id)


def _arguments(reading: ContinueReading, written: Json, state: dict[str, Any]) -> Json:
    """Return the arguments: a text of JSON, which the state holds parsed; a text that is none stays one."""
    parsed = state.get("parsedArgs")
    if isinstance(parsed, dict):
        return parsed
    if not isinstance(written, str):
        return written
    try:
        return msgspec.json.decode(written) if written else None
    except (ValueError, RecursionError):
        reading.wrong("arguments", "bad_arguments")
        return written


def _read_state(reading: ContinueReading, call_id: str, state: dict[str, Any]) -> None:
    status = text(state.get("status"))
    reading.odd_value("toolCallState.status", status, _STATUSES)
    output = reading.items(state, "output")
    ok = _OK.get(status)
    if ok is not None or output:
        _give_result(reading, call_id, output, ok)
    if status == "canceled":
        name = f"interrupted:{call_id}"
        reading.add(Lifecycle("interrupted", call_id=call_id), native_id=name)
    reading.extra(state, _STATE, "toolCallState", native_id=f"state:{call_id}")


def read_tool_message(reading: ContinueReading, message: dict[str, Any]) -> None:
    """Give the result that a message holds, unless its call's state gave it already."""
    call_id = reading.text(message, "toolCallId")
    if call_id and call_id in reading.now("answered"):
        arrived(reading, call_id)
        return
    _give_result(reading, call_id, message.get("content"), None)


def _give_result(reading: ContinueReading, call_id: str, output: Json, ok: bool | None) -> None:
    body = "\n".join(filter(None, map(_piece, output))) if isinstance(output, list) else content_text(output)
    statuses = " ".join(text(mapping(piece).get("status")) for piece in items(output))
    code = _EXIT_CODE.search(f"{statuses} {body[:_HEAD_CHARS]}") if ok is False or "exit" in statuses else None
    exit_code = int(code[1]) if code else None
    if exit_code or "failed" in statuses.lower():
        ok = False
    call = arrived(reading, call_id)
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", output)
    reading.add(ToolResult(call_id, call.name, ok, exit_code, body), "tool", native_id=native_id)
    if ok is not False:
        give_edits(reading, _with_diff(call.edits, body), call_id)
    reading.set(answered=remember(reading.now("answered"), call_id, _MAX_ANSWERED))


def _with_diff(edits: tuple[FileEdit, ...], body: str) -> tuple[FileEdit, ...]:
    """Return the edits; one that has neither text takes the diff that the result shows."""
    _, found, diff = body.partition("\n@@")
    if len(edits) != 1 or not found or edits[0].before is not None or edits[0].after is not None:
        return edits
    return (msgspec.structs.replace(edits[0], diff=f"@@{diff}"),)


def _piece(piece: Json) -> str:
    """Return the text of one piece of output; its name and description are the harness's labels."""
    value = mapping(piece)
    if isinstance(value.get("content"), str):
        return text(value["content"])
    return flatten(without_opaque(piece))
