"""Posit Assistant: one line or tree node in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.calls import TurnState
from recollect.agents.kit.content import Speaker, read_content
from recollect.agents.kit.names import name_of
from recollect.agents.kit.values import mapping, text
from recollect.agents.posit.declare import FACTS
from recollect.model.payloads import Json, Lifecycle, SessionStart, TokenUsage
from recollect.model.records import SourceInfo

Reading = kit.Reading[TurnState]

_SUMMARY = re.compile(r"\s*<MESSAGESUMMARY>(.*?)</MESSAGESUMMARY>", re.S)
"""A note for the agent's own list of conversations that the model writes below its answer."""
_INFERRED_WRITES = ("glm-", "gemma-", "kimi-")
"""Model families without paid cache writes: there the number is the rest of the prompt."""
_KINDS = frozenset(("main", "subagent"))
_ROLES = frozenset(("user", "assistant", "system", "tool"))
_ROOT_FIELDS = frozenset(("id", "summary", "title", "timestamp", "metadata"))
_METADATA = frozenset(("kind", "modeState", "gitBranch", "model", "parentTreeId", "task"))
_DOCUMENT_FIELDS = frozenset(("schemaVersion", "root", "files"))
_NODE_FIELDS = frozenset(("id", "parentId", "isActive", "lmMessageIds", "timestamp", "metadata", "uiMessageIds"))
_LINE_FIELDS = frozenset(("id", "message"))
_MESSAGE_FIELDS = frozenset(("role", "content", "providerOptions"))
_OWN_FIELDS = frozenset(("timestamp", "modelId", "modelName", "providerId", "providerName", "usage"))
_USAGE_FIELDS = frozenset(
    "inputTokens outputTokens totalTokens cacheReadTokens cacheWriteTokens cacheWrite5mTokens cacheWrite1hTokens "
    "reasoningTokens".split()
)
_EVENT_FIELDS = _USAGE_FIELDS | frozenset(("type", "kind", "modelId", "providerId", "timestamp", "anchorMessageId"))


