"""A call, later its result, and between them the edits that the call asks for: what most transcripts have alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.agents.kit.calls import Waiting, arrived, expect, give_edits
from recollect.agents.kit.edits import edits_of
from recollect.agents.kit.naming import NamingState, short_name
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import FileEdit, Json, ToolCall, ToolResult


class TurnState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """The state of a parser whose calls wait for their results."""

    waiting: tuple[Waiting, ...] = ()


def decoded_arguments(arguments: Json) -> Json:
    """Return a call's arguments decoded where they are JSON in a text; any other text as it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments) if arguments.strip() else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        return arguments


def give_call(
    reading: Reading[Any], call: ToolCall, where: str | None, edits: Iterable[FileEdit] | None = None
) -> None:
    """Give a call and remember it. where: names it if it has no id. edits: else those that its arguments ask for."""
    reading.add(call, "assistant", native_id=_name("call", call.call_id, where))
    asked = edits if edits is not None else edits_of(call.arguments) if call.canonical == "edit" else ()
    expect(reading, call.call_id, call.name, asked)


def give_result(
    reading: Reading[Any], result: ToolResult, where: str | None, edits: Iterable[FileEdit] | None = None
) -> None:
    """Give a result, with the name of its call, and the edits unless it failed. edits: else those of the call."""
    call = arrived(reading, result.call_id)
    if not result.name and call.name:
        result = msgspec.structs.replace(result, name=call.name)
    reading.add(result, "tool", native_id=_name("result", result.call_id, where))
    if result.ok is not False:
        give_edits(reading, call.edits if edits is None else edits, result.call_id)


def _name(kind: str, call_id: str, where: str | None) -> str | None:
    if call_id:
        return f"{kind}:{short_name(call_id)}"
    return f"{where}/{kind}" if where else None
