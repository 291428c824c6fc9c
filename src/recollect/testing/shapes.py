"""What each scenario of the conformance suite comes to, whoever wrote it: the same story has the same shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.model.events import Event
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Rewind,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

Shape = tuple[str, ...]

_DIALOGUE = ("user: Which files are here?", "assistant: There are two: a.py and b.py.")
_TWO_TURNS = ("user: First.", "assistant: One.", "user: Second.", "assistant: Two.")

SHAPES: dict[str, Shape] = {
    "dialogue": _DIALOGUE,
    "unknown_record": _DIALOGUE,
    "half_written": _DIALOGUE,
    "unicode": ("user: Grüße, 世界 👋", "assistant: Καλημέρα"),
    "tool": ("user: Run the tests.", "call: shell", "result: ok", "assistant: All three pass."),
    "failed_tool": ("user: Run the tests.", "call: shell", "result: failed", "assistant: One test fails."),
    "edit": ("user: Rename the constant.", "call: edit", "edit: modify a.py", "result: ok", "assistant: Renamed."),
    "thinking": ("user: Why is it slow?", "thinking: The loop is quadratic.", "assistant: Because of the loop."),
    "compaction": (*_TWO_TURNS[:2], "compaction", *_TWO_TURNS[2:]),
    "rewind": (*_TWO_TURNS[:2], "user: Wrong turn.", "assistant: Oops.", "rewind", *_TWO_TURNS[2:]),
    "fork": _TWO_TURNS,
    "subagent": ("user: Look it up.", "call: task", "result: ok", "assistant: It is forty-two."),
}
"""Of the main session: of `fork` the second one, of `subagent` the parent. Others have rules of their own."""


class _Line(NamedTuple):
    """A line of a shape. key: the call or the record it is joined by. is_bare: says that it happened, not what."""

    text: str
    key: str = ""
    is_bare: bool = False


def shape_of(events: Iterable[Event]) -> Shape:
    """Return the shape of a session: who said what, which tools ran and how they ended, in order.

    An edit stands behind its call, wherever the agent writes it; results of agents that do not say how it went count as
    ok. A compaction, or a call's result, may be told by a mark and then by its text. A rewind that only the next turn's
    own record shows stands before that turn. What agents tell beside the conversation (usage, titles, instructions) is
    no part of it.
    """
    lines: list[_Line] = []
    for event in events:
        line = _line(event)
        if line is not None:
            _place(lines, line)
    return tuple(line.text for line in lines)


def differences(shape: Sequence[str], scenario: str) -> list[str]:
    """Return how a shape differs from what its scenario should come to; nothing where they agree."""
    wanted = SHAPES.get(scenario)
    if wanted is None or tuple(shape) == wanted:
        return []
    return [f"the shape is {list(shape)}, it should be {list(wanted)}"]


def _line(event: Event) -> _Line | None:
    p = event.payload
    match p:
        case UserMessage(origin="injected") | AssistantMessage(text="") | Thinking(text=""):
            return None
        case UserMessage():
            return _Line(f"user: {p.text.strip()}", event.event_id)
        case AssistantMessage():
            return _Line(f"assistant: {p.text.strip()}")
        case Thinking():
            return _Line(f"thinking: {p.text.strip()}")
        case ToolCall():
            return _Line(f"call: {p.canonical}", p.call_id)
        case ToolResult():
            said = bool(p.text or p.parts or p.structured)
            return _Line(f"result: {'failed' if p.ok is False else 'ok'}", p.call_id, is_bare=not said)
        case FileEdit():
            return _Line(f"edit: {p.operation} {p.path.rpartition('/')[2]}", p.call_id)
        case Compaction():
            return _Line("compaction", is_bare=not p.summary)
        case Rewind():
            return _Line("rewind", event.event_id)
        case _:
            return None


def _place(lines: list[_Line], line: _Line) -> None:
    last = lines[-1] if lines else _Line("")
    if line.text.startswith("edit: "):
        for at in range(len(lines) - 1, -1, -1):
            if lines[at].text.startswith("call: ") and lines[at].key == line.key:
                lines.insert(at + 1, line)
                return
    elif line.text == "rewind" and last.text.startswith("user: ") and last.key == line.key:
        lines.insert(len(lines) - 1, line)
        return
    elif last.is_bare and not line.is_bare and last == line._replace(is_bare=True):
        lines[-1] = line
        return
    lines.append(line)
