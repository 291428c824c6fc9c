"""The searchable text of an event by class, and its one-line summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from recollect.model.own import without_own_blocks
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Json,
    Lifecycle,
    Payload,
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

TextClass = Literal["talk", "thinking", "tool_input", "tool_output", "instructions", "other"]
SUMMARY_CHARS = 120
_PATH_KEYS = frozenset(
    (
        "file_path",
        "path",
        "notebook_path",
        "filename",
        "file",
        "target_file",
        "relative_path",
        "absolute_path",
        "cwd",
        "workdir",
    )
)


def flatten(value: Json) -> str:
    """Return the text of decoded JSON: one `key: value` line per leaf with its nearest key, strings as they are.

    Iterative, so that no nesting can overflow; order as written.
    """
    if isinstance(value, str):
        return value
    lines: list[str] = []
    stack: list[tuple[str, Json]] = [("", value)]
    while stack:
        key, item = stack.pop()
        if isinstance(item, dict):
            stack.extend((str(k), v) for k, v in reversed(item.items()))
        elif isinstance(item, list | tuple):
            stack.extend((key, v) for v in reversed(item))
        elif item is not None and item != "":
            text = (
                item if isinstance(item, str) else "true" if item is True else "false" if item is False else str(item)
            )
            lines.append(f"{key}: {text}" if key else text)
    return "\n".join(lines)


def paths_in(arguments: Json) -> tuple[str, ...]:
    """Return the values of path-like keys at the top of a tool's arguments."""
    if not isinstance(arguments, dict):
        return ()
    return tuple(v for k, v in arguments.items() if k in _PATH_KEYS and isinstance(v, str) and v)


Searchable = tuple[TextClass, str, tuple[str, ...]]
_NOTHING: Searchable = ("other", "", ())


def searchable(payload: Payload) -> Searchable:
    """Return (class, text, paths) of a payload. Empty text and no paths: nothing to search.

    Blocks of recalled text are left out: what was found once would be found again in every answer that quotes it.
    """
    text_class, text, paths = _SEARCHABLE[type(payload)](payload)
    return text_class, without_own_blocks(text), paths


def _user_text(p: UserMessage) -> Searchable:
    return ("other" if p.origin == "injected" else "talk"), p.text, ()


def _call_text(p: ToolCall) -> Searchable:
    return "tool_input", f"{p.name}\n{flatten(p.arguments)}", paths_in(p.arguments)


def _result_text(p: ToolResult) -> Searchable:
    extra = flatten(p.structured) if p.structured is not None else ""
    return "tool_output", f"{p.text}\n{extra}" if extra else p.text, ()


def _edit_text(p: FileEdit) -> Searchable:
    paths = (p.path, p.new_path) if p.new_path else (p.path,) if p.path else ()
    if p.call_id:  # the call's own arguments hold the text already
        return "tool_input", p.operation, paths
    body = p.diff or "\n".join(x for x in (p.before, p.after) if x)
    return "tool_input", f"{p.operation}\n{body}", paths


def _lifecycle_text(p: Lifecycle) -> Searchable:
    parts = (p.title, p.text, flatten(p.detail) if p.detail is not None else "")
    return "other", "\n".join(part for part in parts if part), ()


def _nothing(_: Payload) -> Searchable:
    return _NOTHING


_SEARCHABLE: dict[type, Callable[[Any], Searchable]] = {
    UserMessage: _user_text,
    AssistantMessage: lambda p: ("talk", p.text, ()),
    Thinking: lambda p: ("thinking", p.text, ()),
    ToolCall: _call_text,
    ToolResult: _result_text,
    FileEdit: _edit_text,
    Compaction: lambda p: ("talk", p.summary, ()),
    Lifecycle: _lifecycle_text,
    Instructions: lambda p: ("instructions", p.text, ()),
    Unknown: lambda p: ("other", f"{p.type}\n{p.text}", ()),
    SessionStart: _nothing,
    Rewind: _nothing,
    TokenUsage: _nothing,
    SessionEnd: _nothing,
}


def one_line(text: str, limit: int = SUMMARY_CHARS) -> str:
    """Return text on one line, whitespace folded, cut at `limit` characters with an ellipsis."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def summary_of(payload: Payload) -> str:
    """Return the derived one-line summary of an event, at most 120 characters."""
    return _SUMMARY[type(payload)](payload)


def _message_gist(p: UserMessage | AssistantMessage) -> str:
    text = without_own_blocks(p.text)
    return one_line(text) if text else one_line(", ".join(f"[{part.type}]" for part in p.parts))


def _result_gist(p: ToolResult) -> str:
    state = "failed: " if p.ok is False else ""
    code = f"exit {p.exit_code}: " if p.exit_code else ""
    return one_line(f"{state}{code}{p.text[:480]}") or "[no output]"


def _edit_gist(p: FileEdit) -> str:
    return one_line(f"{p.operation} {p.path}{' → ' + p.new_path if p.new_path else ''}")


def _usage_gist(p: TokenUsage) -> str:
    cached = f", {p.cache_read_tokens} cached" if p.cache_read_tokens else ""
    return f"{p.input_tokens} in, {p.output_tokens} out{cached}"


def _lifecycle_gist(p: Lifecycle) -> str:
    gist = p.title or p.text or (flatten(p.detail) if p.detail is not None else "")
    return one_line(f"{p.name} {gist}")


_SUMMARY: dict[type, Callable[[Any], str]] = {
    UserMessage: _message_gist,
    AssistantMessage: _message_gist,
    Thinking: lambda p: one_line(p.text) or "[thinking]",
    ToolCall: lambda p: one_line(f"{p.name} {_call_gist(p.arguments)}"),
    ToolResult: _result_gist,
    FileEdit: _edit_gist,
    TokenUsage: _usage_gist,
    Compaction: lambda p: one_line(f"compaction {p.trigger} {p.summary}"),
    Rewind: lambda p: "rewind" + (f" {p.turns_dropped} turns" if p.turns_dropped else ""),
    Lifecycle: _lifecycle_gist,
    SessionStart: lambda p: one_line(f"session in {p.cwd}" if p.cwd else "session start"),
    SessionEnd: lambda p: one_line(f"session end {p.reason}"),
    Instructions: lambda p: one_line(f"instructions {p.source}: {p.text}"),
    Unknown: lambda p: one_line(f"[{p.type}] {p.text}"),
}


_GIST_KEYS = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt", "description", "input")


def _call_gist(arguments: Json) -> str:
    if isinstance(arguments, dict):
        for key in _GIST_KEYS:
            value = arguments.get(key)
            if isinstance(value, str) and value:
                return value
            if isinstance(value, list) and value:
                return " ".join(str(v) for v in value[:20])
    return flatten(arguments)[: SUMMARY_CHARS * 4]
