"""Claude.ai: one conversation in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from typing import Any

from recollect.agents.claudeai.declare import FACTS
from recollect.agents.claudeai.messages import Talk, read_message
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.exports.document import Branches, conversation_of, session_of, stamp
from recollect.agents.kit.exports.head import first_element
from recollect.agents.kit.exports.tree import Left, Tree
from recollect.agents.kit.naming import content_sha256
from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.payloads import Lifecycle, SessionStart
from recollect.model.records import SourceInfo

_CONVERSATION = frozenset(
    """uuid id name summary created_at updated_at account chat_messages model settings is_starred is_temporary platform
    project_uuid project current_leaf_message_uuid snapshot_name created_by creator is_public up_to_date""".split()
)
_ABOUT = ("is_starred", "is_temporary", "platform", "project_uuid", "project")


class ClaudeAIAdapter(KitAdapter[BaseState]):
    """The adapter of Claude.ai's data export."""

    facts = FACTS
    state_type = BaseState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a conversation is the only thing of an export that has `chat_messages`."""
        del path
        if b'"chat_messages"' not in head:
            return None
        found = first_element(head) or {}
        messages = found.get("chat_messages")
        if not isinstance(messages, list) or "uuid" not in found:
            return None
        first = messages[0] if messages else {"sender": ""}
        return "conversations" if isinstance(first, dict) and first.keys() & {"sender", "uuid", "text"} else None

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: the conversation, in whichever file of an export it stands."""
        return f"{info.role}/{info.document}" if info.document else info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`."""
        return session_of(info) or super().identify(info, head)

    def read(self, reading: Reading[BaseState]) -> None:
        """See `KitAdapter.read`."""
        conversation = conversation_of(reading)
        if conversation is None:
            read_odd(reading)
            return
        _read_start(reading, conversation)
        messages = _named(reading, reading.items(conversation, "chat_messages"))
        tree = Tree(_parents(messages), {}, _current(conversation, messages))
        talk = Talk(messages)
        branches = Branches(reading)
        for step in tree.walk():
            if isinstance(step, Left):
                branches.leave(step)
                continue
            branches.enter(step)
            climb = tree.ancestry(step.key)
            next(climb, None)
            reading.parent_id = talk.given.get(next(climb, ""))
            before = len(reading.events)
            read_message(reading, step.key, talk)
            reading.parent_id = None
            if len(reading.events) > before:
                talk.given[step.key] = reading.events[before].native_id or ""


def _read_start(reading: Reading[BaseState], conversation: dict[str, Any]) -> None:
    """Give what is said of the conversation as a whole; its title and summary may change with every export."""
    stamp(reading, conversation.get("created_at"), "created_at")
    start = SessionStart(model=reading.text(conversation, "model"), originator="claude.ai")
    reading.add(start, native_id="start")
    title = reading.text(conversation, "name")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    summary = reading.text(conversation, "summary")
    if summary:
        reading.add(Lifecycle("summary", text=summary), native_id="summary")
    about = {name: conversation[name] for name in _ABOUT if conversation.get(name)}
    if about:
        reading.add(Lifecycle("conversation", detail=about), native_id="conversation")
    reading.extra(conversation, _CONVERSATION, "conversation", native_id="start")


def _named(reading: Reading[BaseState], found: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the messages by name: their own, else one made of what they say. Equal names are numbered."""
    named: dict[str, dict[str, Any]] = {}
    for value in found:
        message = mapping(value)
        if not message:
            reading.wrong("chat_messages")
            reading.kept("chat_messages", value, native_id=f"odd-{content_sha256(value)}")
            continue
        name = text(message.get("uuid")) or f"h-{content_sha256(message)}"
        number = 1
        unique = name
        while unique in named:
            number += 1
            unique = f"{name}/{number}"
        named[unique] = message
    return named


def _parents(messages: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the message before each: the one it names, or where exports have none yet, the one that stands there."""
    parents: dict[str, str] = {}
    before = ""
    for name, message in messages.items():
        parent = message.get("parent_message_uuid")
        parents[name] = parent if isinstance(parent, str) and parent else before
        before = name
    return parents


def _current(conversation: dict[str, Any], messages: dict[str, dict[str, Any]]) -> str:
    """Return the message where the conversation is now: as it says, else the newest one."""
    said = text(conversation.get("current_leaf_message_uuid"))
    if said in messages:
        return said
    # Of equally new ones the last: the time of a message that has none reads as the oldest.
    return max(reversed(messages), key=lambda name: text(messages[name].get("created_at")), default="")
