"""Cascade's transcripts: one step a line, `{"type": kind, "status": …, kind: {…}}`, without times and ids.

Field names are those of one recorded transcript; a step of another kind is kept as unknown.
Evidence: format notes: Windsurf, store 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from recollect.agents.kit.access import text, whole
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.addresses import path_of_address
from recollect.agents.windsurf.state import Step, begins, named
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Json,
    Lifecycle,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_STATUSES = frozenset(("done", "error", "running", "pending", "cancelled", "canceled"))
_RUNNING = frozenset(("running", "pending"))
_STEP = frozenset(("type", "status"))


class Shape(NamedTuple):
    """The fields of a tool's step: what was asked, the text that came back, and the other things that did."""

    asked: tuple[str, ...]
    body: str = ""
    beside: tuple[str, ...] = ()


_TOOLS = {
    "view_file": Shape(("path", "start_line", "end_line"), "content"),
    "code_action": Shape(("path",), "", ("acknowledgement_type", "original_content", "new_content")),
    "run_command": Shape(("command", "cwd"), "output", ("exit_code", "user_rejected")),
    "list_directory": Shape(("path",), "output"),
    "find": Shape(("pattern", "search_directory"), "output", ("total_results",)),
    "grep_search": Shape(("query", "search_path"), "output", ("total_results",)),
    "list_resources": Shape(("server_name",), "output"),
}


def read_step(step: Step) -> None:
    """Give a step of a transcript."""
    if not isinstance(step.record.value, dict):
        read_odd(step)
        return
    if begins(step, step.state.session):
        step.add(SessionStart(), native_id="start")
    kind, status = step.text(step.value, "type"), step.text(step.value, "status")
    step.odd_value("step.status", status, _STATUSES)
    body = step.value.get(kind)
    before = len(step.events)
    if isinstance(body, dict):
        if kind == "user_input":
            _read_said(step, body, "user_response")
        elif kind == "planner_response":
            _read_said(step, body, "response")
        elif kind in _TOOLS:
            _read_tool(step, kind, body, status)
    if len(step.events) == before:
        if kind in ("user_input", "planner_response", *_TOOLS):
            step.kept(kind, native_id=named(step, "kept", step.value))
        else:
            step.unknown(kind or "step", native_id=named(step, "unknown", step.value))
        return
    name = step.events[before].native_id
    step.extra(step.value, _STEP | {kind}, "step", native_id=name)


def _read_said(step: Step, body: dict[str, Any], field: str) -> None:
    """Give the words of the person or of the model."""
    said = step.text(body, field)
    name = ""
    if said and field == "user_response":
        name = named(step, "ask", said)
        step.add(UserMessage(said), "user", native_id=name)
    elif said:
        name = named(step, "say", said)
        step.add(AssistantMessage(said), "assistant", native_id=name)
    step.extra(body, {field}, field, native_id=name or named(step, "kept", body))


def _read_tool(step: Step, kind: str, body: dict[str, Any], status: str) -> None:
    shape = _TOOLS[kind]
    asked = {name: _plain(body[name]) for name in shape.asked if name in body}
    call_id = named(step, kind, asked)
    step.add(ToolCall(call_id, kind, _canonical(kind), asked), "assistant", native_id=f"call:{call_id}")
    exit_code = whole(body.get("exit_code"))
    decision = text(body.get("acknowledgement_type"))
    is_refused = body.get("user_rejected") is True or decision.endswith(("_REJECT", "_REJECTED"))
    said = step.text(body, shape.body) if shape.body else ""
    if status not in _RUNNING or said:
        ok = status == "done" and not exit_code and not is_refused if status else None
        rest = {
            name: body[name]
            for name in shape.beside
            if name in body and name not in ("exit_code", "original_content", "new_content") and body[name] is not False
        }
        result = ToolResult(call_id, kind, ok, exit_code, said, rest or None)
        step.add(result, "tool", native_id=f"result:{call_id}")
        if kind == "code_action" and ok is not False:
            _give_edit(step, body, call_id)
        if is_refused:
            step.add(Lifecycle("permission", text="rejected", call_id=call_id), native_id=f"permission:{call_id}")
    known = {*shape.asked, shape.body, *shape.beside}
    step.extra(body, known, kind, native_id=f"call:{call_id}")


def _plain(value: Json) -> Json:
    return path_of_address(value) if isinstance(value, str) else value


def _canonical(kind: str) -> str:
    return "mcp" if kind == "list_resources" else canonical_tool(kind)


def _give_edit(step: Step, body: dict[str, Any], call_id: str) -> None:
    """Give a change: the file before and after it, both whole."""
    before, after = body.get("original_content"), body.get("new_content")
    edit = FileEdit(
        path_of_address(step.text(body, "path")),
        "modify" if isinstance(before, str) or after is None else "create",
        before if isinstance(before, str) else None,
        after if isinstance(after, str) else None,
        call_id=call_id,
    )
    step.add(edit, "tool", native_id=f"edit:{call_id}")
