"""The blocks of a message: texts, thoughts, tools with their output, and subagents with blocks of their own."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from recollect.agents.codebuff.state import Reading
from recollect.agents.kit.calls import edits_of, give_edits
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import content_name, short
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.model.events import Role
from recollect.model.payloads import (
    AssistantMessage,
    Json,
    Lifecycle,
    Part,
    Payload,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset((
        "content", "color", "marginTop", "marginBottom", "status", "textType", "isCollapsed", "thinkingId",
        "userOpened", "thinkingOpen", "thinkingCollapseState",
    )),
    "tool": frozenset((
        "toolCallId", "toolName", "input", "output", "outputRaw", "agentId", "includeToolCall", "isCollapsed",
        "userOpened",
    )),
    "agent": frozenset((
        "agentId", "agentName", "agentType", "content", "status", "blocks", "initialPrompt", "params", "isCollapsed",
        "userOpened", "spawnToolCallId", "spawnIndex",
    )),
}  # fmt: skip
_KEPT = frozenset(("agent-list", "html", "gate-state"))
_INTERRUPTED = "[response interrupted]"
_EXIT = re.compile(r"exit_?code\"?: ?(-?\d{1,9})\b", re.IGNORECASE)
_ERROR = re.compile(r"^(?:errorMessage|error): ", re.MULTILINE)
_NAMES = {"old": "old_str", "new": "new_str"}
_HEAD_CHARS = 2000
_MAX_DEPTH = 16
_ASKED = "ask_user"


class Place(NamedTuple):
    """Where blocks stand: the name that theirs begin with, the session they belong to, and how deep they lie."""

    name: str
    session: str | None = None
    depth: int = 0


def read_blocks(reading: Reading, blocks: list[Any], place: Place, *, media: list[Part] | None = None) -> None:
    """Give the events of blocks in order. media: takes the images instead, where a message of its own has them."""
    counts: dict[str, int] = {}
    for block in blocks:
        kind = text(mapping(block).get("type"))
        count = counts[kind] = counts.get(kind, 0) + 1
        name = f"{place.name}/{kind or 'block'}" + (f"/{count}" if count > 1 else "")
        if kind == "image":
            part, _ = base64_part(
                "image", text(block.get("mediaType")), block.get("image"), path=text(block.get("filename"))
            )
            if media is None:
                _add(reading, place, AssistantMessage(parts=(part,)), name)
            else:
                media.append(part)
        elif kind == "text":
            _read_text(reading, block, place, name)
        elif kind == "tool":
            _read_tool(reading, block, place, name)
        elif kind == "agent":
            _read_agent(reading, block, place, name)
        elif kind == "ask-user":
            _read_question(reading, block, place, name)
        elif kind in ("plan", "mode-divider"):
            said = text(block.get("content")) or text(block.get("mode"))
            _add(reading, place, Lifecycle("plan" if kind == "plan" else "mode", text=said), name)
        elif kind in _KEPT:
            reading.kept(kind, without_opaque(block), native_id=name)
        else:
            reading.unknown(kind or "block", without_opaque(block), native_id=name)
        known = _FIELDS.get(kind)
        if known is not None:
            reading.extra(block, known | {"type"}, kind, native_id=name)


def _add(reading: Reading, place: Place, payload: Payload, name: str) -> None:
    role: Role = "assistant"
    if isinstance(payload, ToolResult):
        role = "tool"
    elif isinstance(payload, UserMessage):
        role = "user"
    elif isinstance(payload, Lifecycle | SessionStart):
        role = "system"
    reading.add(payload, role, native_id=name, session=place.session)


def _read_text(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    said = reading.text(block, "content")
    if block.get("textType") == "reasoning":
        _add(reading, place, Thinking(said), name)
        return
    is_stopped = said.rstrip().endswith(_INTERRUPTED)
    said = said.rstrip().removesuffix(_INTERRUPTED).rstrip() if is_stopped else said
    if said:
        _add(reading, place, AssistantMessage(said), name)
    if is_stopped:
        _add(reading, place, Lifecycle("interrupted", text=_INTERRUPTED), f"{name}/interrupted")


def _read_tool(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    """Give a call, and its result once there is output. Nothing but the output says how it went."""
    call_id, tool = reading.text(block, "toolCallId"), reading.text(block, "toolName")
    short_id = short(call_id) or name
    arguments = block.get("input")
    _add(reading, place, ToolCall(call_id, tool, canonical_tool(tool), arguments), f"call:{short_id}")
    output, raw = block.get("output"), block.get("outputRaw")
    if output is None and raw is None:
        return
    said = output if isinstance(output, str) else flatten(output if output is not None else raw)
    code, has_failed = _outcome(said, raw)
    result = ToolResult(call_id, tool, not code and not has_failed, code, said)
    _add(reading, place, result, f"result:{short_id}")
    if result.ok and canonical_tool(tool) == "edit" and place.session is None:
        give_edits(reading, edits_of(_as_named(arguments)), short_id)


def _as_named(arguments: Json) -> Json:
    """Return arguments of an edit under the names that others use: `str_replace` says `old` and `new`."""
    given = mapping(arguments)
    pieces = [mapping(piece) for piece in items(given.get("replacements"))]
    named = [{_NAMES.get(k, k): v for k, v in piece.items()} for piece in pieces]
    return {**given, "replacements": named} if named else given


def _outcome(said: str, raw: Json) -> tuple[int | None, bool]:
    """Return the exit code that an output states, and whether it tells an error."""
    facts = [mapping(mapping(part).get("value", part)) for part in items(raw)] or [mapping(raw)]
    code = next((c for fact in facts if (c := whole(fact.get("exitCode"))) is not None), None)
    is_told = any(fact.get("errorMessage") or fact.get("error") for fact in facts)
    head = said[:_HEAD_CHARS]
    if code is None:
        found = _EXIT.search(head) or _EXIT.search(said[-_HEAD_CHARS:])
        code = int(found[1]) if found is not None else None
    return code, is_told or _ERROR.search(head) is not None


def _read_agent(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    """Give a subagent: a task here, and a session of its own with everything it did."""
    agent_id, kind = reading.text(block, "agentId"), reading.text(block, "agentType")
    short_id = short(agent_id) or content_name(name)
    prompt, said = reading.text(block, "initialPrompt"), reading.text(block, "content")
    arguments = {k: v for k, v in (("prompt", prompt), ("params", block.get("params"))) if v}
    tool = reading.text(block, "agentName") or kind
    _add(reading, place, ToolCall(agent_id, tool, "task", arguments or None), f"call:{short_id}")
    inner = items(block.get("blocks"))
    child = Place(short_id, f"{reading.state.session}/{short_id}", place.depth + 1)
    if place.depth < _MAX_DEPTH:
        parent = place.session or reading.state.session
        _add(reading, child, SessionStart(parent_session=parent, agent_name=kind), "start")
        if prompt:
            _add(reading, child, UserMessage(prompt), f"{short_id}/prompt")
        read_blocks(reading, inner, child)
        if said and not any(mapping(b).get("type") == "text" for b in inner):
            _add(reading, child, AssistantMessage(said), f"{short_id}/said")
    else:
        reading.kept("agent", without_opaque(block), native_id=name)
    status = text(block.get("status"))
    if status in ("running", ""):
        return
    last = said or next(
        (text(mapping(b).get("content")) for b in reversed(inner) if mapping(b).get("type") == "text"), ""
    )
    _add(reading, place, ToolResult(agent_id, tool, status == "complete", text=last), f"result:{short_id}")
    if status == "cancelled":
        _add(reading, place, Lifecycle("interrupted", call_id=agent_id), f"{name}/cancelled")


def _read_question(reading: Reading, block: dict[str, Any], place: Place, name: str) -> None:
    call_id = reading.text(block, "toolCallId")
    short_id = short(call_id) or name
    questions = block.get("questions")
    _add(
        reading, place, ToolCall(call_id, _ASKED, canonical_tool(_ASKED), {"questions": questions}), f"call:{short_id}"
    )
    answers, is_skipped = block.get("answers"), block.get("skipped") is True
    if answers or is_skipped:
        said = flatten(answers) if answers else "skipped"
        _add(reading, place, ToolResult(call_id, _ASKED, True, text=said), f"result:{short_id}")
