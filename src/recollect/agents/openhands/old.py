"""The events of the first generation: an action or an observation per file, numbered.

Evidence: format notes: OpenHands, "V0" (general knowledge there, unverified).
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import mapping, number, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.openhands.content import canonical_of, content_of, result_of
from recollect.agents.openhands.state import OpenHandsReading
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Lifecycle,
    Origin,
    SessionEnd,
    Thinking,
    TokenUsage,
    ToolCall,
    UserMessage,
)
from recollect.model.text import flatten

_EVENT = frozenset(
    (
        "id", "timestamp", "source", "message", "action", "observation", "args", "extras", "content", "cause",
        "llm_metrics", "tool_call_metadata", "success", "timeout", "tool_result",
    )
)  # fmt: skip
_CALLS = frozenset(
    (
        "run", "run_ipython", "read", "write", "edit", "browse", "browse_interactive", "delegate", "think",
        "call_tool_mcp", "task_tracking", "finish", "reject",
    )
)  # fmt: skip
_RESULTS = frozenset(
    (
        "run", "run_ipython", "read", "write", "edit", "browse", "delegate", "think", "mcp", "error", "user_rejected",
        "task_tracking", "file_edit",
    )
)  # fmt: skip
_QUIET = frozenset(
    (
        "null", "agent_state_changed", "change_agent_state", "recall", "agent_think", "success", "condense",
        "condensation_request", "loop_detection_recovery",
    )
)  # fmt: skip
_TOTALS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")


def read_old_event(reading: OpenHandsReading) -> None:
    """Give the events of one action or observation."""
    value = reading.value
    number_ = value.get("id")
    reading.native_id = f"e{number_}" if isinstance(number_, int | str) and number_ != "" else None
    reading.parent_id = f"e{value['cause']}" if isinstance(value.get("cause"), int) else None
    reading.date(value.get("timestamp"))
    action, observation = text(value.get("action")), text(value.get("observation"))
    if action:
        _action(reading, action)
    elif observation:
        _observation(reading, observation)
    else:
        reading.unknown("event", without_opaque(value))
    _usage(reading)
    reading.extra(value, _EVENT, "old_event")


def _sub(reading: OpenHandsReading, name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None


def _action(reading: OpenHandsReading, action: str) -> None:
    value = reading.value
    arguments = reading.mapping(value, "args")
    said, parts = content_of(reading, arguments.get("content"))
    is_human = value.get("source") == "user"
    if action == "message" and is_human:
        urls, images = (
            content_of(reading, {"image_urls": arguments["image_urls"]}) if arguments.get("image_urls") else ("", ())
        )
        reading.add(UserMessage(said or urls, "human", (*parts, *images)), "user")
    elif action == "message":
        reading.add(AssistantMessage(said, parts=parts), "assistant")
    elif action == "system":
        reading.add(Instructions(said, "system"))
    elif action == "condensation":
        reading.add(Compaction(summary=text(arguments.get("summary"))))
    elif action in _CALLS:
        _call(reading, action, arguments, is_human=is_human)
    elif action in _QUIET:
        reading.add(Lifecycle(action, text=flatten(without_opaque(arguments))))
    else:
        reading.unknown(f"action/{action}", without_opaque(arguments))


def _call(reading: OpenHandsReading, action: str, arguments: dict[str, Any], *, is_human: bool) -> None:
    thought = text(arguments.get("thought"))
    call_id, name = _call_of(reading, action, reading.value.get("id"))
    if action == "think":
        reading.add(Thinking(thought), "assistant", native_id=_sub(reading, "thinking"))
    elif thought:
        reading.add(AssistantMessage(thought), "assistant")
    rest = {k: v for k, v in arguments.items() if k != "thought" and v not in (None, "", [], {})}
    if is_human and action == "run":
        reading.add(UserMessage(f"!{text(arguments.get('command'))}", "command"), "user")
    call = ToolCall(call_id, name, "shell" if action == "run" else canonical_of(name, arguments), without_opaque(rest))
    reading.add(call, "assistant", native_id=_sub(reading, "call"))
    if action in ("finish", "reject"):
        answer = text(arguments.get("final_thought")) or text(mapping(arguments.get("outputs")).get("content"))
        if answer:
            reading.add(AssistantMessage(answer, stop_reason=action), "assistant", native_id=_sub(reading, "answer"))
        reading.add(SessionEnd("finished" if action == "finish" else action), native_id="end")


def _call_of(reading: OpenHandsReading, name: str, own: Any) -> tuple[str, str]:
    """Return the id and the tool of a call: the model's, else the number of the action that caused it."""
    told = mapping(reading.value.get("tool_call_metadata"))
    return text(told.get("tool_call_id")) or f"e{own}", text(told.get("function_name")) or name


def _observation(reading: OpenHandsReading, observation: str) -> None:
    value = reading.value
    extras = reading.mapping(value, "extras")
    call_id, name = _call_of(reading, observation, value.get("cause"))
    if observation == "agent_state_changed":
        state = text(extras.get("agent_state"))
        reading.add(
            Lifecycle("status", text=state, detail={"reason": extras["reason"]} if extras.get("reason") else None)
        )
        if state == "finished":
            reading.add(SessionEnd("finished"), native_id="end")
    elif observation in _RESULTS:
        told = {**extras, "content": value.get("content")}
        if observation in ("error", "user_rejected") or value.get("success") is False:
            told["is_error"] = True
        result, edit = result_of(reading, told, call_id=call_id, name=name)
        reading.add(result, "tool")
        if edit is not None:
            reading.add(edit, "tool", native_id=_sub(reading, "edit"))
    elif observation == "recall":
        origin: Origin = "injected"
        reading.add(UserMessage(flatten(without_opaque(extras)), origin), "user")
    elif observation in _QUIET:
        reading.add(Lifecycle(observation, text=flatten(without_opaque(value.get("content")))))
    else:
        reading.unknown(f"observation/{observation}", without_opaque({**extras, "content": value.get("content")}))


def _usage(reading: OpenHandsReading) -> None:
    """Give what was spent since the last event that says so: its counts are running totals."""
    metrics = reading.mapping(reading.value, "llm_metrics")
    total = mapping(metrics.get("accumulated_token_usage"))
    if not total:
        return
    counts = tuple(reading.count(total, name) for name in _TOTALS)
    before = reading.state.spent or (0, 0, 0, 0)
    cost = number(metrics.get("accumulated_cost")) or 0.0
    # Totals that shrank began again: after a restart of the server.
    is_restarted = any(now < then for now, then in zip(counts, before, strict=True))
    base = (0, 0, 0, 0) if is_restarted else before
    prompt, completion, read, written = (now - then for now, then in zip(counts, base, strict=True))
    reading.set(spent=counts, cost=cost)
    if not any((prompt, completion, read, written)):
        return
    spent = TokenUsage(
        text(total.get("model")),
        max(0, prompt - read - written),
        completion,
        read,
        written,
        cost_usd=round(max(0.0, cost - (0.0 if is_restarted else reading.state.cost)), 9),
        dedupe_key=f"{reading.state.session}:{reading.native_id}",
    )
    reading.add(spent, "assistant", native_id=_sub(reading, "usage"))
