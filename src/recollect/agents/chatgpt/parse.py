"""ChatGPT: one conversation in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from typing import Any

from recollect.agents.chatgpt.declare import FACTS
from recollect.agents.chatgpt.fields import ABOUT, CONVERSATION, NODE
from recollect.agents.chatgpt.messages import Talk, read_message
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.exports.document import Branches, conversation_of, session_of, stamp
from recollect.agents.kit.exports.head import first_element
from recollect.agents.kit.exports.tree import Left, Tree
from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.payloads import Lifecycle, SessionStart
from recollect.model.records import SourceInfo

_NODE_KEYS = frozenset(("message", "parent", "children"))
_BRANCHED = "branching_from_conversation_id"


class ChatGPTAdapter(KitAdapter[BaseState]):
    """The adapter of ChatGPT's data export."""

    facts = FACTS
    state_type = BaseState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a conversation with a `mapping` of nodes that hang on each other."""
        del path
        if b'"mapping"' not in head:
            return None
        found = first_element(head) or {}
        nodes = found.get("mapping")
        if not isinstance(nodes, dict) or not {"title", "create_time", "conversation_id"} & found.keys():
            return None
        node = next(iter(nodes.values()), None)
        is_empty = not nodes and bool({"current_node", "conversation_id"} & found.keys())
        return "conversations" if is_empty or (isinstance(node, dict) and node.keys() & _NODE_KEYS) else None

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
        nodes = {key: mapping(node) for key, node in mapping(conversation.get("mapping")).items()}
        _read_start(reading, conversation, nodes)
        parents = {key: text(node.get("parent")) for key, node in nodes.items()}
        listed = {
            key: [child for child in items(node.get("children")) if isinstance(child, str)]
            for key, node in nodes.items()
        }
        talk = Talk(Tree(parents, listed, text(conversation.get("current_node"))), nodes)
        branches = Branches(reading)
        for step in talk.tree.walk():
            if isinstance(step, Left):
                branches.leave(step)
                continue
            branches.enter(step)
            reading.parent_id = talk.above(step.key)
            before = len(reading.events)
            _read_node(reading, step.key, talk)
            reading.parent_id = None
            if len(reading.events) > before:
                talk.given[step.key] = reading.events[before].native_id or ""


def _read_node(reading: Reading[BaseState], key: str, talk: Talk) -> None:
    node = talk.nodes[key]
    message = node.get("message")
    if isinstance(message, dict):
        read_message(reading, key, message, talk)
    elif message is not None:
        reading.wrong("message")
        reading.unknown("message", message, native_id=key)
    reading.extra(node, NODE, "node", native_id=key)


def _read_start(reading: Reading[BaseState], conversation: dict[str, Any], nodes: dict[str, dict[str, Any]]) -> None:
    """Give what is said of the conversation as a whole; its flags and its title may change with every export."""
    stamp(reading, conversation.get("create_time"), "create_time")
    model = reading.text(conversation, "default_model_slug")
    start = SessionStart(model="" if model == "auto" else model, originator="chatgpt", forked_from=_origin(nodes))
    reading.add(start, native_id="start")
    title = reading.text(conversation, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    about = {name: conversation[name] for name in ABOUT if conversation.get(name)}
    if about:
        reading.add(Lifecycle("conversation", detail=about), native_id="conversation")
    reading.extra(conversation, CONVERSATION, "conversation", native_id="start")
    if not isinstance(conversation.get("mapping"), dict):
        reading.wrong("mapping")
        reading.kept("mapping", conversation.get("mapping") or "", native_id="mapping")


def _origin(nodes: dict[str, dict[str, Any]]) -> str:
    """Return the conversation that this one was branched from, which stands on one of its messages."""
    for node in nodes.values():
        origin = mapping(mapping(node.get("message")).get("metadata")).get(_BRANCHED)
        if isinstance(origin, str) and origin:
            return origin
    return ""
