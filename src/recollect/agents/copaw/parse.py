"""QwenPaw (CoPaw): one remembered message or the members around them in, its events out. Never raises on content."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from recollect.agents.copaw.declare import FACTS, MEMORY
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.calls import TurnState, decoded_arguments, give_call, give_result
from recollect.agents.kit.content import base64_part, content_text
from recollect.agents.kit.names import name_of, short_name
from recollect.agents.kit.values import instant, items, mapping, text
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Json,
    Lifecycle,
    Part,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool

_COMPRESSED = "compressed"
_HINT = "hint"
_MARKS = frozenset((_COMPRESSED, _HINT))
_FAILED = re.compile(r"Command failed with exit code (-?\d{1,9})\.")
_ERROR = re.compile(r"Error: |❌ ")
_ROLES = frozenset(("user", "assistant", "system"))
_MEDIA = frozenset(("image", "audio", "video", "file"))
_MESSAGE_FIELDS = frozenset(("id", "name", "role", "content", "metadata", "timestamp", "invocation_id"))
_BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset(("type", "text")),
    "thinking": frozenset(("type", "thinking", "signature")),
    "tool_use": frozenset(("type", "id", "name", "input", "raw_input")),
    "tool_result": frozenset(("type", "id", "name", "output")),
    **dict.fromkeys(_MEDIA, frozenset(("type", "source", "filename"))),
}
_AROUND: dict[str, frozenset[str]] = {
    "": frozenset(("agent",)),
    "agent": frozenset(("memory", "toolkit", "name", "_sys_prompt")),
    "agent.memory": frozenset(("content", "_compressed_summary")),
}


class CopawState(TurnState, frozen=True, gc=False, omit_defaults=True):
    """The memory between records."""

    was_compressed: bool = False
    """The message before was put away by a compaction."""


Reading = kit.Reading[CopawState]


class CopawAdapter(KitAdapter[CopawState]):
    """The adapter of QwenPaw (CoPaw)."""

    facts = FACTS
    state_type = CopawState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: an agent with a memory, in this order."""
        del path
        is_own = re.match(rb'\s*\{\s*"agent"\s*:\s*\{\s*"memory"\s*:\s*\{\s*"content"\s*:\s*\[', head)
        return "session" if is_own else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: workspace, folder and file together; one alone is used again elsewhere."""
        folders = [f for f in info.path.split("/")[:-1] if f not in ("workspaces", "sessions")]
        return ":".join((*folders, info.stem)) if info.stem else first_line_name(head)

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        if reading.at == MEMORY:
            _read_entry(reading)
        elif not isinstance(reading.record.value, dict):
            read_odd(reading)
        else:
            _read_around(reading)


def _read_around(reading: Reading) -> None:
    """Give what stands around the messages: who the agent is, and what a compaction left of what was said."""
    members = reading.value
    at = reading.at
    if members.get("_compressed_summary"):
        summary = reading.text(members, "_compressed_summary")
        reading.add(Lifecycle("compaction_summary", text=summary), native_id="summary")
    if members.get("name"):
        reading.add(SessionStart(originator=reading.text(members, "name")), native_id="start")
    if members.get("_sys_prompt"):
        reading.add(Instructions(reading.text(members, "_sys_prompt"), "system"), native_id="prompt")
    groups = mapping(members.get("toolkit")).get("active_groups")
    if groups:
        reading.add(Lifecycle("tool_groups", detail=groups), native_id="groups")
    reading.extra(members, _AROUND.get(at, frozenset()), at or "document", native_id=f"around:{at}")


def _read_entry(reading: Reading) -> None:
    """Give one remembered message with its marks; older versions have the message alone."""
    entry = reading.record.value
    is_pair = isinstance(entry, list) and len(entry) > 0
    message = mapping(entry[0] if is_pair else entry)
    marks = items(entry[1]) if is_pair and len(entry) > 1 else []
    if not message:
        read_odd(reading)
        return
    written = message.get("timestamp")
    reading.infer(instant(written))
    if written and instant(written) is None:
        reading.wrong("timestamp", "bad_timestamp")
    name_given = text(message.get("id"))
    name = short_name(name_given) if name_given else name_of(reading, "m", message)
    _mark(reading, marks, name)
    role = reading.text(message, "role")
    if role not in _ROLES:
        reading.unknown(text(message.get("type")) or role or "record", native_id=name)
        return
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else reading.items(message, "content")
    is_said = False
    for number, block in enumerate(blocks, 1):
        if text(mapping(block).get("type")) in ("text", *_MEDIA) and not is_said:
            is_said = True
            _say(reading, message, blocks, name, is_hint=_HINT in marks)
        _read_block(reading, block, f"{name}/{number}")
    metadata = message.get("metadata")
    if metadata:
        reading.add(Lifecycle("message_metadata", detail=metadata), native_id=f"{name}/metadata")
    reading.extra(message, _MESSAGE_FIELDS, "message", native_id=name)


def _mark(reading: Reading, marks: list[Any], name: str) -> None:
    """Give the compaction that ends at the first message which was not put away."""
    for mark in marks:
        reading.odd_value("message.mark", mark, _MARKS)
    is_compressed = _COMPRESSED in marks
    if reading.now("was_compressed") and not is_compressed:
        reading.add(Compaction(continues_at=name), native_id=f"compaction:{name}")
    reading.set(was_compressed=is_compressed)


def _say(reading: Reading, message: dict[str, Any], blocks: list[Any], name: str, *, is_hint: bool) -> None:
    texts: list[str] = []
    parts: list[Part] = []
    for block in map(mapping, blocks):
        kind = text(block.get("type"))
        if kind == "text":
            texts.append(reading.text(block, "text"))
        elif kind in _MEDIA:
            parts.append(_part(reading, block, kind))
    said = "\n".join(t for t in texts if t)
    if not said and not parts:
        return
    role = message.get("role")
    if role == "user":
        reading.add(UserMessage(said, "injected" if is_hint else "human", tuple(parts)), "user", native_id=name)
    elif role == "assistant":
        reading.add(AssistantMessage(said, message_id=name, parts=tuple(parts)), "assistant", native_id=name)
    else:
        reading.add(Instructions(said, text(message.get("name")) or "system"), native_id=name)


def _part(reading: Reading, block: dict[str, Any], kind: str) -> Part:
    source = reading.mapping(block, "source")
    media_type, path = text(source.get("media_type")), text(block.get("filename"))
    if source.get("type") != "base64":
        return Part(type=kind, media_type=media_type, path=path, url=text(source.get("url")))
    part, is_readable = base64_part(kind, media_type, source.get("data"), path=path)
    if not is_readable:
        reading.wrong(f"{kind}.source", "bad_base64")
    return part


def _read_block(reading: Reading, block: Json, where: str) -> None:
    kind = text(mapping(block).get("type"))
    known = _BLOCK_FIELDS.get(kind)
    if known is None or not isinstance(block, dict):
        reading.unknown(kind or "block", block, native_id=where)
        return
    read = _READERS.get(kind)
    if read is not None:
        read(reading, block, where)
    reading.extra(block, known, kind, native_id=where)


def _read_thinking(reading: Reading, block: dict[str, Any], where: str) -> None:
    thought = reading.text(block, "thinking")
    if thought:
        reading.add(Thinking(thought), "assistant", native_id=where)


def _read_call(reading: Reading, block: dict[str, Any], where: str) -> None:
    name = reading.text(block, "name")
    arguments = block.get("input")
    if arguments in (None, {}) and block.get("raw_input"):
        arguments = decoded_arguments(block.get("raw_input"))
    give_call(reading, ToolCall(reading.text(block, "id"), name, canonical_tool(name), arguments), where)


def _read_result(reading: Reading, block: dict[str, Any], where: str) -> None:
    """Give a result. How it went stands only in its words."""
    output = block.get("output")
    said = content_text(output)
    parts = tuple(
        _part(reading, item, text(item.get("type")))
        for item in map(mapping, items(output))
        if text(item.get("type")) in _MEDIA
    )
    failed = _FAILED.match(said)
    exit_code = int(failed[1]) if failed else None
    ok = False if failed or _ERROR.match(said) else None
    call_id, name = reading.text(block, "id"), reading.text(block, "name")
    give_result(reading, ToolResult(call_id, name, ok, exit_code, said, parts=parts), where)


_READERS: dict[str, Callable[[Reading, dict[str, Any], str], None]] = {
    "thinking": _read_thinking,
    "tool_use": _read_call,
    "tool_result": _read_result,
}
