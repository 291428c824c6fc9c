"""What a compaction dropped: the person's requests, edited files, open failures, the plan."""

from __future__ import annotations

import msgspec

from recollect.model.own import without_own_blocks
from recollect.model.payloads import FileEdit, Json, ToolCall, UserMessage
from recollect.model.text import one_line
from recollect.recall.context.failures import EVENTS, lines_of, open_failures, shortest
from recollect.recall.context.lines import ContextLine, ContextRequest, SourceLines

REQUEST_CHARS = 300
PATHS_A_LINE = 6
PLAN_CHARS = 600
_MARKS = {"completed": "x", "done": "x", "complete": "x", "in_progress": ">", "in-progress": ">", "active": ">"}
_STEP_KEYS = ("content", "step", "title", "text", "description", "task", "subject", "name")
_PLAN_KEYS = ("plan", "plan_markdown", "markdown")
_DEPTH = 3


def _end_of(asked: ContextRequest) -> int | None:
    """Return the seq of the session's newest compaction; None if none is stored yet: then everything was before it."""
    if asked.is_whole:
        return None
    found = asked.reader.events(asked.session, ("compaction",), limit=1)
    return found[-1].seq if found else None


class Requests:
    """What the person asked for, in order."""

    heading = "Asked for earlier in this session, in order:"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return the first request and the newest ones before the compaction."""
        events = asked.reader.events(asked.session, ("user_message",), before=_end_of(asked), limit=EVENTS)
        lines: list[ContextLine] = []
        for event in events:
            payload = event.payload
            if not isinstance(payload, UserMessage) or payload.origin == "injected" or event.is_sidechain:
                continue
            text = one_line(without_own_blocks(payload.text), REQUEST_CHARS)
            if text:
                lines.append(ContextLine(f"“{text}”", f"{asked.session}#{event.seq}", event.ts, 0.6))
        shown = max(2, asked.room * 3 // 5)
        chosen = lines if len(lines) <= shown else [lines[0], *lines[1 - shown :]]
        ranked = [
            msgspec.structs.replace(c, worth=1.0 if not i else 0.5 + 0.5 * i / len(chosen))
            for i, c in enumerate(chosen)
        ]
        return SourceLines(ranked, len(lines) - len(chosen))


class EditedFiles:
    """Which files were changed."""

    heading = "Files edited in this session so far, the newest last:"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return the files that were edited before the compaction, some to a line."""
        events = asked.reader.events(asked.session, ("file_edit",), before=_end_of(asked), limit=EVENTS)
        root = asked.folder.path if asked.folder is not None else ""
        newest: dict[str, int] = {}
        for event in events:
            payload = event.payload
            if isinstance(payload, FileEdit) and payload.operation != "checkpoint" and payload.path:
                path = shortest(payload.new_path or payload.path, root)
                newest.pop(path, None)
                newest[path] = event.seq
        paths = list(newest)
        shown = paths[-PATHS_A_LINE * max(1, asked.room // 4) :]
        lines = []
        for first in range(0, len(shown), PATHS_A_LINE):
            some = shown[first : first + PATHS_A_LINE]
            citation = f"{asked.session}#{newest[some[-1]]}"
            lines.append(ContextLine(", ".join(some), citation, None, 0.8, tuple(some)))
        return SourceLines(lines, len(paths) - len(shown))


class StillFailing:
    """What failed in this session and was not seen to pass."""

    heading = "Failed in this session, and not seen to pass since:"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return the newest failures before the compaction that are open."""
        kinds = ("tool_call", "tool_result", "file_edit")
        events = asked.reader.events(asked.session, kinds, before=_end_of(asked), limit=EVENTS)
        root = asked.folder.path if asked.folder is not None else ""
        return lines_of(open_failures(events, asked.session, root), asked, asked.room // 4)


class LastPlan:
    """The last plan that was written down."""

    heading = "The last plan of this session:"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return the newest list of steps, or plan as text, that a tool was given before the compaction."""
        events = asked.reader.events(asked.session, ("tool_call",), before=_end_of(asked), limit=EVENTS)
        for event in reversed(events):
            payload = event.payload
            if not isinstance(payload, ToolCall) or payload.canonical not in ("todo", "ask") or event.is_sidechain:
                continue
            text = plan_in(payload.arguments)
            if text:
                return SourceLines((ContextLine(text, f"{asked.session}#{event.seq}", event.ts, 0.9),))
        return SourceLines(())


def plan_in(arguments: Json) -> str:
    """Return the plan in a tool's arguments: steps with their state (`[x]` done, `[>]` under way), else its text."""
    steps = _steps(arguments, _DEPTH)
    if steps:
        return one_line("; ".join(steps), PLAN_CHARS)
    if isinstance(arguments, dict):
        for key in _PLAN_KEYS:
            if isinstance(arguments.get(key), str) and arguments[key].strip():
                return one_line(arguments[key], PLAN_CHARS)
    return ""


def _steps(value: Json, depth: int) -> list[str]:
    """Return the steps of the first list of objects with a text and a status."""
    if isinstance(value, list):
        steps = []
        for item in value:
            if not isinstance(item, dict) or not isinstance(item.get("status"), str):
                return []
            text = next((item[key] for key in _STEP_KEYS if isinstance(item.get(key), str) and item[key]), "")
            if not text:
                return []
            steps.append(f"[{_MARKS.get(item['status'].lower(), ' ')}] {one_line(text)}")
        return steps
    if isinstance(value, dict) and depth:
        return next((steps for inner in value.values() if (steps := _steps(inner, depth - 1))), [])
    return []
