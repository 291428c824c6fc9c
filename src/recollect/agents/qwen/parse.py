"""Qwen Code: parses a record into events. Pure; never raises on content.

What the records become is in `messages`.
"""

import json
import re
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.google_chat import read_logged_prompt, read_message
from recollect.agents.kit.names import short_name
from recollect.agents.kit.values import decoded_json, items, mapping, text
from recollect.agents.qwen.messages import QwenState, read_assistant, read_result, read_system, read_user
from recollect.model.payloads import Lifecycle
from recollect.model.records import SourceInfo

# Whose a source is, and which session it belongs to.
#
# A transcript is named by its session. A subagent's records carry its parent's session id, so it is named
# `<parent>/agent-<id>`, as its file is.
# Evidence: format notes: Qwen Code, "Where".

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


def _is_subagent_name(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith("agent-")


def _found(pattern: re.Pattern[bytes], data: bytes) -> str:
    found = pattern.search(data)
    if found is None:
        return ""
    return text(decoded_json(b'"' + found[1] + b'"')).strip()


_KNOWN = known_fields("qwen")
_PROVENANCES = frozenset(("real_user", "assistant_output", "tool_result", "goal_control", "goal_runtime", "system"))


class QwenAdapter(KitAdapter[QwenState], slug="qwen"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """Return the role of a file told by its content, None for what Qwen Code didn't write."""
        for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
            if line.lstrip()[:1] != b"{":
                continue
            try:
                value = _first_value(line)
            except (ValueError, RecursionError):
                if len(line) == len(head) and all(key in line for key in _ENVELOPE) and any(k in line for k in _PARTS):
                    is_subagent = b'"agentId"' in line and b'"isSidechain":true' in line.replace(b" ", b"")
                    return "subagent" if is_subagent or _is_subagent_name(path) else "transcript"
                continue
            if isinstance(value, dict) and _is_record(value):
                is_subagent = value.get("isSidechain") is True and bool(value.get("agentId"))
                return "subagent" if is_subagent or _is_subagent_name(path) else "transcript"
        is_snapshot = head.lstrip()[:1] == b"{" and _REPLY.search(head) and all(key in head for key in _SNAPSHOT)
        return "chat_json" if is_snapshot else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
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

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"parent": parent_of(info)[:MAX_NAME_CHARS]}

    def read(self, reading: Reading[QwenState]) -> None:
        value, role = reading.record.value, reading.state.role
        if not isinstance(value, dict):
            read_odd(reading)
        elif role == "prompts":
            read_logged_prompt(reading)
        elif role == "subagent_meta":
            _read_meta(reading)
        elif role == "chat_json":
            _read_snapshot(reading, value)
        else:
            _read_record(reading)


def _read_record(reading: Reading[QwenState]) -> None:
    value = reading.value
    uuid = reading.text(value, "uuid")
    reading.native_id = short_name(uuid) if uuid else None
    parent = reading.text(value, "parentUuid")
    reading.parent_id = short_name(parent) if parent else None
    reading.is_sidechain = value.get("isSidechain") is True and reading.state.role != "subagent"
    reading.date(value.get("timestamp"))
    kind, subtype = reading.text(value, "type"), reading.text(value, "subtype")
    if kind in TYPES:
        _see_place(reading)
    name = reading.native_id
    if kind == "user":
        read_user(reading, subtype)
    elif kind == "assistant":
        read_assistant(reading)
    elif kind == "tool_result":
        read_result(reading)
    elif kind == "system":
        read_system(reading, subtype)
    else:
        reading.unknown(kind or "record")
        return
    reading.native_id = name
    reading.odd_value(f"{kind}.provenance", value.get("provenance"), _PROVENANCES)
    reading.extra(value, _KNOWN["record"], kind)


def _see_place(reading: Reading[QwenState]) -> None:
    """Emit the session's start at the first record, later each change of folder or branch."""
    value = reading.value
    cwd, branch = reading.text(value, "cwd"), reading.text(value, "gitBranch")
    is_first, state = not reading.now("is_started"), reading.state
    if is_first:
        reading.set(is_started=True)
        forked = reading.mapping(value, "forkedFrom")
        is_subagent = state.role == "subagent"
        reading.start(
            **reading.told(value, model="model", tool_version="version"),
            cwd=cwd,
            git_branch=branch,
            forked_from=text(forked.get("sessionId")),
            parent_session=(state.parent or text(value.get("sessionId"))) if is_subagent else "",
            agent_name=text(value.get("agentName")) or (text(value.get("agentId")) if is_subagent else ""),
        )
    reading.see(is_first_told=not is_first, cwd=cwd, branch=branch)


def _read_meta(reading: Reading[QwenState]) -> None:
    """Emit what stands beside a subagent's transcript: who started it, what it is, and how it ended."""
    value = reading.value
    reading.date(value.get("createdAt"), "createdAt")
    parent = reading.text(value, "parentSessionId")
    above = reading.text(value, "parentAgentId")
    reading.start(
        **reading.told(value, model="model", agent_name="subagentName agentType"),
        parent_session=f"{parent}/agent-{above}" if parent and above else parent,
        native_id="meta",
    )
    title = reading.text(value, "description")
    reading.note("title", title, title=title, native_id="meta/title")
    reading.date(value.get("lastUpdatedAt"), "lastUpdatedAt")
    detail = {k: value[k] for k in ("status", "lastError", "isolation", "resumeCount", "depth") if value.get(k)}
    call_id = reading.text(value, "toolUseId")
    reading.add(
        Lifecycle("subagent", text=text(value.get("status")), detail=detail or None, call_id=call_id),
        native_id="meta/status",
    )
    reading.extra(value, _KNOWN["meta"], "meta", native_id="meta")


def _read_snapshot(reading: Reading[QwenState], value: dict[str, Any]) -> None:
    """Emit a record of the first generation: a message, or the members around the messages."""
    if reading.at == "messages":
        read_message(reading, value)
        return
    reading.date(value.get("startTime"), "startTime")
    half = "trailer" if reading.now("is_started") else "start"
    if not reading.now("is_started"):
        reading.set(is_started=True)
        reading.start()
        if value.get("projectHash"):
            detail = {"project_hash": reading.text(value, "projectHash")}
            reading.add(Lifecycle("project", detail=detail), native_id="project")
    title = reading.text(value, "summary")
    reading.note("title", title, title=title, native_id="title")
    for message in reading.items(value, "messages"):
        read_message(reading, mapping(message))
    reading.extra(value, _KNOWN["snapshot"], "header", native_id=half)
