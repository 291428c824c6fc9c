"""Messages of a log, which have no ids: they are named for what they say, and when.

Evidence: gptme, `message.py` (`to_dict`), `logmanager`.
"""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.gptme.blocks import Call, pieces_of
from recollect.agents.gptme.state import Reading
from recollect.agents.gptme.tools import arguments_of, edits_of_call, exit_code_of, has_failed
from recollect.agents.kit.calls import Waiting, arrived, expect, give_edits
from recollect.agents.kit.names import name_of, short
from recollect.agents.kit.values import instant, mapping, text
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Lifecycle,
    Origin,
    Part,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_FIELDS = frozenset((
    "role", "content", "timestamp", "files", "file_hashes", "pinned", "hide", "quiet", "ui_only", "ephemeral_ttl",
    "call_id", "metadata",
))  # fmt: skip
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens")
_USAGE_FIELDS = frozenset(_COUNTS)
_METADATA_FIELDS = frozenset((
    *_COUNTS, "model", "resolved_model", "served_model", "cost", "usage", "input_log_messages", "input_log_digest",
    "input_log_model", "compaction_reminder_view", "compaction_checkpoint_view", "compaction_checkpoint_failed_view",
    "compaction_checkpoint_needs_continuation", "result_stubs", "max_steps_stop", "reasoning_effort", "timings",
    "voice_call", "artifacts", "panel_hints", "tool", "prompt_generation", "compaction_artifact",
    "skill_invocation_id", "degeneration", "resume_key", "anthropic_compaction_block",
))  # fmt: skip
_ZONED = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$")
_COMMAND = re.compile(r"/[a-z][\w-]*(?: [^\n]*)?")
_INTERRUPTED = "Interrupted by user"
_MAX_POSSIBLE = 8


def read_message(reading: Reading) -> None:
    """Give the events of one message."""
    value = reading.value
    role = reading.text(value, "role")
    said = reading.text(value, "content")
    _date(reading)
    reading.native_id = name_of(reading, role or "row", said, value.get("timestamp"), value.get("call_id"))
    if not reading.now("is_started"):
        reading.set(is_started=True)
        if reading.state.branch_of:
            reading.add(SessionStart(forked_from=reading.state.branch_of), native_id="start")
        else:
            reading.add(SessionStart(), native_id="start")
    metadata = reading.mapping(value, "metadata")
    if role == "user":
        _read_user(reading, said, metadata)
    elif role == "assistant":
        _read_assistant(reading, said, metadata)
    elif role in ("system", "tool"):
        _read_system(reading, said, metadata)
    else:
        reading.unknown(role or text(value.get("type")) or "row")
        return
    reading.extra(value, _FIELDS, role)
    reading.extra(metadata, _METADATA_FIELDS, f"{role}.metadata")


def _date(reading: Reading) -> None:
    """Take the time; one without a zone is the machine's own, so it is marked as inferred."""
    written = reading.value.get("timestamp")
    if isinstance(written, str) and not _ZONED.search(written) and (at := instant(written)) is not None:
        reading.infer(at)
    else:
        reading.date(written)


def _files(reading: Reading) -> tuple[Part, ...]:
    hashes = reading.mapping(reading.value, "file_hashes")
    names = [name for name in reading.items(reading.value, "files") if isinstance(name, str)]
    return tuple(
        Part("file", url=name) if "://" in name else Part("file", text(hashes.get(name)), path=name) for name in names
    )


def _read_user(reading: Reading, said: str, metadata: dict[str, Any]) -> None:
    is_harness = any(k in metadata for k in ("compaction_checkpoint_view", "skill_invocation_id"))
    if not is_harness:
        reading.set(has_prompt=True, waiting=(), possible=())
    reading.add(UserMessage(said, _origin(said, is_harness=is_harness), _files(reading)), "user")


def _origin(said: str, *, is_harness: bool) -> Origin:
    if is_harness:
        return "injected"
    return "command" if _COMMAND.fullmatch(said) else "human"


