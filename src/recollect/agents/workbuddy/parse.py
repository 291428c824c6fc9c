"""WorkBuddy: one item in, its events out. Pure, and never raises on content.

Items are those of the OpenAI Agents SDK for JavaScript, each with the session and the time around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.calls import TurnState, decoded_arguments, give_call, give_result
from recollect.agents.kit.content import data_url_part
from recollect.agents.kit.names import MAX_PATH_CHARS, short, short_name
from recollect.agents.kit.values import items, mapping, text, whole
from recollect.agents.workbuddy.declare import FACTS
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Json,
    Lifecycle,
    Part,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_TEXTS = ("text", "input_text", "output_text", "refusal")
_IMAGES = frozenset(("input_image", "image"))
_CONTENT = frozenset(("input_text", "output_text", "text", "refusal", *_IMAGES))
_STATUSES = frozenset(("in_progress", "completed", "incomplete"))
_ALL = frozenset(("id", "timestamp", "type", "sessionId", "cwd", "providerData", "status", "parentId"))
_FIELDS: dict[str, frozenset[str]] = {
    "message": _ALL | {"role", "content"},
    "reasoning": _ALL | {"content", "rawContent"},
    "function_call": _ALL | {"name", "callId", "arguments", "namespace"},
    "function_call_result": _ALL | {"name", "callId", "output"},
}
_PROVIDER_FIELDS = frozenset(("model", "usage", "rawUsage", "messageId", "responseId", "requestId", "traceId", "agent"))
_INPUT = ("inputTokens", "input_tokens", "prompt_tokens")
_OUTPUT = ("outputTokens", "output_tokens", "completion_tokens")
_READ = ("cacheReadInputTokens", "cache_read_input_tokens")
_WRITTEN = ("cacheCreationInputTokens", "cache_creation_input_tokens")
_REASONING = ("reasoningTokens", "reasoning_tokens")


class WorkBuddyState(TurnState, frozen=True, gc=False, omit_defaults=True):
    """The memory between records. parent: the session whose subagent this one is."""

    cwd: str = ""
    parent: str = ""


Reading = kit.Reading[WorkBuddyState]


class WorkBuddyAdapter(KitAdapter[WorkBuddyState]):
    """The adapter of WorkBuddy."""

    facts = FACTS
    state_type = WorkBuddyState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a message item with its session around it."""
        del path
        try:
            item = mapping(msgspec.json.decode(head.lstrip().partition(b"\n")[0]))
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        is_item = item.get("type") == "message" and {"role", "content", "sessionId"} <= item.keys()
        blocks = [text(mapping(b).get("type")) for b in items(item.get("content"))]
        is_own = is_item and "message" not in item and type(item.get("timestamp")) is int
        return "transcript" if is_own and all(b in _CONTENT for b in blocks) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the file's name; a subagent's counts within its session."""
        parent = _parent(info)
        stem = info.stem or first_line_name(head)
        return f"{parent}:{stem}" if parent else stem

    def begin(self, info: SourceInfo) -> WorkBuddyState:
        """See `Adapter.begin`."""
        return msgspec.structs.replace(super().begin(info), parent=short(_parent(info)))

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        item = reading.value
        reading.date(item.get("timestamp"))
        reading.native_id = short_name(text(item.get("id"))) or None
        kind = text(item.get("type"))
        read = _READERS.get(kind)
        if read is None:
            reading.unknown(kind or "record")
            return
        _place(reading, item)
        read(reading, item)
        reading.odd_value(f"{kind}.status", item.get("status"), _STATUSES)
        reading.extra(item, _FIELDS[kind], kind)


def _parent(info: SourceInfo) -> str:
    folders = info.path.split("/")[:-1]
    return folders[-2] if info.role == "subagent" and len(folders) >= 2 and folders[-1] == "subagents" else ""


def _place(reading: Reading, item: dict[str, Any]) -> None:
    """Give where the session runs: first as its start, then where it changes."""
    cwd = text(item.get("cwd"))
    kept = short(cwd, MAX_PATH_CHARS)
    if not reading.state.is_started:
        start = SessionStart(cwd=cwd, parent_session=reading.state.parent)
        reading.add(start, native_id="start")
        reading.set(is_started=True, cwd=kept)
    elif cwd and kept != reading.now("cwd"):
        name = f"{reading.native_id}/cwd" if reading.native_id else None
        reading.add(Lifecycle("cwd", cwd=cwd), native_id=name)
        reading.set(cwd=kept)


def _read_message(reading: Reading, item: dict[str, Any]) -> None:
    said, parts = _content(reading, item.get("content"))
    role = reading.text(item, "role")
    if role == "user":
        reading.add(UserMessage(said, parts=parts), "user")
    elif role == "assistant":
        model = text(mapping(item.get("providerData")).get("model"))
        if said or parts:
            reading.add(AssistantMessage(said, model, parts=parts), "assistant")
        _add_usage(reading, item)
    elif role in ("system", "developer"):
        reading.add(Instructions(said, role))
    else:
        reading.unknown(role or "message")


def _content(reading: Reading, content: Json) -> tuple[str, tuple[Part, ...]]:
    """Return a message's text and images; text also stands under the name of its type."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    parts: list[Part] = []
    for block in items(content):
        given = mapping(block)
        if text(given.get("type")) in _IMAGES:
            address = given.get("image", given.get("imageUrl"))
            part, is_readable = data_url_part("image", text(address))
            parts.append(part)
            if not is_readable:
                reading.wrong("content.image", "bad_base64")
            continue
        found = next((given[k] for k in _TEXTS if isinstance(given.get(k), str)), None)
        texts.append(found if found is not None else flatten(block))
    return "\n".join(t for t in texts if t), tuple(parts)


