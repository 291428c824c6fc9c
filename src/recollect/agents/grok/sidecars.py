"""What stands beside the stream in a session's folder: summary, telemetry, setup, file copies, settings.

Evidence: format notes: Grok Build, sections 1, 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.grok import declare
from recollect.agents.grok.history import give_instructions, read_item
from recollect.agents.grok.state import Reading
from recollect.agents.grok.updates import read_line
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import content_text
from recollect.agents.kit.naming import content_sha256, short
from recollect.agents.kit.reading import MAX_NAME_CHARS
from recollect.model.payloads import FileEdit, Lifecycle, SessionStart, UserMessage

_EVENT_TYPES = frozenset(
    (
        "turn_started", "phase_changed", "first_token", "loop_started", "tool_started", "tool_completed",
        "permission_requested", "permission_resolved", "turn_ended", "interjected", "yolo_toggled",
    )
)  # fmt: skip
_EVENT_FAMILIES = ("goal_", "todo_gate_", "laziness_", "mcp_")
_EVENT_NAMES = {"permission_requested": "permission", "permission_resolved": "permission"}
_OUTCOMES = frozenset(
    ("success", "error", "permission_rejected", "permission_cancelled", "followup", "hook_denied", "invalid_tool",
     "cancelled", "completed")
)  # fmt: skip
_COUNTERS = frozenset(
    ("num_messages", "num_chat_messages", "updated_at", "last_active_at", "next_trace_turn", "numMessages",
     "updatedAt", "request_id")
)  # fmt: skip
"""Change with every save and say nothing that the stream doesn't."""
_GIVEN = frozenset(
    ("info", "created_at", "createdAt", "current_model_id", "modelId", "git_root_dir", "git_remotes", "head_commit",
     "head_branch", "generated_title", "session_summary", "title", "parent_session_id", "firstPrompt",
     "last_turn_summary", "grok_home")
)  # fmt: skip
_SETTINGS = frozenset(
    (
        "title_is_manual", "forked_at", "session_kind", "inherited_prefix_len", "fork_parent_prompt_id",
        "fork_context_source", "source_workspace_dir", "worktree_label", "worktreeLabel", "agent_name",
        "reasoning_effort", "chat_format_version", "hidden", "sandbox_profile", "last_turn_summary_prompt_id",
        "session_name", "pinned", "collection_id", "prompt_display_cwd", "cwd_generation", "previous_cwd",
        "pending_cwd_switch_reminder", "cwd_switch_bookkeeping_generation",
    )
)  # fmt: skip
_CHECKPOINT_FIELDS = frozenset(
    ("checkpoint_id", "prompt_index_at_compaction", "compacted_history", "schema_version", "created_at",
     "original_user_info", "reread_file_paths", "inherited_prefix_len", "auto_continue")
)  # fmt: skip
_POINT_FIELDS = frozenset(("prompt_index", "created_at", "file_snapshots", "after_snapshots"))
_HISTORY_FIELDS = frozenset(("timestamp", "session_id", "prompt", "is_bash"))
_CONTEXT_TEXTS = ("content", "text", "body")


