"""Poolside: parses a record into events. Pure; never raises on content.

A record is `{id, step_id, timestamp, type}` and one payload, under its type with underscores.
Traps are in README.md beside this file.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from recollect.agents.facts import known_by_type
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.calls import Waiting, arrived, edits_of, expect, give_edits
from recollect.agents.kit.content import content_text
from recollect.agents.kit.names import MAX_PATH_CHARS, content_name, short
from recollect.agents.kit.values import Json, head_objects, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool

TRAJECTORY = "trajectory"

MAX_STEPS = 32


class Step(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A step that is being inferred, and the model that does it."""

    name: str
    model: str


class PoolsideState(kit.BaseState, frozen=True, gc=False, omit_defaults=True):
    cwd: str = ""
    model: str = ""
    prompt: str = ""
    """A hash of the system prompt that was given last."""
    steps: tuple[Step, ...] = ()
    waiting: tuple[Waiting, ...] = ()


Reading = kit.Reading[PoolsideState]


# Calls, the person's verdict on them, and their results.

_NS_PER_MS = 1_000_000
_TYPED = "_tool_result"


def read_call(reading: Reading, payload: dict[str, Any]) -> None:
    """Emit a call. One that did not pass validation never ran, and nothing else follows: that is its result."""
    call_id, name = reading.text(payload, "id"), reading.text(payload, "name")
    arguments = _arguments(reading, payload)
    native_id = f"call:{short(call_id)}" if call_id else None
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments), native_id=native_id)
    refused = reading.mapping(payload, "validation_error")
    if refused:
        said = reading.text(refused, "detail") or reading.text(refused, "kind")
        reading.add(kinds.ToolResult(call_id, name, False, text=said), native_id=_result_id(call_id))
        return
    edits = edits_of(arguments) if canonical_tool(name) == "edit" else ()
    expect(reading, call_id, name, edits)


def read_approval(reading: Reading, payload: dict[str, Any]) -> None:
    """Emit the person's verdict; no result follows a denied call."""
    call_id, said = reading.text(payload, "tool_call_id"), reading.text(payload, "reason")
    is_denied = payload.get("denied") is True
    reading.add(kinds.Lifecycle("permission", text=said, detail={"denied": is_denied}, call_id=call_id))
    if is_denied:
        call = arrived(reading, call_id)
        reading.add(kinds.ToolResult(call_id, call.name, False, text=said), native_id=_result_id(call_id))


def read_result(reading: Reading, payload: dict[str, Any]) -> None:
    """Emit a result. How it went stands in a part of the tool's own; read, write and edit have only `is_error`."""
    call_id = reading.text(payload, "id")
    call = arrived(reading, call_id)
    typed = {k: v for k, v in payload.items() if k.endswith(_TYPED) and v}
    facts = [mapping(part) for part in typed.values()]
    code = next((c for part in facts if (c := whole(part.get("exit_code"))) is not None), None)
    has_failed = payload.get("is_error") is True or bool(code) or any(part.get("success") is False for part in facts)
    latency = whole(payload.get("execution_latency"))
    said = reading.text(payload, "observation")
    reading.add(
        kinds.ToolResult(
            call_id=call_id,
            name=reading.text(payload, "tool_name") or call.name,
            ok=not has_failed,
            exit_code=code,
            text=said,
            structured=typed or None,
            duration_ms=latency // _NS_PER_MS if latency is not None else None,
        ),
        native_id=_result_id(call_id),
    )
    if payload.get("execution_error_kind") == "approval_denied":
        reading.add(kinds.Lifecycle("permission", text=said, detail={"denied": True}, call_id=call_id))
    if not has_failed:
        give_edits(reading, call.edits, short(call_id))


