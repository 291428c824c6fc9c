"""Logs of single requests: the whole context as it was sent, and the response.

Every log repeats the one before and adds to it. All logs of a conversation are one session, named by its beginning, and
a message has the same name in each, so that a repetition is no new event.
Evidence: format notes: OpenHands; recorded logs of 1.0.0.
"""

from __future__ import annotations

import json
import re
from typing import Any

from recollect.agents.kit.access import mapping, number, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.content.openai import arguments_of
from recollect.agents.kit.naming import content_sha256, numbered
from recollect.agents.openhands.content import canonical_of, content_of, thoughts_of
from recollect.agents.openhands.state import OpenHandsReading
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)

_MESSAGES = re.compile(r'\s*\{\s*"messages"\s*:\s*\[\s*')
_MESSAGE = frozenset(
    (
        "role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "thinking_blocks",
        "function_call", "responses_reasoning_item", "provider_specific_fields",
    )
)  # fmt: skip
_RESPONSE = frozenset(
    (
        "response", "cost", "timestamp", "latency_sec", "tools", "kwargs", "context_window", "usage_summary",
    )
)  # fmt: skip
_FIRST = 2
_EXIT_CODE = re.compile(r"ommand (?:completed|finished) with exit code (-?\d{1,9})")
_TAIL_CHARS = 500
_decode = json.JSONDecoder(strict=False).raw_decode


def session_of(head: bytes) -> str:
    """Return the name of the conversation that a log belongs to, by its first two messages; "" if they are cut."""
    said = head.decode("utf-8", "replace")
    begin = _MESSAGES.match(said)
    if begin is None:
        return ""
    found: list[Any] = []
    at = begin.end()
    try:
        while len(found) < _FIRST and said[at : at + 1] == "{":
            message, at = _decode(said, at)
            found.append(message)
            at += len(said[at:]) - len(said[at:].lstrip(" \t\r\n,"))
    except (ValueError, RecursionError):
        return ""
    return f"llm-{content_sha256(found)}" if found else ""


def read_log(reading: OpenHandsReading) -> None:
    """Give the events of one message of the context, or of the members around it: the response and its cost."""
    if reading.at == "messages":
        _message(reading, reading.value)
    elif not reading.state.is_started or "response" in reading.value:
        reading.set(is_started=True)
        _response(reading)


def _message(reading: OpenHandsReading, message: dict[str, Any]) -> None:
    role = text(message.get("role"))
    said, parts = content_of(reading, message.get("content"))
    if role == "tool":
        call_id = text(message.get("tool_call_id"))
        code = _EXIT_CODE.search(said[-_TAIL_CHARS:])
        ok = code[1] == "0" if code else None
        result = ToolResult(call_id, text(message.get("name")), ok, int(code[1]) if code else None, said, parts=parts)
        reading.add(result, "tool", native_id=numbered(reading, f"result:{call_id}"))
    elif role == "assistant":
        thought, is_sealed = thoughts_of(message)
        if thought or is_sealed:
            name = numbered(reading, f"thought:{content_sha256(thought)}")
            reading.add(Thinking(thought, is_encrypted=is_sealed), "assistant", native_id=name)
        if said or parts:
            reply = AssistantMessage(said, parts=parts)
            reading.add(reply, "assistant", native_id=numbered(reading, f"said:{content_sha256(said)}"))
        for call in reading.items(message, "tool_calls"):
            _call(reading, mapping(call))
    elif role == "user":
        reading.add(
            UserMessage(said, "human", parts), "user", native_id=numbered(reading, f"user:{content_sha256(said)}")
        )
    elif role in ("system", "developer"):
        reading.add(Instructions(said, role), native_id=f"system:{content_sha256(said)}")
    else:
        reading.unknown(f"message/{role}", without_opaque(message or reading.record.value))
    reading.extra(message, _MESSAGE, "llm_log.message")


def _call(reading: OpenHandsReading, call: dict[str, Any]) -> None:
    function = mapping(call.get("function"))
    call_id, name = text(call.get("id")), text(function.get("name"))
    arguments = arguments_of(reading, function.get("arguments"))
    payload = ToolCall(call_id, name, canonical_of(name, arguments), arguments)
    reading.add(payload, "assistant", native_id=numbered(reading, f"call:{call_id}"))


def _response(reading: OpenHandsReading) -> None:
    value = reading.value
    reading.date(value.get("timestamp"))
    response = reading.mapping(value, "response")
    reading.extra(value, _RESPONSE, "llm_log", native_id=f"request:{content_sha256(response)}")
    if not response:
        return
    reading.add(SessionStart(model=text(response.get("model"))), native_id="start")
    for choice in reading.items(response, "choices"):
        _message(reading, mapping(mapping(choice).get("message")))
    usage = mapping(response.get("usage"))
    details = mapping(usage.get("prompt_tokens_details"))
    written = reading.count(usage, "cache_creation_input_tokens")
    read = reading.count(usage, "cache_read_input_tokens") or reading.count(details, "cached_tokens")
    prompt, completion = reading.count(usage, "prompt_tokens"), reading.count(usage, "completion_tokens")
    key = text(response.get("id")) or f"{reading.state.session}:{value.get('timestamp')}"
    if any((prompt, completion)):
        spent = TokenUsage(
            text(response.get("model")),
            max(0, prompt - read - written),
            completion,
            read,
            written,
            reasoning_tokens=reading.count(mapping(usage.get("completion_tokens_details")), "reasoning_tokens"),
            cost_usd=number(value.get("cost")),
            dedupe_key=key,
        )
        reading.add(spent, "assistant", native_id=f"usage:{key}")
    tags = mapping(mapping(mapping(value.get("kwargs")).get("extra_body")).get("metadata")).get("tags")
    detail = {"latency_sec": value.get("latency_sec"), "tags": tags, "response": text(response.get("id"))}
    told = {k: v for k, v in detail.items() if v}
    if told:
        reading.add(Lifecycle("llm_request", detail=told), native_id=f"request:{key}")