def _read_summary(reading: Reading) -> None:
    """Give the facts of the session that its summary states. It is written again with every update."""
    value = reading.value
    info = reading.mapping(value, "info")
    reading.date(value.get("created_at", value.get("createdAt")), "created_at")
    kind = reading.text(value, "session_kind")
    parent = reading.text(value, "parent_session_id")
    is_subagent = kind.startswith("subagent")
    remotes = [r for r in reading.items(value, "git_remotes") if isinstance(r, str)]
    reading.add(
        SessionStart(
            cwd=text(info.get("cwd")),
            repo_root=reading.text(value, "git_root_dir"),
            git_branch=reading.text(value, "head_branch"),
            git_commit=reading.text(value, "head_commit"),
            git_remote=remotes[0] if remotes else "",
            model=text(value.get("current_model_id")) or text(value.get("modelId")),
            parent_session=parent if is_subagent else "",
            forked_from="" if is_subagent else parent,
            agent_name=reading.text(value, "agent_name") if is_subagent else "",
        ),
        native_id="summary/start",
    )
    first = text(value.get("firstPrompt"))
    if first:
        reading.add(UserMessage(first), "user", native_id="summary/prompt")
    reading.infer(reading.ts)
    title = next((t for t in (text(value.get(k)) for k in ("generated_title", "session_summary", "title")) if t), "")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="summary/title")
    recap = text(value.get("last_turn_summary"))
    if recap:
        reading.add(Lifecycle("last_turn_summary", recap), native_id="summary/recap")
    settings = {k: v for k, v in value.items() if k in _SETTINGS and v not in (None, "", [], {}, False)}
    if len(remotes) > 1:
        settings["git_remotes"] = remotes
    if settings:
        reading.add(Lifecycle("session_info", detail=settings), native_id="summary/info")
    reading.extra(value, _GIVEN | _SETTINGS | _COUNTERS, "summary", native_id="summary")


def _read_event(reading: Reading) -> None:
    """Give a line of telemetry. Tools are reported twice: once by the workspace, which is left to the archive."""
    value = reading.value
    reading.date(value.get("ts"), "ts")
    kind = value.get("type")
    if not isinstance(kind, str) or not (kind in _EVENT_TYPES or kind.startswith(_EVENT_FAMILIES)):
        reading.unknown(kind if isinstance(kind, str) and kind else "event")
        return
    if value.get("source") == "workspace" and kind == "tool_completed":
        return
    reading.odd_value(f"{kind}.outcome", value.get("outcome"), _OUTCOMES)
    if kind == "turn_started":
        _see_model(reading, reading.text(value, "model_id"))
    rest = {k: v for k, v in value.items() if k not in ("ts", "type", "schema_version", "session_id", "tool_call_id")}
    name = _EVENT_NAMES.get(kind, kind)
    if name == "permission":
        rest["event"] = kind
    kept = {k: v for k, v in rest.items() if v not in (None, "", [], {})}
    reading.add(Lifecycle(name, detail=kept or None, call_id=text(value.get("tool_call_id"))))


def _see_model(reading: Reading, model: str) -> None:
    if not model or len(model) > MAX_NAME_CHARS or model == reading.now("model"):
        return
    if not reading.now("model"):
        reading.add(SessionStart(cwd=reading.state.cwd, model=model), native_id="events/start")
    else:
        reading.add(Lifecycle("model", model=model))
    reading.set(model=short(model))


def _read_prompt_history(reading: Reading) -> None:
    """Give one prompt of the folder's history, in the session that it names."""
    value = reading.value
    reading.date(value.get("timestamp"))
    session = reading.text(value, "session_id")
    said = reading.text(value, "prompt")
    reading.extra(value, _HISTORY_FIELDS, "prompt_history")
    if not session or not said:
        reading.kept("prompt_history")
    elif value.get("is_bash") is True:
        reading.add(UserMessage(f"!{said}", "command"), "user", session=session)
    else:
        reading.add(UserMessage(said), "user", session=session)


def _read_rewind_point(reading: Reading) -> None:
    """Give the copies of files that were kept before a prompt. They are no edits of their own."""
    value = reading.value
    reading.date(value.get("created_at"), "created_at")
    before, after = reading.mapping(value, "file_snapshots"), reading.mapping(value, "after_snapshots")
    point = f"point:{whole(value.get('prompt_index'))}:{content_sha256(value.get('created_at'))}"
    for path in dict.fromkeys((*before, *after)):
        edit = FileEdit(
            _path(before.get(path)) or _path(after.get(path)) or path,
            "checkpoint",
            _content(before.get(path)),
            _content(after.get(path)),
        )
        reading.add(edit, native_id=f"{point}:{path}")
    rest = {k: v for k, v in value.items() if k in ("prompt_index",)}
    reading.add(Lifecycle("checkpoint", detail=rest or None), native_id=point)
    reading.extra(value, _POINT_FIELDS, "rewind_point", native_id=point)


