"""The header, and which reader takes which event; what happens around the conversation becomes `lifecycle` events.

Events are named for their messages, calls and times, never for `seq`: a migration to the next format counts anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.dsh.messages import (
    content_of,
    read_assistant,
    read_call,
    read_result,
    read_system,
    read_usage,
    read_user,
    see_model,
)
from recollect.agents.dsh.state import Reading
from recollect.agents.dsh.stream import PACKED, give_streamed, read_packed, read_piece, text_of_stream
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.naming import content_name, numbered, short
from recollect.model.payloads import Compaction, Instructions, Lifecycle, SessionStart
from recollect.model.text import flatten

_ENVELOPE = frozenset((
    "type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp", "ignorable", "seq0", "time0", "index",
))  # fmt: skip
_HEADER_FIELDS = frozenset((
    "type", "version", "id", "createdAt", "cwd", "delegationDepth", "parentSession", "seedLength", "isSeeded", "origin",
    "agentPreset", "title", "ephemeral",
))  # fmt: skip
_LIFECYCLE = {
    "agent-preset/selected": "mode", "plan/mode": "mode", "sandbox/mode": "permission",
    "permission/preset": "permission",
    "approval/policy": "permission", "approval/asked": "permission", "approval/decided": "permission",
    "command/run": "command", "command/done": "command", "compaction/start": "compaction_started",
    "compaction/end": "compaction_ended", "goal/change": "goal", "hook/invoked": "hook", "hook/result": "hook",
    "llm/retry": "retry", "llm/retry-started": "retry", "request/context": "context", "session/end-seed": "end_seed",
    "subagent/descriptor": "subagent", "subagent/model-selection-policy": "subagent", "team/member": "team",
    "team/message/delivered": "team", "team/message/queued": "team", "team/task": "task", "todo/write": "todo",
    "tool-workflow/agent-end": "workflow", "tool-workflow/agent-start": "workflow", "tool-workflow/run-end": "workflow",
    "tool-workflow/run-start": "workflow", "tool/code-dispatch": "dispatch", "tool/code-dispatch-start": "dispatch",
    "step/start": "step_started", "turn/start": "turn_started", "agent/inbox/spliced": "inbox",
    "feedback/record": "feedback", "feedback/message-put": "feedback", "feedback/message-delete": "feedback",
    "schedule/change": "schedule", "session/title-llm-request": "title_request",
    "session-log-deepseek/delivery-accepted": "delivery", "web/deepseek-search-llm-request": "search_request",
}  # fmt: skip
"""Events around the conversation, and what they are called here."""
_ENDED = ("completed", "")
_FAILED = ("error", "failed", "max-steps", "step-limit", "output-limit")


def read_record(reading: Reading) -> None:
    """Give the events of one record."""
    value = reading.value
    kind = reading.text(value, "type")
    if kind == "session" and "data" not in value:
        _read_header(reading)
        return
    reading.date(value.get("time0") if kind in PACKED else value.get("time"), "time")
    if kind in PACKED:
        read_packed(reading, kind)
        return
    data = reading.mapping(value, "data")
    reading.native_id = numbered(reading, f"{short(kind)}@{whole(value.get('time'))}") if kind in _BY_TIME else None
    reader = _READERS.get(kind)
    if reader is not None:
        reader(reading, data)
    elif kind in _LIFECYCLE:
        _read_lifecycle(reading, _LIFECYCLE[kind], data)
    else:
        reading.unknown(kind or "record", without_opaque(value), native_id=f"unknown:{content_name(value)}")
        return
    reading.extra(value, _ENVELOPE, "event", native_id=reading.native_id or f"event:{content_name(value)}")


def _read_header(reading: Reading) -> None:
    """Give the session's start. A session that another one began is its subagent or its fork."""
    value = reading.value
    reading.date(value.get("createdAt"), "createdAt")
    parent = text(value.get("parentSession"))
    is_subagent = text(value.get("origin")) == "subagent" or bool(whole(value.get("delegationDepth")))
    preset = text(value.get("agentPreset"))
    reading.add(
        SessionStart(
            cwd=reading.text(value, "cwd"),
            forked_from="" if is_subagent else parent,
            parent_session=parent if is_subagent else "",
            agent_name=preset if is_subagent else "",
        ),
        native_id="start",
    )
    if preset and not is_subagent:
        reading.add(Lifecycle("mode", text=preset), native_id="preset")
    reading.extra(value, _HEADER_FIELDS, "session", native_id="start")


