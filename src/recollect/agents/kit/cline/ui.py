"""Parses the UI log: times, costs, approvals, compactions and returns to a checkpoint.

A row is named by its time, type and kind (`ts` alone is shared by several rows) and changes in place: a partial row
becomes a whole one, a request gets its cost later. What the person wrote and the model said has the same name here and
in the API log, which goes before; calls and results stand exactly there and leave a `lifecycle` event each here,
without their contents.
Evidence: format notes: Cline / Roo / Kilo, "Records" and "Strategy".
"""

from collections.abc import Callable
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.cline.values import ClineReading, readable, request_usage, row_parts, see_model
from recollect.agents.kit.names import content_name, name_of, numbered
from recollect.agents.kit.values import Json, decoded_json, items, mapping, text, whole
from recollect.model import payloads as kinds

_KNOWN = known_fields("cline")
_HAS_CHANGES = "HAS_CHANGES"
_TOOL_KEYS = "path mode regex filePattern query url skill reason operationIsLocatedInWorkspace".split()
_MAX_NAME_CHARS = 60

_NOTICES = {
    "error": "error", "diff_error": "error", "clineignore_error": "error", "rooignore_error": "error",
    "condense_context_error": "error", "api_req_failed": "api_error", "mistake_limit_reached": "error",
    "api_req_retried": "retry", "api_req_retry_delayed": "retry", "api_req_rate_limited": "retry",
    "api_req_finished": "request", "command_permission_denied": "permission",
    "auto_approval_max_req_reached": "permission", "new_task": "permission", "condense": "permission",
    "summarize_task": "permission", "report_bug": "permission", "use_subagents": "subagent", "subagent": "subagent",
    "subtask_result": "subagent", "command_output": "progress", "mcp_server_response": "progress",
    "mcp_server_request_started": "progress", "mcp_notification": "progress", "browser_action_launch": "tool",
    "browser_action": "tool", "browser_action_result": "progress", "browser_session_status": "progress",
    "codebase_search_result": "progress", "load_mcp_documentation": "progress", "image": "progress",
    "task_progress": "todo", "user_edit_todos": "todo", "hook_status": "hook", "hook_output_stream": "hook",
    "conditional_rules_applied": "rules", "info": "notice", "shell_integration_warning": "notice",
    "shell_integration_warning_with_suggestion": "notice", "checkpoint_created": "checkpoint",
    "checkpoint_saved": "checkpoint", "resume_task": "resumed", "resume_completed_task": "resumed",
    "payment_required_prompt": "notice", "invalid_model": "error",
}  # fmt: skip
"""Rows that leave a `lifecycle` event with their text, by kind. The others have readers below."""


def read_row(reading: ClineReading) -> None:
    row = reading.value
    kind = row.get("type")
    name = text(row.get(kind)) if isinstance(kind, str) and kind in ("ask", "say") else ""
    if not name:
        if row:
            reading.native_id = name_of(reading, "row", row)
            reading.unknown(f"ui/{kind}" if isinstance(kind, str) else "ui")
        else:
            read_odd(reading)
        return
    reading.date(row.get("ts"), "ts")
    is_first = not reading.state.is_started
    row_id = numbered(reading, f"{kind}:{name[:_MAX_NAME_CHARS]}:{_stamp(row)}")
    _see_frame(reading, row, row_id)
    reading.native_id = row_id
    if is_first and name == "text":
        name = "task"  # Roo, and Cline before 2025, write the first prompt as any text
    reader = _READERS.get(name)
    if reader is not None:
        reader(reading, row)
    elif name in _NOTICES:
        _notice(reading, _NOTICES[name], text(row.get("text")))
    else:
        reading.unknown(f"{kind}/{name}", readable({k: v for k, v in row.items() if k not in ("type", "ts", kind)}))
    thought = row.get("reasoning")
    if isinstance(thought, str) and thought and name != "reasoning":
        _give_thought(reading, thought, is_partial=False)
    reading.extra({k: readable(v) for k, v in row.items()}, _KNOWN["row"], "row", native_id=row_id)


def _stamp(row: dict[str, Any]) -> str:
    at = whole(row.get("ts"))
    return str(at) if at is not None else content_name(row.get("text"))


def _see_frame(reading: ClineReading, row: dict[str, Any], row_id: str) -> None:
    """Emit what a row says around its content: the session's start, another model, a truncation."""
    model = mapping(row.get("modelInfo"))
    name = text(model.get("modelId"))
    is_new = see_model(reading, name)
    if not reading.state.is_started:
        reading.set(is_started=True)
        reading.start(model=name)
    elif is_new:
        detail = {k: v for k, v in model.items() if k != "modelId"}
        reading.add(kinds.Lifecycle("model", detail=detail or None, model=name), native_id=f"{row_id}/model")
    written = items(row.get("conversationHistoryDeletedRange"))
    first, last = (whole(at) for at in written) if len(written) == 2 else (None, None)
    if first is None or last is None or (first, last) == reading.now("deleted_range"):
        return
    reading.set(deleted_range=(first, last))
    if reading.now("is_summarised"):
        reading.set(is_summarised=False)
        reading.add(
            kinds.Lifecycle("truncated", detail={"from": first, "to": last}), native_id=f"truncated:{first}-{last}"
        )
    else:
        reading.add(kinds.Compaction("truncation"), native_id=f"compaction:{first}-{last}")


