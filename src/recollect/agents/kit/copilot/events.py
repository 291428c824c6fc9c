"""Which function reads which type of Copilot session event, and the envelope around all of them.

Evidence: format notes: GitHub Copilot CLI; recorded event streams of Copilot CLI 0.0.420 to 1.0.77 and of VS Code 1.109
to 1.119. The set of types is open: what is known to exist but says nothing of the conversation is a `lifecycle` event
named after its type, what is not known an `unknown` one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.copilot import messages, session, tools
from recollect.agents.kit.copilot.state import CopilotState
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Lifecycle

S = TypeVar("S", bound=CopilotState)
Handler = Callable[[Reading[Any], dict[str, Any], str | None], None]

_ENVELOPE = frozenset(("type", "id", "parentId", "timestamp", "data", "agentId", "ephemeral"))
_HANDLERS: dict[str, Handler] = {
    "session.start": session.read_start,
    "session.resume": session.read_start,
    "session.model_change": session.read_model_change,
    "session.context_changed": session.read_context,
    "session.title_changed": session.read_title,
    "session.info": partial(session.read_notice, "info"),
    "session.warning": partial(session.read_notice, "warning"),
    "session.error": partial(session.read_notice, "error"),
    "session.truncation": session.read_truncation,
    "session.snapshot_rewind": session.read_rewind,
    "session.compaction_start": session.read_compaction_start,
    "session.compaction_complete": session.read_compaction,
    "session.context_cleared": session.read_cleared,
    "session.shutdown": session.read_shutdown,
    "user.message": messages.read_user,
    "system.message": messages.read_system,
    "system.notification": messages.read_notification,
    "assistant.message": messages.read_assistant,
    "assistant.reasoning": messages.read_reasoning,
    "abort": session.read_abort,
    "tool.user_requested": tools.read_start,
    "tool.execution_start": tools.read_start,
    "tool.execution_complete": tools.read_complete,
    "skill.invoked": messages.read_skill,
    "subagent.started": session.read_subagent_start,
    "subagent.completed": partial(session.read_subagent, "completed"),
    "subagent.failed": partial(session.read_subagent, "failed"),
}
_NAMED = {
    "assistant.turn_start": "turn_started",
    "assistant.turn_end": "turn_ended",
    "session.mode_changed": "mode",
    "session.auto_mode_resolved": "model_routed",
    "session.task_complete": "task",
    "session.todos_changed": "todo",
    "session.plan_changed": "plan",
    "hook.start": "hook",
    "hook.end": "hook",
    "permission.requested": "permission",
    "permission.completed": "permission",
    "model.call_failure": "api_error",
}
"""Types that become a `lifecycle` event of a name of ours."""
_KNOWN = frozenset(
    """
    session.usage_checkpoint session.handoff session.workspace_file_changed session.remote_steerable_changed
    session.idle session.usage_info session.schedule_created session.schedule_cancelled session.schedule_rearmed
    session.autopilot_objective_changed session.mode_notice_delivered session.session_limits_changed
    session.permissions_changed session.binary_asset session.tools_updated session.background_tasks_changed
    session.skills_loaded session.custom_agents_updated session.mcp_servers_loaded session.mcp_server_status_changed
    session.extensions_loaded session.custom_notification session.auto_mode_switch_requested
    session.auto_mode_switch_completed session.managed_settings_resolved session.limits_exhausted
    subagent.selected subagent.deselected subagent.configured hook.progress assistant.intent assistant.usage
    assistant.idle tool.execution_progress tool.execution_partial_result tool_search.activated user_input.requested
    user_input.completed elicitation.requested elicitation.completed sampling.requested sampling.completed
    mcp.oauth_required mcp.oauth_completed external_tool.requested external_tool.completed command.queued
    command.execute command.completed commands.changed capabilities.changed exit_plan_mode.requested
    exit_plan_mode.completed pending_messages.modified
    """.split()
)
_KNOWN_PREFIXES = (
    "fusion_", "session.fusion_", "session.schedule_", "session.factory_run_", "session.canvas_", "session.mcp_",
    "assistant.fusion_", "schedule_", "factory_run_", "canvas_", "canvas.", "mcp_",
)  # fmt: skip
FINGERPRINT = frozenset((*_HANDLERS, "assistant.turn_start", "assistant.turn_end"))
"""Types by which a stream of these events is recognised."""


def read_event(reading: Reading[S], without: frozenset[str] = frozenset()) -> None:
    """Give the events of one record. without: types that this agent's streams never hold."""
    value = reading.value
    if not isinstance(reading.record.value, dict):
        read_odd(reading)
        return
    reading.date(value.get("timestamp"))
    reading.native_id = text(value.get("id")) or None
    reading.parent_id = text(value.get("parentId")) or None
    kind = reading.text(value, "type")
    data = reading.mapping(value, "data")
    call_id = "" if kind.startswith("subagent.") else text(data.get("parentToolCallId"))
    agent = "" if kind.startswith("subagent.") else text(value.get("agentId"))
    child = session.child_session(reading, agent, call_id) or None
    handler = _HANDLERS.get(kind)
    if kind in without or (handler is None and not _is_known(kind)):
        reading.unknown(kind or "event")
    elif handler is not None:
        handler(reading, data, child)
    else:
        name = _NAMED.get(kind) or kind.replace(".", "_")
        call = text(data.get("toolCallId"))
        reading.add(Lifecycle(name, detail=without_opaque(data) or None, call_id=call), session=child)
    if not reading.events:  # the start of a call that the message told of, a message without words
        name = kind.replace(".", "_")
        reading.add(Lifecycle(name, call_id=text(data.get("toolCallId"))), session=child)
    reading.extra(value, _ENVELOPE, "event")
    reading.set(count=reading.now("count") + 1)


def _is_known(kind: str) -> bool:
    return kind in _NAMED or kind in _KNOWN or kind.startswith(_KNOWN_PREFIXES)


def starts_stream(value: object) -> bool:
    """Say whether a decoded line is one of these events."""
    found = mapping(value)
    return (
        found.get("type") in FINGERPRINT
        if isinstance(found.get("type"), str) and isinstance(found.get("data"), dict) and "parentId" in found
        else False
    )
