"""Whose a source is, and which session it belongs to.

A transcript is named by its session. A subagent's records carry its parent's session id, so it is named
`<parent>/agent-<id>`, as its file is.
Evidence: format notes: Qwen Code, "Where".
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.adapter import first_line_name
from recollect.model.records import SourceInfo

TYPES = frozenset(("user", "assistant", "tool_result", "system"))
_SESSION_ID = re.compile(rb'(?<!\\)"sessionId"\s*:\s*"((?:[^"\\]|\\.){1,200})"')
_AGENT_ID = re.compile(rb'(?<!\\)"agentId"\s*:\s*"((?:[^"\\]|\\.){1,200})"')
_ENVELOPE = (b'"parentUuid"', b'"sessionId"', b'"timestamp"')
_PARTS = (b'"systemPayload"', b'"parts"')
_SNAPSHOT = (b'"projectHash"', b'"sessionId"', b'"messages"')
_REPLY = re.compile(rb'(?<!\\)"type"\s*:\s*"qwen"')
"""What tells Qwen's documents of old from Gemini's, which are the same otherwise."""
_MAX_LINES = 50
_first_of = json.JSONDecoder().raw_decode


def recognise(path: str, head: bytes) -> str | None:
    """Return the role of a file told by its content, None for what Qwen Code didn't write."""
    for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
        if line.lstrip()[:1] != b"{":
            continue
        try:
            value = _first_value(line)
        except (ValueError, RecursionError):
            if len(line) == len(head) and all(key in line for key in _ENVELOPE) and any(k in line for k in _PARTS):
                return _role(path, line)
            continue
        if isinstance(value, dict) and _is_record(value):
            is_subagent = value.get("isSidechain") is True and bool(value.get("agentId"))
            return "subagent" if is_subagent or _is_subagent_name(path) else "transcript"
    is_snapshot = head.lstrip()[:1] == b"{" and _REPLY.search(head) and all(key in head for key in _SNAPSHOT)
    return "chat_json" if is_snapshot else None


def session_of(info: SourceInfo, head: bytes) -> str:
    """Return the native id of the session a source belongs to."""
    line = head.lstrip().partition(b"\n")[0]
    if info.role in ("subagent", "subagent_meta"):
        stem = info.stem.removesuffix(".meta")
        name = stem if stem.startswith("agent-") else f"agent-{_found(_AGENT_ID, line) or stem}"
        return f"{parent_of(info) or _found(_SESSION_ID, line) or 'unknown'}/{name}"
    if info.role == "prompts":
        steps = info.path.split("/")
        return f"prompts/{steps[-2]}" if len(steps) > 1 else "prompts"
    if info.role == "chat_json":
        return _found(_SESSION_ID, head) or info.stem or first_line_name(head)
    is_in_place = info.path.split("/")[-2:-1] == ["chats"]
    named = "" if is_in_place else _found(_SESSION_ID, line)
    return named or info.stem or first_line_name(head)


def parent_of(info: SourceInfo) -> str:
    """Return the session whose folder a subagent's file lies in."""
    steps = info.path.split("/")
    is_below = info.role in ("subagent", "subagent_meta") and len(steps) > 2 and steps[-3] == "subagents"
    return steps[-2] if is_below else ""


def _first_value(line: bytes) -> Any:
    """Return the first of the values that a line holds: a real writer has glued records together."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return _first_of(line.decode("utf-8"))[0]


def _is_record(value: dict[str, Any]) -> bool:
    if text(value.get("type")) not in TYPES or not isinstance(value.get("sessionId"), str) or "timestamp" not in value:
        return False
    if isinstance(value.get("systemPayload"), dict) and "uuid" in value:
        return True
    parts = items(mapping(value.get("message")).get("parts"))
    return bool(parts) and all(isinstance(part, dict) for part in parts)


def _role(path: str, line: bytes) -> str:
    is_subagent = b'"agentId"' in line and b'"isSidechain":true' in line.replace(b" ", b"")
    return "subagent" if is_subagent or _is_subagent_name(path) else "transcript"


def _is_subagent_name(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith("agent-")


def _found(pattern: re.Pattern[bytes], data: bytes) -> str:
    found = pattern.search(data)
    if found is None:
        return ""
    try:
        return text(msgspec.json.decode(b'"' + found[1] + b'"')).strip()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
