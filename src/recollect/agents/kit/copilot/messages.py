"""What the user, the model and the harness say in a stream of Copilot session events."""

from __future__ import annotations

from typing import Any, TypeVar

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import base64_part
from recollect.agents.kit.copilot.state import MAX_REASONINGS, CopilotState, Turn, storable
from recollect.agents.kit.copilot.tools import read_call
from recollect.agents.kit.naming import content_sha256
from recollect.agents.kit.reading import Reading, remember
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

S = TypeVar("S", bound=CopilotState)

_SKILL = "<skill-context"
_MAX_TURNS = 512
_USER_FIELDS = frozenset((
    "content", "transformedContent", "attachments", "source", "agentMode", "delivery", "interactionId",
    "parentAgentTaskId", "supportedNativeDocumentMimeTypes", "nativeDocumentPathFallbackPaths", "parentToolCallId",
    "inputIntegrity", "inputOrigin", "isAutopilotContinuation",
))  # fmt: skip
_ASSISTANT_FIELDS = frozenset((
    "messageId", "content", "toolRequests", "reasoningText", "reasoningOpaque", "encryptedContent", "outputTokens",
    "parentToolCallId", "interactionId", "turnId", "model", "apiCallId", "clientRequestId", "requestId",
    "serviceRequestId", "rte", "chunkIndex", "chunkCount", "phase", "toolCallId",
))  # fmt: skip


def read_user(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a message in the user's role, and the context that was written around it.

    `content` is what the user typed, `transformedContent` what the model got.
    """
    said = reading.text(data, "content")
    origin = _origin(reading, data, said)
    parts = tuple(_attachments(reading, data))
    if session is None or not _is_told(reading, data, said):
        reading.add(UserMessage(said, origin, parts), "user", session=session)
    sent = reading.text(data, "transformedContent")
    if sent and sent != said:
        context = UserMessage(sent, "injected")
        reading.add(context, "user", native_id=_below(reading, "context"), session=session)
    if origin != "injected" and session is None and reading.native_id:
        turn = Turn(storable(reading.native_id), reading.now("count"), reading.state.newest)
        reading.set(turns=(*reading.now("turns"), turn)[-_MAX_TURNS:])
    reading.extra(data, _USER_FIELDS, "user.message")


def _origin(reading: Reading[S], data: dict[str, Any], said: str) -> Origin:
    source = reading.text(data, "source")
    if said.lstrip().startswith(_SKILL) or source not in ("", "user", "human", "cli"):
        return "command" if source.startswith("command") else "injected"
    return "queued" if data.get("delivery") in ("queued", "steering") else "human"


def _is_told(reading: Reading[S], data: dict[str, Any], said: str) -> bool:
    """Say whether a subagent's first message repeats the task that its call already gave it."""
    parent = text(data.get("parentToolCallId"))
    return any(c.prompt == said and (not parent or c.call_id == parent) for c in reading.now("calls") if c.prompt)


def _attachments(reading: Reading[S], data: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    for i, found in enumerate(reading.items(data, "attachments")):
        one = mapping(found)
        kind = text(one.get("type")) or "attachment"
        path = text(one.get("path")) or text(one.get("filePath")) or text(one.get("displayName"))
        media_type = text(one.get("mimeType"))
        if "data" in one:
            part, is_readable = base64_part(kind, media_type, one["data"], path=path)
            if not is_readable:
                reading.wrong("attachments.data", "bad_base64")
            parts.append(part)
        else:
            parts.append(Part(kind, media_type=media_type, path=path, url=text(one.get("url"))))
        if text(one.get("text")):
            reading.kept(f"attachment/{kind}", one["text"], native_id=_below(reading, f"attachment/{i}"))
    return parts


def read_assistant(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a reply: what the model thought, said and asked for, and the output that this alone took."""
    message_id = reading.text(data, "messageId")
    model = reading.text(data, "model") or ("" if session is not None else reading.now("model"))
    thought = reading.text(data, "reasoningText")
    if thought and not _is_thought(reading, thought):
        reading.add(Thinking(thought, message_id), "assistant", native_id=_below(reading, "thinking"), session=session)
    elif not thought and (data.get("reasoningOpaque") or data.get("encryptedContent")):
        secret = Thinking("", message_id, is_encrypted=True)
        reading.add(secret, "assistant", native_id=_below(reading, "thinking"), session=session)
    said = reading.text(data, "content")
    if said:
        reading.add(AssistantMessage(said, model, message_id=message_id), "assistant", session=session)
    for request in reading.items(data, "toolRequests"):
        read_call(reading, mapping(request), message_id=message_id, session=session)
    output = reading.count(data, "outputTokens")
    if output:
        name = f"message:{message_id or reading.native_id or reading.index}"
        usage = TokenUsage(model, output_tokens=output, dedupe_key=name, is_additive=False)
        reading.add(usage, "assistant", native_id=_below(reading, "usage"), session=session)
    reading.extra(data, _ASSISTANT_FIELDS, "assistant.message")


def read_reasoning(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give reasoning that stands alone; its message will repeat it."""
    thought = reading.text(data, "content")
    if thought:
        reading.set(reasonings=remember(reading.now("reasonings"), content_sha256(thought), MAX_REASONINGS))
    reading.add(Thinking(thought, reading.text(data, "reasoningId")), "assistant", session=session)


def read_system(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give a system or developer prompt."""
    role = text(data.get("role")) or "system"
    reading.add(Instructions(reading.text(data, "content"), f"{role} message"), session=session)


def read_notification(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give what the harness told the model in the user's role: a background task ended, an agent is done."""
    reading.add(UserMessage(reading.text(data, "content"), "injected"), "user", session=session)
    kind = data.get("kind")
    if kind:
        note = Lifecycle("notification", detail=kind)
        reading.add(note, native_id=_below(reading, "kind"), session=session)


def read_skill(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give the use of a skill, and its text as instructions."""
    rest = {k: v for k, v in data.items() if k not in ("content", "name") and v not in (None, "", [])}
    reading.add(Lifecycle("skill", text=text(data.get("name")), detail=rest or None), session=session)
    body = reading.text(data, "content")
    if body:
        source = text(data.get("path")) or text(data.get("name"))
        reading.add(Instructions(body, source), native_id=_below(reading, "content"), session=session)


def _is_thought(reading: Reading[S], thought: str) -> bool:
    return content_sha256(thought) in reading.now("reasonings")


def _below(reading: Reading[S], name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None
