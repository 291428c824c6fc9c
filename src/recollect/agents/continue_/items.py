"""One item of a session's history: a message, what was put beside it, and what the session says around them.

Evidence: format notes: Continue; a trimmed capture of the CLI.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.continue_.state import ContinueReading
from recollect.agents.continue_.tools import read_calls, read_tool_message
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.content.anthropic import base64_part, content_text, without_opaque
from recollect.agents.kit.naming import content_name, name_of, numbered
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Json,
    Lifecycle,
    Part,
    SessionStart,
    Thinking,
    TokenUsage,
    UserMessage,
)
from recollect.model.text import flatten

_ITEM = frozenset(
    (
        "message contextItems editorState modifiers promptLogs toolCallStates isGatheringContext reasoning "
        "appliedRules conversationSummary appliedChanges isBeforeCheckpoint checkpoint tools"
    ).split()
)
_MESSAGE = frozenset(
    (
        "role content toolCalls toolCallId id usage metadata signature redactedThinking reasoning_details "
        "reasoning_content cacheControl isSummary"
    ).split()
)
_SESSION = frozenset(
    ("sessionId", "title", "workspaceDirectory", "history", "mode", "chatModelTitle", "usage", "dateCreated")
)
_NO_TITLES = frozenset(("New Session", "Untitled Session", "Untitled session"))
_MAX_MODEL_CHARS = 200


def read_item(reading: ContinueReading) -> None:
    """Give the events of one item."""
    item = reading.value
    message = mapping(item.get("message"))
    role = message.get("role")
    if not message:
        if item:
            reading.native_id = name_of(reading, "item", item)
            reading.unknown("history")
        else:
            read_odd(reading)
        return
    own_id = text(message.get("id"))
    key = content_name(
        role, message.get("content"), [mapping(c).get("id") for c in reading.items(message, "toolCalls")]
    )
    base = numbered(reading, own_id[:4096] if own_id else f"item:{key}")
    reading.native_id = base
    _read_reasoning(reading, item, base)
    if role == "user":
        _read_user(reading, item, message)
    elif role == "assistant":
        _read_assistant(reading, item, message, base)
    elif role == "thinking":
        thought = content_text(message.get("content"))
        is_encrypted = not thought and bool(message.get("redactedThinking") or message.get("signature"))
        reading.add(Thinking(thought, is_encrypted=is_encrypted), "assistant", native_id=f"{base}/thinking")
        read_calls(reading, item, message)
    elif role == "system":
        reading.add(Instructions(content_text(message.get("content")), "system"))
    elif role == "tool":
        read_tool_message(reading, message)
    else:
        reading.unknown(f"message/{role}" if isinstance(role, str) else "message", without_opaque(item))
    _read_context(reading, item, base)
    summary = reading.text(item, "conversationSummary")
    if summary:
        reading.add(Compaction("summary", summary), native_id=f"{base}/compaction")
    reading.extra(item, _ITEM, "item", native_id=base)
    reading.extra(message, _MESSAGE, "message", native_id=base)


def _read_reasoning(reading: ContinueReading, item: dict[str, Any], base: str) -> None:
    """Give the reasoning beside an answer; its times are the only ones in a session."""
    reasoning = reading.mapping(item, "reasoning")
    reading.date(reasoning.get("startAt"), "reasoning.startAt")
    said = reading.text(reasoning, "text")
    if said:
        reading.add(Thinking(said), "assistant", native_id=f"{base}/thinking")
    reading.date(reasoning.get("endAt"), "reasoning.endAt")


def _read_user(reading: ContinueReading, item: dict[str, Any], message: dict[str, Any]) -> None:
    content = message.get("content")
    parts = _parts(reading, content)
    said = _said(content) or _said(item.get("editorState"))
    if said or parts:
        reading.add(UserMessage(said, parts=parts), "user")


def _read_assistant(reading: ContinueReading, item: dict[str, Any], message: dict[str, Any], base: str) -> None:
    content = message.get("content")
    said, parts = _said(content), _parts(reading, content)
    if said or parts:
        reading.add(AssistantMessage(said, reading.now("model"), parts=parts), "assistant")
    read_calls(reading, item, message)
    usage = reading.mapping(message, "usage")
    if usage:
        reading.set(has_message_usage=True)
        key = f"continue:{content_name(message)}"
        reading.add(_usage(reading, usage, key), "assistant", native_id=f"{base}/usage")
    changes = item.get("appliedChanges")
    if changes:
        reading.kept("appliedChanges", changes, native_id=f"{base}/changes")


def _read_context(reading: ContinueReading, item: dict[str, Any], base: str) -> None:
    """Give what was put beside a message: files, diffs, terminal output. It is the harness's text, not the person's."""
    for number, written in enumerate(reading.items(item, "contextItems")):
        value = mapping(written)
        name = f"{base}/context/{number}"
        if not value:
            reading.wrong("contextItems")
            continue
        said = reading.text(value, "content")
        path = text(mapping(value.get("uri")).get("value")) or text(value.get("description"))
        part = Part("file", path=path or text(value.get("name")))
        reading.add(UserMessage(said, "injected", (part,)), "user", native_id=name)


def _said(content: Json) -> str:
    """Return the text of a message's parts; an image has none."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_part_text, content)))
    return content if isinstance(content, str) else ""


