"""The rows of a conversation: OpenAI's roles, with reasoning beside the text and tool results as tagged text.

Evidence: `LLMMessage` in Vibe's `core/types.py`; tags in `core/utils/tags.py`.
"""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.kit.calls import arrived, edits_of, expect, give_edits
from recollect.agents.kit.content import arguments_of, chat_content
from recollect.agents.kit.names import name_of, short
from recollect.agents.kit.values import mapping, text
from recollect.agents.vibe.state import Reading
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Json,
    Lifecycle,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

ROW_FIELDS = frozenset((
    "role", "content", "injected", "reasoning_content", "reasoning_state", "reasoning_signature",
    "reasoning_message_id", "tool_calls", "name", "tool_call_id", "message_id", "model", "images",
))  # fmt: skip
_CALL_FIELDS = frozenset(("id", "index", "function", "type"))
_FUNCTION_FIELDS = frozenset(("name", "arguments"))
_TAG = re.compile(r"<(user_cancellation|tool_error|vibe_stop_event|vibe_warning)>(.*?)</\1>", re.DOTALL)
_EXIT = re.compile(r"^(?:returncode|Return code|exit_code): (-?\d{1,9})$", re.MULTILINE)
_EXIT_CHARS = 65_536


def read_message(reading: Reading) -> None:
    """Give the events of one row."""
    value = reading.value
    role = reading.text(value, "role")
    said, parts, are_readable = chat_content(value.get("content"))
    if not are_readable:
        reading.wrong("content", "bad_base64")
    written = short(reading.text(value, "message_id"))
    if role == "tool":
        _read_result(reading, said)
        reading.extra(value, ROW_FIELDS, "tool", native_id=reading.native_id)
        return
    reading.native_id = written or name_of(reading, role or "row", value)
    if role == "user":
        _read_user(reading, said, parts)
    elif role == "assistant":
        _read_assistant(reading, said, parts)
    elif role == "system":
        reading.add(Instructions(said, "system"))
    else:
        reading.unknown(role or text(value.get("type")) or "row")
        return
    reading.extra(value, ROW_FIELDS, role)


def _read_user(reading: Reading, said: str, parts: tuple[Any, ...]) -> None:
    tag = _TAG.match(said)
    if tag is not None and tag[1] == "user_cancellation":
        reading.add(Lifecycle("interrupted", text=tag[2]))
        return
    is_harness = reading.value.get("injected") is True or tag is not None
    reading.add(UserMessage(said, "injected" if is_harness else "human", parts), "user")


def _read_assistant(reading: Reading, said: str, parts: tuple[Any, ...]) -> None:
    value = reading.value
    model, name = reading.text(value, "model"), reading.native_id
    thought = chat_content(value.get("reasoning_content"))[0]
    is_sealed = not thought and bool(value.get("reasoning_state") or value.get("reasoning_signature"))
    if thought or is_sealed:
        own = short(text(value.get("reasoning_message_id")))
        reading.add(Thinking(thought, is_encrypted=is_sealed), "assistant", native_id=own or f"{name}/thinking")
    stop = _TAG.search(said) if said.endswith("</vibe_stop_event>") else None
    if stop is not None:
        reading.add(Lifecycle("turn_aborted", text=stop[2]), native_id=f"{name}/stop")
        said = said[: stop.start()].rstrip()
    if said or parts:
        reading.add(AssistantMessage(said, model, parts=parts), "assistant")
    for number, call in enumerate(reading.items(value, "tool_calls"), 1):
        if isinstance(call, dict):
            _read_call(reading, call, number)
        else:
            reading.wrong("tool_calls")
            reading.unknown("tool_call", call, native_id=f"{name}/call/{number}")


def _read_call(reading: Reading, call: dict[str, Any], number: int) -> None:
    function = reading.mapping(call, "function")
    call_id, name = reading.text(call, "id"), reading.text(function, "name")
    arguments = arguments_of(
        reading, function.get("arguments"), "tool_calls.function.arguments", empty="", errors="replace"
    )
    native_id = f"call:{short(call_id)}" if call_id else f"{reading.native_id}/call/{number}"
    reading.add(ToolCall(call_id, name, canonical_tool(name), arguments), "assistant", native_id=native_id)
    expect(reading, call_id, name, _edits(name, arguments))
    reading.extra(call, _CALL_FIELDS, "tool_call", native_id=native_id)
    reading.extra(function, _FUNCTION_FIELDS, "tool_call.function", native_id=native_id)


def _edits(name: str, arguments: Json) -> tuple[FileEdit, ...]:
    if canonical_tool(name) != "edit":
        return ()
    given = mapping(arguments)
    if name == "search_replace" and isinstance(given.get("content"), str):
        return edits_of({"path": given.get("file_path", given.get("path")), "diff": given["content"]})
    return edits_of(given)


def _read_result(reading: Reading, said: str) -> None:
    """Give a tool's result. Failures and refusals are told by a tag around the text, never by a field."""
    value = reading.value
    call_id = reading.text(value, "tool_call_id")
    call = arrived(reading, call_id)
    short_id = short(call_id)
    native_id = f"result:{short_id}" if call_id else name_of(reading, "result", value)
    reading.native_id = native_id
    tag = _TAG.match(said)
    exit_code = _EXIT.search(said[-_EXIT_CHARS:])
    code = int(exit_code[1]) if exit_code else None
    ok = tag is None and not code
    name = reading.text(value, "name") or call.name
    reading.add(ToolResult(call_id, name, ok, code, tag[2] if tag is not None else said), "tool", native_id=native_id)
    if ok:
        give_edits(reading, call.edits, short_id)
    elif tag is not None and tag[1] == "user_cancellation":
        kind = "permission" if "skipped" in tag[2] else "interrupted"
        reading.add(Lifecycle(kind, text=tag[2], call_id=call_id), native_id=f"{native_id}/cancelled")
