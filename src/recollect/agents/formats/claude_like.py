"""Parses transcripts of agents that copied Claude Code's records (`uuid`, `parentUuid`, an Anthropic message).

The relatives write fewer kinds of records than Claude Code does, some in forms of their own (tool results that wrap a
Google `functionResponse`), so that they don't share its parser. One response may stand on several lines that repeat
calls; a call has one name wherever it stands.
Evidence: format notes: other agents, iFlow and Qoder; a synthetic transcript of iFlow 1.0.
"""

from typing import Any, TypeVar

from recollect.agents.kit.adapter import BaseState, Reading
from recollect.agents.kit.calls import Waiting, arrived, edits_asked, expect, file_edits
from recollect.agents.kit.content import (
    CALL_TYPES,
    MEDIA_TYPES,
    block_text,
    content_parts,
    content_text,
    media_part,
    without_opaque,
)
from recollect.agents.kit.google_chat import display_of, edit_of, is_edit_display, response_failed, response_text
from recollect.agents.kit.names import content_sha256, short_name
from recollect.agents.kit.values import Json, items, mapping, text, whole
from recollect.model import payloads as kinds
from recollect.model.tools import canonical_tool

RECORD_FIELDS = frozenset(
    (
        "uuid", "parentUuid", "sessionId", "timestamp", "type", "subtype", "isSidechain", "userType", "message", "cwd",
        "gitBranch", "version", "toolUseResult", "isMeta", "isCompactSummary", "isApiErrorMessage", "agentId",
        "entrypoint", "content", "compactMetadata", "requestId", "level", "agentName",
    )
)  # fmt: skip
_MESSAGE_FIELDS = frozenset(
    ("id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "usage", "context_management")
)
_USAGE_FIELDS = frozenset(
    (
        "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation",
        "service_tier", "server_tool_use",
    )
)  # fmt: skip
_LINE_ID = "response-"
"""iFlow makes a message id of each line's time; a call that several lines repeat is the same call."""
_INTERRUPTED = "[Request interrupted"
_INJECTED = (
    "This session is being continued", "<task-notification>", "<local-command-", "Stop hook feedback:",
    "<system-reminder>",
)  # fmt: skip


class RelativeState(BaseState, frozen=True):
    """What the records so far said that later ones need."""

    parent: str = ""
    """Of a subagent: the session that started it."""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    waiting: tuple[Waiting, ...] = ()


S = TypeVar("S", bound=RelativeState)


def read_record(reading: Reading[S], kept: frozenset[str]) -> None:
    """Emit the events of one record. kept: types that the agent is known to write beside the conversation."""
    value = reading.value
    uuid, parent = reading.text(value, "uuid"), reading.text(value, "parentUuid")
    reading.native_id = short_name(uuid) if uuid else None
    reading.parent_id = short_name(parent) if parent else None
    reading.is_sidechain = value.get("isSidechain") is True and not reading.state.parent
    reading.date(value.get("timestamp"))
    kind = reading.text(value, "type")
    if kind in ("user", "assistant"):
        _see_place(reading)
    if kind == "user":
        _read_user(reading)
    elif kind == "assistant":
        _read_assistant(reading)
    elif kind == "system":
        _read_system(reading)
    elif kind in kept:
        reading.kept(kind, without_opaque(value))
        return
    else:
        reading.unknown(kind or "record")
        return
    reading.extra(value, RECORD_FIELDS, kind)


def _see_place(reading: Reading[S]) -> None:
    """Emit the session's start at the first message, later each change of folder or branch."""
    value = reading.value
    cwd, branch = reading.text(value, "cwd"), reading.text(value, "gitBranch")
    is_first = not reading.now("is_started")
    if is_first:
        parent = reading.state.parent
        reading.set(is_started=True)
        reading.start(
            **reading.told(value, tool_version="version", originator="entrypoint"),
            cwd=cwd,
            git_branch=branch,
            parent_session=parent,
            agent_name=(text(value.get("agentName")) or text(value.get("agentId"))) if parent else "",
        )
    reading.see(is_first_told=not is_first, cwd=cwd, branch=branch)


def _read_user(reading: Reading[S]) -> None:
    value = reading.value
    message = reading.mapping(value, "message")
    content = message.get("content")
    if value.get("isCompactSummary") is True:
        reading.add(kinds.Compaction(summary=content_text(content), continues_at=reading.native_id or ""))
        return
    blocks = items(content)
    results = [b for b in blocks if mapping(b).get("type") == "tool_result"]
    for i, block in enumerate(results):
        _read_result(reading, block, value.get("toolUseResult") if i == 0 else None)
    rest = [b for b in blocks if mapping(b).get("type") != "tool_result"] if results else content
    said = content_text(rest)
    parts = reading.readable(content_parts(rest), "message.content.source.data")
    if said.lstrip().startswith(_INTERRUPTED):
        reading.add(kinds.Lifecycle("interrupted", text=said))
    elif said or parts or not results:
        reading.add(kinds.UserMessage(said, _origin(value, said), parts))
    reading.extra(message, _MESSAGE_FIELDS, "message")


def _origin(value: dict[str, Any], said: str) -> kinds.Origin:
    start = said.lstrip("\ufeff \n\t")
    if value.get("isMeta") is True or start.startswith(_INJECTED):
        return "injected"
    return "command" if start.startswith("/") and "\n" not in start and "/" not in start[1:] else "human"


def _read_assistant(reading: Reading[S]) -> None:
    message = reading.mapping(reading.value, "message")
    message_id, model = reading.text(message, "id"), reading.text(message, "model")
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content] if content is not None else []
    said: list[str] = []
    media: list[kinds.Part] = []
    thoughts = 0
    for i, block in enumerate(blocks, 1):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" or isinstance(block, str):
            said.append(block_text(block))
        elif kind == "thinking" and isinstance(block, dict):
            thoughts += 1
            body = reading.text(block, "thinking")
            thought = kinds.Thinking(body, message_id, is_encrypted=not body and bool(block.get("signature")))
            reading.add(thought, native_id=reading.below(f"thinking/{thoughts}"))
        elif isinstance(kind, str) and kind in CALL_TYPES and isinstance(block, dict):
            _read_call(reading, block, message_id)
        elif isinstance(kind, str) and kind in MEDIA_TYPES and isinstance(block, dict):
            media.append(media_part(block)[0])
        else:
            reading.unknown(text(kind) or "block", block, native_id=reading.below(f"block/{i}"))
    body = "\n".join(t for t in said if t)
    if reading.value.get("isApiErrorMessage") is True:
        reading.add(kinds.Lifecycle("api_error", text=body))
    elif body or media:
        stop_reason = reading.text(message, "stop_reason")
        reading.add(kinds.AssistantMessage(body, model, stop_reason, message_id, tuple(media)))
    reading.see(is_first_told=False, model=model)
    # Emit a response's tokens, under the response's own id: the lines of one response repeat them.
    usage = reading.mapping(message, "usage")
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    key = message_id or text(reading.value.get("uuid"))
    reading.spend(model, reading.counts(usage, names), key, "assistant", native_id=reading.below("usage"))
    reading.extra(usage, _USAGE_FIELDS, "usage")
    reading.extra(message, _MESSAGE_FIELDS, "message")


