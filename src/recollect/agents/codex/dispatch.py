"""Which function reads which type: `response_item` (the model's items), `event_msg` (what the interface was told).

Items also stand alone in the oldest form; completed items replace most events in the paginated mode. Small events are
read here.
"""

from __future__ import annotations

from collections.abc import Callable

from recollect.agents.codex import dialogue, tools, usage
from recollect.agents.codex.content import readable, readable_secret, without
from recollect.agents.codex.fields import note_payload
from recollect.agents.codex.step import Step, bounded
from recollect.agents.codex.threads import compact, unknown_text
from recollect.agents.kit.drift import note_type, note_value
from recollect.model.payloads import Json, Lifecycle, Rewind, Unknown

Handler = Callable[[Step, dict[str, Json]], None]
_ABORT_REASONS = frozenset(("interrupted", "replaced", "review_ended", "budget_limited"))


def item_without_type(step: Step, payload: dict[str, Json]) -> None:
    """A message written without its type by builds of the transition; else unknown."""
    if "role" in payload and "content" in payload:
        note_payload(step, "response_item/message", payload)
        dialogue.item_message(step, payload)
    else:
        note_type(step.drift, "response_item/(none)")
        step.emit(Unknown(type="response_item", text=unknown_text(payload)))


def item_compaction(step: Step, payload: dict[str, Json]) -> None:
    """A `compaction` item: the shortened context, usually as ciphertext."""
    compact(step, "compaction", readable_secret(payload.get("encrypted_content")))


def ghost_snapshot(step: Step, payload: dict[str, Json]) -> None:
    """The agent committed the working tree aside, to be able to undo."""
    step.emit(Lifecycle(name="checkpoint", detail=without(payload)))


def task_started(step: Step, payload: dict[str, Json]) -> None:
    """A turn begins."""
    step.begin_turn(step.text(payload.get("turn_id"), "turn_id"))
    step.emit(Lifecycle(name="turn_started"))


def task_complete(step: Step, payload: dict[str, Json]) -> None:
    """A turn ended; its last message was given already."""
    error = payload.get("error")
    detail = {k: payload[k] for k in ("duration_ms", "time_to_first_token_ms") if payload.get(k) is not None}
    step.emit(Lifecycle(name="turn_ended", text=readable(error) if error else "", detail=detail or None))


def turn_aborted(step: Step, payload: dict[str, Json]) -> None:
    """A turn was stopped: interrupted, replaced, review_ended or budget_limited."""
    note_value(step.drift, "event_msg/turn_aborted.reason", payload.get("reason"), _ABORT_REASONS)
    step.emit(Lifecycle(name="turn_aborted", text=step.text(payload.get("reason"), "reason")))


def error(step: Step, payload: dict[str, Json]) -> None:
    """The model's service or the agent failed."""
    message = payload.get("message")
    if isinstance(message, str):
        step.emit(Lifecycle(name="api_error", text=message, detail=without(payload, "message")))
    else:
        step.emit(Lifecycle(name="api_error", text=unknown_text(payload)))


def context_compacted(step: Step, _payload: dict[str, Json]) -> None:
    """The interface's telling of a compaction."""
    compact(step, "context_compacted", "")


def completed_compaction(step: Step, _item: dict[str, Json]) -> None:
    """A ContextCompaction item."""
    compact(step, "ContextCompaction", "")


def rolled_back(step: Step, payload: dict[str, Json]) -> None:
    """The last user turns left the context; their lines stay."""
    step.emit(Rewind(turns_dropped=step.whole(payload.get("num_turns"), "num_turns")))


def name_updated(step: Step, payload: dict[str, Json]) -> None:
    """The thread got a title."""
    title = step.text(payload.get("thread_name", payload.get("name")), "thread_name")
    step.emit(Lifecycle(name="title", title=title))


def settings_applied(step: Step, payload: dict[str, Json]) -> None:
    """The settings of the thread changed between turns."""
    settings = step.mapping(payload.get("thread_settings"), "thread_settings")
    cwd = step.text(settings.get("cwd"), "cwd")
    model = step.text(settings.get("model"), "model")
    is_new_cwd = bool(cwd) and bounded(cwd) != step.state.cwd
    is_new_model = bool(model) and bounded(model) != step.state.model
    if is_new_cwd or is_new_model:
        step.set(cwd=bounded(cwd) or step.state.cwd, model=bounded(model) or step.state.model)
    step.emit(
        Lifecycle(
            name="mode",
            text=step.text(settings.get("approval_policy"), "approval_policy"),
            cwd=cwd if is_new_cwd else "",
            model=model if is_new_model else "",
        )
    )


def goal_updated(step: Step, payload: dict[str, Json]) -> None:
    """The thread's goal changed."""
    goal = step.mapping(payload.get("goal"), "goal")
    detail = without(goal, "objective", "threadId")
    step.emit(Lifecycle(name="task", text=step.text(goal.get("objective"), "objective"), detail=detail))


