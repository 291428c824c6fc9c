"""Records of type `system`, by subtype: what happened around the conversation.

Metadata (title, model, mode …) are written again at the end of the file every 32 KB, as new records with the same
content: these get the name that the first one had, so that they are one event.
Evidence: format notes: Qwen Code, "system subtypes", "Notes"; QwenLM/qwen-code, ChatRecord.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.content.google.parts import content_text
from recollect.agents.kit.naming import content_sha256, is_storable
from recollect.agents.kit.reading import Reading
from recollect.agents.qwen.messages import read_user
from recollect.agents.qwen.state import MAX_METADATA, Metadata, QwenState
from recollect.model.payloads import Compaction, Instructions, Lifecycle, Rewind, SessionStart, UserMessage
from recollect.model.text import flatten

_METADATA = frozenset(
    (
        "custom_title", "parent_session", "session_source", "session_model", "session_approval_mode", "session_notes",
        "session_execution_engine", "session_sources_snapshot", "session_artifact_snapshot",
        "attribution_snapshot", "file_history_snapshot", "goal_state",
    )
)  # fmt: skip
_USER_SUBTYPES = frozenset(
    ("notification", "cron", "mid_turn_user_message", "background_task_completed", "agent_launch_prompt")
)
_KEPT = frozenset(
    (
        "attribution_snapshot", "file_history_snapshot", "session_artifact_event", "session_artifact_snapshot",
        "session_sources_snapshot", "branch_checkpoint", "goal_state", "goal_runtime", "goal_turn_end",
        "realtime_message", "user_text_elements", "omni_recall", "agent_retry", "agent_session_ready",
        "session_source", "session_notes", "session_execution_engine", "managed_session_header_v1",
        "managed_session_event_v1", "managed_session_commit_v1", "background_task_completed", "notification", "cron",
        "mid_turn_user_message", "agent_launch_prompt",
    )
)  # fmt: skip
_TURN_STATES = frozenset(("completed", "cancelled", "error"))
_TURN_TEXTS = frozenset(("promptText", "resultText"))
_SUMMARY_MARKS = ("<state_snapshot>", "<summary>", "summary of the conversation", "conversation summary")
_SUMMARY_WINDOW_CHARS = 400
_REPEATED = frozenset(("function_args", "prompt", "response_text"))
"""Fields of telemetry that say again what the conversation holds."""


def read_system(reading: Reading[QwenState], subtype: str) -> None:
    """Give the events of a system record."""
    payload = reading.mapping(reading.value, "systemPayload")
    if subtype in _METADATA:
        _name_alike(reading, subtype, payload)
    if subtype in _USER_SUBTYPES and "message" in reading.value:
        read_user(reading, subtype)
        return
    read = _READERS.get(subtype)
    if read is not None:
        read(reading, payload)
    elif subtype in _KEPT:
        reading.kept(subtype, without_opaque(payload or reading.mapping(reading.value, "message")))
    elif "message" in reading.value and not subtype:
        said = content_text(reading.mapping(reading.value, "message").get("parts"))
        reading.add(Instructions(said, "system"))
    else:
        reading.unknown(f"system/{subtype}" if subtype else "system")


def _name_alike(reading: Reading[QwenState], subtype: str, payload: dict[str, Any]) -> None:
    """Call a metadata record that says the same as the newest of its subtype by that one's name."""
    known: tuple[Metadata, ...] = reading.now("metadata")
    content = content_sha256(payload)
    before = next((m for m in known if m.subtype == subtype), None)
    if before is not None and before.content == content:
        reading.native_id = before.native_id
        return
    name = reading.native_id
    if name is not None and is_storable(name):
        others = tuple(m for m in known if m is not before)
        reading.set(metadata=(*others, Metadata(subtype, name, content))[-MAX_METADATA:])