def _content(snapshot: object) -> str | None:
    """Return the content of a file's copy: a text, or an object that holds it; None where there was no file."""
    content = snapshot if isinstance(snapshot, str) else mapping(snapshot).get("content")
    return content if isinstance(content, str) else None


def _path(snapshot: object) -> str:
    return text(mapping(snapshot).get("path"))


def _read_checkpoint(reading: Reading) -> None:
    """Give what a compaction kept, which is what the model went on with."""
    value = reading.value
    reading.date(value.get("created_at"), "created_at")
    name = f"checkpoint:{text(value.get('checkpoint_id')) or reading.state.name}"
    kept = [content_text(mapping(item).get("content")) for item in reading.items(value, "compacted_history")]
    said = "\n\n".join(t for t in kept if t)
    rest = {k: v for k, v in value.items() if k in _CHECKPOINT_FIELDS and k not in ("compacted_history", "created_at")}
    detail = {k: v for k, v in rest.items() if v not in (None, "", [], {})}
    reading.add(Lifecycle("checkpoint", said, detail or None), native_id=name)
    reading.extra(value, _CHECKPOINT_FIELDS, "compaction_checkpoint", native_id=name)


def _read_prompt_context(reading: Reading) -> None:
    """Give the instruction files that were loaded, wherever in the document they stand, and the rest."""
    rest = {k: _without_files(reading, v) for k, v in reading.value.items()}
    detail = {k: v for k, v in rest.items() if v not in (None, "", [], {})}
    if detail:
        reading.add(Lifecycle("prompt_context", detail=detail), native_id="prompt_context")


def _without_files(reading: Reading, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    left: list[Any] = []
    for item in value:
        file = mapping(item)
        path = text(file.get("path")) or text(file.get("name"))
        said = next((file[k] for k in _CONTEXT_TEXTS if isinstance(file.get(k), str)), "")
        if path and said:
            give_instructions(reading, said, path)
        else:
            left.append(item)
    return left


def _read_state(reading: Reading) -> None:
    """Give a document of settings or counters, whole."""
    name = reading.state.name.removesuffix(".json").removesuffix(".jsonl") or "state"
    entries = items(reading.value.get("entries")) or items(reading.value.get("todos"))
    kind = "todo" if name == "plan" and entries else "goal" if name == "state" else name
    detail = {k: v for k, v in reading.value.items() if v not in (None, "", [], {}, 0, False)}
    reading.add(Lifecycle(kind, detail=detail or None), native_id=f"state:{name}")


def _read_subagent_meta(reading: Reading) -> None:
    value = reading.value
    reading.date(value.get("started_at", value.get("created_at")), "started_at")
    said = text(value.get("prompt")) or text(value.get("description"))
    rest = {k: v for k, v in value.items() if v not in (None, "", [], {}) and v != said}
    reading.add(Lifecycle("subagent", said, rest or None), native_id=f"subagent_meta:{content_sha256(value)}")


def _read_feedback(reading: Reading) -> None:
    value = reading.value
    reading.date(value.get("timestamp", value.get("created_at")))
    said = text(value.get("text")) or text(value.get("feedback")) or text(value.get("comment"))
    rest = {k: v for k, v in value.items() if v not in (None, "", [], {}) and v != said}
    reading.add(Lifecycle("feedback", said, rest or None))


READERS: dict[str, Callable[[Reading], None]] = {
    declare.UPDATES: read_line,
    declare.CHAT: read_item,
    declare.EVENTS: _read_event,
    declare.SUMMARY: _read_summary,
    declare.PROMPT_CONTEXT: _read_prompt_context,
    declare.REWIND_POINTS: _read_rewind_point,
    declare.CHECKPOINT: _read_checkpoint,
    declare.SUBAGENT_META: _read_subagent_meta,
    declare.FEEDBACK: _read_feedback,
    declare.SETTINGS: _read_state,
    declare.PROMPT_HISTORY: _read_prompt_history,
}
"""Which function reads the objects of which role."""
