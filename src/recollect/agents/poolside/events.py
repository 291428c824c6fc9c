"""What each type of event becomes.

Evidence: format notes: other agents, Poolside; readers that were checked against trajectories of pool-acp 1.0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import content_text
from recollect.agents.kit.naming import MAX_PATH_CHARS, content_name, short
from recollect.agents.poolside.state import MAX_STEPS, Reading, Step
from recollect.agents.poolside.tools import read_approval, read_call, read_result
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Lifecycle,
    SessionEnd,
    SessionStart,
    Thinking,
    TokenUsage,
    UserMessage,
)

_ENVELOPE = ("id", "step_id", "timestamp", "type")
_INTERRUPTED = frozenset(("user_cancelled", "cancelled", "interrupted", "aborted"))
_MARKERS = frozenset((
    "assistant_message.start", "thought.start", "tool_call.start", "tool_call.approval.request",
    "session.input.processed", "model_reminder",
))  # fmt: skip
"""They say that something begins, which what follows says too; what else they carry is kept."""


def read_event(reading: Reading) -> None:
    """Give the events of one record."""
    value = reading.value
    kind = reading.text(value, "type")
    reading.native_id = short(reading.text(value, "id")) or None
    reading.date(value.get("timestamp"))
    field = kind.replace(".", "_")
    payload = reading.mapping(value, field)
    reader = READERS.get(kind)
    if reader is not None:
        reader(reading, payload)
        reading.extra(payload, _FIELDS[kind], kind)
    elif kind in _MARKERS:
        if any(payload.values()):
            reading.kept(kind, payload)
    else:
        reading.unknown(kind or "record")
        return
    reading.extra(value, frozenset((*_ENVELOPE, field)), "event")


def _read_start(reading: Reading, payload: dict[str, Any]) -> None:
    """Give the session's start; a further one is the session going on."""
    folders = [f for f in reading.items(payload, "working_directories") if isinstance(f, str)]
    cwd = next(filter(None, folders), "") or reading.text(payload, "workspace")
    prompt = reading.text(payload, "prompt")
    if not reading.now("is_started"):
        reading.set(is_started=True, cwd=short(cwd, MAX_PATH_CHARS))
        reading.add(SessionStart(cwd=cwd), native_id="start")
    elif cwd and short(cwd, MAX_PATH_CHARS) != reading.now("cwd"):
        reading.set(cwd=short(cwd, MAX_PATH_CHARS))
        reading.add(Lifecycle("cwd", cwd=cwd), native_id=_below(reading, "cwd"))
    else:
        reading.add(Lifecycle("resumed"), native_id=_below(reading, "resumed"))
    if prompt:
        reading.add(UserMessage(prompt), "user")


def _read_input(reading: Reading, payload: dict[str, Any]) -> None:
    reading.add(UserMessage(reading.text(payload, "prompt")), "user")


def _read_thought(reading: Reading, payload: dict[str, Any]) -> None:
    reading.add(Thinking(reading.text(payload, "thought")), "assistant")


def _read_message(reading: Reading, payload: dict[str, Any]) -> None:
    said = reading.text(payload, "assistant_message")
    if said:
        reading.add(AssistantMessage(said, _model_of(reading)), "assistant")


def _read_inference(reading: Reading, payload: dict[str, Any]) -> None:
    """Give the model that a step is inferred with, where it is another, and a system prompt, where it is another."""
    request = reading.mapping(payload, "chat_completion_request")
    model = reading.text(request, "model")
    steps: tuple[Step, ...] = reading.now("steps")
    name = short(text(reading.value.get("step_id")))
    reading.set(steps=(*steps, Step(name, short(model)))[-MAX_STEPS:])
    before = reading.now("model")
    if model and short(model) != before:
        reading.set(model=short(model))
        if before:
            reading.add(Lifecycle("model", model=model), native_id=_below(reading, "model"))
    said = [
        content_text(mapping(m).get("content"))
        for m in items(request.get("messages"))
        if mapping(m).get("role") == "system"
    ]
    prompt = "\n".join(filter(None, said))
    mark = content_name(prompt) if prompt else ""
    if prompt and mark != reading.now("prompt"):
        reading.set(prompt=mark)
        reading.add(Instructions(prompt, "system"), native_id=_below(reading, "system"))


def _read_tokens(reading: Reading, payload: dict[str, Any]) -> None:
    """Give an inference's tokens. `input_tokens` includes those read from the cache: sums of both were compared."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens")
    put, got, read, written = (reading.count(payload, name) for name in names)
    if put or got or read or written:
        key = f"poolside:{reading.native_id or reading.state.session}"
        usage = TokenUsage(_model_of(reading), max(0, put - read), got, read, written, dedupe_key=key)
        reading.add(usage, "assistant")


def _read_exit(reading: Reading, payload: dict[str, Any]) -> None:
    reason = reading.text(payload, "reason")
    if reason in _INTERRUPTED:
        reading.add(Lifecycle("interrupted", text=reason), native_id=_below(reading, "interrupted"))
    reading.add(SessionEnd(reason))


def _read_error(reading: Reading, payload: dict[str, Any]) -> None:
    reading.add(Lifecycle("api_error", text=reading.text(payload, "error")))


def _model_of(reading: Reading) -> str:
    """Return the model of the record's step; an end without a beginning has the newest."""
    name = short(text(reading.value.get("step_id")))
    steps: tuple[Step, ...] = reading.now("steps")
    found = next((step.model for step in reversed(steps) if step.name == name), "")
    return found or str(reading.now("model"))


def _below(reading: Reading, name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None


READERS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "session.start": _read_start,
    "session.input": _read_input,
    "session.exit": _read_exit,
    "session.error": _read_error,
    "thought.end": _read_thought,
    "assistant_message.end": _read_message,
    "tool_call.inference.start": _read_inference,
    "tool_call.inference.end": _read_tokens,
    "tool_call.parsed": read_call,
    "tool_call.approval": read_approval,
    "tool_call.result": read_result,
}
_FIELDS: dict[str, frozenset[str]] = {
    "session.start": frozenset(("workspace", "working_directories", "prompt")),
    "session.input": frozenset(("id", "prompt", "estimated_prompt_token_usage", "mode")),
    "session.exit": frozenset(("reason",)),
    "session.error": frozenset(("error",)),
    "thought.end": frozenset(("thought",)),
    "assistant_message.end": frozenset(("assistant_message",)),
    "tool_call.inference.start": frozenset(("chat_completion_request",)),
    "tool_call.inference.end": frozenset((
        "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens",
    )),
    "tool_call.parsed": frozenset(("id", "name", "args", "raw_args", "validation_error", "is_synthetic")),
    "tool_call.approval": frozenset(("tool_call_id", "denied", "reason")),
    "tool_call.result": frozenset((
        "id", "tool_name", "execution_latency", "observation", "is_error", "execution_error_kind",
        "shell_run_tool_result", "todo_action_tool_result", "exit_tool_result", "read_tool_result",
        "write_tool_result", "edit_tool_result",
    )),
}  # fmt: skip
