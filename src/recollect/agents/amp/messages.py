"""One message of a thread: its blocks, its state and what it cost.

Evidence: format notes: Amp; trimmed captures of two threads.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.amp.results import give_call, give_result
from recollect.agents.amp.state import AmpReading
from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.content.anthropic import CALL_TYPES, MEDIA_TYPES, media_part, without_opaque
from recollect.agents.kit.naming import name_of
from recollect.model.payloads import AssistantMessage, Lifecycle, Origin, Part, Thinking, TokenUsage, UserMessage

_MESSAGE = frozenset(
    (
        "role messageId content meta userState state usage agentMode turnElapsedMs originalToolUseInput "
        "parentToolUseId fileMentions interrupted discoveredGuidanceFiles source readAt dtwMessageID"
    ).split()
)
_USAGE = frozenset(
    (
        "model inputTokens outputTokens cacheCreationInputTokens cacheReadInputTokens totalInputTokens maxInputTokens "
        "timestamp thinkingBudget credits cost"
    ).split()
)
_TEXT = frozenset(("type", "text", "hidden", "provider", "startTime", "finalTime"))
_THINKING = frozenset(
    ("type", "thinking", "signature", "provider", "openAIReasoning", "startTime", "finalTime", "hidden")
)
_CALL = frozenset(
    ("type", "id", "name", "input", "complete", "inputPartialJSON", "startTime", "finalTime", "metadata",
     "normalizedName", "inputIncomplete", "provider")
)  # fmt: skip
_KEPT = ("userState", "fileMentions", "discoveredGuidanceFiles")
_STATES = frozenset(("complete", "streaming", "cancelled", "error"))


def read_message(reading: AmpReading) -> None:
    """Give the events of one message."""
    message = reading.value
    role = message.get("role")
    if not isinstance(role, str) or role not in ("user", "assistant"):
        if message:
            reading.native_id = name_of(reading, "message", message)
            reading.unknown(f"message/{role}" if isinstance(role, str) else "message", without_opaque(message))
        else:
            read_odd(reading)
        return
    number = whole(message.get("messageId"))
    name = f"m{number}" if number is not None else name_of(reading, "m", role, message.get("content"))
    reading.native_id = name
    usage = reading.mapping(message, "usage")
    reading.date(reading.mapping(message, "meta").get("sentAt") or usage.get("timestamp"), "time")
    if role == "user":
        _read_user(reading, message, name)
    else:
        _read_assistant(reading, message, name, usage)
    _read_state(reading, message, name)
    for field in _KEPT:
        value = message.get(field)
        if any(value.values()) if isinstance(value, dict) else value:
            reading.kept(field, value, native_id=f"{name}/{field}")
    reading.extra(message, _MESSAGE, "message", native_id=name)


def _blocks(reading: AmpReading, message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else reading.items(message, "content")


def _read_user(reading: AmpReading, message: dict[str, Any], name: str) -> None:
    said: list[str] = []
    parts: list[Part] = []
    for number, block in enumerate(_blocks(reading, message)):
        value = mapping(block)
        kind = value.get("type")
        if kind == "text" and value.get("hidden") is True:
            hidden = UserMessage(reading.text(value, "text"), "injected")
            reading.add(hidden, "user", native_id=f"{name}/hidden/{number}")
        elif kind == "text":
            said += filter(None, [reading.text(value, "text")])
            reading.extra(value, _TEXT, "text", native_id=f"{name}/{number}")
        elif kind == "tool_result":
            give_result(reading, value)
        elif isinstance(kind, str) and kind in MEDIA_TYPES:
            parts.append(_image(reading, value))
        else:
            reading.unknown(f"user/{kind}", without_opaque(block), native_id=f"{name}/{number}")
    if said or parts:
        origin: Origin = "injected" if message.get("parentToolUseId") else "human"
        reading.add(UserMessage("\n".join(said), origin, tuple(parts)), "user")


def _read_assistant(reading: AmpReading, message: dict[str, Any], name: str, usage: dict[str, Any]) -> None:
    """Give an answer: each text and thought that is not blank, the calls, and the usage."""
    model = text(usage.get("model"))
    if model and len(model) <= 200:
        reading.set(model=model)
    model = model or reading.now("model")
    stop_reason = text(mapping(message.get("state")).get("stopReason"))
    texts = thoughts = 0
    for number, block in enumerate(_blocks(reading, message)):
        value = mapping(block)
        kind = value.get("type")
        if kind == "text":
            said = reading.text(value, "text")
            if said.strip():
                texts += 1
                native_id = name if texts == 1 else f"{name}/text/{texts}"
                answer = AssistantMessage(said, model, stop_reason, name)
                reading.add(answer, "assistant", native_id=native_id)
            reading.extra(value, _TEXT, "text", native_id=f"{name}/{number}")
        elif kind in ("thinking", "redacted_thinking"):
            thought = reading.text(value, "thinking")
            thoughts += 1
            native_id = f"{name}/thinking" if thoughts == 1 else f"{name}/thinking/{thoughts}"
            reading.add(Thinking(thought, name, not thought), "assistant", native_id=native_id)
            reading.extra(without_opaque(value), _THINKING, "thinking", native_id=f"{name}/{number}")
        elif isinstance(kind, str) and kind in CALL_TYPES:
            give_call(reading, value, name)
            reading.extra(value, _CALL, "tool_use", native_id=f"{name}/{number}")
        elif kind == "tool_result":
            give_result(reading, value)
        elif isinstance(kind, str) and kind in MEDIA_TYPES:
            answer = AssistantMessage("", model, stop_reason, name, (_image(reading, value),))
            reading.add(answer, "assistant", native_id=f"{name}/image/{number}")
        else:
            reading.unknown(f"assistant/{kind}", without_opaque(block), native_id=f"{name}/{number}")
    if usage:
        reading.add(_usage(reading, usage, name), "assistant", native_id=f"{name}/usage")
        reading.extra(usage, _USAGE, "usage", native_id=f"{name}/usage")


def _image(reading: AmpReading, block: dict[str, Any]) -> Part:
    part, _, is_readable = media_part(block)
    if not is_readable:
        reading.wrong("content.source.data", "bad_base64")
    return part


def _read_state(reading: AmpReading, message: dict[str, Any], name: str) -> None:
    """Give that an answer was broken off, and how long the turn took."""
    state = reading.mapping(message, "state")
    kind = reading.text(state, "type")
    reading.odd_value("state.type", kind, _STATES)
    if kind == "cancelled" or message.get("interrupted") is True:
        reading.add(Lifecycle("interrupted"), native_id=f"{name}/interrupted")
    elif kind == "error":
        detail = {k: v for k, v in state.items() if k != "type"}
        reading.add(Lifecycle("api_error", detail=detail or None), native_id=f"{name}/error")
    elapsed = reading.whole(message, "turnElapsedMs")
    if elapsed is not None:
        reading.add(Lifecycle("turn_ended", detail={"elapsed_ms": elapsed}), native_id=f"{name}/ended")


def _usage(reading: AmpReading, usage: dict[str, Any], name: str) -> TokenUsage:
    """Return the tokens of one inference. Models that bill no cache writes have their whole new prompt there."""
    model = reading.text(usage, "model") or reading.now("model")
    fresh, written = reading.count(usage, "inputTokens"), reading.count(usage, "cacheCreationInputTokens")
    if model.startswith("gpt-"):
        fresh, written = fresh + written, 0
    return TokenUsage(
        model,
        fresh,
        reading.count(usage, "outputTokens"),
        reading.count(usage, "cacheReadInputTokens"),
        written,
        dedupe_key=f"{reading.state.session}:{name}",
    )
