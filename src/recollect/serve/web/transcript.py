"""A session as a person reads it: turns, each a row of units; a call and its result are one unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from markupsafe import Markup

from recollect.model.events import Event
from recollect.model.payloads import (
    TURN_ORIGINS,
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    Rewind,
    SessionEnd,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.serve.web.text import diff_of, markdown
from recollect.units import size
from recollect.visible import safe

SHOWN_CHARS = 4_000
SHOWN_LINES = 60
"""Of an output; the rest is on the page of its event."""
WHOLE_CHARS = 1_000_000
"""Of an output on the page of its event; `recollect export` has the rest."""
_SILENT = (TokenUsage, SessionStart, SessionEnd)


class Output(msgspec.Struct, frozen=True):
    """A text as it stands, or its beginning. left: "" where all is shown, else how much is not."""

    text: str
    left: str = ""


class TranscriptUnit(msgspec.Struct, frozen=True):
    """What is shown as one thing. shape: the template's macro that draws it. seqs: of all its events, the first first.

    failed: None where nobody said.
    """

    shape: str
    seq: int
    ts: int | None
    label: str = ""
    gist: str = ""
    body: Markup | None = None
    given: Output | None = None
    output: Output | None = None
    diff: tuple[tuple[str, str], ...] = ()
    path: str = ""
    failed: bool | None = None
    duration_ms: int | None = None
    result_seq: int | None = None
    is_undone: bool = False
    is_sidechain: bool = False


def units_of(events: Sequence[Event], *, whole: bool = False) -> list[TranscriptUnit]:
    """Return what events are shown as, in order. whole: with all of every text, for the page of one event."""
    results = {e.payload.call_id: e for e in events if isinstance(e.payload, ToolResult) and e.payload.call_id}
    edits: dict[str, list[FileEdit]] = {}
    for event in events:
        if isinstance(event.payload, FileEdit) and event.payload.call_id:
            edits.setdefault(event.payload.call_id, []).append(event.payload)
    calls = {e.payload.call_id for e in events if isinstance(e.payload, ToolCall)}
    units = []
    for event in events:
        payload = event.payload
        if isinstance(payload, _SILENT) and not whole:
            continue
        if isinstance(payload, ToolResult | FileEdit) and payload.call_id in calls:
            continue  # shown with its call
        if isinstance(payload, ToolCall):
            result = results.get(payload.call_id)
            units.append(_call(event, payload, result, edits.get(payload.call_id, ()), whole=whole))
        else:
            units.append(_unit(event, whole=whole))
    return units


def _call(
    event: Event, call: ToolCall, result: Event | None, edits: Iterable[FileEdit], *, whole: bool
) -> TranscriptUnit:
    given = call.arguments
    if call.canonical == "shell" and isinstance(given, dict) and isinstance(given.get("command"), str):
        given = given["command"]
    diffs = tuple(line for edit in edits for line in diff_of(edit))
    told = result.payload if result is not None else None
    assert told is None or isinstance(told, ToolResult)
    return TranscriptUnit(
        "tool", event.seq, event.ts, call.name, event.summary.removeprefix(f"{call.name} "),
        given=None if diffs and not whole else output_of(as_text(given), whole=whole),
        output=output_of(told.text or as_text(told.structured), whole=whole) if told is not None else None,
        diff=diffs, failed=_failed(told) if told is not None else None,
        duration_ms=told.duration_ms if told is not None else None,
        result_seq=result.seq if result is not None else None,
        is_undone=event.is_undone, is_sidechain=event.is_sidechain,
    )  # fmt: skip


def _failed(result: ToolResult) -> bool | None:
    if result.ok is None and result.exit_code is None:
        return None
    return result.ok is False or bool(result.exit_code)


def _unit(event: Event, *, whole: bool) -> TranscriptUnit:
    """Return the unit of an event that stands alone."""
    payload = event.payload
    shape, label, values = "aside", event.kind.replace("_", " "), {}
    gist = event.summary
    match payload:
        case UserMessage():
            shape = "said" if payload.origin in TURN_ORIGINS else "folded"
            label = "you" if payload.origin in TURN_ORIGINS else "added by the agent's harness"
            values = _words(payload.text, whole=whole)
        case AssistantMessage():
            shape, label, values = "said", "agent", _words(payload.text, whole=whole)
        case Thinking():
            shape, label, values = "folded", "thinking", _words(payload.text, whole=whole)
        case ToolResult():
            shape, label = "tool", payload.name or "result"
            values = {"output": output_of(payload.text, whole=whole), "failed": _failed(payload)}
        case FileEdit():
            shape, label = "edit", payload.operation
            values = {"diff": diff_of(payload), "path": payload.path}
        case Compaction():
            shape, label = "break", "the agent shortened its context here"
            values = _words(payload.summary, whole=whole)
        case Rewind():
            shape, label = "break", "you went back from here; what is struck through was undone"
        case Instructions() | Unknown():
            shape, values = "folded", {"output": output_of(payload.text, whole=whole)}
        case Lifecycle():
            label = payload.name.replace("_", " ")
            gist = gist.removeprefix(f"{payload.name} ")
        case _:
            values = {"output": output_of(as_text(msgspec.to_builtins(payload)), whole=whole)} if whole else {}
    return TranscriptUnit(
        shape, event.seq, event.ts, label, gist,
        is_undone=event.is_undone, is_sidechain=event.is_sidechain, **values,
    )  # fmt: skip


def _words(text: str, *, whole: bool) -> dict[str, Any]:
    """Return what people and models wrote: rendered, or plain where it is too long for that."""
    if len(text) > SHOWN_CHARS * 10:
        return {"output": output_of(text, whole=whole)}
    return {"body": markdown(text)}


def output_of(text: str, *, whole: bool) -> Output | None:
    """Return a text, or its beginning unless all is wanted; None for an empty one."""
    if not text.strip():
        return None
    if whole:
        shown = text[:WHOLE_CHARS]
    else:
        shown = "\n".join(text[: SHOWN_CHARS + 1].split("\n", SHOWN_LINES)[:SHOWN_LINES])[:SHOWN_CHARS]
    if len(shown) == len(text):
        return Output(safe(text))
    return Output(safe(shown), f"{size(len(text.encode()) - len(shown.encode()))} more")


def as_text(value: Any) -> str:
    """Return arguments as text: a lone string as it stands, the rest as JSON on several lines."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
