"""The messages of a conversation, by who wrote them and for whom."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.chatgpt.contents import KNOWN, Said, attachments_of, read_content, thoughts_of
from recollect.agents.chatgpt.fields import AUTHOR, MESSAGE, METADATA, REFERENCES, STATUSES
from recollect.agents.chatgpt.tools import failed, read_edits, read_references, structured_of
from recollect.agents.kit.access import items, mapping, number, text
from recollect.agents.kit.exports.document import stamp
from recollect.agents.kit.exports.tree import Tree
from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.payloads import (
    AssistantMessage,
    Instructions,
    Lifecycle,
    Origin,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.tools import canonical_tool

_EVERYBODY = frozenset(("", "all", "assistant", "user"))
_TOOL = "tool:"
_REASONING = "analysis"
_MAX_CLIMB = 64


class Talk:
    """A conversation while it is read: its nodes, and which call asked for what came back."""

    __slots__ = ("given", "nodes", "tree")

    def __init__(self, tree: Tree, nodes: dict[str, dict[str, Any]]) -> None:
        self.tree = tree
        self.nodes = nodes
        self.given: dict[str, str] = {}
        """By node, the native id of the first event that it gave."""

    def message(self, key: str) -> dict[str, Any]:
        """Return the message of a node, an empty one where there is none."""
        return mapping(mapping(self.nodes.get(key)).get("message"))

    def above(self, key: str) -> str | None:
        """Return the event of the nearest message above that gave one."""
        climb = self.tree.ancestry(key, _MAX_CLIMB)
        next(climb, None)
        return next((self.given[above] for above in climb if above in self.given), None)

    def call_of(self, key: str, name: str) -> str:
        """Return the call that a tool's message answers: the nearest above of its tool, else the nearest of any."""
        climb = self.tree.ancestry(key, _MAX_CLIMB)
        next(climb, None)
        nearest = ""
        for above in climb:
            message = self.message(above)
            role = mapping(message.get("author")).get("role")
            if role == "user":
                break
            recipient = text(message.get("recipient"))
            if role == "assistant" and recipient not in _EVERYBODY:
                if recipient == name or recipient.partition(".")[0] == name.partition(".")[0]:
                    return above
                nearest = nearest or above
        return nearest


def read_message(reading: Reading[BaseState], key: str, message: dict[str, Any], talk: Talk) -> None:
    """Give one message."""
    stamp(reading, message.get("create_time"), "create_time")
    author = reading.mapping(message, "author")
    metadata = reading.mapping(message, "metadata")
    role = text(author.get("role"))
    real = text(mapping(author.get("metadata")).get("real_author"))
    content = message.get("content")
    kind = text(mapping(content).get("content_type"))
    if kind and kind not in KNOWN:
        reading.unknown(f"content/{kind}", content, native_id=f"{key}/content")
    said = read_content(content) if not kind or kind in KNOWN else Said("")
    if role == "assistant" and not real.startswith(_TOOL):
        _read_assistant(reading, key, message, said)
    elif role in ("tool", "assistant"):
        _read_result(reading, key, message, said, talk)
    elif role in ("system", "developer"):
        _read_system(reading, key, metadata, said)
    elif role == "user":
        _read_user(reading, key, message, said)
    else:
        reading.unknown(f"message/{role or 'role'}", message, native_id=key)
    for n, odd in enumerate(said.odd, 1):
        kind_of_part = text(mapping(odd).get("content_type")) or type(odd).__name__
        reading.unknown(f"part/{kind_of_part}", odd, native_id=f"{key}/part/{n}")
    _read_rest(reading, key, message, author, metadata)


def _read_rest(
    reading: Reading[BaseState], key: str, message: dict[str, Any], author: dict[str, Any], metadata: dict[str, Any]
) -> None:
    """Give what stands beside the words: sources, an interruption, and fields that are not known."""
    references = read_references(metadata, REFERENCES)
    if references:
        reading.add(Lifecycle("references", detail=references), native_id=f"{key}/references")
    how = text(mapping(metadata.get("finish_details")).get("type"))
    if how == "interrupted":
        reading.add(Lifecycle("interrupted", text="the user stopped the answer"), native_id=f"{key}/interrupted")
    reading.odd_value("message.status", message.get("status"), STATUSES)
    reading.extra(message, MESSAGE, "message", native_id=key)
    reading.extra(author, AUTHOR, "author", native_id=key)
    reading.extra(metadata, METADATA, "metadata", native_id=key)
    content = mapping(message.get("content"))
    known = KNOWN.get(text(content.get("content_type")))
    if known is not None:
        reading.extra(content, known, f"content_{content['content_type']}", native_id=key)


