"""Zencoder: one line in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.calls import TurnState, give_result
from recollect.agents.kit.content import Speaker, read_content, without_opaque
from recollect.agents.kit.names import short_name
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.agents.zencoder.declare import FACTS
from recollect.model.payloads import Instructions, Json, Lifecycle, SessionStart, ToolResult, UserMessage
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

Reading = kit.Reading[TurnState]

_CWD = re.compile(r"Working directory:[ \t]+([^\n]+)")
_SESSION_ID = re.compile(r"<session-id>([^<\s]{1,200})</session-id>")
_GOES_ON = frozenset(("directContinuation", "summarizedContinuation", "summarizationRequest"))
_REASONS = _GOES_ON | {"newChat"}
_PEOPLE = frozenset(("", "user-input"))
"""Tags of what a person wrote; other tags are the harness's."""
_STOPPED = ("abort", "cancel", "interrupt")
_HEADER_FIELDS = frozenset(("id", "parentId", "creationReason", "createdAt", "updatedAt", "title", "version"))
_LINE_FIELDS = frozenset(("id", "role", "content", "createdAt", "reason", "updatedAt"))
_BLOCK_FIELDS = frozenset(("tag", "id"))
_SKILL_FIELDS = frozenset(("type", "name", "content", "tag"))
_RESULT_FIELDS = frozenset(("type", "toolCallId", "toolName", "content", "isError", "tag"))


class ZencoderAdapter(KitAdapter[TurnState]):
    """The adapter of Zencoder."""

    facts = FACTS
    state_type = TurnState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a first line with an id, times and why the session was made."""
        del path
        header = _header(head)
        return "transcript" if header and "creationReason" in header and "role" not in header else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the id in the first line, else the file's name."""
        found = text(_header(head).get("id"))
        is_name = 0 < len(found) <= kit.MAX_NAME_CHARS and found.isprintable()
        return found if is_name else super().identify(info, head)

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        line = reading.value
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif "role" not in line and ("creationReason" in line or (not reading.state.is_started and "id" in line)):
            _read_header(reading)
        else:
            _read_line(reading)


def _header(head: bytes) -> dict[str, Any]:
    try:
        return mapping(msgspec.json.decode(head.lstrip().partition(b"\n")[0]))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}


def _read_header(reading: Reading) -> None:
    """Give what the first line says. It is written again whenever the session changes."""
    header = reading.value
    reading.date(header.get("createdAt"), "createdAt")
    reason = reading.text(header, "creationReason")
    reading.odd_value("header.creationReason", reason, _REASONS)
    parent = reading.text(header, "parentId") if reason in _GOES_ON else ""
    reading.add(SessionStart(originator=reason, resumed_from=parent), native_id="start")
    title = reading.text(header, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    reading.set(is_started=True)
    reading.extra(header, _HEADER_FIELDS, "header", native_id="start")


def _read_line(reading: Reading) -> None:
    line = reading.value
    reading.date(line.get("createdAt"), "createdAt")
    name = short_name(text(line.get("id"))) or None
    reading.native_id = name
    role = reading.text(line, "role")
    content = line.get("content")
    if role == "system":
        _read_system(reading, content)
    elif role == "user":
        _read_user(reading, content, name)
    elif role == "assistant":
        read_content(reading, content, Speaker(role, name, fields=_BLOCK_FIELDS))
    elif role == "tool":
        _read_results(reading, content, name)
    elif role == "finish":
        reason = reading.text(line, "reason")
        is_stopped = any(word in reason.lower() for word in _STOPPED)
        reading.add(Lifecycle("turn_aborted" if is_stopped else "turn_ended", text=reason))
    elif role == "permission":
        detail = {k: v for k, v in line.items() if k not in ("id", "role", "createdAt")}
        reading.add(Lifecycle("permission", detail=without_opaque(detail) or None))
        return
    else:
        reading.unknown(text(line.get("type")) or role or "record")
        return
    reading.extra(line, _LINE_FIELDS, "line")


def _read_system(reading: Reading, content: Json) -> None:
    """Give the prompt, and the folder that it names."""
    said = content if isinstance(content, str) else flatten(content)
    reading.add(Instructions(said, "system"))
    found = _CWD.search(said)
    if found:
        reading.add(Lifecycle("cwd", cwd=found[1].strip()), native_id="cwd")


def _read_user(reading: Reading, content: Json, name: str | None) -> None:
    """Give what a person wrote, and apart from it what the harness put into the message, told by its tags."""
    if not isinstance(content, list):
        read_content(reading, content, Speaker("user", name))
        return
    own = [b for b in content if not _is_added(mapping(b))]
    read_content(reading, own, Speaker("user", name, fields=_BLOCK_FIELDS))
    added = [b for b in content if _is_added(mapping(b))]
    for number, block in enumerate(added, 1):
        where = f"{name}/added/{number}" if name else None
        if block.get("type") == "skill":
            said = f"{text(block.get('name'))}\n{flatten(block.get('content'))}"
            reading.add(Instructions(said, f"skill:{text(block.get('name'))}"), native_id=where)
            reading.extra(block, _SKILL_FIELDS, "skill", native_id=where)
        else:
            words = text(block.get("text"))
            reading.add(UserMessage(words, "injected"), "user", native_id=where)


def _is_added(block: dict[str, Any]) -> bool:
    if block.get("type") == "skill":
        return True
    return block.get("type") == "text" and text(block.get("tag")) not in _PEOPLE


def _read_results(reading: Reading, content: Json, name: str | None) -> None:
    """Give results: what the tool gave back, without what the harness added to it for the model."""
    others: list[Any] = []
    for number, block in enumerate(items(content), 1):
        result = mapping(block)
        where = f"{name}/{number}" if name else None
        if result.get("type") != "tool-result" or "output" in result:
            others.append(block)
            continue
        pieces = [mapping(p) for p in items(result.get("content"))]
        call_id = reading.text(result, "toolCallId")
        texts = [text(p.get("text")) for p in pieces if not text(p.get("tag"))]
        codes = [code for p in pieces if (code := whole(p.get("exitCode"))) is not None]
        beside = [without_opaque(p) for p in pieces if p.get("type") not in ("text", None) and not p.get("text")]
        is_failed = result.get("isError") is True or any(codes)
        is_told = "isError" in result or bool(codes)
        give_result(
            reading,
            ToolResult(
                call_id,
                text(result.get("toolName")),
                False if is_failed else True if is_told else None,
                codes[-1] if codes else None,
                "\n".join(t for t in texts if t) or text(result.get("content")),
                beside or None,
            ),
            where,
        )
        added = "\n".join(text(p.get("text")) for p in pieces if text(p.get("tag")))
        if added:
            reading.add(UserMessage(added, "injected"), "user", native_id=f"{where}/added" if where else None)
        _link(reading, pieces, call_id)
        reading.extra(result, _RESULT_FIELDS, "tool-result", native_id=where)
    if others or not isinstance(content, list):
        read_content(reading, others if isinstance(content, list) else content, Speaker("tool", name))


def _link(reading: Reading, pieces: list[dict[str, Any]], call_id: str) -> None:
    """Tell a subagent's session whose it is: only this result does."""
    for piece in pieces:
        found = _SESSION_ID.search(text(piece.get("text")))
        if found:
            child = found[1]
            reading.add(Lifecycle("subagent", detail={"session": child}, call_id=call_id))
            start = SessionStart(parent_session=reading.state.session)
            reading.add(start, native_id="parent", session=child)
