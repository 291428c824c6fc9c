"""The CLI's database: one row is a whole conversation, written again with every turn.

The same conversation may stand under several folders; rows come in the order of their last change, so that the newest
one counts. `tools`, `transcript` (the same talk as lines), `tangent_state` (a copy of the history) and the trackers of
files stay in the archive.
Evidence: format notes: Kiro; types of the CLI's open predecessor.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kiro.state import KiroReading
from recollect.agents.kiro.tools import give_call, give_result
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.naming import content_name, is_storable, name_of, numbered
from recollect.model.payloads import AssistantMessage, Compaction, Lifecycle, Part, SessionStart, Thinking, UserMessage

_ROW = frozenset(("key", "conversation_id", "value", "created_at", "updated_at"))
_VALUE = frozenset(
    (
        "conversation_id next_message history valid_history_range transcript tools context_manager "
        "context_message_length latest_summary model model_info file_line_tracker checkpoint_manager mcp_enabled "
        "mcp_last_checked mcp_registry_url mcp_registry_cache mcp_server_versions mcp_registry_error_type "
        "mcp_disabled_due_to_api_failure tangent_state user_turn_metadata summary_state agents"
    ).split()
)
_ENTRY = frozenset(("user", "assistant", "request_metadata"))
_USER = frozenset(("additional_context", "env_context", "content", "timestamp", "images"))
_ANSWER = frozenset(("message_id", "content", "tool_uses", "thinking"))
_USE = frozenset(("id", "name", "orig_name", "args", "orig_args"))


def read_row(reading: KiroReading) -> None:
    """Give the events of a conversation."""
    row = reading.value
    value = row.get("value")
    if not isinstance(value, dict):
        if row and value is not None:
            reading.wrong("value", "not_json" if isinstance(value, str) else "wrong_type")
            reading.kept("conversation", value, native_id=name_of(reading, "row", value))
        else:
            read_odd(reading)
        return
    reading.set(marks=(), waiting=(), cwd="", model="")
    before = len(reading.events)
    cwd = reading.text(row, "key")
    model = text(mapping(value.get("model_info")).get("model_id")) or text(value.get("model"))
    reading.set(cwd=cwd if is_storable(cwd) else "")
    reading.date(row.get("created_at"), "created_at")
    reading.add(SessionStart(cwd=cwd, model=model), native_id="start")
    _read_history(reading, value)
    next_message = mapping(value.get("next_message"))
    if next_message:
        _read_user(reading, next_message)
    summary = value.get("latest_summary")
    said = text(summary) or text(next(iter(items(summary)), None))
    if said:
        reading.add(Compaction("summary", said), native_id=f"compaction:{content_name(said)}")
    reading.extra(row, _ROW, "conversations", native_id="row")
    reading.extra(without_opaque(value), _VALUE, "conversation", native_id="conversation")
    _rename(reading, before, text(value.get("conversation_id")))


def _rename(reading: KiroReading, before: int, session: str) -> None:
    """Give the events to the conversation that the value names: a row of the old table is overwritten by the next."""
    if not session or session == reading.state.session:
        return
    events = reading.events[before:]
    del reading.events[before:]
    for draft in events:
        reading.ts, reading.ts_quality = draft.ts, draft.ts_quality
        reading.add(draft.payload, draft.role, native_id=draft.native_id, session=session)


def _read_history(reading: KiroReading, value: dict[str, Any]) -> None:
    """Give each exchange: `{user, assistant, request_metadata}`, in older versions the pair `[user, assistant]`."""
    for written in reading.items(value, "history"):
        pair = items(written)
        entry = {"user": pair[0], "assistant": pair[1]} if len(pair) == 2 else mapping(written)
        if not entry:
            reading.wrong("history")
            continue
        _read_user(reading, mapping(entry.get("user")))
        request = mapping(entry.get("request_metadata"))
        model = text(request.get("model_id"))
        if model and model != reading.now("model") and is_storable(model):
            reading.set(model=model)
            name = numbered(reading, f"model:{model}")
            reading.add(Lifecycle("model", model=model), native_id=name)
        reading.date(request.get("stream_end_timestamp_ms"), "stream_end_timestamp_ms")
        _read_answer(reading, mapping(entry.get("assistant")))
        reading.extra(entry, _ENTRY, "history", native_id=name_of(reading, "entry", sorted(entry)))


def _read_user(reading: KiroReading, user: dict[str, Any]) -> None:
    content = mapping(user.get("content"))
    reading.date(user.get("timestamp"))
    cwd = text(mapping(mapping(user.get("env_context")).get("env_state")).get("current_working_directory"))
    if cwd and cwd != reading.now("cwd") and is_storable(cwd):
        reading.set(cwd=cwd)
        reading.add(Lifecycle("cwd", cwd=cwd), native_id=numbered(reading, f"cwd:{cwd}"))
    context = reading.text(user, "additional_context")
    if context:
        reading.add(UserMessage(context, "injected"), "user", native_id=name_of(reading, "context", context))
    for kind, written in content.items():
        said = mapping(written)
        if kind not in ("Prompt", "ToolUseResults", "CancelledToolUses"):
            reading.unknown(f"user/{kind}", without_opaque(written), native_id=name_of(reading, "user", written))
            continue
        results = [mapping(result) for result in reading.items(said, "tool_use_results")]
        for result in results:
            give_result(reading, result)
        if kind == "CancelledToolUses":
            mark = content_name([result.get("tool_use_id") for result in results])
            reading.add(Lifecycle("interrupted"), native_id=numbered(reading, f"interrupted:{mark}"))
        _give_prompt(reading, user, text(said.get("prompt")))
    reading.extra(without_opaque(user), _USER, "user", native_id=name_of(reading, "fields", sorted(user)))


def _give_prompt(reading: KiroReading, user: dict[str, Any], said: str) -> None:
    parts = tuple(_image(mapping(image)) for image in items(user.get("images")))
    if said or parts:
        name = name_of(reading, "user", said, user.get("timestamp"))
        reading.add(UserMessage(said, parts=parts), "user", native_id=name)


def _read_answer(reading: KiroReading, assistant: dict[str, Any]) -> None:
    for kind, written in assistant.items():
        answer = mapping(written)
        if kind not in ("Response", "ToolUse"):
            name = name_of(reading, "assistant", written)
            reading.unknown(f"assistant/{kind}", without_opaque(written), native_id=name)
            continue
        message_id = text(answer.get("message_id"))
        said = reading.text(answer, "content")
        name = numbered(reading, message_id) if message_id else name_of(reading, "said", said)
        thought = text(mapping(answer.get("thinking")).get("text")) or text(answer.get("thinking"))
        if answer.get("thinking"):
            thinking = Thinking(thought, message_id, not thought)
            reading.add(thinking, "assistant", native_id=f"{name}/thinking")
        if said.strip():
            payload = AssistantMessage(said, reading.now("model"), message_id=message_id)
            reading.add(payload, "assistant", native_id=name)
        for use in map(mapping, reading.items(answer, "tool_uses")):
            give_call(reading, text(use.get("id")), text(use.get("name")), use.get("args"), message_id)
            reading.extra(use, _USE, "tool_use", native_id=f"use:{text(use.get('id'))}")
        reading.extra(answer, _ANSWER, kind, native_id=name)


def _image(image: dict[str, Any]) -> Part:
    form = text(image.get("format")).lower()
    source = image.get("source")
    data = source if isinstance(source, str) else next(iter(mapping(source).values()), None)
    return base64_part("image", f"image/{form}" if form else "", data)[0]
