"""The update stream: the envelope of a line, and which function reads which kind of update.

The set of kinds is open. Those around the conversation become lifecycle events with all that they say; unknown ones
are kept and counted. Evidence: format notes: Grok Build, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.grok.calls import read_call, read_call_update
from recollect.agents.grok.speech import hear, settle
from recollect.agents.grok.state import Reading
from recollect.agents.grok.turns import (
    read_checkpoint,
    read_compaction_end,
    read_compaction_start,
    read_rewind,
    read_subagent_end,
    read_subagent_start,
    read_turn_end,
)
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.naming import short
from recollect.agents.kit.reading import MAX_NAME_CHARS
from recollect.model.payloads import Lifecycle

METHODS = frozenset(("session/update", "_x.ai/session/update", "x.ai/session/update"))
_LINE_FIELDS = frozenset(("timestamp", "method", "params"))
_PARAMS_FIELDS = frozenset(("sessionId", "update", "_meta"))
_META_FIELDS = frozenset(
    ("eventId", "totalTokens", "hostTurn", "usage", "promptId", "promptIndex", "agentTimestampMs", "streamStartMs",
     "turnStartMs", "updateType", "updateParams", "chunkId", "modelId", "isReplay")
)  # fmt: skip
_CHUNK_FIELDS = frozenset(("sessionUpdate", "content", "_meta", "messageId"))
_SPEAKERS = {"user_message_chunk": "user", "agent_message_chunk": "agent", "agent_thought_chunk": "thought"}
_BREAKS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "tool_call": read_call,
    "turn_completed": read_turn_end,
    "compaction_checkpoint": read_checkpoint,
    "rewind_marker": read_rewind,
    "auto_compact_started": read_compaction_start,
    "auto_compact_completed": read_compaction_end,
}
"""Updates that end the message before them."""
_ASIDES: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "tool_call_update": read_call_update,
    "subagent_spawned": read_subagent_start,
    "subagent_finished": read_subagent_end,
}
_NAMES = {
    "plan": "todo",
    "current_mode_update": "mode",
    "model_changed": "model",
    "model_auto_switched": "model",
    "git_branch_update": "branch",
    "session_summary_generated": "title",
    "session_info_update": "title",
    "available_commands_update": "available_commands",
    "subagent_progress": "subagent",
    "task_backgrounded": "task",
    "task_completed": "task",
    "retry_state": "retry",
    "hook_execution": "hook",
    "hook_annotation": "hook",
    "tool_call_delta_chunk": "tool_call_delta",
    "auto_compact_failed": "compaction_failed",
    "auto_compact_cancelled": "compaction_cancelled",
}
"""Names of the lifecycle events that known kinds become; the others are called after themselves."""
_KNOWN = frozenset(
    (
        "session_recap", "last_turn_summary", "diff_review", "monitor_event", "workflow_updated", "session_status",
        "pending_interaction", "interaction_resolved", "response_completed", "usage_update", "config_option_update",
        "goal_updated", "background_tasks",
    )
)  # fmt: skip
_FAMILIES = ("memory_", "scheduled_task_", "image_")
_TITLES = ("title", "generated_title", "session_summary", "summary")
_MODELS = ("model_id", "modelId", "current_model_id", "new_model_id", "model", "to")
_TEXTS = ("summary", "text", "recap", "message", "reason", "description", "arguments_delta", "currentModeId", "mode")


def read_line(reading: Reading) -> None:
    """Give the events of one line of `updates.jsonl`, in a wrapper or, as old builds wrote it, bare."""
    value = reading.value
    params = value
    if "params" in value:
        reading.extra(value, _LINE_FIELDS, "line")
        params = reading.mapping(value, "params")
        reading.odd_value("line.method", value.get("method"), METHODS)
    meta = reading.mapping(params, "_meta")
    reading.date(meta.get("agentTimestampMs") or value.get("timestamp"))
    update = params.get("update")
    kind = mapping(update).get("sessionUpdate")
    if not isinstance(update, dict) or not isinstance(kind, str) or not kind:
        reading.wrong("update")
        reading.unknown("update")
        return
    reading.extra(params, _PARAMS_FIELDS | _LINE_FIELDS, "params")
    reading.extra(meta, _META_FIELDS, "meta")
    _see_model(reading, meta, mapping(update.get("_meta")))
    _read_update(reading, kind, update, meta)


def _see_model(reading: Reading, meta: dict[str, Any], own: dict[str, Any]) -> None:
    model = text(own.get("modelId")) or text(meta.get("modelId"))
    if not model or len(model) > MAX_NAME_CHARS or model == reading.now("model"):
        return
    reading.set(model=short(model))
    reading.add(Lifecycle("model", model=model))


def _read_update(reading: Reading, kind: str, update: dict[str, Any], meta: dict[str, Any]) -> None:
    speaker = _SPEAKERS.get(kind)
    if speaker is not None:
        reading.extra(update, _CHUNK_FIELDS, kind)
        reading.set(shrink=None)
        hear(reading, speaker, update, meta)
        return
    read_break = _BREAKS.get(kind)
    if read_break is not None:
        settle(reading)
        read_break(reading, update)
        return
    read_aside = _ASIDES.get(kind)
    if read_aside is not None:
        read_aside(reading, update)
    elif kind in _NAMES or kind in _KNOWN or kind.startswith(_FAMILIES):
        _read_known(reading, _NAMES.get(kind, kind), update)
    else:
        reading.unknown(kind, update)


def _read_known(reading: Reading, name: str, update: dict[str, Any]) -> None:
    """Give an update around the conversation: its text, what it changes of the session, and everything else it says."""
    rest = {k: v for k, v in update.items() if k != "sessionUpdate" and v not in (None, "", [], {})}
    title = _take(rest, _TITLES) if name == "title" else ""
    model = _take(rest, _MODELS) if name == "model" else ""
    branch = _take(rest, ("branch", "head_branch", "gitBranch")) if name == "branch" else ""
    if 0 < len(model) <= MAX_NAME_CHARS:
        reading.set(model=short(model))
    if name == "available_commands":
        commands = reading.items(update, "availableCommands")
        rest = {"availableCommands": [text(mapping(c).get("name")) for c in commands]}
    said = _take(rest, _TEXTS)
    call_id = text(update.get("tool_call_id"))
    reading.add(Lifecycle(name, said, rest or None, branch=branch, model=model, title=title, call_id=call_id))


def _take(rest: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first text among some fields, and take it out of the others."""
    key = next((k for k in keys if isinstance(rest.get(k), str)), None)
    return text(rest.pop(key)) if key is not None else ""
