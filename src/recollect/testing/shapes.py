"""What each scenario of the conformance suite comes to, whoever wrote it: the same story has the same shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def shape_of(events: Iterable[Event]) -> Shape:
    """Return the shape of a session: who said what, which tools ran and how they ended, in order.

    An edit stands behind its call, wherever the agent writes it; results of agents that do not say how it went count as
    ok. What agents tell beside the conversation (usage, titles, instructions) is no part of it.
    """
    lines: list[tuple[str, str]] = []
    for event in events:
        line = _line(event)
        if line is not None:
            _place(lines, line)
    return tuple(text for text, _ in lines)


def differences(shape: Sequence[str], scenario: str) -> list[str]:
    """Return how a shape differs from what its scenario should come to; nothing where they agree."""
    wanted = SHAPES.get(scenario)
    if wanted is None or tuple(shape) == wanted:
        return []
    return [f"the shape is {list(shape)}, it should be {list(wanted)}"]


def _line(event: Event) -> tuple[str, str] | None:
    p = event.payload
    match p:
        case UserMessage(origin="injected") | AssistantMessage(text="") | Thinking(text=""):
            return None
        case UserMessage():
            return f"user: {p.text.strip()}", ""
        case AssistantMessage():
            return f"assistant: {p.text.strip()}", ""
        case Thinking():
            return f"thinking: {p.text.strip()}", ""
        case ToolCall():
            return f"call: {p.canonical}", p.call_id
        case ToolResult():
            return f"result: {'failed' if p.ok is False else 'ok'}", p.call_id
        case FileEdit():
            return f"edit: {p.operation} {p.path.rpartition('/')[2]}", p.call_id
        case Compaction():
            return "compaction", ""
        case Rewind():
            return "rewind", ""
        case _:
            return None


def _place(lines: list[tuple[str, str]], line: tuple[str, str]) -> None:
    text, call_id = line
    if text.startswith("edit: "):
        for at in range(len(lines) - 1, -1, -1):
            if lines[at][0].startswith("call: ") and lines[at][1] == call_id:
                lines.insert(at + 1, line)
                return
    lines.append(line)
