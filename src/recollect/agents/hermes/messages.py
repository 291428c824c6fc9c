"""Messages in the OpenAI form: rows of the table `messages`, and the messages of older session files.

The name of a message is made of its content and its time: a compaction copies rows under new ids, and a repair of the
database renumbers them, and both leave content and time alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.hermes.prompts import INTERRUPTED, summary_in, who_wrote
from recollect.agents.hermes.results import read_result
from recollect.agents.hermes.state import Reading
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.calls import expect
from recollect.agents.kit.content.openai import chat_content
from recollect.agents.kit.edits import edits_asked
from recollect.agents.kit.naming import content_name, short_name
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Json,
    Lifecycle,
    Part,
    Thinking,
    ToolCall,
    UserMessage,
)
from recollect.model.tools import canonical_tool

KNOWN_FIELDS = frozenset(
    """id session_id role content tool_call_id tool_calls tool_name name effect_disposition timestamp token_count
    finish_reason reasoning reasoning_content reasoning_details codex_reasoning_items codex_message_items
    platform_message_id message_id observed _compressed_summary _compressed_summary_has_user_turn _db_persisted active
    compacted api_content display_kind display_metadata display_identity display_order model""".split()
)
_CALL_FIELDS = frozenset(
    """id call_id response_item_id type function name arguments extra_content index thought_signature""".split()
)
_JSON_PREFIX = "\x00json:"
"""Before content that is no text in the database; a NUL stands in no text."""


def identity_of(row: dict[str, Any]) -> Json:
    """Return what makes a message this one: everything it says, and when."""
    return [row.get(k) for k in ("role", "content", "tool_call_id", "tool_calls", "reasoning", "timestamp")]


def content_of(row: dict[str, Any]) -> Json:
    """Return the content of a message, decoded where the database holds it as JSON."""
    content = row.get("content")
    if isinstance(content, str) and content.startswith(_JSON_PREFIX):
        try:
            return msgspec.json.decode(content[len(_JSON_PREFIX) :])
        except (msgspec.DecodeError, ValueError, RecursionError):
            return content
    return content


def read_message(reading: Reading, row: dict[str, Any], mid: str) -> bool:
    """Give the events of one message; say whether it is a person's turn."""
    role = row.get("role")
    content = content_of(row)
    is_turn = False
    if role == "user":
        is_turn = _read_user(reading, row, content, mid)
    elif role == "assistant":
        _read_assistant(reading, row, content, mid)
    elif role == "tool":
        read_result(reading, row, content, mid)
    elif role == "system":
        _read_system(reading, row, content, mid)
    else:
        reading.unknown(f"message.{role}" if isinstance(role, str) else "message", row, native_id=mid)
        return False
    reading.extra(row, KNOWN_FIELDS, "message", native_id=mid)
    return is_turn


def _content(reading: Reading, content: Json) -> tuple[str, tuple[Part, ...]]:
    if content is not None and not isinstance(content, str | list):
        reading.wrong("content")
    said, parts, is_readable = chat_content(content)
    if not is_readable:
        reading.wrong("content", "bad_base64")
    return said, parts


