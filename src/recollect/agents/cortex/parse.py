"""Cortex Code: one message or the members around them in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.cortex.declare import FACTS
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.calls import TurnState, give_call, give_result
from recollect.agents.kit.content import content_parts, content_text
from recollect.agents.kit.names import name_of, short_name
from recollect.agents.kit.values import items, mapping, text
from recollect.model.payloads import (
    AssistantMessage,
    Json,
    Lifecycle,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool

Reading = kit.Reading[TurnState]

_SESSION_ID = re.compile(rb'"session_id"\s*:\s*"([^"\\]{1,200})"')
_REMINDER = "<system-reminder>"
_NO_TITLE = "Chat for session:"
"""What a conversation is called until it gets a title."""
_ROLES = frozenset(("user", "assistant"))
_STATUSES = frozenset(("success", "error"))
_FIELDS = frozenset(
    "session_id title history connection_name working_directory git_root git_branch created_at last_updated "
    "history_length session_type permission_cache".split()
)
_MESSAGE_FIELDS = frozenset(("role", "id", "content", "user_sent_time"))
_MARKS = frozenset(("type", "internalOnly", "is_user_prompt", "message_id"))
_BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": _MARKS | {"text"},
    "tool_use": _MARKS | {"tool_use"},
    "tool_result": _MARKS | {"tool_result"},
}
_CALL_FIELDS = frozenset(("tool_use_id", "name", "input"))
_RESULT_FIELDS = frozenset(("tool_use_id", "name", "content", "status"))


class CortexAdapter(KitAdapter[TurnState]):
    """The adapter of Cortex Code."""

    facts = FACTS
    state_type = TurnState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a document with a session, its folder, and Snowflake's connection."""
        del path
        names = (b'"session_id"', b'"working_directory"', b'"connection_name"', b'"last_updated"')
        is_document = head.lstrip().startswith(b"{") and all(name in head for name in names)
        return "conversation" if is_document else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: both files are named after the session, which the document also names."""
        if info.role == "conversation" and not info.stem:
            found = _SESSION_ID.search(head)
            return found[1].decode("utf-8", "replace") if found else first_line_name(head)
        return info.stem.removesuffix(".history") or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif reading.state.role == "history" or reading.at == "history":
            _read_message(reading)
        else:
            _read_members(reading)


def _read_members(reading: Reading) -> None:
    """Give what the document says around its messages; they may stand between its members, so each is given apart."""
    members = reading.value
    if members.get("created_at") is not None:
        reading.date(members.get("created_at"), "created_at")
    names = ("working_directory", "git_root", "git_branch", "session_type")
    if any(members.get(k) for k in names):
        start = SessionStart(
            cwd=reading.text(members, "working_directory"),
            repo_root=reading.text(members, "git_root"),
            git_branch=reading.text(members, "git_branch"),
            originator=reading.text(members, "session_type"),
        )
        reading.add(start, native_id="start")
    title = reading.text(members, "title")
    if title and not title.startswith(_NO_TITLE):
        reading.add(Lifecycle("title", title=title), native_id="title")
    if members.get("connection_name"):
        reading.add(Lifecycle("connection", text=reading.text(members, "connection_name")), native_id="connection")
    if members.get("permission_cache"):
        reading.add(Lifecycle("permission", detail=members["permission_cache"]), native_id="permission")
    reading.extra(members, _FIELDS, "conversation", native_id="conversation")


def _read_message(reading: Reading) -> None:
    message = reading.value
    reading.date(message.get("user_sent_time"), "user_sent_time")
    written = text(message.get("id"))
    name = f"m:{short_name(written)}" if written else name_of(reading, "m", message)
    role = reading.text(message, "role")
    if role not in _ROLES:
        reading.unknown(text(message.get("type")) or role or "record", native_id=name)
        return
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else reading.items(message, "content")
    is_said = False
    for number, block in enumerate(blocks, 1):
        is_own = mapping(block).get("type") == "text" and not _is_internal(mapping(block))
        if is_own and not is_said:
            is_said = True
            _say(reading, blocks, role, name)
        _read_block(reading, block, f"{name}/{number}")
    reading.extra(message, _MESSAGE_FIELDS, "message", native_id=name)


def _is_internal(block: dict[str, Any]) -> bool:
    return block.get("internalOnly") is True or _REMINDER in text(block.get("text"))


def _say(reading: Reading, blocks: list[Any], role: str, name: str) -> None:
    own = [b for b in map(mapping, blocks) if b.get("type") == "text" and not _is_internal(b)]
    said = "\n".join(t for t in (reading.text(b, "text").strip() for b in own) if t)
    if not said:
        return
    if role == "user":
        reading.add(UserMessage(said), "user", native_id=name)
    else:
        reading.add(AssistantMessage(said, message_id=name), "assistant", native_id=name)


def _read_block(reading: Reading, block: Json, where: str) -> None:
    kind = text(mapping(block).get("type"))
    known = _BLOCK_FIELDS.get(kind)
    if known is None or not isinstance(block, dict):
        reading.unknown(kind or "block", block, native_id=where)
        return
    if kind == "text":
        if _is_internal(block):
            reading.add(UserMessage(text(block.get("text")), "injected"), "user", native_id=where)
    elif kind == "tool_use":
        asked = reading.mapping(block, "tool_use")
        name = reading.text(asked, "name")
        call = ToolCall(reading.text(asked, "tool_use_id"), name, canonical_tool(name), asked.get("input"))
        give_call(reading, call, where)
        reading.extra(asked, _CALL_FIELDS, "tool_use", native_id=where)
    else:
        _read_result(reading, reading.mapping(block, "tool_result"), where)
    reading.extra(block, known, kind, native_id=where)


def _read_result(reading: Reading, given: dict[str, Any], where: str) -> None:
    status = reading.text(given, "status")
    reading.odd_value("tool_result.status", status, _STATUSES)
    ok = True if status == "success" else False if status == "error" else None
    content = given.get("content")
    shown = [b for b in items(content) if not _is_internal(mapping(b))] if isinstance(content, list) else content
    parts, is_readable = content_parts(content)
    if not is_readable:
        reading.wrong("tool_result.content", "bad_base64")
    call_id = reading.text(given, "tool_use_id")
    result = ToolResult(call_id, reading.text(given, "name"), ok, text=content_text(shown), parts=parts)
    give_result(reading, result, where)
    added = "\n".join(text(b.get("text")) for b in map(mapping, items(content)) if _is_internal(b))
    if added:
        reading.add(UserMessage(added, "injected"), "user", native_id=f"{where}/added")
    reading.extra(given, _RESULT_FIELDS, "tool_result", native_id=where)
