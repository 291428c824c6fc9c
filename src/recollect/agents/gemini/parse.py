"""Gemini CLI: parses a record into events. Pure; never raises on content."""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.facts import facts_of
from recollect.agents.gemini.chats import (
    GeminiState,
    read_project_root,
    read_projects,
    read_record,
    read_snapshot_record,
)
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.google_chat import read_logged_prompt, read_saved_turn
from recollect.agents.kit.values import decoded_json, head_objects, text
from recollect.model.records import SourceInfo

# Whose a source is, and which session it belongs to.
#
# A file's name holds only eight characters of the session's id, so the id is taken from the first line.
# Evidence: format notes: Gemini CLI, "Where", trap 6.

_SESSION_ID = re.compile(rb'(?<!\\)"sessionId"\s*:\s*"((?:[^"\\]|\\.){1,200})"')
_HASH = re.compile(rb'(?<!\\)"projectHash"\s*:\s*"')
_MESSAGES = re.compile(rb'(?<!\\)"messages"\s*:\s*\[')
_PROMPT = re.compile(rb'\s*\[\s*\{\s*"sessionId"\s*:\s*"[^"]*"\s*,\s*"messageId"\s*:\s*\d+\s*,\s*"timestamp"')
_SAVED = re.compile(rb'\s*(?:\{\s*"history"\s*:\s*)?\[\s*\{\s*(?:"role"\s*:\s*"(?:user|model)"|"parts"\s*:\s*\[)')
_FORK = re.compile(rb'(?<!\\)"type"\s*:\s*"qwen"')
"""Qwen Code's replies in a document that is otherwise the same (format notes: Qwen Code, "legacy")."""
_MAX_LINES = 50


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


def _decoded(written: bytes) -> str:
    return text(decoded_json(b'"' + written + b'"')).strip()


class GeminiAdapter(KitAdapter[GeminiState]):
    """The adapter of Gemini CLI."""

    facts = facts_of("gemini")
    state_type = GeminiState

    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a file told by its content, None for what Gemini CLI didn't write."""
        role: str | None = None
        if _FORK.search(head):
            return None
        for value in head_objects(head, _MAX_LINES):
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

    def identify(self, info: SourceInfo, head: bytes) -> str:
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

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"project": project_of(info)[:MAX_NAME_CHARS], "parent": parent_of(info)[:MAX_NAME_CHARS]}

    def read(self, reading: Reading[GeminiState]) -> None:
        """Emit the events of one record."""
        value, role = reading.record.value, reading.state.role
        if role == "project" and isinstance(value, str):
            read_project_root(reading, value)
        elif role == "chat_json" and (isinstance(value, dict) or reading.at == "messages"):
            read_snapshot_record(reading)
        elif not isinstance(value, dict):
            read_odd(reading)
        elif role == "prompts":
            read_logged_prompt(reading)
        elif role == "saved":
            # Emit a conversation saved by `/chat save`: a list of turns, later inside an object.
            if "history" not in value:
                read_saved_turn(reading, value)
                return
            for turn in reading.items(value, "history"):
                if isinstance(turn, dict):
                    read_saved_turn(reading, turn)
                else:
                    reading.wrong("history")
            reading.native_id = "saved"
            reading.extra(value, frozenset(("history", "authType", "messageIds")), "saved")
        elif role == "projects":
            read_projects(reading)
        else:
            read_record(reading)
