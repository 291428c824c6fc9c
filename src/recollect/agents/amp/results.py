"""What a tool gave back: Amp's own run (`toolUseID`, `run`), or a block of the Anthropic API in old threads.

Evidence: format notes: Amp; trimmed captures of two threads.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.amp.state import AmpReading
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.calls import Waiting, arrived, expect, give_edits
from recollect.agents.kit.content.anthropic import content_parts, content_text, without_opaque
from recollect.agents.kit.edits import Operation, edits_of
from recollect.agents.kit.naming import name_of
from recollect.model.payloads import FileEdit, Json, ToolCall, ToolResult
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_RUN = frozenset(("status", "result", "error", "progress", "trackFiles", "reason", "toAllow", "~debug", "message"))
_RESULT = frozenset(("type", "toolUseID", "tool_use_id", "run", "content", "is_error", "userInput"))
_STATUSES = frozenset(("done", "error", "cancelled", "rejected-by-user", "in-progress", "queued", "blocked-on-user"))
_OK = {"done": True, "error": False, "cancelled": False, "rejected-by-user": False}
_SHOWN = ("output", "content", "diff")
"""Fields of a result that hold its text, the first that there is."""
_EDITORS: dict[str, Operation] = {
    "edit_file": "modify",
    "create_file": "create",
    "apply_patch": "modify",
    "undo_edit": "modify",
    "format_file": "modify",
}
_FENCE = re.compile(r"```(?:diff)?\n(.*?)\n?```\s*", re.S)
_MAX_DEPTH = 6


def give_call(reading: AmpReading, block: dict[str, Any], message_id: str) -> None:
    """Give a tool call, and remember it until its result comes."""
    call_id, name = reading.text(block, "id"), reading.text(block, "name")
    arguments = block.get("input")
    call = ToolCall(call_id, name, canonical_tool(name), arguments, message_id)
    reading.add(
        call, "assistant", native_id=f"call:{call_id}" if call_id else name_of(reading, "call", name, arguments)
    )
    operation = _EDITORS.get(name)
    expect(reading, call_id, name, edits_of(arguments, operation) if operation else ())


def give_result(reading: AmpReading, block: dict[str, Any]) -> None:
    """Give a tool's result and the edits that it proves. A run that still goes on has none yet."""
    call_id = reading.text(block, "toolUseID") or reading.text(block, "tool_use_id")
    if "run" in block:
        _give_run(reading, reading.mapping(block, "run"), call_id)
    else:
        content = block.get("content")
        parts, are_readable = content_parts(content)
        if not are_readable:
            reading.wrong("tool_result.content.source.data", "bad_base64")
        call = arrived(reading, call_id)
        ok = block.get("is_error") is not True
        result = ToolResult(call_id, call.name, ok, text=content_text(content), parts=parts)
        _give(reading, result, call, "")
    reading.extra(block, _RESULT, "tool_result", native_id=f"result:{call_id}")


def _give_run(reading: AmpReading, run: dict[str, Any], call_id: str) -> None:
    status = reading.text(run, "status")
    reading.odd_value("run.status", status, _STATUSES)
    result, error = run.get("result"), mapping(run.get("error"))
    ok = _OK.get(status)
    reading.extra(run, _RUN, "run", native_id=f"run:{call_id}")
    if ok is None and result is None:
        return
    facts = mapping(result)
    exit_code = whole(facts.get("exitCode"))
    if exit_code or facts.get("success") is False:
        ok = False
    body = _shown(result) or text(error.get("message")) or flatten(without_opaque(error)) or _reason(run, status)
    call = arrived(reading, call_id)
    known = (*_SHOWN, "exitCode", "absolutePath", "success")
    structured = without_opaque({k: v for k, v in facts.items() if k not in known}) or None
    parts = content_parts(result)[0]
    diff = text(facts.get("diff"))
    shown = ToolResult(call_id, call.name, ok, exit_code, body, structured, parts=parts)
    _give(reading, shown, call, diff, _path_of(facts, run))


def _give(reading: AmpReading, result: ToolResult, call: Waiting, diff: str, path: str = "") -> None:
    call_id = result.call_id
    native_id = f"result:{call_id}" if call_id else name_of(reading, "result", result.text)
    reading.add(result, "tool", native_id=native_id)
    if result.ok is not False and call.name in _EDITORS:
        give_edits(reading, _with_diff(call.edits, _FENCE.sub(r"\1", diff), path), call_id)


def _with_diff(edits: tuple[FileEdit, ...], diff: str, path: str) -> tuple[FileEdit, ...]:
    """Return the edits with the diff that the run shows, where one edit lacks its texts."""
    if not edits and path:
        edits = (FileEdit(path),)
    if not diff or len(edits) != 1 or edits[0].before is not None or edits[0].after is not None or edits[0].diff:
        return edits
    return (msgspec.structs.replace(edits[0], diff=diff),)


def _path_of(facts: dict[str, Any], run: dict[str, Any]) -> str:
    tracked = [text(path).removeprefix("file://") for path in items(run.get("trackFiles"))]
    return text(facts.get("absolutePath")) or (tracked[0] if len(tracked) == 1 else "")


def _reason(run: dict[str, Any], status: str) -> str:
    return text(run.get("reason")) or text(run.get("message")) or (status if status != "done" else "")


def _shown(result: Json, depth: int = 0) -> str:
    """Return the text of a result: what the tool printed or read, else all its words."""
    if isinstance(result, str):
        return result
    if isinstance(result, dict) and depth < _MAX_DEPTH:
        for key in _SHOWN:
            if key in result:
                return _shown(result[key], depth + 1)
        rest = {k: v for k, v in result.items() if k not in ("exitCode", "success")}
        return flatten(without_opaque(rest))
    return content_text(result) if result is not None else ""