def _read_human(reading: ClineReading, row: dict[str, Any]) -> None:
    said = reading.text(row, "text")
    parts = row_parts(reading, row)
    if said or parts:
        reading.add(kinds.UserMessage(said, parts=parts), native_id=name_of(reading, "user", said.strip()))


def _read_said(reading: ClineReading, row: dict[str, Any]) -> None:
    said = reading.text(row, "text").removesuffix(_HAS_CHANGES)
    _give_said(reading, said, said.strip(), is_partial=row.get("partial") is True)


def _read_question(reading: ClineReading, row: dict[str, Any]) -> None:
    """Emit a question or a plan that waits for an answer: `{question | response, options, selected}` or plain text."""
    written = reading.text(row, "text")
    value = decoded(written)
    question = text(value.get("question")) or text(value.get("response")) if value is not None else written
    options = [o for o in items(value.get("options")) if isinstance(o, str)] if value is not None else []
    _give_said(
        reading,
        "\n".join([question, *(f"- {option}" for option in options)]) if question else "",
        question.strip(),
        is_partial=row.get("partial") is True,
    )
    chosen = text(value.get("selected")) if value is not None else ""
    reading.note("selected", chosen, native_id=f"{reading.native_id}/selected")


def _give_said(reading: ClineReading, said: str, key: str, *, is_partial: bool) -> None:
    """Give text of the model, or note that it is still being written: the row will change in place."""
    if is_partial:
        reading.add(kinds.Lifecycle("partial", text=said))
    elif said.strip():
        reading.add(kinds.AssistantMessage(said, reading.now("model")), native_id=name_of(reading, "said", key))


def _read_reasoning(reading: ClineReading, row: dict[str, Any]) -> None:
    thought = reading.text(row, "text") or text(row.get("reasoning"))
    _give_thought(reading, thought, is_partial=row.get("partial") is True)


def _give_thought(reading: ClineReading, thought: str, *, is_partial: bool) -> None:
    if is_partial:
        reading.add(kinds.Lifecycle("partial", text=thought))
    elif thought:
        reading.add(kinds.Thinking(thought), native_id=name_of(reading, "thought", thought.strip()))


def _read_completion(reading: ClineReading, row: dict[str, Any]) -> None:
    """Emit the result that the model states, or its wait for approval. Whether it was approved, nobody writes down."""
    said = reading.text(row, "text").removesuffix(_HAS_CHANGES)
    if said.strip():
        _read_said(reading, row)
    if row.get("type") == "ask":
        reading.add(
            kinds.Lifecycle("turn_ended", detail={"reason": "completion"}), native_id=f"{reading.native_id}/ended"
        )


def _read_request(reading: ClineReading, row: dict[str, Any]) -> None:
    """Emit a request's tokens, which come later than the row, and why it was broken off."""
    spent = decoded(reading.text(row, "text")) or {}
    row_id = reading.native_id or ""
    usage = request_usage(reading, spent, row_id)
    if usage is not None:
        reading.add(usage, "assistant", native_id=f"{row_id}/usage")
    reason = text(spent.get("cancelReason"))
    if reason == "user_cancelled":
        reading.add(kinds.Lifecycle("interrupted", text=text(spent.get("streamingFailedMessage"))))
    elif reason:
        reading.odd_value("api_req.cancelReason", reason, frozenset(("streaming_failed", "retries_exhausted")))
        reading.add(
            kinds.Lifecycle("api_error", text=text(spent.get("streamingFailedMessage")), detail={"reason": reason})
        )


def _read_finished(reading: ClineReading, row: dict[str, Any]) -> None:
    """Emit the tokens of a request as the oldest versions wrote them: in a row of its own."""
    usage = request_usage(reading, decoded(reading.text(row, "text")) or {}, reading.native_id or "")
    if usage is not None:
        reading.add(usage, "assistant", native_id=f"{reading.native_id}/usage")


def _read_deleted(reading: ClineReading, row: dict[str, Any]) -> None:
    """Emit the return to a checkpoint: the rows after it are gone, and this row has their requests' cost."""
    _read_finished(reading, row)
    reading.add(kinds.Rewind(reading.state.newest))