def _read_title(reading: Reading, data: dict[str, Any]) -> None:
    reading.add(Lifecycle("title", title=reading.text(data, "title")))


def _read_turn_end(reading: Reading, data: dict[str, Any]) -> None:
    """Give the end of a turn; what is neither done nor failed was interrupted."""
    give_streamed(reading)
    reason = data.get("reason")
    kind = text(mapping(reason).get("kind"))
    name = "turn_ended" if kind in _ENDED else "turn_aborted" if kind in _FAILED else "interrupted"
    reading.add(Lifecycle(name, text=kind, detail=without_opaque(mapping(reason)) or None))


def _read_step_end(reading: Reading, data: dict[str, Any]) -> None:
    give_streamed(reading)
    _read_lifecycle(reading, "step_ended", data)


def _read_attempt(reading: Reading, data: dict[str, Any]) -> None:
    """Give an attempt of the model that came to nothing, with what it had said."""
    rest = {k: v for k, v in data.items() if k != "stream"}
    said = text_of_stream(data.get("stream"))
    reading.add(Lifecycle("attempt", text=said, detail=without_opaque(rest) or None))


def _read_request(reading: Reading, data: dict[str, Any]) -> None:
    """Give what a request was made with: a new model, and a new system prompt."""
    header = reading.mapping(data, "header")
    see_model(reading, text(mapping(header.get("config")).get("model")))
    prompt = header.get("system", header.get("systemPrompt"))
    said = prompt if isinstance(prompt, str) else flatten(prompt) if prompt else ""
    mark = content_name(said) if said else ""
    if said and mark != reading.now("prompt"):
        reading.set(prompt=mark)
        reading.add(Instructions(said, "system"), native_id=f"system:{mark}")


def _read_summary(reading: Reading, data: dict[str, Any]) -> None:
    """Give a compaction: its end only says that it went well."""
    name = f"compaction:{short(text(data.get('compactionId'))) or content_name(data)}"
    summary, _ = content_of(reading, data.get("summary"), name)
    before = reading.whole(data, "shadowedTokenCount")
    reading.add(Compaction(text(data.get("trigger")), summary, before), native_id=name)
    read_usage(reading, mapping(data.get("usage")), text(data.get("model")), name=name)


def _read_prune(reading: Reading, data: dict[str, Any]) -> None:
    reading.add(Compaction("prune", "", reading.whole(data, "shadowedTokenCount")))


def _read_lifecycle(reading: Reading, name: str, data: dict[str, Any]) -> None:
    """Give what happened around the conversation. Marks of turns and steps without more to say are kept short."""
    rest = {k: v for k, v in data.items() if k not in ("turn", "step") and v not in (None, "", [], {})}
    said = next((rest[k] for k in ("text", "title", "kind", "preset", "mode") if isinstance(rest.get(k), str)), "")
    call_id = text(rest.get("callId"))
    reading.add(Lifecycle(name, text=said, detail=without_opaque(rest) or None, call_id=call_id))


_READERS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "user/message": read_user,
    "system/message": read_system,
    "assistant/message": read_assistant,
    "assistant/chunk": read_piece,
    "assistant/attempt": _read_attempt,
    "tool/call": read_call,
    "tool/result": read_result,
    "session/title": _read_title,
    "turn/end": _read_turn_end,
    "step/end": _read_step_end,
    "request/header": _read_request,
    "compaction/summary": _read_summary,
    "compaction/prune": _read_prune,
}
_BY_TIME = frozenset((
    *_LIFECYCLE, "session/title", "turn/end", "step/end", "assistant/attempt", "compaction/prune",
))  # fmt: skip
"""Events without an id: their type and time name them, and their number among equal ones."""
