"""The excerpt of an event that a model is shown: capped by kind, with its author.

Of what a tool gave back little is shown: whether it worked, the last lines of what failed, the first of what was
fetched. Files that were read, reasoning and system prompts are not shown at all.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from recollect.model.events import Event
from recollect.model.learnings.learnings import Author
from recollect.model.own import without_own_blocks
from recollect.model.payloads import AssistantMessage, FileEdit, ToolCall, ToolResult, UserMessage

USER_CHARS = 4_000
ASSISTANT_CHARS = 1_600
CALL_CHARS = 300
FAILED_CHARS = 800
PASSED_CHARS = 200
EDIT_CHARS = 500
HARNESS_CHARS = 300

HUMAN = frozenset(("human", "queued", "command"))
"""Origins of what a person wrote."""
SHOWN = (UserMessage, AssistantMessage, ToolCall, ToolResult, FileEdit)
"""Payloads of which something may be shown."""

_HEAD, _TAIL = 0.6, 0.3
"""Of a text that is too long: what is kept of its beginning and its end. What a tool says last says most: there the
other way round."""
_ARGUMENTS = ("command", "cmd", "script", "file_path", "path", "pattern", "query", "url", "description", "prompt")
"""What tells most of a call, in this order."""
_DIFF_CHARS = 8_000
"""Of a file before and after; more is not compared."""
_OUR_TAGS = re.compile(r"<(?=\s*/?\s*(?:event|events|earlier|session)\b)", re.IGNORECASE)


class Excerpt(NamedTuple):
    """What is shown of one event. rank: 0 is given up last. where: a path that the event names, "" for none."""

    session_uid: str
    event_id: str
    part: int
    seq: int
    ts: int | None
    author: Author
    text: str
    rank: int
    where: str = ""


def excerpt_of(
    event: Event, *, is_subagent: bool, calls: Mapping[str, ToolCall], load: Callable[[Event], Event]
) -> Excerpt | None:
    """Return what is shown of an event, None for nothing.

    Args:
        is_subagent: the session's "user" is another agent.
        calls: the tool calls before it, by call id.
        load: gives an event with its whole payload.
    """
    payload = event.payload
    if isinstance(payload, UserMessage):
        if payload.origin not in HUMAN:
            return _made(
                event, "tool", "[from the harness] " + capped(without_own_blocks(payload.text), HARNESS_CHARS), rank=3
            )
        author: Author = "assistant" if is_subagent or event.is_sidechain else "user"
        return _made(event, author, capped(without_own_blocks(payload.text), USER_CHARS), rank=0)
    if isinstance(payload, AssistantMessage):
        return _made(event, "assistant", capped(without_own_blocks(payload.text), ASSISTANT_CHARS), rank=1)
    if isinstance(payload, ToolCall):
        return _call(load(event)) if payload.canonical not in ("edit", "read", "todo", "search") else None
    if isinstance(payload, FileEdit):
        return _edit(load(event)) if payload.operation != "checkpoint" else None
    if isinstance(payload, ToolResult):
        return _result(event, calls.get(payload.call_id), load)
    return None


def capped(text: str, limit: int, *, head: float = _HEAD, tail: float = _TAIL) -> str:
    """Return a text of about `limit` characters at most: its beginning, the omitted length, its end."""
    text = text.strip()
    if len(text) <= limit:
        return text
    first, last = int(limit * head), int(limit * tail)
    return f"{text[:first].rstrip()}\n[… {len(text) - first - last:,} characters left out …]\n{text[-last:].lstrip()}"


def plain(text: str) -> str:
    """Return a text without invisible characters and without anything like the marks of a question."""
    shown = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    return _OUR_TAGS.sub("‹", shown)


def _made(event: Event, author: Author, text: str, *, rank: int, where: str = "") -> Excerpt | None:
    said = plain(text).strip()
    if not said:
        return None
    return Excerpt(
        event.session_uid, event.event_id, event.part, event.seq, event.ts, author, said, rank, where
    )  # fmt: skip


def _call(event: Event) -> Excerpt | None:
    payload = event.payload
    assert isinstance(payload, ToolCall)
    said = _arguments(payload.arguments)
    return _made(event, "tool", f"{payload.name}: {capped(said, CALL_CHARS)}" if said else payload.name, rank=2)


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, dict):
        for key in _ARGUMENTS:
            value = arguments.get(key)
            if isinstance(value, str) and value:
                return value
            if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
                return " ".join(value)
    return msgspec.json.encode(arguments, enc_hook=repr).decode("utf-8", "replace") if arguments else ""


def _edit(event: Event) -> Excerpt | None:
    payload = event.payload
    assert isinstance(payload, FileEdit)
    said = payload.diff or _diff(payload.before or "", payload.after or "")
    to = f" to {payload.new_path}" if payload.new_path else ""
    return _made(
        event, "tool", f"{payload.operation} {payload.path}{to}\n{capped(said, EDIT_CHARS)}", rank=2, where=payload.path
    )  # fmt: skip


def _diff(before: str, after: str) -> str:
    """Return the lines that changed. Of a new file only how long it is: the text is in the file."""
    if not before:
        return f"[{after.count(chr(10)) + 1:,} lines]" if after else ""
    lines = difflib.unified_diff(
        before[:_DIFF_CHARS].splitlines(), after[:_DIFF_CHARS].splitlines(), lineterm="", n=0
    )  # fmt: skip
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _result(event: Event, call: ToolCall | None, load: Callable[[Event], Event]) -> Excerpt | None:
    payload = event.payload
    assert isinstance(payload, ToolResult)
    canonical = call.canonical if call is not None else ""
    has_failed = payload.ok is False or bool(payload.exit_code)
    author: Author = "web" if canonical == "fetch" else "tool"
    ending = f"exit {payload.exit_code}" if payload.exit_code is not None else "failed" if has_failed else "ok"
    if has_failed:
        said = capped(_whole(event, load), FAILED_CHARS, head=_TAIL, tail=_HEAD)
        return _made(event, author, f"[{ending}]\n{said}", rank=1)
    if canonical == "shell":
        said = capped(_whole(event, load), PASSED_CHARS, head=0.2, tail=0.7)
        return _made(event, author, f"[{ending}]\n{said}", rank=3)
    if canonical == "fetch":
        return _made(event, author, f"[{ending}]\n{capped(_whole(event, load), PASSED_CHARS)}", rank=3)
    return None


def _whole(event: Event, load: Callable[[Event], Event]) -> str:
    payload = load(event).payload
    return without_own_blocks(payload.text) if isinstance(payload, ToolResult) else ""
