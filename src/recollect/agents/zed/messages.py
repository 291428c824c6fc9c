"""The messages of a thread: since 0.3.0 tagged by who speaks, before that with roles and segments."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.naming import content_name
from recollect.agents.kit.reading import BaseState, Reading
from recollect.agents.zed.tools import calls_in, read_call, read_results
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Lifecycle,
    Origin,
    Part,
    Thinking,
    TokenUsage,
    UserMessage,
)
from recollect.model.text import flatten

_USER = frozenset(("id", "content"))
_AGENT = frozenset(("content", "tool_results", "reasoning_details"))
_OLD = frozenset((
    "id", "role", "segments", "text", "tool_uses", "tool_results", "context", "creases", "is_hidden",
))  # fmt: skip
_MAX_NAME_CHARS = 200


class Thread:
    """Where the reading of a thread stands. `anchor` is the newest message of the user: others are named after it."""

    __slots__ = ("anchor", "calls", "newest", "ordinal", "seen", "usage")

    def __init__(self, usage: dict[str, Any]) -> None:
        self.anchor = "start"
        self.newest = ""
        self.ordinal = 0
        self.seen: dict[str, int] = {}
        self.usage = usage
        self.calls: dict[str, dict[str, Any]] = {}

    def begin_turn(self, identity: Any, content: Any) -> str:
        """Return the name of a message of the user, and name what follows after it."""
        if isinstance(identity, int) and not isinstance(identity, bool):
            identity = f"m{identity}"
        named = isinstance(identity, str) and 0 < len(identity) <= _MAX_NAME_CHARS
        name = identity if named else content_name(identity, content)
        count = self.seen[name] = self.seen.get(name, 0) + 1
        self.newest = name
        self.anchor = name if count == 1 else f"{name}/{count}"
        self.ordinal = 0
        return self.anchor

    def next_name(self) -> str:
        """Return the name of the next message that has none: `<message of the user>/<n>`."""
        self.ordinal += 1
        return f"{self.anchor}/{self.ordinal}"


def read_message(reading: Reading[BaseState], thread: Thread, found: Any) -> None:
    """Give one message."""
    if found == "Resume":
        reading.add(Lifecycle("resumed"), native_id=f"{thread.next_name()}/resume")
        return
    value = mapping(found)
    tag = next(iter(value), "")
    body = value.get(tag)
    if len(value) == 1 and tag == "User" and isinstance(body, dict):
        _read_user(reading, thread, body)
    elif len(value) == 1 and tag == "Agent" and isinstance(body, dict):
        _read_agent(reading, thread, body)
    elif "role" in value:
        _read_old(reading, thread, value)
    else:
        kind = tag if len(value) == 1 else found if isinstance(found, str) else "message"
        reading.unknown(f"message/{kind}", without_opaque(found), native_id=f"{thread.next_name()}/message")


def _read_user(reading: Reading[BaseState], thread: Thread, body: dict[str, Any]) -> None:
    """Give what the user said. Mentions are context: a part of the message, and their text as injected."""
    content = body.get("content")
    name = thread.begin_turn(body.get("id"), content)
    texts: list[str] = []
    parts: list[Part] = []
    asides: list[tuple[str, str]] = []
    for n, segment in enumerate(_segments(content)):
        one = mapping(segment)
        tag = next(iter(one), "")
        inner = one.get(tag)
        if isinstance(segment, str):
            texts.append(segment)
        elif tag == "Text":
            texts.append(inner if isinstance(inner, str) else flatten(inner))
        elif tag == "Mention":
            part, said = _mention(mapping(inner))
            parts.append(part)
            if said:
                asides.append((f"{name}/mention/{n}", said))
        elif tag == "Image":
            parts.append(_image(reading, inner))
        else:
            reading.unknown(f"user/{tag or type(segment).__name__}", without_opaque(segment), native_id=f"{name}/{n}")
    reading.add(UserMessage("\n".join(t for t in texts if t), parts=tuple(parts)), "user", native_id=name)
    for aside, said in asides:
        reading.add(UserMessage(said, "injected"), "user", native_id=aside)
    reading.extra(body, _USER, "User", native_id=name)
    read_request_usage(reading, name, mapping(thread.usage.get(name)))


def _segments(content: Any) -> list[Any]:
    return [content] if isinstance(content, str | dict) else items(content)


def _mention(body: dict[str, Any]) -> tuple[Part, str]:
    """Return what was mentioned: `uri` is tagged by its kind, or a text."""
    uri = body.get("uri")
    said = text(body.get("content"))
    if isinstance(uri, str):
        return Part("mention", url=uri), said
    kind = next(iter(mapping(uri)), "mention")
    place = mapping(mapping(uri).get(kind))
    path = next((text(place[k]) for k in ("abs_path", "path", "name", "id") if text(place.get(k))), "")
    return Part(kind.lower(), path=path, url=text(place.get("url"))), said


def _image(reading: Reading[BaseState], found: Any) -> Part:
    source = found if isinstance(found, str) else mapping(found).get("source")
    part, is_readable = base64_part("image", "image/png", source)
    if not is_readable:
        reading.wrong("Image.source", "bad_base64")
    return part


def read_request_usage(reading: Reading[BaseState], name: str, usage: dict[str, Any]) -> None:
    """Give what one request took; the thread's total has it already."""
    if any(usage.values()):
        counted = TokenUsage(
            input_tokens=reading.count(usage, "input_tokens"),
            output_tokens=reading.count(usage, "output_tokens"),
            cache_read_tokens=reading.count(usage, "cache_read_input_tokens"),
            cache_write_5m_tokens=reading.count(usage, "cache_creation_input_tokens"),
            dedupe_key=f"request:{reading.state.session}/{name}",
            is_additive=False,
        )
        reading.add(counted, "assistant", native_id=f"{name}/usage")