def _read_compression(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Give a compaction. The turns that it carries over repeat what stands above; only a summary is new."""
    info = reading.mapping(payload, "info")
    history = reading.items(payload, "compressedHistory")
    first = content_text(mapping(history[0]).get("parts")) if history else ""
    is_summary = any(mark in first[:_SUMMARY_WINDOW_CHARS].lower() for mark in _SUMMARY_MARKS)
    reading.add(
        Compaction(
            trigger=text(info.get("triggerReason")),
            summary=first if is_summary else "",
            tokens_before=whole(info.get("originalTokenCount")),
            tokens_after=whole(info.get("newTokenCount")),
            continues_at=reading.native_id or "",
        )
    )


def _read_rewind(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Give a rewind: the record hangs below the one where the session goes on. What it counts are rows on a screen."""
    target = text(payload.get("targetUuid")) or reading.parent_id or ""
    reading.add(Rewind(to_event=target))


def _read_command(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Give a /command as it was typed, or what came of it."""
    command = reading.text(payload, "rawCommand")
    output = flatten(without_opaque(items(payload.get("outputHistoryItems"))))
    if payload.get("phase") == "invocation" and payload.get("hiddenInvocation") is not True:
        reading.add(UserMessage(command, "command"), "user")
        if output:
            reading.add(Lifecycle("command_output", text=output), native_id=_below(reading, "output"))
        return
    reading.add(Lifecycle("command_output", text=output, detail={"command": command} if command else None))


def _read_references(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    files = [f for f in items(payload.get("filesRead")) if isinstance(f, str)]
    detail = {k: v for k, v in payload.items() if k not in ("message", "filesRead") and v}
    said = "\n".join(t for t in (text(payload.get("message")), *files) if t)
    reading.add(Lifecycle("at_command", text=said, detail=detail or None))


def _read_telemetry(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Give an error of the model's API or what else was measured; its token counts repeat those of the records."""
    event = reading.mapping(payload, "uiEvent")
    name = text(event.get("event.name")) or text(event.get("name"))
    detail = {k: v for k, v in event.items() if k not in _REPEATED and v not in (None, "", [], {})}
    is_error = name.endswith("api_error")
    said = text(event.get("error_message")) or text(event.get("error")) if is_error else ""
    reading.add(Lifecycle("api_error" if is_error else "telemetry", text=said or name, detail=detail or None))


def _read_title(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    title = reading.text(payload, "customTitle")
    source = text(payload.get("titleSource"))
    reading.add(Lifecycle("title", text=title, title=title, detail={"source": source} if source else None))


def _read_parent(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    reading.add(SessionStart(parent_session=reading.text(payload, "parentSessionId")))


def _read_model(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    model = reading.text(payload, "modelId")
    detail = {k: v for k, v in payload.items() if k in ("authType", "isRuntime") and v}
    reading.add(Lifecycle("model", text=model, model=model, detail=detail or None))
    if model and is_storable(model):
        reading.set(model=model)


def _read_mode(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    reading.add(Lifecycle("mode", text=reading.text(payload, "mode"), detail=payload or None))


def _read_turn(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Give how a turn ended; what was asked and answered stands above."""
    state = reading.text(payload, "state")
    reading.odd_value("turn_result.state", state, _TURN_STATES)
    error = text(reading.mapping(payload, "error").get("message"))
    name = {"cancelled": "interrupted", "error": "api_error"}.get(state, "turn_ended")
    detail = {k: v for k, v in payload.items() if k not in _TURN_TEXTS and v not in (None, "")}
    reading.add(Lifecycle(name, text=error or text(payload.get("stopReason")), detail=detail or None))


def _read_bootstrap(reading: Reading[QwenState], payload: dict[str, Any]) -> None:
    """Give the instructions a subagent was started with, and that it inherited a history; which is its parent's."""
    instruction = payload.get("systemInstruction")
    said = content_text(mapping(instruction).get("parts")) if isinstance(instruction, dict) else text(instruction)
    if said:
        reading.add(Instructions(said, "agent_bootstrap"))
    history = items(payload.get("history"))
    reading.add(
        Lifecycle("agent_bootstrap", text=text(payload.get("kind")), detail={"turns": len(history)}),
        native_id=_below(reading, "bootstrap"),
    )


def _below(reading: Reading[QwenState], name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None


_READERS: dict[str, Callable[[Reading[QwenState], dict[str, Any]], None]] = {
    "chat_compression": _read_compression,
    "rewind": _read_rewind,
    "slash_command": _read_command,
    "at_command": _read_references,
    "ui_telemetry": _read_telemetry,
    "custom_title": _read_title,
    "parent_session": _read_parent,
    "session_model": _read_model,
    "session_approval_mode": _read_mode,
    "agent_bootstrap": _read_bootstrap,
    "turn_result": _read_turn,
}
