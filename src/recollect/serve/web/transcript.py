"""A session as a person reads it: turns of rows; a call and its result form one row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from markupsafe import Markup

from recollect.memory import SHOWN_CHARS, WHOLE_CHARS, pictures_of
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

LEAD_CHARS = 4_000
SHOWN_LINES = 60
"""Of an output; the rest is on the page of its event, as far as that shows it; `recollect export` has all."""
_SILENT = (TokenUsage, SessionStart, SessionEnd)


class Output(msgspec.Struct, frozen=True):
    """A text as it stands, or its beginning. left: "" where all is shown, else how much is not. size: of a long one."""

    text: str
    left: str = ""
    size: str = ""


class TranscriptUnit(msgspec.Struct, frozen=True):
    """What is shown as one thing. shape: the template's macro that draws it. failed: None where nobody said."""

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
    seqs: tuple[int, ...] = ()
    """All events that are shown in it."""
    pictures: tuple[tuple[int, str], ...] = ()
    """(event, hash) of each image."""
    size: str = ""
    """Of a long output."""
    is_undone: bool = False
    is_sidechain: bool = False


def is_shown(event: Event) -> bool:
    """Return whether a transcript shows an event, by itself or with its call."""
    return not isinstance(event.payload, _SILENT)


def units_of(
    events: Sequence[Event], *, whole: bool = False, span: tuple[int, int] | None = None
) -> list[TranscriptUnit]:
    """Return what events are shown as, in order. whole: with all of every text, for the page of one event.

    span: which places are shown; the events around them only complete what is there.
    """
    results = {e.payload.call_id: e for e in events if isinstance(e.payload, ToolResult) and e.payload.call_id}
    edits: dict[str, list[Event]] = {}
    for event in events:
        if isinstance(event.payload, FileEdit) and event.payload.call_id:
            edits.setdefault(event.payload.call_id, []).append(event)
    calls = {e.payload.call_id for e in events if isinstance(e.payload, ToolCall)}
    units = []
    low, high = span or (0, len(events))
    for event in events[low:high]:
        payload = event.payload
        if not whole and not is_shown(event):
            continue
        if isinstance(payload, ToolResult | FileEdit) and payload.call_id in calls:
            continue  # shown with its call
        if isinstance(payload, ToolCall):
            result = results.get(payload.call_id)
            units.append(_call(event, payload, result, edits.get(payload.call_id, ()), whole=whole))
        else:
            units.append(_unit(event, whole=whole))
    return units


def _call(event: Event, call: ToolCall, result: Event | None, edits: Sequence[Event], *, whole: bool) -> TranscriptUnit:
    given = call.arguments
    if call.canonical == "shell" and isinstance(given, dict) and isinstance(given.get("command"), str):
        given = given["command"]
    diffs = tuple(line for edit in edits if isinstance(edit.payload, FileEdit) for line in diff_of(edit.payload))
    told = result.payload if result is not None else None
    assert told is None or isinstance(told, ToolResult)
    of = (event, *edits, *((result,) if result is not None else ()))
    output = _output_of(result, told.text or as_text(told.structured), whole=whole) if result and told else None
    return TranscriptUnit(
        "tool", event.seq, event.ts, call.name, event.summary.removeprefix(f"{call.name} "),
        given=None if diffs and not whole else output_of(as_text(given), whole=whole),
        output=output, size=output.size if output is not None else "",
        diff=diffs, failed=_failed(told) if told is not None else None,
        duration_ms=told.duration_ms if told is not None else None,
        result_seq=result.seq if result is not None else None,
        seqs=tuple(sorted(one.seq for one in of)), pictures=_pictures(of),
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
            output = _output_of(event, payload.text or as_text(payload.structured), whole=whole)
            values = {"output": output, "failed": _failed(payload), "size": output.size if output else ""}
        case FileEdit():
            shape, label = "edit", payload.operation
            values = {"diff": diff_of(payload), "path": payload.path}
        case Compaction():
            shape, label = "break", "the agent shortened its context here"
            values = _words(payload.summary, whole=whole)
        case Rewind():
            shape, label = "break", "you went back from here; what is struck through was undone"
        case Instructions() | Unknown():
            output = _output_of(event, payload.text, whole=whole)
            shape, values = "folded", {"output": output, "size": output.size if output else ""}
        case Lifecycle():
            label = payload.name.replace("_", " ")
            gist = gist.removeprefix(f"{payload.name} ")
        case _:
            values = {"output": output_of(as_text(msgspec.to_builtins(payload)), whole=whole)} if whole else {}
    return TranscriptUnit(
        shape, event.seq, event.ts, label, gist, seqs=(event.seq,), pictures=_pictures((event,)),
        is_undone=event.is_undone, is_sidechain=event.is_sidechain, **values,
    )  # fmt: skip


def _words(text: str, *, whole: bool) -> dict[str, Any]:
    """Return what people and models wrote: rendered, or plain where it is too long for that."""
    if len(text) > LEAD_CHARS * 10:
        return {"output": output_of(text, whole=whole)}
    return {"body": markdown(text)}


def output_of(text: str, *, whole: bool) -> Output | None:
    """Return a text, or its beginning unless all is wanted; None for an empty one."""
    if not text.strip():
        return None
    if whole:
        shown = text[:WHOLE_CHARS]
    else:
        shown = "\n".join(text[: LEAD_CHARS + 1].split("\n", SHOWN_LINES)[:SHOWN_LINES])[:LEAD_CHARS]
    if len(shown) == len(text):
        return Output(safe(text))
    length = len(text.encode("utf-8", "replace"))
    return Output(safe(shown), f"{size(length - len(shown.encode('utf-8', 'replace')))} more", size(length))


def _output_of(event: Event, text: str, *, whole: bool) -> Output | None:
    """Return the output of an event. A long one was cut when it was read: then the record tells its size."""
    found = output_of(text, whole=whole)
    is_unread = isinstance(event.payload, Unknown) and event.location.length_bytes > 2 * len(text)
    is_cut = is_unread or len(text) >= (WHOLE_CHARS if whole else SHOWN_CHARS)
    if found is None or not is_cut:
        return found
    about = f"about {size(event.location.length_bytes)}"
    return Output(found.text, f"the rest of {about}", about)


def _pictures(events: Iterable[Event]) -> tuple[tuple[int, str], ...]:
    return tuple((event.seq, part.sha256) for event in events for part in pictures_of(event))


def as_text(value: Any) -> str:
    """Return arguments as text: a lone string as it stands, the rest as JSON on several lines."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