def _read_tool(reading: ClineReading, row: dict[str, Any]) -> None:
    """Emit a tool's row: submitted for approval, or run without. The API log has the exact call."""
    value = decoded(reading.text(row, "text")) or {}
    tool = text(value.get("tool"))
    if tool == "summarizeTask" and row.get("partial") is not True:
        summary = text(value.get("content"))
        reading.set(is_summarised=True)
        name = f"compaction:{content_name(summary.strip())}"
        reading.add(kinds.Compaction("summary", summary), native_id=name)
        return
    detail = {key: value[key] for key in _TOOL_KEYS if value.get(key) not in (None, "", False)}
    gist = f"{tool} {text(value.get('path'))}".strip() or text(row.get("text"))[:_MAX_NAME_CHARS]
    _notice(reading, "permission" if row.get("type") == "ask" else "tool", gist, detail)


def _read_mcp(reading: ClineReading, row: dict[str, Any]) -> None:
    value = decoded(reading.text(row, "text")) or {}
    names = (text(value.get(key)) for key in ("serverName", "toolName", "uri"))
    gist = " ".join(filter(None, names)) or text(row.get("text"))[:_MAX_NAME_CHARS]
    _notice(reading, "permission" if row.get("type") == "ask" else "tool", gist)


def _read_user_diff(reading: ClineReading, row: dict[str, Any]) -> None:
    """Emit what the person changed in the model's edit before approving it."""
    value = decoded(reading.text(row, "text")) or {}
    path = text(value.get("path"))
    reading.add(kinds.Lifecycle("user_edit", text=path))
    if path:
        diff = text(value.get("diff")) or text(value.get("content"))
        reading.add(kinds.FileEdit(path, diff=diff), "user", native_id=f"edit:{reading.native_id}:{path}")


def _read_compaction(reading: ClineReading, row: dict[str, Any]) -> None:
    value = decoded(reading.text(row, "text")) or {}
    mode, status = text(value.get("mode")), text(value.get("status"))
    if status == "completed":
        before, after = reading.whole(value, "tokensBefore"), reading.whole(value, "tokensAfter")
        reading.add(kinds.Compaction(mode or "auto", tokens_before=before, tokens_after=after))
    else:
        reading.add(kinds.Lifecycle("compaction", text=status, detail=readable(value) or None))


def _read_condense(reading: ClineReading, row: dict[str, Any]) -> None:
    value = reading.mapping(row, "contextCondense")
    if not value:
        _notice(reading, "compaction", text(row.get("text")))
        return
    summary = text(value.get("summary"))
    before, after = reading.whole(value, "prevContextTokens"), reading.whole(value, "newContextTokens")
    name = f"compaction:{text(value.get('condenseId')) or content_name(summary.strip())}"
    reading.add(kinds.Compaction("condense", summary, before, after), native_id=name)
    usage = request_usage(reading, {"cost": value.get("cost")}, f"{name}/usage")
    if usage is not None:
        reading.add(usage, "assistant", native_id=f"{name}/usage")


def _read_window(reading: ClineReading, row: dict[str, Any]) -> None:
    value = reading.mapping(row, "contextTruncation")
    before, after = reading.whole(value, "prevContextTokens"), reading.whole(value, "newContextTokens")
    mark = text(value.get("truncationId"))
    name = f"compaction:{mark}" if mark else None
    reading.add(kinds.Compaction("truncation", text(row.get("text")), before, after), native_id=name)


def _notice(reading: ClineReading, name: str, said: str, detail: Json = None) -> None:
    """Emit a `lifecycle` event. Text that is JSON becomes its detail, without encoded bytes."""
    value = decoded(said) if detail is None else None
    if value is not None:
        said, detail = "", readable(value)
    mark = text(reading.value.get("lastCheckpointHash")) if name == "checkpoint" else ""
    reading.add(kinds.Lifecycle(name, text=said, detail=detail or ({"hash": mark} if mark else None)))


def decoded(written: str) -> dict[str, Any] | None:
    """Return the JSON object that a row's text holds, None for any other text."""
    value = decoded_json(written) if written.startswith("{") else None
    return value if isinstance(value, dict) else None


_READERS: dict[str, Callable[[ClineReading, dict[str, Any]], None]] = {
    "task": _read_human,
    "user_feedback": _read_human,
    "user_feedback_diff": _read_user_diff,
    "text": _read_said,
    "plan_completion_result": _read_said,
    "followup": _read_question,
    "plan_mode_respond": _read_question,
    "act_mode_respond": _read_question,
    "completion_result": _read_completion,
    "reasoning": _read_reasoning,
    "api_req_started": _read_request,
    "api_req_finished": _read_finished,
    "subagent_usage": _read_finished,
    "deleted_api_reqs": _read_deleted,
    "api_req_deleted": _read_deleted,
    "tool": _read_tool,
    "command": lambda reading, row: _notice(
        reading, "permission" if row.get("type") == "ask" else "tool", reading.text(row, "text")
    ),
    "use_mcp_server": _read_mcp,
    "compaction": _read_compaction,
    "condense_context": _read_condense,
    "sliding_window_truncation": _read_window,
}