def _read_assistant(reading: Reading, said: str, metadata: dict[str, Any]) -> None:
    model = text(metadata.get("served_model")) or text(metadata.get("model"))
    before, now = reading.now("model"), short(text(metadata.get("model")))
    if before and now and before != now:
        reading.add(Lifecycle("model", model=now), native_id=f"{reading.native_id}/model")
    pieces = pieces_of(said)
    if pieces.thoughts or pieces.is_sealed:
        thought = Thinking(pieces.thoughts, is_encrypted=not pieces.thoughts)
        reading.add(thought, "assistant", native_id=f"{reading.native_id}/thinking")
    parts = _files(reading)
    if pieces.said or parts:
        reading.add(AssistantMessage(pieces.said, model, parts=parts), "assistant")
    reading.set(waiting=(), possible=(), **({"model": now} if now else {}))
    for number, call in enumerate(pieces.calls, 1):
        if call.is_certain:
            _give_call(reading, call, number)
        else:
            _keep_possible(reading, call, number)
    _read_usage(reading, metadata, model)


def _call_id(reading: Reading, call: Call, number: int) -> str:
    return short(call.call_id) or f"{reading.native_id}/call/{number}"


def _give_call(reading: Reading, call: Call, number: int) -> None:
    call_id = _call_id(reading, call, number)
    payload = ToolCall(call_id, call.tool, canonical_tool(call.tool), arguments_of(call))
    reading.add(payload, "assistant", native_id=f"call:{call_id}")
    expect(reading, call_id, call.tool, edits_of_call(call))


def _keep_possible(reading: Reading, call: Call, number: int) -> None:
    """Remember a block that may be run: its call is given when something answers it."""
    kept: tuple[Waiting, ...] = reading.now("possible")
    reading.set(possible=(*kept, Waiting(_call_id(reading, call, number), call.tool))[-_MAX_POSSIBLE:])


def _read_system(reading: Reading, said: str, metadata: dict[str, Any]) -> None:
    """Give what was said in the system's role: instructions, a tool's result, or a notice."""
    value = reading.value
    if said.strip() == _INTERRUPTED:
        reading.add(Lifecycle("interrupted", text=said))
        return
    call = _answered(reading, value, metadata) if not value.get("ui_only") else None
    if call is not None:
        _give_result(reading, call, said)
    elif not reading.now("has_prompt") or value.get("pinned") is True:
        reading.add(Instructions(said, "system"))
    else:
        reading.add(UserMessage(said, "injected", _files(reading)), "user")


def _answered(reading: Reading, value: dict[str, Any], metadata: dict[str, Any]) -> Waiting | None:
    """Return the call that a message answers: the one it names, else the oldest that waits."""
    named = short(text(value.get("call_id")))
    waiting: tuple[Waiting, ...] = reading.now("waiting")
    if named:
        return arrived(reading, named)
    if waiting:
        return arrived(reading, waiting[0].call_id)
    possible: tuple[Waiting, ...] = reading.now("possible")
    if possible:
        call, *rest = possible
        reading.set(possible=tuple(rest))
        payload = ToolCall(call.call_id, call.name, canonical_tool(call.name))
        reading.add(payload, "assistant", native_id=f"call:{call.call_id}")
        return call
    tool = short(text(metadata.get("tool")))
    is_result = bool(tool) or value.get("role") == "tool"
    return Waiting("", tool) if is_result else None


def _give_result(reading: Reading, call: Waiting, said: str) -> None:
    code = exit_code_of(said)
    ok = not code and not has_failed(said)
    native_id = f"result:{call.call_id}" if call.call_id else reading.native_id
    payload = ToolResult(call.call_id, call.name, ok, code, said, parts=_files(reading))
    reading.add(payload, "tool", native_id=native_id)
    if ok:
        give_edits(reading, call.edits, call.call_id)


def _read_usage(reading: Reading, metadata: dict[str, Any], model: str) -> None:
    """Give a response's tokens; the oldest logs have them without a `usage` around."""
    nested = mapping(metadata.get("usage"))
    usage = nested or metadata
    put, got, read, written, thought = (reading.count(usage, name) for name in _COUNTS)
    if put or got or read or written:
        payload = TokenUsage(
            model=model,
            input_tokens=put,
            output_tokens=got,
            cache_read_tokens=read,
            cache_write_5m_tokens=written,
            reasoning_tokens=min(thought, got),
            cost_usd=reading.money(metadata, "cost"),
            dedupe_key=f"gptme:{reading.state.branch_of or reading.state.session}:{reading.native_id}",
        )
        reading.add(payload, "assistant", native_id=f"{reading.native_id}/usage")
    reading.extra(nested, _USAGE_FIELDS, "metadata.usage")
