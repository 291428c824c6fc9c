"""Command Code: one line or title file in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.commandcode.declare import FACTS
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.calls import TurnState
from recollect.agents.kit.content import Speaker, read_content
from recollect.agents.kit.names import MAX_PATH_CHARS, short, short_name
from recollect.agents.kit.values import mapping, text
from recollect.model.payloads import Json, Lifecycle, SessionStart
from recollect.model.records import SourceInfo

_ROLES = frozenset(("user", "assistant", "tool"))
_FIELDS = frozenset(("id", "timestamp", "sessionId", "role", "content", "gitBranch", "metadata", "cwd", "parentId"))
_METADATA = frozenset(("version", "cwd", "projectPath", "context"))
_META_FIELDS = frozenset(("title", "userRenamed", "projectPath", "cwd", "sessionId", "createdAt", "updatedAt"))
_OLDER = {"tool_use": "tool-call", "tool_result": "tool-result", "thinking": "reasoning"}
"""Blocks that are written under the names of another API."""


class CommandCodeState(TurnState, frozen=True, gc=False, omit_defaults=True):
    """The memory between records."""

    cwd: str = ""
    branch: str = ""


Reading = kit.Reading[CommandCodeState]


class CommandCodeAdapter(KitAdapter[CommandCodeState]):
    """The adapter of Command Code."""

    facts = FACTS
    state_type = CommandCodeState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a line with session, role, content and metadata, and no type."""
        del path
        try:
            line = mapping(msgspec.json.decode(head.lstrip().partition(b"\n")[0]))
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        has_all = {"id", "timestamp", "sessionId", "role", "content", "metadata"} <= line.keys()
        is_own = has_all and "type" not in line and "version" in mapping(line.get("metadata"))
        return "transcript" if is_own else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: files are named after the session."""
        return info.stem.removesuffix(".meta") or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif reading.state.role == "meta":
            _read_meta(reading)
        else:
            _read_line(reading)


def _read_line(reading: Reading) -> None:
    line = reading.value
    reading.date(line.get("timestamp"))
    role = reading.text(line, "role")
    name = short_name(text(line.get("id"))) or None
    reading.native_id = name
    if role not in _ROLES:
        reading.unknown(text(line.get("type")) or role or "record")
        return
    metadata = reading.mapping(line, "metadata")
    _place(reading, line, metadata)
    read_content(reading, _renamed(line.get("content")), Speaker(role, name))
    reading.extra(line, _FIELDS, "line")
    reading.extra(metadata, _METADATA, "metadata")


def _place(reading: Reading, line: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Give where the session runs: first as its start, then where it changes."""
    inner = mapping(metadata.get("context"))
    places = (metadata.get("cwd"), metadata.get("projectPath"), inner.get("cwd"), line.get("cwd"))
    cwd = next((p for p in places if isinstance(p, str) and p), "")
    branch = text(line.get("gitBranch"))
    kept_cwd, kept_branch = short(cwd, MAX_PATH_CHARS), short(branch)
    before = reading.native_id
    if not reading.state.is_started:
        version = metadata.get("version")
        start = SessionStart(cwd=cwd, git_branch=branch, tool_version=str(version) if version is not None else "")
        reading.add(start, native_id="start")
    else:
        if cwd and kept_cwd != reading.now("cwd"):
            reading.add(Lifecycle("cwd", cwd=cwd), native_id=f"{before}/cwd" if before else None)
        if branch and kept_branch != reading.now("branch"):
            reading.add(Lifecycle("branch", branch=branch), native_id=f"{before}/branch" if before else None)
    reading.set(
        is_started=True,
        cwd=kept_cwd or reading.now("cwd"),
        branch=kept_branch or reading.now("branch"),
    )


def _renamed(content: Json) -> Json:
    """Return blocks under one set of names."""
    if not isinstance(content, list):
        return content
    return [_renamed_block(block) if isinstance(block, dict) else block for block in content]


def _renamed_block(block: dict[str, Any]) -> dict[str, Any]:
    kind = text(block.get("type"))
    if kind not in _OLDER:
        return block
    names = {"id": "toolCallId", "tool_use_id": "toolCallId", "name": "toolName", "is_error": "isError"}
    if kind == "thinking":
        names = {"thinking": "text"}
    return {"type": _OLDER[kind], **{names.get(k, k): v for k, v in block.items() if k != "type"}}


def _read_meta(reading: Reading) -> None:
    meta = reading.value
    title = reading.text(meta, "title")
    if title:
        detail = {"by_user": meta.get("userRenamed") is True}
        reading.add(Lifecycle("title", title=title, detail=detail), native_id="title")
    project = reading.text(meta, "projectPath") or reading.text(meta, "cwd")
    if project:
        reading.add(Lifecycle("project", detail={"path": project}), native_id="project")
    reading.extra(meta, _META_FIELDS, "meta", native_id="meta")
