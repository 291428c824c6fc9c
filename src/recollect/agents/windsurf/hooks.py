"""Payloads of Cascade's hooks, one a line, as a hook that saves them was given them.

A payload names its session (`trajectory_id`) and its turn (`execution_id`), not its call: the n-th payload before and
the n-th after the same action of a turn belong together. Evidence: format notes: Windsurf, store 3.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.addresses import path_of_address
from recollect.agents.kit.content.anthropic import content_text, without_opaque
from recollect.agents.windsurf.state import Step, begins, is_before, move, named, named_in
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Lifecycle,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_FIELDS = frozenset(
    ("agent_action_name", "trajectory_id", "execution_id", "timestamp", "model_name", "tool_info", "transcript_path")
)
_TOOLS = frozenset(("read_code", "write_code", "run_command", "mcp_tool_use"))
_ACTIONS = frozenset(
    (
        "pre_user_prompt", "post_cascade_response", "post_cascade_response_with_transcript", "post_setup_worktree",
        "session_start", "session_end",
    )
)  # fmt: skip
_RESULT_FIELDS = frozenset(("mcp_result", "result", "output", "stdout", "stderr", "exit_code", "error"))
_BODIES = ("mcp_result", "result", "output", "stdout", "error")


def read_payload(step: Step) -> None:
    """Give a payload, in the session that it names."""
    if not isinstance(step.record.value, dict):
        read_odd(step)
        return
    value = step.value
    step.date(value.get("timestamp"))
    session = step.text(value, "trajectory_id") or step.state.session
    turn, action = step.text(value, "execution_id"), step.text(value, "agent_action_name")
    info = step.mapping(value, "tool_info")
    _see_session(step, session, info, is_start=action == "session_start")
    moment, _, kind = action.partition("_")
    before = len(step.events)
    if moment in ("pre", "post") and kind in _TOOLS:
        _read_tool(step, session, turn, is_after=moment == "post", kind=kind, info=info)
    else:
        _read_notice(step, session, turn, action, info)
    if action not in _ACTIONS and not (moment in ("pre", "post") and kind in _TOOLS):
        step.unknown(action or "payload", native_id=named(step, "unknown", session, value))
    elif len(step.events) == before and info:
        step.kept(action, native_id=named(step, "kept", session, value))
    if step.events:
        step.extra(value, _FIELDS, "payload", native_id=step.events[-1].native_id)
    move(step, 0, session)


def _see_session(step: Step, session: str, info: dict[str, Any], *, is_start: bool) -> None:
    """Give a session's start at its first payload, and each change of model or folder."""
    model = step.text(step.value, "model_name")
    cwd = text(info.get("cwd")) or (text(info.get("worktree_path")) if is_start else "")
    if begins(step, session):
        step.add(SessionStart(cwd=cwd, model=model), native_id="start")
        step.set(of=session[:200], model=model, cwd=cwd)
    elif step.now("of") == session[:200]:
        if model and model != step.now("model"):
            step.add(Lifecycle("model", model=model), native_id=named(step, "model", session, model))
            step.set(model=model)
    else:
        step.set(of=session[:200], model=model, cwd=cwd)


def _read_notice(step: Step, session: str, turn: str, action: str, info: dict[str, Any]) -> None:
    if action == "pre_user_prompt":
        said = step.text(info, "user_prompt")
        if said:
            step.add(UserMessage(said), "user", native_id=named_in(step, session, "ask", said))
    elif action == "post_cascade_response":
        said = step.text(info, "response")
        if said:
            reply = AssistantMessage(said, model=step.text(step.value, "model_name"))
            step.add(reply, "assistant", native_id=named_in(step, session, "say", said))
    elif action == "post_cascade_response_with_transcript":
        path = text(info.get("transcript_path")) or text(step.value.get("transcript_path"))
        if path:
            step.add(Lifecycle("hook", text=path), native_id=named(step, "hook", session, turn, path))
    elif action == "post_setup_worktree":
        path = text(info.get("worktree_path"))
        changed = Lifecycle("cwd", text=flatten({k: v for k, v in info.items() if k != "worktree_path"}), cwd=path)
        step.add(changed, native_id=named(step, "worktree", session, info))
    elif action == "session_end":
        step.add(SessionEnd(text(info.get("reason"))), native_id=named(step, "end", session))
    elif action == "session_start" and info:
        step.add(Lifecycle("hook", text=flatten(info)), native_id=named(step, "hook", session, info))


def _read_tool(step: Step, session: str, turn: str, *, is_after: bool, kind: str, info: dict[str, Any]) -> None:
    asked = {k: v for k, v in info.items() if k not in _RESULT_FIELDS}
    tool = text(info.get("mcp_tool_name")) if kind == "mcp_tool_use" else kind
    canonical = "mcp" if kind == "mcp_tool_use" else canonical_tool(kind)
    # Payloads before and after an action are numbered apart, so that the n-th of both get one name.
    name = named(step, "after" if is_after else "before", session, turn, kind, asked)
    call_id = f"{kind}:{name.partition(':')[2]}"
    if not is_after or not is_before(step, name):
        arguments = asked.get("mcp_tool_arguments") if kind == "mcp_tool_use" else asked
        call = ToolCall(call_id, tool or kind, canonical, without_opaque(arguments))
        step.add(call, "assistant", native_id=f"call:{call_id}")
    if is_after:
        _give_result(step, info, call_id, tool or kind)
        if kind == "write_code":
            _give_edits(step, info, call_id)


def _give_result(step: Step, info: dict[str, Any], call_id: str, tool: str) -> None:
    """Give the result; of most actions a payload says only that they are over."""
    written = next((info[name] for name in _BODIES if info.get(name) not in (None, "")), None)
    exit_code = whole(info.get("exit_code"))
    ok: bool | None = None
    if info.get("error") not in (None, "") or exit_code:
        ok = False
    elif exit_code == 0:
        ok = True
    body = content_text(without_opaque(mapping(written).get("content", written)))
    errors = text(info.get("stderr"))
    said = "\n".join(t for t in (body, errors) if t)
    step.add(ToolResult(call_id, tool, ok, exit_code, said), "tool", native_id=f"result:{call_id}")


def _give_edits(step: Step, info: dict[str, Any], call_id: str) -> None:
    path = path_of_address(step.text(info, "file_path"))
    for i, edit in enumerate(step.items(info, "edits")):
        change = mapping(edit)
        before, after = change.get("old_string"), change.get("new_string")
        step.add(
            FileEdit(
                path,
                before=before if isinstance(before, str) else None,
                after=after if isinstance(after, str) else None,
                call_id=call_id,
            ),
            "tool",
            native_id=f"edit:{call_id}:{i}",
        )