class PositAdapter(KitAdapter[TurnState]):
    """The adapter of Posit Assistant."""

    facts = FACTS
    state_type = TurnState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a numbered message with the agent's own metadata, or its tree."""
        del path
        line = head.lstrip().partition(b"\n")[0]
        if line.startswith(b'{"id":') and b'"message":{"role":' in line and b'"positai"' in line:
            return "messages"
        is_tree = head.lstrip().startswith(b"{") and b'"lmMessageIds"' in head and b'"schemaVersion"' in head
        return "tree" if is_tree else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the folder is named after the conversation."""
        folder = info.path.rpartition("/")[0].rpartition("/")[2]
        return folder or info.stem or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif reading.state.role == "usage":
            _read_usage_event(reading)
        elif reading.state.role != "tree":
            _read_line(reading)
        elif reading.at == "messages":
            _read_node(reading)
        else:
            _read_root(reading)


def _read_line(reading: Reading) -> None:
    """Give one message as the model got or wrote it. A line with the number of an earlier one replaces it."""
    line = reading.value
    number = reading.whole(line, "id")
    name = f"lm:{number}" if number is not None else name_of(reading, "lm", line)
    message = reading.mapping(line, "message")
    own = mapping(mapping(mapping(message.get("providerOptions")).get("providerMetadata")).get("positai"))
    reading.date(own.get("timestamp"))
    role = reading.text(message, "role")
    if role not in _ROLES:
        reading.unknown(text(line.get("type")) or role or "record", native_id=name)
        return
    model = text(own.get("modelId"))
    content = message.get("content")
    if role == "assistant":
        content, summary = _without_summary(content)
        read_content(reading, content, Speaker(role, name, model))
        if summary:
            reading.add(Lifecycle("message_summary", text=summary), native_id=f"{name}/summary")
        _add_usage(reading, reading.mapping(own, "usage"), model, name)
    else:
        read_content(reading, content, Speaker(role, name, model))
    reading.extra(line, _LINE_FIELDS, "line", native_id=name)
    reading.extra(message, _MESSAGE_FIELDS, "message", native_id=name)
    reading.extra(own, _OWN_FIELDS, "positai", native_id=name)


def _without_summary(content: Json) -> tuple[Json, str]:
    """Return an answer without the summary that the model appended, and that summary."""
    found: list[str] = []

    def cut(said: str) -> str:
        found.extend(m.strip() for m in _SUMMARY.findall(said))
        return _SUMMARY.sub("", said)

    if isinstance(content, str):
        return cut(content), "\n".join(found)
    if not isinstance(content, list):
        return content, ""
    kept = [
        {**block, "text": cut(block["text"])}
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        else block
        for block in content
    ]
    return kept, "\n".join(found)


def _add_usage(reading: Reading, usage: dict[str, Any], model: str, name: str) -> None:
    """Give what a request cost. The prompt is in three parts that do not overlap."""
    fresh = reading.count(usage, "inputTokens")
    output = reading.count(usage, "outputTokens")
    read = reading.count(usage, "cacheReadTokens")
    written = reading.count(usage, "cacheWriteTokens")
    written_1h = min(reading.count(usage, "cacheWrite1hTokens"), written)
    if fresh == output == read == written == 0:
        return
    if model.rpartition("/")[2].lower().startswith(_INFERRED_WRITES):
        fresh, written, written_1h = fresh + written, 0, 0
    counted = TokenUsage(
        model=model,
        input_tokens=fresh,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_5m_tokens=written - written_1h,
        cache_write_1h_tokens=written_1h,
        reasoning_tokens=reading.count(usage, "reasoningTokens"),
        dedupe_key=f"posit:{reading.state.session}:{name}",
    )
    reading.add(counted, native_id=f"{name}/usage")
    if reading.state.role == "messages":
        reading.extra(usage, _USAGE_FIELDS, "usage", native_id=name)


def _read_usage_event(reading: Reading) -> None:
    """Give a request beside the conversation: one that keeps a cache warm, or a classifier's."""
    event = reading.value
    reading.date(event.get("timestamp"))
    kind = reading.text(event, "kind")
    if event.get("type") != "usage" or not kind:
        reading.unknown(text(event.get("type")) or kind or "record")
        return
    name = name_of(reading, "request", event)
    _add_usage(reading, event, text(event.get("modelId")), name)
    detail = {k: event[k] for k in ("providerId", "anchorMessageId") if event.get(k)}
    reading.add(Lifecycle("request", text=kind, detail=detail or None), native_id=name)
    reading.extra(event, _EVENT_FIELDS, "usage", native_id=name)


def _read_root(reading: Reading) -> None:
    """Give what the tree says of the conversation itself. Members after the messages come in a record of their own."""
    document = reading.value
    reading.extra(document, _DOCUMENT_FIELDS, "conversation", native_id="conversation")
    files = document.get("files")
    if files:
        reading.add(Lifecycle("files", detail=files), native_id="files")
    root = reading.mapping(document, "root")
    if not root:
        return
    reading.date(root.get("timestamp"))
    metadata = reading.mapping(root, "metadata")
    kind = text(metadata.get("kind"))
    reading.odd_value("metadata.kind", kind, _KINDS)
    is_subagent = kind == "subagent"
    reading.add(
        SessionStart(
            git_branch=reading.text(metadata, "gitBranch"),
            model=text(mapping(metadata.get("model")).get("id")),
            originator=kind,
            parent_session=reading.text(metadata, "parentTreeId") if is_subagent else "",
            agent_name=reading.text(metadata, "task") if is_subagent else "",
        ),
        native_id="start",
    )
    title = reading.text(root, "title") or reading.text(root, "summary")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    mode = metadata.get("modeState")
    if mode:
        reading.add(Lifecycle("mode", detail=mode), native_id="mode")
    reading.extra(root, _ROOT_FIELDS, "root", native_id="start")
    reading.extra(metadata, _METADATA, "metadata", native_id="start")


def _read_node(reading: Reading) -> None:
    """Give a node only where it was left: what is said stands in the other file."""
    node = reading.value
    reading.date(node.get("timestamp"))
    name = f"node:{text(node.get('id'))[: kit.MAX_NAME_CHARS]}"
    if node.get("isActive") is False:
        detail = {"messages": node.get("lmMessageIds"), "parent": node.get("parentId")}
        reading.add(Lifecycle("branch_left", detail=detail), native_id=name)
    reading.extra(node, _NODE_FIELDS, "node", native_id=name)