def _read_agent(reading: Reading[BaseState], thread: Thread, body: dict[str, Any]) -> None:
    """Give what the model said, thought and asked for, and what came back to it."""
    name = thread.next_name()
    content = _segments(body.get("content"))
    thread.calls.update(calls_in(content))
    for n, segment in enumerate(content):
        one = mapping(segment)
        tag = next(iter(one), "")
        inner = one.get(tag)
        at = f"{name}/{n}"
        if isinstance(segment, str) or tag == "Text":
            said = segment if isinstance(segment, str) else inner if isinstance(inner, str) else flatten(inner)
            if said:
                reading.add(AssistantMessage(said), "assistant", native_id=at)
        elif tag == "Thinking":
            _read_thinking(reading, at, inner)
        elif tag == "RedactedThinking":
            reading.add(Thinking(is_encrypted=True), "assistant", native_id=f"{at}/thinking")
        elif tag == "ToolUse":
            read_call(reading, mapping(inner), at)
        else:
            kind = tag or type(segment).__name__
            reading.unknown(f"agent/{kind}", without_opaque(segment), native_id=at)
    read_results(reading, body.get("tool_results"), thread.calls, name)
    reading.extra(body, _AGENT, "Agent", native_id=name)


def _read_thinking(reading: Reading[BaseState], at: str, inner: Any) -> None:
    thought = inner if isinstance(inner, str) else text(mapping(inner).get("text"))
    is_signed = bool(mapping(inner).get("signature"))
    payload = Thinking(thought, is_encrypted=not thought and is_signed)
    reading.add(payload, "assistant", native_id=f"{at}/thinking")


def _read_old(reading: Reading[BaseState], thread: Thread, value: dict[str, Any]) -> None:
    """Give a message of a thread before 0.3.0: a role, segments, and the calls and results beside them."""
    role = text(value.get("role"))
    identity = value.get("id")
    if role == "user":
        name = thread.begin_turn(identity, [value.get("segments"), value.get("text")])
        said = "\n".join(t for kind, t in _old_segments(value) if kind != "redacted" and t)
        origin: Origin = "injected" if value.get("is_hidden") is True else "human"
        reading.add(UserMessage(said, origin), "user", native_id=name)
        context = text(value.get("context"))
        if context:
            reading.add(UserMessage(context, "injected"), "user", native_id=f"{name}/context")
    elif role == "assistant":
        name = thread.next_name()
        thread.newest = f"m{identity}" if isinstance(identity, int) else text(identity)
        for n, (kind, said) in enumerate(_old_segments(value)):
            if kind == "text":
                if said:
                    reading.add(AssistantMessage(said), "assistant", native_id=f"{name}/{n}")
            else:
                thought = Thinking(said, is_encrypted=kind == "redacted")
                reading.add(thought, "assistant", native_id=f"{name}/{n}/thinking")
        uses = [mapping(u) for u in items(value.get("tool_uses"))]
        for n, use in enumerate(uses):
            read_call(reading, use, f"{name}/call/{n}")
        thread.calls.update({text(u.get("id")): u for u in uses})
        read_results(reading, value.get("tool_results"), thread.calls, name)
    elif role == "system":
        name = thread.next_name()
        said = "\n".join(t for _, t in _old_segments(value) if t)
        reading.add(Instructions(said, "system message"), native_id=name)
    else:
        name = thread.next_name()
        reading.unknown(f"message/{role or 'role'}", without_opaque(value), native_id=name)
    reading.extra(value, _OLD, "message", native_id=name)


def _old_segments(value: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the segments of an old message as (text, thinking or redacted; words)."""
    found: list[tuple[str, str]] = []
    whole = text(value.get("text"))
    if whole:
        found.append(("text", whole))
    for segment in items(value.get("segments")):
        one = mapping(segment)
        kind = text(one.get("type")).lower()
        if kind in ("redactedthinking", "redacted_thinking"):
            found.append(("redacted", ""))
        elif kind in ("text", "thinking"):
            found.append((kind, text(one.get("text"))))
        else:
            found.append(("text", flatten(without_opaque(segment))))
    return found