def _arguments(reading: Reading, payload: dict[str, Any]) -> Json:
    """Return a call's arguments; where they are not there decoded, the model's own text of them."""
    given, raw = payload.get("args"), payload.get("raw_args")
    if given is not None or not isinstance(raw, str):
        return given
    try:
        return msgspec.json.decode(raw.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        reading.wrong("raw_args", "bad_arguments")
        return raw


def _result_id(call_id: str) -> str | None:
    return f"result:{short(call_id)}" if call_id else None


# What each type of event becomes.
#
# Evidence: format notes: other agents, Poolside; readers that were checked against trajectories of pool-acp 1.0.16.

_ENVELOPE = ("id", "step_id", "timestamp", "type")
_INTERRUPTED = frozenset(("user_cancelled", "cancelled", "interrupted", "aborted"))
_MARKERS = frozenset((
    "assistant_message.start", "thought.start", "tool_call.start", "tool_call.approval.request",
    "session.input.processed", "model_reminder",
))  # fmt: skip
"""They say that something begins, which what follows says too; what else they carry is kept."""


def read_event(reading: Reading) -> None:
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
    """Emit the session's start; a further one is the session going on."""
    folders = [f for f in reading.items(payload, "working_directories") if isinstance(f, str)]
    cwd = next(filter(None, folders), "") or reading.text(payload, "workspace")
    prompt = reading.text(payload, "prompt")
    if not reading.now("is_started"):
        reading.set(is_started=True, cwd=short(cwd, MAX_PATH_CHARS))
        reading.start(cwd=cwd)
    elif cwd and short(cwd, MAX_PATH_CHARS) != reading.now("cwd"):
        reading.set(cwd=short(cwd, MAX_PATH_CHARS))
        reading.add(kinds.Lifecycle("cwd", cwd=cwd), native_id=reading.below("cwd"))
    else:
        reading.add(kinds.Lifecycle("resumed"), native_id=reading.below("resumed"))
    reading.say(kinds.UserMessage(prompt))


def _read_message(reading: Reading, payload: dict[str, Any]) -> None:
    said = reading.text(payload, "assistant_message")
    reading.say(kinds.AssistantMessage(said, _model_of(reading)))


def _read_inference(reading: Reading, payload: dict[str, Any]) -> None:
    """Emit the model that a step is inferred with, where it is another, and a system prompt, where it is another."""
    request = reading.mapping(payload, "chat_completion_request")
    model = reading.text(request, "model")
    steps: tuple[Step, ...] = reading.now("steps")
    name = short(text(reading.value.get("step_id")))
    reading.set(steps=(*steps, Step(name, short(model)))[-MAX_STEPS:])
    reading.see(is_first_told=False, model=model)
    said = [
        content_text(mapping(m).get("content"))
        for m in items(request.get("messages"))
        if mapping(m).get("role") == "system"
    ]
    prompt = "\n".join(filter(None, said))
    mark = content_name(prompt) if prompt else ""
    if prompt and mark != reading.now("prompt"):
        reading.set(prompt=mark)
        reading.add(kinds.Instructions(prompt, "system"), native_id=reading.below("system"))


def _read_tokens(reading: Reading, payload: dict[str, Any]) -> None:
    """Emit an inference's tokens. `input_tokens` includes those read from the cache: sums of both were compared."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens")
    put, got, read, written = reading.counts(payload, names)
    key = f"poolside:{reading.native_id or reading.state.session}"
    reading.spend(_model_of(reading), (max(0, put - read), got, read, written), key, "assistant", native_id=None)


def _read_exit(reading: Reading, payload: dict[str, Any]) -> None:
    reason = reading.text(payload, "reason")
    if reason in _INTERRUPTED:
        reading.add(kinds.Lifecycle("interrupted", text=reason), native_id=reading.below("interrupted"))
    reading.add(kinds.SessionEnd(reason))


def _model_of(reading: Reading) -> str:
    """Return the model of the record's step; an end without a beginning has the newest."""
    name = short(text(reading.value.get("step_id")))
    steps: tuple[Step, ...] = reading.now("steps")
    found = next((step.model for step in reversed(steps) if step.name == name), "")
    return found or str(reading.now("model"))


READERS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "session.start": _read_start,
    "session.input": lambda reading, payload: reading.add(kinds.UserMessage(reading.text(payload, "prompt"))),
    "session.exit": _read_exit,
    "session.error": lambda reading, payload: reading.add(
        kinds.Lifecycle("api_error", text=reading.text(payload, "error"))
    ),
    "thought.end": lambda reading, payload: reading.add(kinds.Thinking(reading.text(payload, "thought"))),
    "assistant_message.end": _read_message,
    "tool_call.inference.start": _read_inference,
    "tool_call.inference.end": _read_tokens,
    "tool_call.parsed": read_call,
    "tool_call.approval": read_approval,
    "tool_call.result": read_result,
}
_FIELDS = known_by_type("poolside", "record")


_PREFIX = "trajectory-"
_MAX_LINES = 10


class PoolsideAdapter(KitAdapter[PoolsideState], slug="poolside"):
    readers: ClassVar = {"": read_event}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a known type, and its payload under the same name."""
        for value in head_objects(head, _MAX_LINES):
            kind = text(value.get("type"))
            if kind in READERS and isinstance(value.get(kind.replace(".", "_")), dict):
                return TRAJECTORY
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`. Only the file's name says it: `trajectory-<agent>_<session>.ndjson`."""
        stem = info.name.removesuffix(".ndjson")
        return stem.removeprefix(_PREFIX).partition("_")[2] or stem or first_line_name(head)