def _part_text(part: Json) -> str:
    value = mapping(part)
    kind = value.get("type")
    if kind == "imageUrl":
        return ""
    return text(value.get("text")) if kind == "text" else flatten(without_opaque(part))


def _parts(reading: ContinueReading, content: Json) -> tuple[Part, ...]:
    """Return the images of a message: data URLs, or addresses."""
    found: list[Part] = []
    for part in content if isinstance(content, list) else ():
        value = mapping(part)
        if value.get("type") != "imageUrl":
            continue
        url = text(mapping(value.get("imageUrl")).get("url"))
        if url.startswith("data:"):
            media_type, _, data = url[5:].partition(";base64,")
            image, is_readable = base64_part("image", media_type[:100], data)
            if not is_readable:
                reading.wrong("imageUrl", "bad_base64")
            found.append(image)
        else:
            found.append(Part("image", url=url[:4096]))
    return tuple(found)


def read_session(reading: ContinueReading) -> None:
    """Give what stands around the history: the session's start, title, mode and model, and its total."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    if "sessionId" in value or "workspaceDirectory" in value:
        cwd = folder_of(reading.text(value, "workspaceDirectory"))
        reading.add(SessionStart(cwd=cwd), native_id="start")
    give_title(reading, value)
    mode = reading.text(value, "mode")
    if mode:
        reading.add(Lifecycle("mode", text=mode), native_id="mode")
    model = text(value.get("chatModelTitle"))
    if model and len(model) <= _MAX_MODEL_CHARS:
        reading.set(model=model)
        reading.add(Lifecycle("model", model=model), native_id="model")
    usage = reading.mapping(value, "usage")
    if usage:
        spent = _usage(
            reading, usage, f"continue:{reading.state.session}", is_additive=not reading.now("has_message_usage")
        )
        reading.add(spent, native_id="usage")
    reading.extra(value, _SESSION, "session", native_id="session")


def give_title(reading: ContinueReading, value: dict[str, Any], session: str | None = None) -> None:
    """Give a session's title; the placeholder of a new one is none."""
    title = reading.text(value, "title")
    if title and title not in _NO_TITLES:
        name = "index/title" if session else "title"
        reading.add(Lifecycle("title", title=title), native_id=name, session=session)


def folder_of(written: str) -> str:
    """Return a folder that is written as a path or as a `file://` address."""
    return written.removeprefix("file://")


def _usage(reading: ContinueReading, usage: dict[str, Any], key: str, *, is_additive: bool = True) -> TokenUsage:
    """Return token usage. The prompt's tokens include the cached ones only where these fit into them."""
    details = reading.mapping(usage, "promptTokensDetails")
    prompt, answer = reading.count(usage, "promptTokens"), reading.count(usage, "completionTokens")
    read, written = reading.count(details, "cachedTokens"), reading.count(details, "cacheWriteTokens")
    reasoning = reading.count(reading.mapping(usage, "completionTokensDetails"), "reasoningTokens")
    return TokenUsage(
        reading.text(usage, "model") or reading.now("model"),
        prompt - read - written if read + written <= prompt else prompt,
        answer,
        read,
        written,
        reasoning_tokens=reasoning,
        cost_usd=reading.money(usage, "totalCost"),
        dedupe_key=key,
        is_additive=is_additive,
    )
