"""ChatGPT: parses a conversation into events. Pure; never raises on content."""

from __future__ import annotations

from typing import Any

from recollect.agents.chatgpt.messages import ABOUT, CONVERSATION, NODE, Talk, read_message
from recollect.agents.facts import facts_of
from recollect.agents.kit.adapter import BaseState, Reading, read_odd
from recollect.agents.kit.exports import ExportAdapter, Tree, conversation_of, first_element, read_tree, stamp
from recollect.agents.kit.values import items, mapping, text
from recollect.model.payloads import Lifecycle, SessionStart

_NODE_KEYS = frozenset(("message", "parent", "children"))
_BRANCHED = "branching_from_conversation_id"


class ChatGPTAdapter(ExportAdapter):
    """The adapter of ChatGPT's data export."""

    facts = facts_of("chatgpt")

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a conversation with a `mapping` of nodes that hang on each other."""
        if b'"mapping"' not in head:
            return None
        found = first_element(head) or {}
        nodes = found.get("mapping")
        if not isinstance(nodes, dict) or not {"title", "create_time", "conversation_id"} & found.keys():
            return None
        node = next(iter(nodes.values()), None)
        is_empty = not nodes and bool({"current_node", "conversation_id"} & found.keys())
        return "conversations" if is_empty or (isinstance(node, dict) and node.keys() & _NODE_KEYS) else None

    def read(self, reading: Reading[BaseState]) -> None:
        conversation = conversation_of(reading)
        if conversation is None:
            read_odd(reading)
            return
        nodes = {key: mapping(node) for key, node in mapping(conversation.get("mapping")).items()}
        # Emit what is said of the conversation as a whole; its flags and its title may change with every export.
        stamp(reading, conversation.get("create_time"), "create_time")
        model = reading.text(conversation, "default_model_slug")
        start = SessionStart(model="" if model == "auto" else model, originator="chatgpt", forked_from=_origin(nodes))
        reading.add(start, native_id="start")
        reading.entitle(reading.text(conversation, "title"))
        about = {name: conversation[name] for name in ABOUT if conversation.get(name)}
        if about:
            reading.add(Lifecycle("conversation", detail=about), native_id="conversation")
        reading.extra(conversation, CONVERSATION, "conversation", native_id="start")
        if not isinstance(conversation.get("mapping"), dict):
            reading.wrong("mapping")
            reading.kept("mapping", conversation.get("mapping") or "", native_id="mapping")
        parents = {key: text(node.get("parent")) for key, node in nodes.items()}
        listed = {
            key: [child for child in items(node.get("children")) if isinstance(child, str)]
            for key, node in nodes.items()
        }
        talk = Talk(Tree(parents, listed, text(conversation.get("current_node"))), nodes)
        read_tree(reading, talk.tree, talk.given, talk.above, lambda key: _read_node(reading, key, talk))


def _read_node(reading: Reading[BaseState], key: str, talk: Talk) -> None:
    node = talk.nodes[key]
    message = node.get("message")
    if isinstance(message, dict):
        read_message(reading, key, message, talk)
    elif message is not None:
        reading.wrong("message")
        reading.unknown("message", message, native_id=key)
    reading.extra(node, NODE, "node", native_id=key)


def _origin(nodes: dict[str, dict[str, Any]]) -> str:
    """Return the conversation that this one was branched from, which stands on one of its messages."""
    for node in nodes.values():
        origin = mapping(mapping(node.get("message")).get("metadata")).get(_BRANCHED)
        if isinstance(origin, str) and origin:
            return origin
    return ""
