"""Transcripts below `projects/`: one message a line, or (older) all of them in one text. Both leave a lot out.

Evidence: format notes: Cursor, store B.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

import msgspec

from recollect.agents.cursor.messages import give_call, give_result, read_message
from recollect.agents.cursor.prompts import give_prompt
from recollect.agents.cursor.state import Step, named
from recollect.agents.kit.access import text
from recollect.agents.kit.adapter import read_odd
from recollect.model.payloads import AssistantMessage, Json, Lifecycle, SessionStart, Thinking, ToolResult
from recollect.model.text import flatten

_ROLES = frozenset(("user", "assistant", "tool", "system"))
_FIELDS = frozenset(("role", "message", "type", "timestamp", "model", "content"))
_MESSAGE_FIELDS = frozenset(("role", "content", "model"))
_ENDED_FIELDS = frozenset(("type", "status", "error", "timestamp"))
_ENDS = frozenset(("success", "error", "aborted", "cancelled"))
_ABORTED = re.compile(r"abort|cancel|interrupt", re.IGNORECASE)
_TURN = re.compile(r"^(user|assistant):[ \t]*$", re.MULTILINE)
_MARK = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]*", re.MULTILINE)
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*[=:]\s?(.*)")


def read_line(step: Step) -> None:
    """Give a line of a transcript: a message, or the end of a turn."""
    if not isinstance(step.record.value, dict):
        read_odd(step)
        return
    record = step.value
    step.date(record.get("timestamp"))
    _start(step)
    role = record.get("role")
    if isinstance(role, str) and role in _ROLES:
        message = record.get("message")
        beside = message if isinstance(message, dict) else {}
        content = beside.get("content") if beside else message if message is not None else record.get("content")
        before = len(step.events)
        model = text(record.get("model")) or text(beside.get("model"))
        read_message(step, role, content, record, model="" if model == "default" else model)
        if len(step.events) == before and content not in (None, "", []):
            step.kept(role)
        step.extra(record, _FIELDS, "message")
        step.extra(beside, _MESSAGE_FIELDS, "message.message")
    elif record.get("type") == "turn_ended":
        _read_end(step, record)
    else:
        kind = record.get("type")
        step.unknown(kind if isinstance(kind, str) else text(role))


def _start(step: Step) -> None:
    """Give the session's start; one of a subagent names its parent, whatever the better stores say."""
    if step.state.is_started:
        return
    step.set(is_started=True)
    parent = step.state.parent
    name = f"start:{parent}" if parent else "start"
    step.add(SessionStart(parent_session=parent), native_id=name)


def _read_end(step: Step, record: dict[str, Any]) -> None:
    status, error = step.text(record, "status"), record.get("error")
    step.odd_value("turn_ended.status", status, _ENDS)
    said = error if isinstance(error, str) else flatten(error)
    if _ABORTED.search(said) or status in ("aborted", "cancelled"):
        step.add(Lifecycle("interrupted", text=said or status))
    elif status == "error" or said:
        step.add(Lifecycle("api_error", text=said or status))
    else:
        step.add(Lifecycle("turn_ended", text=status))
    step.extra(record, _ENDED_FIELDS, "turn_ended")


def read_text(step: Step) -> None:
    """Give all messages of a transcript that is one text; lines that say `user:` or `assistant:` part them."""
    value = step.record.value
    if not isinstance(value, str):
        read_odd(step)
        return
    value = value.replace("\r\n", "\n")
    found = list(_TURN.finditer(value))
    if found:
        _start(step)
    lead = value[: found[0].start()] if found else value
    if lead.strip():
        step.kept("text", lead.strip(), native_id=named(step, "kept", lead))
    for this, following in zip_longest(found, found[1:]):
        body = value[this.end() : following.start() if following else None].strip("\n")
        if this[1] == "user":
            if body.strip():
                give_prompt(step, body.strip())
        else:
            _read_reply(step, body)


def _read_reply(step: Step, body: str) -> None:
    marks = list(_MARK.finditer(body))
    _give_words(step, body[: marks[0].start()] if marks else body)
    calls: list[tuple[str, str]] = []
    for this, following in zip_longest(marks, marks[1:]):
        piece = body[this.end() : following.start() if following else None]
        head, _, rest = piece.partition("\n")
        if this[1] == "Thinking":
            # A thought ends at the first empty line; what follows is said.
            thought, _, words = piece.partition("\n\n")
            if thought.strip():
                step.add(Thinking(thought.strip()), "assistant", native_id=named(step, "think", thought))
            _give_words(step, words)
            continue
        inner, words = _indented(rest) if this[1] == "Tool call" else (rest.strip(), "")
        tool = head.strip()
        if this[1] == "Tool call":
            calls.append((tool, give_call(step, tool, _arguments(inner), "")))
            _give_words(step, words)
        else:
            at = next((i for i, (name, _) in enumerate(calls) if name == tool), None)
            call_id = calls.pop(at)[1] if at is not None else ""
            give_result(step, ToolResult(call_id, tool, text=inner), {})


def _give_words(step: Step, said: str) -> None:
    said = said.strip()
    if said:
        step.add(AssistantMessage(said), "assistant", native_id=named(step, "say", said))


def _indented(rest: str) -> tuple[str, str]:
    """Return the indented lines that follow a call, without what they have in common, and the text behind them."""
    lines = rest.split("\n")
    end = next((i for i, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    inner = lines[:end]
    margin = min((len(line) - len(line.lstrip()) for line in inner if line.strip()), default=0)
    return "\n".join(line[margin:] for line in inner).strip("\n"), "\n".join(lines[end:])


def _arguments(body: str) -> Json:
    """Return the arguments of a call, written as JSON or as `name=value` lines; a value may go on over lines."""
    if body.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return body
    found: dict[str, str] = {}
    last = ""
    for line in body.split("\n"):
        pair = _ARGUMENT.fullmatch(line)
        if pair is not None:
            last = pair[1]
            found[last] = pair[2]
        elif last:
            found[last] += f"\n{line}"
        elif line.strip():
            return body
    return {k: v.rstrip("\n") for k, v in found.items()}
