"""The CLI's lines `{version, kind, data}` and the file beside them.

Evidence: format notes: Kiro; synthetic files of other readers.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kiro.state import KiroReading
from recollect.agents.kiro.tools import give_call, give_result
from recollect.agents.kit.access import mapping, number, text
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.naming import content_name
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Json,
    Lifecycle,
    Part,
    SessionStart,
    Thinking,
    TokenUsage,
    UserMessage,
)

_LINE = frozenset(("version", "kind", "data"))
_DATA = {
    "Prompt": frozenset(("message_id", "content", "meta")),
    "AssistantMessage": frozenset(("message_id", "content", "meta")),
    "ToolResults": frozenset(("message_id", "content", "results", "meta")),
    "Compaction": frozenset(("summary", "strategy", "message_id", "meta")),
}
_SIDECAR = frozenset(
    ("session_id", "cwd", "title", "created_at", "updated_at", "session_state", "session_created_reason",
     "parent_session_id")
)  # fmt: skip
_TURN_TOKENS = (
    "input_token_count",
    "output_token_count",
    "cache_read_input_token_count",
    "cache_write_input_token_count",
)
_TURN_DETAILS = ("metering_usage", "context_usage_percentage", "model")
_USER_MARKS = ("--- USER MESSAGE BEGIN ---\n", "--- USER MESSAGE END ---")


def read_line(reading: KiroReading) -> None:
    """Give the events of one line."""
    line = reading.value
    kind = line.get("kind")
    data = mapping(line.get("data"))
    if not isinstance(kind, str):
        if line:
            reading.unknown("line")
        else:
            read_odd(reading)
        return
    if not reading.state.is_started:
        reading.set(is_started=True)
        _date(reading, data)
        reading.add(SessionStart(), native_id="start")
    message_id = text(data.get("message_id"))
    reading.native_id = message_id or None
    _date(reading, data)
    if kind == "Prompt":
        _read_prompt(reading, data, message_id)
    elif kind == "AssistantMessage":
        _read_answer(reading, data, message_id)
    elif kind == "ToolResults":
        _read_results(reading, data, message_id)
    elif kind == "Compaction":
        summary = reading.text(data, "summary")
        name = f"compaction:{content_name(summary)}"
        reading.add(Compaction(text(data.get("strategy")), summary), native_id=name)
    else:
        reading.unknown(kind, without_opaque(line))
        return
    reading.extra(line, _LINE, kind)
    reading.extra(data, _DATA[kind], f"{kind}.data")


def _date(reading: KiroReading, data: dict[str, Any]) -> None:
    """Take the time of a prompt: seconds, as a number or written out."""
    written = mapping(data.get("meta")).get("timestamp")
    if isinstance(written, str) and len(written) <= 32:
        try:
            reading.date(float(written))
            return
        except ValueError:
            pass
    reading.date(written)


def _read_prompt(reading: KiroReading, data: dict[str, Any], message_id: str) -> None:
    said: list[str] = []
    parts: list[Part] = []
    for index, block in enumerate(reading.items(data, "content")):
        value = mapping(block)
        kind, content = value.get("kind"), value.get("data")
        if kind == "text" and isinstance(content, str):
            said.append(_unwrapped(content))
        elif kind == "image":
            parts.append(_image(mapping(content)))
        elif kind == "toolResult":
            give_result(reading, mapping(content))
        else:
            reading.unknown(f"Prompt/{kind}", without_opaque(block), native_id=_inner(message_id, index))
    if said or parts:
        reading.add(UserMessage("\n".join(said), parts=tuple(parts)), "user")


def _read_answer(reading: KiroReading, data: dict[str, Any], message_id: str) -> None:
    texts = thoughts = 0
    for index, block in enumerate(reading.items(data, "content")):
        value = mapping(block)
        kind, content = value.get("kind"), value.get("data")
        if kind == "text" and isinstance(content, str):
            if content.strip():
                texts += 1
                name = message_id if texts == 1 else f"{message_id}/text/{texts}"
                answer = AssistantMessage(content, reading.now("model"), message_id=message_id)
                reading.add(answer, "assistant", native_id=name if message_id else None)
        elif kind == "thinking":
            thoughts += 1
            name = f"{message_id}/thinking" if thoughts == 1 else f"{message_id}/thinking/{thoughts}"
            thought = text(mapping(content).get("text")) or text(content)
            reading.add(Thinking(thought, message_id, not thought), "assistant", native_id=name if message_id else None)
        elif kind == "toolUse":
            call = mapping(content)
            model = text(call.get("modelId"))
            if model and len(model) <= 200:
                reading.set(model=model)
            give_call(reading, text(call.get("toolUseId")), text(call.get("name")), call.get("input"), message_id)
        else:
            reading.unknown(f"AssistantMessage/{kind}", without_opaque(block), native_id=_inner(message_id, index))


def _read_results(reading: KiroReading, data: dict[str, Any], message_id: str) -> None:
    """Give results; beside them stands what the agent itself says of each tool, which of a server's tools is all."""
    about = reading.mapping(data, "results")
    for index, block in enumerate(reading.items(data, "content")):
        value = mapping(block)
        if value.get("kind") == "toolResult":
            result = mapping(value.get("data"))
            kind = mapping(mapping(mapping(about.get(text(result.get("toolUseId")))).get("tool")).get("kind"))
            give_result(reading, result, kind.get("Mcp"))
        elif value.get("kind") == "text":
            said = text(value.get("data"))
            reading.add(UserMessage(said, "injected"), "user", native_id=_inner(message_id, index))
        else:
            reading.unknown(
                f"ToolResults/{value.get('kind')}", without_opaque(block), native_id=_inner(message_id, index)
            )