def _read_user(reading: Reading[BaseState], key: str, message: dict[str, Any], said: Said) -> None:
    """Give what stands in the user's role: words, instructions that go along hidden, or what the page put in."""
    metadata = mapping(message.get("metadata"))
    content = mapping(message.get("content"))
    if content.get("content_type") == "user_editable_context":
        if said.text:
            reading.add(Instructions(said.text, "custom instructions"), native_id=key)
        return
    parts = (*said.parts, *attachments_of(metadata))
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    origin: Origin = "injected" if hidden else "human"
    if said.text or parts:
        reading.add(UserMessage(said.text, origin, parts), "user", native_id=key)


def _read_system(reading: Reading[BaseState], key: str, metadata: dict[str, Any], said: Said) -> None:
    """Give a prompt; the one that every conversation begins with is empty. Instructions of the user may be metadata."""
    is_users = metadata.get("is_user_system_message") is True
    context = mapping(metadata.get("user_context_message_data"))
    lines = [said.text, *(text(context.get(name)) for name in ("about_user_message", "about_model_message"))]
    words = "\n".join(line for line in lines if line)
    if words:
        reading.add(Instructions(words, "custom instructions" if is_users else "system message"), native_id=key)


def _read_assistant(reading: Reading[BaseState], key: str, message: dict[str, Any], said: Said) -> None:
    """Give what the model said, thought, or asked of a tool: a message to a recipient other than everybody."""
    metadata = mapping(message.get("metadata"))
    content = mapping(message.get("content"))
    kind = text(content.get("content_type"))
    recipient = text(message.get("recipient"))
    if kind == "thoughts" or (message.get("channel") == _REASONING and recipient in _EVERYBODY):
        thought = thoughts_of(content) if kind == "thoughts" else said.text
        if thought:
            reading.add(Thinking(thought, key), "assistant", native_id=f"{key}/thinking")
    elif kind == "reasoning_recap":
        if said.text:
            reading.add(Lifecycle("reasoning_recap", text=said.text), native_id=key)
    elif kind in ("model_editable_context", "user_editable_context"):
        if said.text:
            reading.add(Instructions(said.text, "memory"), native_id=key)
    elif recipient not in _EVERYBODY:
        asked = ToolCall(key, recipient, canonical_of(recipient), _arguments(kind, content, said), key)
        reading.add(asked, "assistant", native_id=f"call:{key}")
    elif said.text or said.parts:
        answer = AssistantMessage(
            said.text,
            model=text(metadata.get("model_slug")),
            stop_reason=text(mapping(metadata.get("finish_details")).get("type")),
            message_id=key,
            parts=said.parts,
        )
        reading.add(answer, "assistant", native_id=key)


def canonical_of(name: str) -> str:
    """Return the canonical name of a tool: of its whole name, else of what stands before the dot (`web.run`)."""
    found = canonical_tool(name)
    return found if found != "other" else canonical_tool(name.partition(".")[0])


def _arguments(kind: str, content: dict[str, Any], said: Said) -> dict[str, Any]:
    """Return what a tool was asked: the object that the text is, else the code or the words."""
    decoded = decode_object(said.text)
    if decoded is not None:
        return decoded
    if kind == "code":
        language = text(content.get("language"))
        return {"code": said.text, **({"language": language} if language not in ("", "unknown") else {})}
    return {"input": said.text}


def decode_object(words: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, or None."""
    if not words.lstrip().startswith("{"):
        return None
    try:
        found = msgspec.json.decode(words)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read_result(reading: Reading[BaseState], key: str, message: dict[str, Any], said: Said, talk: Talk) -> None:
    """Give what a tool gave back. Several messages may answer one call, each a page or a picture."""
    metadata = mapping(message.get("metadata"))
    author = mapping(message.get("author"))
    real = text(mapping(author.get("metadata")).get("real_author"))
    name = text(author.get("name")) or real.removeprefix(_TOOL)
    call_id = talk.call_of(key, name)
    run = mapping(metadata.get("aggregate_result"))
    begun, ended = number(run.get("start_time")), number(run.get("end_time"))
    is_error = mapping(message.get("content")).get("content_type") == "system_error"
    ok = False if is_error else failed(metadata, run)
    if ok is not False and call_id:
        asked = talk.message(call_id)
        arguments = decode_object(read_content(asked.get("content")).text) or {}
        read_edits(reading, key, call_id, text(asked.get("recipient")), arguments, mapping(metadata.get("canvas")))
    result = ToolResult(
        call_id=call_id,
        name=name,
        ok=ok,
        text=said.text,
        structured=structured_of(metadata, run, said),
        duration_ms=int((ended - begun) * 1000) if begun and ended and 0 <= ended - begun < 1e9 else None,
        parts=(*said.parts, *_pictures(run), *attachments_of(metadata)),
    )
    reading.add(result, "tool", native_id=f"result:{key}")


def _pictures(run: dict[str, Any]) -> tuple[Part, ...]:
    """Return the pictures that a program drew."""
    drawn = [mapping(one) for one in items(run.get("messages"))]
    return tuple(Part("image", url=text(one.get("image_url"))) for one in drawn if text(one.get("image_url")))
