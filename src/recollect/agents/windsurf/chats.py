"""The older chat of a workspace: one value that holds all conversations, as tabs of bubbles or as requests.

It says neither when nor with which tools. Every conversation is a session of its own.
Evidence: format notes: Windsurf, store 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.adapter import read_odd
from recollect.agents.kit.naming import content_sha256
from recollect.agents.kit.reading import MAX_NAME_CHARS
from recollect.agents.windsurf.state import Step, move, named
from recollect.model.payloads import AssistantMessage, Json, Lifecycle, SessionStart, UserMessage

_USER = (1, "1", "user", "human")
_ASSISTANT = (2, "2", "ai", "assistant")
_TEXTS = ("text", "rawText", "initText", "content")
_TAB = frozenset(
    (
        "tabId", "chatTitle", "bubbles", "sessionId", "requests", "version", "title", "customTitle", "tabState",
        "requesterUsername", "responderUsername", "initialLocation", "creationDate", "lastMessageDate", "id",
    )
)  # fmt: skip
_BUBBLE = frozenset(("type", "id", *_TEXTS))
_REQUEST = frozenset(("requestId", "message", "response", "timestamp", "variableData", "responseId", "modelId"))


def read_chat_row(step: Step) -> None:
    """Give all conversations of a row."""
    if not isinstance(step.record.value, dict) or "key" not in step.value:
        read_odd(step)
        return
    value = step.value.get("value")
    if value is None:
        return
    found = list(_conversations(value))
    if not found and value not in ("", [], {}) and not _is_empty(value):
        step.unknown(text(step.value.get("key")) or "row", value)
    for conversation in found:
        _read_conversation(step, conversation)


def _is_empty(value: Json) -> bool:
    """A chat that was opened and never used has no tab."""
    lists = [v for k, v in mapping(value).items() if k in ("tabs", "requests", "sessions")]
    return bool(lists) and not any(lists)


def _conversations(value: Json) -> Iterator[dict[str, Any]]:
    """Yield what has bubbles or requests: the value, its tabs or sessions, or the elements of a list."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    for item in listed:
        if not isinstance(item, dict):
            continue
        if _is_conversation(item):
            yield item
        for name in ("tabs", "sessions"):
            inner = item.get(name)
            yield from filter(_is_conversation, items(inner) or list(mapping(inner).values()))


def _is_conversation(value: Json) -> bool:
    fields = mapping(value)
    return isinstance(fields.get("bubbles"), list) or isinstance(fields.get("requests"), list)


def _read_conversation(step: Step, conversation: dict[str, Any]) -> None:
    bubbles, requests = items(conversation.get("bubbles")), items(conversation.get("requests"))
    if not bubbles and not requests:
        return
    at = len(step.events)
    step.ts, step.ts_quality = None, "missing"
    own = next((t for n in ("tabId", "sessionId", "id") if (t := text(conversation.get(n)))), "")
    session = own[:MAX_NAME_CHARS] or f"chat-{content_sha256((bubbles or requests)[0])}"
    step.add(SessionStart(), native_id="start")
    title = next((t for n in ("chatTitle", "customTitle", "title") if (t := text(conversation.get(n)))), "")
    if title:
        step.add(Lifecycle("title", title=title), native_id="title")
    for bubble in bubbles:
        _read_bubble(step, session, bubble)
    for request in requests:
        _read_request(step, session, request)
    step.extra(conversation, _TAB, "chat", native_id="chat")
    move(step, at, session)


def _name(step: Step, own: Json, session: str, kind: str, content: Json) -> str:
    written = text(own)
    return f"{kind}:{written[:MAX_NAME_CHARS]}" if written else named(step, kind, session, content)


def _read_bubble(step: Step, session: str, bubble: Json) -> None:
    fields = mapping(bubble)
    said = next((fields[n] for n in _TEXTS if isinstance(fields.get(n), str) and fields[n]), "")
    if fields and not said:
        return
    kind = fields.get("type")
    kind = kind if isinstance(kind, int | str) else ""
    name = _name(step, fields.get("id"), session, "bubble", bubble)
    if kind in _USER:
        step.add(UserMessage(said), "user", native_id=name)
    elif kind in _ASSISTANT:
        step.add(AssistantMessage(said), "assistant", native_id=name)
    else:
        step.unknown(f"bubble:{kind}" if fields else "bubble", bubble, native_id=name)
        return
    step.extra(fields, _BUBBLE, "bubble", native_id=name)


def _read_request(step: Step, session: str, request: Json) -> None:
    """Give a question and the words of its answer, as VS Code's own chat writes them."""
    fields = mapping(request)
    message = fields.get("message")
    asked = message if isinstance(message, str) else text(mapping(message).get("text"))
    name = _name(step, fields.get("requestId"), session, "request", request)
    at = len(step.events)
    if fields.get("timestamp") is not None:
        step.date(fields["timestamp"])
    if asked:
        step.add(UserMessage(asked), "user", native_id=name)
    words: list[str] = []
    for part in items(fields.get("response")):
        piece = mapping(part).get("value", mapping(part).get("content"))
        said = part if isinstance(part, str) else piece if isinstance(piece, str) else text(mapping(piece).get("value"))
        if said:
            words.append(said)
        elif isinstance(part, dict) and part:
            step.unknown(text(part.get("kind")) or "response", part, native_id=named(step, "response", session, part))
    if words:
        step.add(AssistantMessage("".join(words)), "assistant", native_id=f"{name}/answer")
    if len(step.events) == at:
        step.unknown("request", request, native_id=name)
        return
    step.extra(fields, _REQUEST, "request", native_id=name)