def _inner(message_id: str, index: int) -> str | None:
    return f"{message_id}/{index}" if message_id else None


def _unwrapped(written: str) -> str:
    """Return what the person wrote, without the context that the CLI puts before it."""
    begin, end = _USER_MARKS
    _, found, rest = written.partition(begin)
    return rest.rpartition(end)[0] or rest if found else written


def _image(data: dict[str, Any]) -> Part:
    form = text(data.get("format"))
    media_type = f"image/{form}" if form else ""
    source = data.get("source")
    written = source if isinstance(source, str) else mapping(source).get("data") or mapping(source).get("bytes")
    return base64_part("image", media_type, written)[0]


def read_sidecar(reading: KiroReading) -> None:
    """Give the session's folder, title, agent and model, and what each turn cost."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    state = reading.mapping(value, "session_state")
    model = text(mapping(mapping(state.get("rts_model_state")).get("model_info")).get("model_id"))
    parent = reading.text(value, "parent_session_id")
    agent = text(state.get("agent_name"))
    reading.date(value.get("created_at"), "created_at")
    start = SessionStart(
        cwd=reading.text(value, "cwd"), model=model, parent_session=parent, agent_name=agent if parent else ""
    )
    reading.add(start, native_id="sidecar/start")
    title = reading.text(value, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="sidecar/title")
    detail = {"agent": agent, "reason": text(value.get("session_created_reason"))}
    if any(detail.values()):
        reading.add(Lifecycle("session", detail={k: v for k, v in detail.items() if v}), native_id="sidecar/session")
    turns = reading.mapping(state, "conversation_metadata").get("user_turn_metadatas")
    for index, turn in enumerate(turns if isinstance(turns, list) else ()):
        _read_turn(reading, mapping(turn), index, model)
    reading.extra(value, _SIDECAR, "sidecar", native_id="sidecar")


def _read_turn(reading: KiroReading, turn: dict[str, Any], index: int, model: str) -> None:
    """Give a turn's tokens, which may all be 0, and its credits, which are no money."""
    loop = turn.get("loop_id")
    name = f"turn:{content_name(loop)}" if loop else f"turn:{index}"
    reading.date(turn.get("end_timestamp"), "end_timestamp")
    fresh, answer, read, written = (reading.count(turn, key) for key in _TURN_TOKENS)
    if fresh or answer or read or written:
        usage = TokenUsage(
            text(turn.get("model")) or model,
            fresh,
            answer,
            read,
            written,
            dedupe_key=f"{reading.state.session}:{name}",
        )
        reading.add(usage, native_id=f"{name}/usage")
    detail: dict[str, Json] = {key: turn[key] for key in _TURN_DETAILS if turn.get(key) not in (None, "", [])}
    credits_spent = [number(mapping(item).get("value")) for item in reading.items(turn, "metering_usage")]
    if detail and any(value is not None for value in credits_spent):
        reading.add(Lifecycle("credits", detail=detail), native_id=f"{name}/credits")