def _read_user(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> bool:
    said, parts = _content(reading, content)
    summary = summary_in(said, is_marked=bool(row.get("_compressed_summary")))
    if summary is not None:
        _add_compaction(reading, summary.text, mid)
        if not summary.rest:
            return False
        said = summary.rest
    elif row.get("display_kind") or row.get("observed"):
        reading.add(UserMessage(said, "injected", parts), "user", native_id=mid)
        return False
    wrote = who_wrote(said)
    if wrote.scaffold:
        reading.add(UserMessage(wrote.scaffold, "injected"), "user", native_id=f"{mid}/scaffold")
    reading.add(UserMessage(wrote.text, wrote.origin, parts), "user", native_id=mid)
    return wrote.origin != "injected"


def _read_system(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> None:
    said, _ = _content(reading, content)
    summary = summary_in(said, is_marked=bool(row.get("_compressed_summary")))
    if summary is None:
        reading.add(Instructions(said, "system"), native_id=mid)
        return
    _add_compaction(reading, summary.text, mid)
    if summary.rest:
        reading.add(Instructions(summary.rest, "system"), native_id=mid)


def _add_compaction(reading: Reading, summary: str, mid: str) -> None:
    """Give the summary that replaces what was said before; the session goes on at the message that holds it."""
    trigger = "compacted" if reading.now("has_compacted") else ""
    reading.add(Compaction(trigger, summary, continues_at=mid), native_id=f"{mid}/compaction")


def _read_assistant(reading: Reading, row: dict[str, Any], content: Json, mid: str) -> None:
    said, parts = _content(reading, content)
    summary = summary_in(said, is_marked=bool(row.get("_compressed_summary")))
    if summary is not None:
        _add_compaction(reading, summary.text, mid)
        said = summary.rest
    before = len(reading.events)
    _read_thinking(reading, row, mid)
    said = said or _codex_text(row)
    if said.startswith(INTERRUPTED) and not row.get("tool_calls"):
        reading.add(Lifecycle("interrupted", text=said), native_id=mid)
        return
    calls = reading.items(row, "tool_calls")
    if said or parts or (not calls and summary is None and len(reading.events) == before):
        message = AssistantMessage(said, text(row.get("model")), reading.text(row, "finish_reason"), parts=parts)
        reading.add(message, "assistant", native_id=mid)
    for number, call in enumerate(calls, 1):
        _read_call(reading, call, mid, number)


def _codex_text(row: dict[str, Any]) -> str:
    """Return what the items of the Responses API say, for a row whose own content is empty."""
    texts = [chat_content(mapping(item).get("content"))[0] for item in items(row.get("codex_message_items"))]
    return "\n".join(t for t in texts if t)


def _read_thinking(reading: Reading, row: dict[str, Any], mid: str) -> None:
    """Give the reasoning once: it stands in up to four columns, as text, as blocks and encrypted."""
    thoughts: list[str] = []
    for column in ("reasoning", "reasoning_content"):
        thought = reading.text(row, column).strip()
        if thought and thought not in thoughts:
            thoughts.append(thought)
    is_encrypted = False
    for column in ("reasoning_details", "codex_reasoning_items"):
        for item in items(row.get(column)):
            thought = _thought(mapping(item))
            is_encrypted = is_encrypted or any(mapping(item).get(k) for k in ("data", "encrypted_content", "signature"))
            if thought and not any(thought in known for known in thoughts):
                thoughts.append(thought)
    if thoughts or is_encrypted:
        thinking = Thinking("\n\n".join(thoughts), is_encrypted=not thoughts)
        reading.add(thinking, "assistant", native_id=f"{mid}/thinking")


def _thought(item: dict[str, Any]) -> str:
    summary = item.get("summary")
    if isinstance(summary, list):
        return "\n".join(text(mapping(s).get("text")) or text(s) for s in summary).strip()
    return (text(item.get("text")) or text(item.get("thinking")) or text(summary)).strip()


def _read_call(reading: Reading, call: Json, mid: str, number: int) -> None:
    """Give a call: `{id, function: {name, arguments}}`, or flat."""
    if not isinstance(call, dict):
        reading.unknown("tool_call", call, native_id=f"{mid}/call/{number}")
        return
    function = mapping(call.get("function")) or call
    call_id = text(call.get("id")) or text(call.get("call_id"))
    name = reading.text(function, "name")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments) if arguments else None
        except (msgspec.DecodeError, ValueError, RecursionError):
            reading.wrong("tool_calls.arguments", "bad_arguments")
    native_id = f"{mid}/call:{short_name(call_id)}" if call_id else f"{mid}/call/{number}"
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments), "assistant", native_id=native_id)
    expect(reading, call_id, name, edits_asked(name, arguments))
    reading.extra(call, _CALL_FIELDS, "tool_call", native_id=native_id)


def name_of(row: dict[str, Any]) -> str:
    """Return the name of a message of the database."""
    return content_name(identity_of(row))
