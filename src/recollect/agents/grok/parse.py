"""Grok Build: parses a record into events. Pure; never raises on content.

What each kind becomes is in `updates` (the stream, with `turns`) and `sidecars` (the model's own copy too);
traps are in README.md beside this file.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from recollect.agents.grok.sidecars import READERS, give_instructions
from recollect.agents.grok.turns import GrokState, Reading
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.values import HEAD_SESSION, decoded_json, group_in, mapping, text
from recollect.model.records import SourceInfo

# Whose a source is, by its content first and its path second; the names of its sessions.
#
# A session is a folder: `sessions/<working directory, percent-encoded>/<session id>/`. Evidence: format notes: Grok
# Build, sections 1 and 2.

_MAX_LINES = 50
_CHAT_TYPES = frozenset(("system", "user", "assistant", "tool_result", "reasoning", "backend_tool_call"))
_FOREIGN_KEYS = frozenset(("uuid", "parentUuid", "sessionId", "message", "timestamp", "payload", "parentId", "jsonrpc"))
_EVENT_MARKS = frozenset(("session_relationship", "conversation_message_count", "schema_version"))
_HISTORY_KEYS = frozenset(("timestamp", "session_id", "prompt", "is_bash"))
_CUT_UPDATE = re.compile(rb'\s*\{"timestamp":\d+,"method":"(?:session|_x\.ai/session)/update","params":\{')
_CUT_SYSTEM = re.compile(rb'\s*\{"type":"system","content":"You are Grok\b')
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


def _role(value: dict[str, Any]) -> str | None:
    if "jsonrpc" in value:
        return None
    params = value.get("params", value)
    update = mapping(params).get("update")
    if isinstance(update, dict) and isinstance(update.get("sessionUpdate"), str):
        is_whole = isinstance(value.get("timestamp"), int) or value.keys() <= {"sessionId", "update", "_meta"}
        return "updates" if is_whole else None
    if value.keys() >= _HISTORY_KEYS:
        return "prompt_history"
    if isinstance(value.get("ts"), str) and isinstance(value.get("type"), str) and value.keys() & _EVENT_MARKS:
        return "events"
    if isinstance(value.get("info"), dict) and "num_chat_messages" in value and "current_model_id" in value:
        return "summary"
    if isinstance(value.get("prompt_index"), int) and isinstance(value.get("file_snapshots"), dict):
        return "rewind_points"
    return "chat" if _is_chat(value) else None


def _is_chat(value: dict[str, Any]) -> bool:
    """Only lines that no other agent writes count: most of them look like anybody's."""
    if value.keys() & _FOREIGN_KEYS:
        return False
    if value.get("role") == "assistant" and "type" not in value:  # as written before `type` (format notes, section 4)
        return isinstance(value.get("content"), str) and isinstance(value.get("model_id"), str)
    if text(value.get("type")) not in _CHAT_TYPES:
        return False
    match value["type"]:
        case "assistant":
            return isinstance(value.get("content"), str) and isinstance(value.get("model_id"), str)
        case "user":
            return isinstance(value.get("content"), list) and bool(value.keys() & {"prompt_index", "synthetic_reason"})
        case "backend_tool_call":
            return "tool_type" in mapping(value.get("kind"))
    return False


def parent_of(info: SourceInfo) -> str:
    """Return the session in whose folder a subagent's own files lie, "" for any other source."""
    parts = _below_sessions(info.path)
    return parts[1] if len(parts) >= 5 and parts[2] == "subagents" else ""


def folder_of(info: SourceInfo) -> str:
    """Return the working directory that the group's folder is named after; "" where it is named by a hash."""
    parts = _below_sessions(info.path)
    named = unquote(parts[0]) if len(parts) >= 2 else ""
    return named if _ABSOLUTE.match(named) else ""


def _below_sessions(path: str) -> list[str]:
    parts = path.split("/")
    for at in range(len(parts) - 3, -1, -1):
        if parts[at] == "sessions":
            return parts[at + 1 :]
    return []


def _values(head: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects among the first lines, or the one document that the head is."""
    lines = head.split(b"\n", _MAX_LINES)[:_MAX_LINES]
    for line in (head, *lines) if lines and lines[0].strip() in (b"{", b"") else lines:
        value = decoded_json(line) if line.lstrip()[:1] == b"{" else None
        if isinstance(value, dict):
            yield value


class GrokAdapter(KitAdapter[GrokState], slug="grok"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a source that lies in no known layout, None for what Grok Build did not write."""
        for value in _values(head):
            role = _role(value)
            if role is not None:
                return role
        if _CUT_UPDATE.match(head) is not None and b'"sessionUpdate"' in head:
            return "updates"
        is_chat = path.rsplit("/", 1)[-1] == "chat_history.jsonl" and _CUT_SYSTEM.match(head) is not None
        return "chat" if is_chat else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the session's folder, else what the first lines say."""
        if info.role == "prompt_history":
            return "prompt_history"
        parts = _below_sessions(info.path)
        if len(parts) >= 5 and parts[2] == "subagents" and info.role in ("updates", "chat"):
            return parts[3]
        if len(parts) >= 3:
            return parts[1]
        for value in _values(head):
            params = mapping(value.get("params"))
            found = (
                text(params.get("sessionId"))
                or text(value.get("sessionId"))
                or text(mapping(value.get("info")).get("id"))
            )
            if found:
                return found
        return group_in(HEAD_SESSION, head) or first_line_name(head)

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"document": parent_of(info) if info.role == "updates" else "", "cwd": folder_of(info)}

    def read(self, reading: Reading) -> None:
        state = reading.state
        said = reading.record.value
        if state.role == "system_prompt" and isinstance(said, str):
            give_instructions(reading, said, "system_prompt")
            return
        read = READERS.get(state.role)
        if read is None or not isinstance(said, dict):
            read_odd(reading)
            return
        read(reading)
        if state.role == "updates" and not state.is_started:
            reading.set(is_started=True)
            reading.start(cwd=state.cwd, model=reading.now("model"), parent_session=state.document)
            reading.events.insert(0, reading.events.pop())