def plan(step: Step, item: dict[str, Json]) -> None:
    """A Plan item: the plan that the model proposes."""
    step.emit(Lifecycle(name="plan", text=step.text(item.get("text"), "text")))


def _noted(name: str, *, text_from: str = "", text: str = "") -> Handler:
    """Return a handler for events that are kept as they are, under a lifecycle name."""

    def handle(step: Step, payload: dict[str, Json]) -> None:
        words = step.text(payload.get(text_from), text_from) if text_from else text
        call_id = step.text(payload.get("call_id"), "call_id")
        detail = without(payload, "call_id", text_from)
        step.emit(Lifecycle(name=name, text=words, detail=detail, call_id=call_id))

    return handle


_COMPLETED: dict[str, Handler] = {
    "UserMessage": dialogue.completed_user_message,
    "HookPrompt": dialogue.hook_prompt,
    "AgentMessage": dialogue.completed_agent_message,
    "Reasoning": dialogue.completed_reasoning,
    "Plan": plan,
    "CommandExecution": tools.command_end,
    "DynamicToolCall": tools.dynamic_tool_end,
    "McpToolCall": tools.mcp_end,
    "WebSearch": tools.search_end,
    "FileChange": tools.patch_end,
    "ImageView": tools.image_view,
    "ImageGeneration": tools.image_generation,
    "ContextCompaction": completed_compaction,
    "CollabAgentToolCall": _noted("subagent", text_from="prompt"),
    "SubAgentActivity": _noted("subagent"),
    "Sleep": _noted("sleep"),
}


def item_completed(step: Step, payload: dict[str, Json]) -> None:
    """An item of a turn is complete; in the paginated mode the only telling beside the model's items."""
    item = step.mapping(payload.get("item"), "item")
    kind = step.text(item.get("type"), "type")
    if kind == "Extension" and ("query" in item or "results" in item):
        handler: Handler | None = tools.search_end
    else:
        handler = _COMPLETED.get(kind)
    tag = f"item_completed/{kind}"
    if handler is None:
        note_type(step.drift, tag)
        step.emit(Unknown(type=tag, text=unknown_text(item or payload)))
    else:
        note_payload(step, tag, item)
        handler(step, item)


ITEMS: dict[str, Handler] = {
    "": item_without_type,
    "message": dialogue.item_message,
    "agent_message": dialogue.item_agent_message,
    "reasoning": dialogue.item_reasoning,
    "function_call": tools.function_call,
    "function_call_output": tools.tool_output,
    "custom_tool_call": tools.custom_tool_call,
    "custom_tool_call_output": tools.tool_output,
    "local_shell_call": tools.local_shell_call,
    "local_shell_call_output": tools.tool_output,
    "web_search_call": tools.web_search_call,
    "tool_search_call": tools.tool_search_call,
    "tool_search_output": tools.tool_search_output,
    "image_generation_call": tools.image_generation,
    "compaction": item_compaction,
    "compaction_summary": item_compaction,
    "context_compaction": item_compaction,
    "ghost_snapshot": ghost_snapshot,
}
"""Handlers by the item's type; everything else is an unknown event."""

EVENTS: dict[str, Handler] = {
    "user_message": dialogue.event_user_message,
    "agent_message": dialogue.event_agent_message,
    "agent_reasoning": dialogue.event_reasoning,
    "agent_reasoning_raw_content": dialogue.event_reasoning,
    "token_count": usage.token_count,
    "task_started": task_started,
    "turn_started": task_started,
    "task_complete": task_complete,
    "turn_complete": task_complete,
    "turn_aborted": turn_aborted,
    "exec_command_end": tools.command_end,
    "mcp_tool_call_end": tools.mcp_end,
    "patch_apply_end": tools.patch_end,
    "web_search_end": tools.search_end,
    "image_generation_end": tools.image_generation,
    "view_image_tool_call": tools.image_view,
    "dynamic_tool_call_request": tools.dynamic_tool_request,
    "dynamic_tool_call_response": tools.dynamic_tool_end,
    "context_compacted": context_compacted,
    "thread_rolled_back": rolled_back,
    "thread_name_updated": name_updated,
    "thread_settings_applied": settings_applied,
    "thread_goal_updated": goal_updated,
    "item_completed": item_completed,
    "error": error,
    "stream_error": error,
    "undo_completed": _noted("undo", text_from="message"),
    "warning": _noted("warning", text_from="message"),
    "entered_review_mode": _noted("mode", text="review"),
    "exited_review_mode": _noted("mode", text="review ended"),
    "guardian_assessment": _noted("permission"),
    "sub_agent_activity": _noted("subagent", text_from="kind"),
    "collab_agent_spawn_end": _noted("subagent", text_from="prompt"),
    "collab_agent_interaction_end": _noted("subagent", text_from="prompt"),
    "collab_waiting_end": _noted("subagent"),
    "collab_close_end": _noted("subagent"),
    "collab_resume_end": _noted("subagent"),
}
"""Handlers by `payload.type` of an `event_msg`; everything else is an unknown event."""
