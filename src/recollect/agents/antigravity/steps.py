"""The steps of a transcript: what the person, the model and the system did, one line each.

Evidence: format notes: other agents, Antigravity; sanitised transcripts of the CLI.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from recollect.agents.antigravity.state import Reading
from recollect.agents.antigravity.tools import RESULTS, decoded_arguments, edits_of_call, read_result
from recollect.agents.kit.access import text
from recollect.agents.kit.calls import expect
from recollect.agents.kit.naming import content_name, numbered, short
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Lifecycle,
    SessionStart,
    Thinking,
    ToolCall,
    UserMessage,
)
from recollect.model.tools import canonical_tool

SOURCES = frozenset(("USER_EXPLICIT", "MODEL", "SYSTEM"))
_STATUSES = frozenset(("DONE", "RUNNING", "PENDING", "ERROR", "CANCELED", "CANCELLED", "GENERATING", "WAITING"))
_FIELDS = frozenset((
    "step_index", "source", "type", "status", "created_at", "content", "thinking", "tool_calls", "truncated_fields",
))  # fmt: skip
_CALL_FIELDS = frozenset(("name", "args", "id"))
_ASIDE = re.compile(r"<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE|USER_RULES|SYSTEM_MESSAGE)>.*?</\1>", re.DOTALL)
_REQUEST = re.compile(r"<USER_REQUEST>\n?(.*?)\n?</USER_REQUEST>", re.DOTALL)
_MODEL = re.compile(r"`Model Selection` from .{0,200}? to (.{1,200}?)\.?(?:\s|$)*(?:</|\n|$)")
_CANCELLED = ("CANCELED", "CANCELLED")


def read_step(reading: Reading) -> None:
    """Give the events of one step."""
    value = reading.value
    kind, source = reading.text(value, "type"), reading.text(value, "source")
    reading.date(value.get("created_at"), "created_at")
    reading.native_id = _name(reading, kind or source)
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.add(SessionStart(), native_id="start")
    reading.odd_value("step.source", source, SOURCES)
    reading.odd_value("step.status", value.get("status"), _STATUSES)
    # The first versions wrote no type.
    reader = _READERS.get(kind or source)
    if reader is not None:
        reader(reading)
    elif kind in RESULTS:
        read_result(reading, kind, reading.text(value, "content"))
    else:
        reading.unknown(kind or "step")
        return
    if text(value.get("status")) in _CANCELLED:
        reading.add(Lifecycle("interrupted"), native_id=f"{reading.native_id}/cancelled")
    if value.get("truncated_fields"):
        detail = {"fields": value["truncated_fields"]}
        reading.add(Lifecycle("truncated", detail=detail), native_id=f"{reading.native_id}/truncated")
    reading.extra(value, _FIELDS, kind or "step")


def _name(reading: Reading, kind: str) -> str:
    """Return the step's name: its number and type, which stay when it is logged again with more in it."""
    index = reading.whole(reading.value, "step_index")
    if index is not None:
        return f"step:{index}/{short(kind)}"
    return numbered(reading, f"step:{content_name(reading.value)}")


def _read_input(reading: Reading) -> None:
    """Give what the person asked for; what the harness wrapped around it is an event of its own."""
    written = reading.text(reading.value, "content")
    request = _REQUEST.search(written)
    asked = request[1] if request is not None else written
    said = _ASIDE.sub("", asked).strip()
    rest = [written[: request.start()], written[request.end() :]] if request is not None else []
    asides = [found[0] for found in _ASIDE.finditer(asked)]
    context = "\n".join(filter(None, (*asides, *(piece.strip() for piece in rest))))
    if said or not context:
        reading.add(UserMessage(said), "user")
    if context:
        reading.add(UserMessage(context, "injected"), "user", native_id=f"{reading.native_id}/context")
    model = _MODEL.search(context)
    if model is not None:
        reading.set(model=short(model[1]))
        reading.add(Lifecycle("model", model=model[1]), native_id=f"{reading.native_id}/model")


def _read_response(reading: Reading) -> None:
    value = reading.value
    thought, said = reading.text(value, "thinking"), reading.text(value, "content")
    if thought:
        reading.add(Thinking(thought), "assistant", native_id=f"{reading.native_id}/thinking")
    if said:
        reading.add(AssistantMessage(said, reading.now("model")), "assistant")
    for number, call in enumerate(reading.items(value, "tool_calls"), 1):
        if isinstance(call, dict):
            _read_call(reading, call, number)
        else:
            reading.unknown("tool_call", call, native_id=f"{reading.native_id}/call/{number}")


def _read_call(reading: Reading, call: dict[str, Any], number: int) -> None:
    """Give a call; without an id of its own it is called after its step."""
    name = reading.text(call, "name").removeprefix("default_api:")
    call_id = short(reading.text(call, "id")) or f"{reading.native_id}/{number}"
    arguments = decoded_arguments(call.get("args"))
    payload = ToolCall(call_id, name, canonical_tool(name), arguments)
    reading.add(payload, "assistant", native_id=f"call:{call_id}")
    expect(reading, call_id, name, edits_of_call(name, arguments))
    reading.extra(call, _CALL_FIELDS, "tool_call", native_id=f"call:{call_id}")


def _read_checkpoint(reading: Reading) -> None:
    reading.add(Compaction(summary=reading.text(reading.value, "content")))


def _read_notice(reading: Reading) -> None:
    reading.add(UserMessage(reading.text(reading.value, "content"), "injected"), "user")


def _read_history(reading: Reading) -> None:
    reading.add(Lifecycle("conversation_history", text=reading.text(reading.value, "content")))


def _read_error(reading: Reading) -> None:
    reading.add(Lifecycle("api_error", text=reading.text(reading.value, "content")))


_READERS: dict[str, Callable[[Reading], None]] = {
    "USER_INPUT": _read_input,
    "USER_EXPLICIT": _read_input,
    "PLANNER_RESPONSE": _read_response,
    "MODEL": _read_response,
    "CHECKPOINT": _read_checkpoint,
    "CONVERSATION_HISTORY": _read_history,
    "SYSTEM_MESSAGE": _read_notice,
    "EPHEMERAL_MESSAGE": _read_notice,
    "SYSTEM": _read_notice,
    "ERROR_MESSAGE": _read_error,
}
