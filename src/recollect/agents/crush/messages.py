"""Message rows: a role and a list of parts, rewritten while the model answers.

Evidence: format notes: Crush (other agents); Crush's published sources of `message.ContentPart`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from recollect.agents.crush.results import read_result
from recollect.agents.crush.state import Reading, note_call
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import base64_part
from recollect.agents.kit.naming import short
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Json,
    Lifecycle,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_ROW = frozenset(
    (
        "id", "session_id", "role", "parts", "model", "provider", "created_at", "updated_at", "finished_at",
        "is_summary_message", "prism_model_id", "prism_model_name", "prism_hypercredit_savings",
        "prism_dollar_savings",
    )
)  # fmt: skip
_ROLES = frozenset(("user", "assistant", "tool", "system"))
_KNOWN = {
    "text": frozenset(("text", "hidden")),
    "reasoning": frozenset(
        ("thinking", "signature", "thought_signature", "tool_id", "responses_data", "started_at", "finished_at")
    ),
    "image_url": frozenset(("url", "detail")),
    "binary": frozenset(("Path", "MIMEType", "Data")),
    "tool_call": frozenset(("id", "name", "input", "type", "provider_executed", "finished")),
    "finish": frozenset(("reason", "time", "message", "details")),
    "shell_command": frozenset(("command", "output", "exit_code")),
}
_REASONS = frozenset(
    (
        "end_turn", "max_tokens", "tool_use", "canceled", "error", "content_filter", "unknown", "stop",
        "permission_denied",
    )
)  # fmt: skip
_FAILURES = frozenset(("error", "content_filter"))
_OPAQUE = ("signature", "thought_signature", "responses_data")
_PRISM = ("prism_model_id", "prism_model_name", "prism_hypercredit_savings", "prism_dollar_savings")
_PATHS = ("file_path", "path", "filePath")


class _Message(NamedTuple):
    """The message whose parts are read."""

    name: str
    role: str
    model: str
    stop_reason: str
    is_summary: bool


def read_message(reading: Reading) -> None:
    """Give a message row."""
    row = reading.value
    name = text(row.get("id"))
    reading.native_id = name or None
    reading.date(row.get("created_at"), "created_at")
    parts = row.get("parts")
    if not isinstance(parts, list):
        reading.wrong("parts")
        reading.kept("message")
        return
    model = reading.text(row, "model")
    message = _Message(name, reading.text(row, "role"), model, _reason(parts), bool(row.get("is_summary_message")))
    if message.role not in _ROLES:
        reading.unknown(f"message/{message.role}")
        return
    _see_model(reading, message)
    counts: dict[str, int] = {}
    for part in parts:
        kind = text(part.get("type")) if isinstance(part, dict) else ""
        ordinal = counts[kind] = counts.get(kind, 0) + 1
        _read_part(reading, part, message, f"{name}/{kind}" if ordinal == 1 else f"{name}/{kind}/{ordinal}")
    routed = {key: row[key] for key in _PRISM if row.get(key) not in (None, "")}
    if routed:
        reading.add(Lifecycle("routed", detail=routed), native_id=f"{name}/routed")
    reading.extra(row, _ROW, "message")


def _reason(parts: list[Any]) -> str:
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "finish":
            return text(mapping(part.get("data")).get("reason"))
    return ""


def _see_model(reading: Reading, message: _Message) -> None:
    model = short(message.model)
    if message.role == "assistant" and model and model != reading.now("model"):
        if reading.now("model"):
            reading.add(Lifecycle("model", model=message.model), native_id=f"{message.name}/model")
        reading.set(model=model)


def _read_part(reading: Reading, part: Any, message: _Message, name: str) -> None:
    data = part.get("data") if isinstance(part, dict) else None
    kind = text(part.get("type")) if isinstance(part, dict) else ""
    if not isinstance(data, dict):
        if kind in _READERS or kind == "tool_result":
            reading.wrong("parts.data")
        reading.unknown(f"part/{kind}", part, native_id=name)
        return
    if kind == "tool_result":
        read_result(reading, data, name)
    elif kind in _READERS:
        _READERS[kind](reading, data, message, name)
        reading.extra(data, _KNOWN[kind], kind, native_id=name)
    else:
        reading.unknown(f"part/{kind}", part, native_id=name)
    reading.extra(part, frozenset(("type", "data")), "part", native_id=name)


def _read_text(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    """The first text of a message bears the message's own id."""
    said = reading.text(data, "text")
    native_id = message.name if name.endswith("/text") else name
    if not said:
        return
    if message.is_summary:
        reading.add(Compaction(summary=said), "assistant", native_id=native_id)
    elif message.role == "user":
        origin: Any = "injected" if data.get("hidden") is True else "human"
        reading.add(UserMessage(said, origin), "user", native_id=native_id)
    elif message.role == "assistant":
        reading.add(
            AssistantMessage(said, message.model, message.stop_reason, message.name), "assistant", native_id=native_id
        )
    elif message.role == "system":
        reading.add(Instructions(said, source="system"), native_id=native_id)
    else:
        reading.kept("text", said, native_id=native_id)