def _read_call(reading: Reading[S], block: dict[str, Any], message_id: str) -> None:
    call_id, name = reading.text(block, "id"), reading.text(block, "name")
    arguments = block.get("input")
    native_id = f"call:{short_name(call_id)}" if call_id else reading.below(f"call/{content_sha256(block)}")
    if message_id.startswith(_LINE_ID):
        message_id = ""
    reading.add(kinds.ToolCall(call_id, name, canonical_tool(name), arguments, message_id), native_id=native_id)
    waiting: tuple[Waiting, ...] = reading.now("waiting")
    if not any(call.call_id == call_id for call in waiting):
        expect(reading, call_id, name, edits_asked(name, arguments))


def _read_result(reading: Reading[S], block: dict[str, Any], extra: Json) -> None:
    """Parse a tool's result: the content that the model saw, or a `functionResponse` with the shown part."""
    call_id = reading.text(block, "tool_use_id")
    call = arrived(reading, call_id)
    content, facts = block.get("content"), mapping(extra)
    wrapped = mapping(content)
    response = mapping(mapping(wrapped.get("responseParts")).get("functionResponse"))
    display = wrapped.get("resultDisplay") if response else block.get("resultDisplay")
    said = response_text(response) if response else content_text(content)
    parts, _ = content_parts(content)
    ok = not (
        block.get("is_error") is True
        or facts.get("success") is False
        or text(facts.get("status")) in ("error", "failed", "cancelled")
        or (bool(response) and response_failed(response))
    )
    shown, beyond = display_of(display, said)
    agent = text(facts.get("agentId"))
    name = text(response.get("name")) or text(facts.get("toolName")) or (call.name if call is not None else "")
    exit_code = whole(facts.get("exitCode"))
    short = short_name(call_id) if call_id else content_sha256(block)
    structured = beyond if said else None
    if structured is None and not response:
        # What a structured result holds that neither the text nor an edit says.
        left_out = ("filePath", "oldString", "newString", "originalFile", "structuredPatch", "agentId")
        rest = {
            k: without_opaque(v)
            for k, v in facts.items()
            if k not in left_out and v not in (None, "", [], {}) and not (isinstance(v, str) and v in said)
        }
        structured = rest or None
    reading.add(
        kinds.ToolResult(call_id, name, ok and not exit_code, exit_code, said or shown, structured, parts=parts),
        native_id=f"result:{short}",
    )
    if agent:
        reading.add(
            kinds.Lifecycle("subagent", text=agent, detail={"agent_id": agent}, call_id=call_id),
            native_id=f"subagent:{short}",
        )
    if ok and not exit_code:
        for i, edit in enumerate(_edits(call, display, facts, call_id=call_id), 1):
            reading.add(edit, native_id=f"edit:{short}" if i == 1 else f"edit:{short}/{i}")


def _edits(call: Waiting | None, display: Json, facts: dict[str, Any], *, call_id: str) -> list[kinds.FileEdit]:
    """Return the applied edits: as shown, as in the structured result, else as requested."""
    asked = file_edits(call) if call is not None else []
    if is_edit_display(display):
        shown = edit_of("", {"file_path": asked[0].path} if asked else None, display, call_id)
        return [shown] if shown is not None else asked
    path, before, after = (facts.get(k) for k in ("filePath", "oldString", "newString"))
    if isinstance(path, str) and isinstance(before, str) and isinstance(after, str):
        return [kinds.FileEdit(path, "modify", before, after, call_id=call_id)]
    return asked


def _read_system(reading: Reading[S]) -> None:
    value = reading.value
    subtype = reading.text(value, "subtype")
    said = content_text(value.get("content", mapping(value.get("message")).get("content")))
    if subtype == "compact_boundary":
        facts = reading.mapping(value, "compactMetadata")
        before = whole(facts.get("preTokens"))
        reading.add(kinds.Compaction(trigger=text(facts.get("trigger")), summary="", tokens_before=before))
        return
    reading.add(kinds.Lifecycle(subtype or "system", text=said))
