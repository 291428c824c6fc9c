"""Whose a source is, and which session it belongs to.

A file's name holds only eight characters of the session's id, so the id is taken from the first line.
Evidence: format notes: Gemini CLI, "Where", trap 6.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.kit.access import text
from recollect.agents.kit.adapter import first_line_name
from recollect.model.records import SourceInfo

_SESSION_ID = re.compile(rb'(?<!\\)"sessionId"\s*:\s*"((?:[^"\\]|\\.){1,200})"')
_HASH = re.compile(rb'(?<!\\)"projectHash"\s*:\s*"')
_MESSAGES = re.compile(rb'(?<!\\)"messages"\s*:\s*\[')
_PROMPT = re.compile(rb'\s*\[\s*\{\s*"sessionId"\s*:\s*"[^"]*"\s*,\s*"messageId"\s*:\s*\d+\s*,\s*"timestamp"')
_SAVED = re.compile(rb'\s*(?:\{\s*"history"\s*:\s*)?\[\s*\{\s*(?:"role"\s*:\s*"(?:user|model)"|"parts"\s*:\s*\[)')
_FORK = re.compile(rb'(?<!\\)"type"\s*:\s*"qwen"')
"""Qwen Code's replies in a document that is otherwise the same (format notes: Qwen Code, "legacy")."""
_MAX_LINES = 50


def recognise(path: str, head: bytes) -> str | None:
    """Return the role of a file told by its content, None for what Gemini CLI didn't write."""
    role: str | None = None
    if _FORK.search(head):
        return None
    for value in _values(head):
        if "projectHash" in value and isinstance(value.get("sessionId"), str) and "startTime" in value:
            if "messages" in value:
                return "chat_json"
            return "subagent" if value.get("kind") == "subagent" else "chat"
        if isinstance(value.get("$rewindTo"), str) or isinstance(value.get("$set"), dict):
            return "chat"
        if _is_reply(value):
            role = "chat"
    if role is not None:
        return role
    if head.lstrip()[:1] == b"{" and _HASH.search(head) and _SESSION_ID.search(head) and _MESSAGES.search(head):
        return "chat_json"
    if _PROMPT.match(head):
        return "prompts"
    if path.rsplit("/", 1)[-1].startswith("checkpoint-") and _SAVED.match(head):
        return "saved"
    return None


def session_of(info: SourceInfo, head: bytes) -> str:
    """Return the native id of the session a source belongs to."""
    if info.role == "project":
        return f"project/{project_of(info) or 'unknown'}"
    if info.role in ("projects", "prompts"):
        return f"{info.role}/{project_of(info)}" if project_of(info) else info.role
    if info.role == "saved":
        folder = project_of(info)
        return "/".join(n for n in ("saved", folder, info.stem.removeprefix("checkpoint-")) if n)
    first = head[: at.start()] if (at := _MESSAGES.search(head)) else head
    found = _SESSION_ID.search(first if info.role == "chat_json" else head.lstrip().partition(b"\n")[0])
    if found is None and info.role == "chat_json":
        found = _SESSION_ID.search(head)
    named = _decoded(found[1]) if found else ""
    return named or info.stem or first_line_name(head)


def project_of(info: SourceInfo) -> str:
    """Return the identifier of a source's project: the folder below `tmp`."""
    steps = info.path.split("/")
    return steps[steps.index("tmp") + 1] if "tmp" in steps[:-2] else ""


def parent_of(info: SourceInfo) -> str:
    """Return the session whose folder a subagent's file lies in."""
    steps = info.path.split("/")
    return steps[-2] if info.role == "subagent" and len(steps) > 2 and steps[-3] == "chats" else ""


def _is_reply(value: dict[str, Any]) -> bool:
    return value.get("type") == "gemini" and isinstance(value.get("id"), str) and "timestamp" in value


def _values(head: bytes) -> list[dict[str, Any]]:
    found = []
    for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
        if line.lstrip()[:1] == b"{":
            try:
                value = msgspec.json.decode(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                found.append(value)
    return found


def _decoded(written: bytes) -> str:
    try:
        return text(msgspec.json.decode(b'"' + written + b'"')).strip()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
