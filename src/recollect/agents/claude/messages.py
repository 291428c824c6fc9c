"""The two records of a conversation: what the model said and asked for, and what came back to it."""

from __future__ import annotations

from typing import Any

from recollect.agents.claude.prompts import read_user_content
from recollect.agents.claude.results import read_tool_results
from recollect.agents.claude.state import MAX_NAME, Reading, Turn, mark
from recollect.agents.claude.usage import SYNTHETIC, read_usage
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import (
    CALL_TYPES,
    MEDIA_TYPES,
    block_text,
    content_parts,
    content_text,
    media_part,
    without_opaque,
)
from recollect.agents.kit.drift import note_type, note_value
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Lifecycle,
    Rewind,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_PROMPTS = ("human", "queued")
"""Origins whose records form the conversation's tree; commands hang on notices of their own."""
_STOP_REASONS = frozenset(
    (
        "end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal",
        "model_context_window_exceeded",
    )
)  # fmt: skip


def read_user(reading: Reading) -> None:
    """Give the events of a `user` record: tool results, injected text, human text, and the rewind it may prove."""
    content = _content(reading)
    if isinstance(content, list):
        results = [b for b in content if isinstance(b, dict) and b.get("type") == "tool_result"]
        if results:
            read_tool_results(reading, results)
        if len(results) < len(content) or not content:
            read_user_content(reading, content)
    elif content is not None:
        read_user_content(reading, content)
    _see_turn(reading)
    plan = reading.record.get("planContent")
    if isinstance(plan, str) and plan:
        reading.add(Lifecycle("plan", text=plan))


def _content(reading: Reading) -> Any:
    message = reading.record.get("message")
    if isinstance(message, dict):
        return message.get("content")
    if message is not None:
        reading.wrong("message")
    return message if isinstance(message, str) else None


def _see_turn(reading: Reading) -> None:
    """Remember a human turn; give a rewind where it leaves the current branch.

    There is no record of a rewind: a new turn hangs on an older record that already has another turn below it; an edit
    of the first prompt hangs on nothing, as the first one did. One that hangs on the last record of a branch that was
    left goes back into that branch. The rewind comes before the turn's own events and has a
    name of its own, so that their parts are the same in a fork that copied only one branch.
    Evidence: format notes: Claude Code, "rewind / branch".
    """
    parent, child = reading.parent_id or "", reading.native_id
    if child is None or "parentUuid" not in reading.record or reading.is_sidechain or not _is_turn(reading):
        return
    turn = Turn(mark(parent), mark(child), reading.state.newest)
    earlier = next((i for i, t in enumerate(reading.turns) if t.parent == turn.parent), None)
    is_next = parent[-MAX_NAME:] == reading.state.leaf
    if earlier is not None:
        if reading.turns[earlier].child == turn.child or is_next:
            return
        rewind, kept = Rewind(reading.turns[earlier].before or parent, len(reading.turns) - earlier), earlier
    else:
        left = next((one for one in reading.left if one.leaf == mark(parent[-MAX_NAME:])), None)
        if left is None or is_next:
            reading.remember_turn(turn)
            return
        rewind, kept = Rewind(left.newest), len(reading.turns)
    reading.leave_branch()
    reading.remember_turn(Turn(turn.parent, turn.child, reading.add_rewind(rewind)), since=kept)


def _is_turn(reading: Reading) -> bool:
    return any(isinstance(e.payload, UserMessage) and e.payload.origin in _PROMPTS for e in reading.events)


def read_assistant(reading: Reading) -> None:
    """Give the events of an `assistant` record: usually one block of a response, and the response's usage."""
    record = reading.record
    message = reading.field_mapping(record, "message")
    message_id = reading.field_text(message, "id")
    model = reading.field_text(message, "model")
    content = message.get("content")
    if record.get("isCompactSummary") is True:
        reading.add(Compaction(summary=content_text(content), continues_at=reading.native_id or ""))
    elif record.get("isApiErrorMessage") is True:
        error = {k: record[k] for k in ("error", "apiErrorStatus", "errorDetails") if record.get(k)}
        reading.add(Lifecycle("api_error", text=content_text(content), detail=error or None))
    else:
        _read_reply(reading, content, message, message_id=message_id, model="" if model == SYNTHETIC else model)
    read_usage(reading, message, message_id, model)


def _read_reply(reading: Reading, content: Any, message: dict[str, Any], *, message_id: str, model: str) -> None:
    stop_reason = reading.field_text(message, "stop_reason")
    note_value(reading.drift, "assistant.message.stop_reason", stop_reason, _STOP_REASONS)
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
    if content is not None and not isinstance(content, str | list):
        reading.wrong("message.content")
        blocks = [{"type": "text", "text": flatten(content)}]
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            said = block.get("text")
            body = said if isinstance(said, str) else block_text(block)
            if body is not said:
                reading.wrong("text")
            place = reading.superseded(message_id, "text", body) if body else None
            reading.add(AssistantMessage(body, model, stop_reason, message_id), "assistant", replaces=place)
        elif kind == "thinking":
            thought = reading.field_text(block, "thinking")
            place = reading.superseded(message_id, "thinking", thought) if thought else None
            is_encrypted = not thought and bool(block.get("signature"))
            reading.add(Thinking(thought, message_id, is_encrypted), "assistant", replaces=place)
        elif isinstance(kind, str) and kind in CALL_TYPES:
            _read_call(reading, block, message_id)
        else:
            _read_other(reading, block, message, message_id=message_id, model=model)
    if stop_reason == "end_turn":
        reading.forget_reply()


def _read_call(reading: Reading, block: dict[str, Any], message_id: str) -> None:
    call_id = reading.field_text(block, "id")
    name = reading.field_text(block, "name")
    place = reading.superseded(message_id, call_id, "") if call_id else None
    reading.remember_call(call_id, name)
    reading.add(
        ToolCall(call_id, name, canonical_tool(name), block.get("input"), message_id), "assistant", replaces=place
    )


def _read_other(reading: Reading, block: Any, message: dict[str, Any], *, message_id: str, model: str) -> None:
    """Give the event of a rarer block: redacted thinking, media, a server tool's result, or an unknown one."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "redacted_thinking":
        reading.add(Thinking("", message_id, is_encrypted=True), "assistant")
    elif isinstance(kind, str) and kind in MEDIA_TYPES:
        part, said, is_readable = media_part(block)
        if not is_readable:
            reading.wrong("content.source.data", "bad_base64")
        stop_reason = text(message.get("stop_reason"))
        reading.add(AssistantMessage(said, model, stop_reason, message_id, (part,)), "assistant")
    elif isinstance(kind, str) and kind.endswith("_tool_result"):
        call_id = reading.field_text(block, "tool_use_id")
        content = block.get("content")
        failed = block.get("is_error") is True or "error_code" in mapping(content)
        reading.add(
            ToolResult(
                call_id=call_id,
                name=reading.called(call_id),
                ok=not failed,
                text=content_text(without_opaque(content)),
                parts=content_parts(content)[0],
            ),
            "tool",
        )
    else:
        name = f"assistant/{text(kind) or type(block).__name__}"
        note_type(reading.drift, name)
        reading.add(Unknown(name, block_text(block)), "assistant")