def _read_reasoning(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    thought = reading.text(data, "thinking")
    if thought or any(data.get(key) for key in _OPAQUE):
        reading.add(Thinking(thought, message.name, not thought), "assistant", native_id=name)


def _read_image(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    url = reading.text(data, "url")
    part = Part(type="image", url=url)
    if url.startswith("data:"):
        head, _, body = url.partition(",")
        part, is_readable = base64_part("image", head[5:].partition(";")[0], body)
        if not is_readable:
            reading.wrong("image_url.url", "bad_base64")
    _give_media(reading, part, message, name)


def _read_binary(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    media_type = reading.text(data, "MIMEType")
    kind = "image" if media_type.startswith("image/") else "file"
    part, is_readable = base64_part(kind, media_type, data.get("Data"), path=reading.text(data, "Path"))
    if not is_readable:
        reading.wrong("binary.Data", "bad_base64")
    _give_media(reading, part, message, name)


def _give_media(reading: Reading, part: Part, message: _Message, name: str) -> None:
    """Attachments stand beside the text, which is always there: they start no turn of their own."""
    if message.role == "user":
        reading.add(UserMessage(origin="injected", parts=(part,)), "user", native_id=name)
    else:
        reading.add(AssistantMessage("", message.model, "", message.name, (part,)), "assistant", native_id=name)


def _read_call(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    call_id = reading.text(data, "id") or name
    tool = reading.text(data, "name")
    arguments = _arguments(data.get("input"))
    path = next((p for key in _PATHS if (p := text(mapping(arguments).get(key)))), "")
    note_call(reading, call_id, tool, path)
    reading.add(
        ToolCall(call_id, tool, "mcp" if tool.startswith("mcp_") else canonical_tool(tool), arguments, message.name),
        "assistant",
        native_id=f"call:{call_id}",
    )


def _arguments(written: Any) -> Json:
    """Return the arguments of a call: JSON inside text, which is cut while the model still writes it."""
    if not isinstance(written, str):
        return written
    try:
        return msgspec.json.decode(written) if written else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return written


def _read_finish(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    reason, said = reading.text(data, "reason"), reading.text(data, "message")
    details = reading.text(data, "details")
    reading.odd_value("finish.reason", reason, _REASONS)
    if data.get("time"):
        reading.date(data["time"], "finish.time")
    if message.role == "assistant" and reason == "canceled":
        reading.add(Lifecycle("interrupted", said), native_id=name)
    elif reason in _FAILURES:
        detail = {"reason": reason, "details": details} if details else {"reason": reason}
        reading.add(Lifecycle("api_error", said or reason, detail), native_id=name)
    elif said or details:
        reading.add(Lifecycle("turn_ended", said, {"reason": reason, "details": details}), native_id=name)


def _read_shell(reading: Reading, data: dict[str, Any], message: _Message, name: str) -> None:
    """A command that the person ran, and what it printed."""
    exit_code = reading.whole(data, "exit_code")
    ok = exit_code == 0 if exit_code is not None else None
    reading.add(UserMessage(f"!{reading.text(data, 'command')}", "command"), "user", native_id=name)
    reading.add(
        ToolResult(name, "shell", ok, exit_code, reading.text(data, "output")),
        "tool",
        native_id=f"result:{name}",
    )


_READERS: dict[str, Callable[[Reading, dict[str, Any], _Message, str], None]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "image_url": _read_image,
    "binary": _read_binary,
    "tool_call": _read_call,
    "finish": _read_finish,
    "shell_command": _read_shell,
}