def _read_reasoning(reading: Reading, item: dict[str, Any]) -> None:
    pieces = items(item.get("rawContent")) or items(item.get("content"))
    thought = "\n".join(t for t in (text(mapping(p).get("text")) for p in pieces) if t)
    if thought:
        reading.add(Thinking(thought), "assistant")
    _add_usage(reading, item)


def _read_call(reading: Reading, item: dict[str, Any]) -> None:
    name = reading.text(item, "name")
    arguments = decoded_arguments(item.get("arguments"))
    call = ToolCall(reading.text(item, "callId"), name, canonical_tool(name), arguments)
    give_call(reading, call, reading.native_id)
    _add_usage(reading, item)


def _read_result(reading: Reading, item: dict[str, Any]) -> None:
    """Give a result. Whether it is one is all that its status says."""
    output = item.get("output")
    parts: tuple[Part, ...] = ()
    if isinstance(output, str):
        said = output
    elif isinstance(output, dict) and isinstance(output.get("text"), str):
        said = output["text"]
    else:
        said, parts = _content(reading, output if isinstance(output, list) else [output] if output else [])
    ok = False if item.get("status") == "incomplete" else None
    result = ToolResult(reading.text(item, "callId"), reading.text(item, "name"), ok, text=said, parts=parts)
    give_result(reading, result, reading.native_id)


def _add_usage(reading: Reading, item: dict[str, Any]) -> None:
    provider = reading.mapping(item, "providerData")
    reading.extra(provider, _PROVIDER_FIELDS, "providerData")
    usage = mapping(provider.get("usage")) or mapping(provider.get("rawUsage"))
    fresh, output = _first(usage, _INPUT), _first(usage, _OUTPUT)
    read, written = _first(usage, _READ), _first(usage, _WRITTEN)
    if "prompt_tokens" in usage:
        read = read or _first(mapping(usage.get("prompt_tokens_details")), ("cached_tokens",))
        fresh = max(0, fresh - read)
    if fresh == output == read == written == 0:
        return
    details = mapping(usage.get("completion_tokens_details"))
    response = next((text(provider.get(k)) for k in ("responseId", "messageId") if provider.get(k)), "")
    name = response or reading.native_id or ""
    counted = TokenUsage(
        model=text(provider.get("model")),
        input_tokens=fresh,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
        reasoning_tokens=_first(usage, _REASONING) or _first(details, ("reasoning_tokens",)),
        dedupe_key=f"workbuddy:{reading.state.session}:{name}" if name else "",
    )
    reading.add(counted, native_id=f"{reading.native_id}/usage" if reading.native_id else None)


def _first(usage: dict[str, Any], names: tuple[str, ...]) -> int:
    found = next((number for k in names if (number := whole(usage.get(k))) is not None), 0)
    return max(0, found)


_READERS: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "message": _read_message,
    "reasoning": _read_reasoning,
    "function_call": _read_call,
    "function_call_result": _read_result,
}
