"""Parses messages of a pi session: text, reasoning, calls, results and usage.

Evidence: format notes: pi, "AgentMessage roles"; packages/coding-agent/docs/session.md.
"""

import re
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState, Reading
from recollect.agents.kit.calls import Waiting, arrived, edits_asked, expect, file_edits
from recollect.agents.kit.content import base64_part, without_opaque
from recollect.agents.kit.names import content_sha256, is_storable
from recollect.agents.kit.values import text
from recollect.model import payloads as kinds
from recollect.model.events import Role
from recollect.model.records import Record
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What the parser of a pi session remembers, and the entry in hand.
#
# Evidence: format notes: pi.

MAX_ENTRIES = 512
"""How far back a jump in the tree is understood."""
MAX_USAGES = 64
_MAX_ID_CHARS = 64

ASIDE, MESSAGE, TURN = 0, 1, 2
"""What an entry weighs when a branch is left behind."""


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One entry of the tree: its id, its parent's, its weight, and the event before it."""

    name: str
    parent: str
    weight: int
    before: str = ""


class PiState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """State after an entry. leaf: id of the last one; usages: (entry id, dedupe key) of the last responses."""

    parent_session: str = ""
    is_migrated: bool = False
    leaf: str = ""
    entries: tuple[Entry, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    usages: tuple[tuple[str, str], ...] = ()


class PiReading(Reading[PiState]):
    """An entry in hand. Its id names its events; entries of the oldest files have none and are named by a hash."""

    __slots__ = ("former",)

    def __init__(self, record: Record, state: PiState) -> None:
        super().__init__(record, state)
        own = text(self.value.get("id"))
        is_header = self.value.get("type") == "session"
        self.former = content_name(self.value) if not is_header and (state.is_migrated or not own) else ""
        self.native_id = None if is_header else own or self.former
        self.parent_id = text(self.value.get("parentId")) or None

    def give(self, payload: kinds.Payload, role: Role = "system", suffix: str = "") -> None:
        """Emit an event of the entry, named by its id and a suffix.

        Old files are rewritten with ids when pi opens them: their events replace those named by a hash.
        """
        replaces = (self.former + suffix, 0) if self.state.is_migrated and self.former != self.native_id else None
        self.add(payload, role, native_id=f"{self.native_id}{suffix}", replaces=replaces)


def content_name(entry: dict[str, Any]) -> str:
    """Return a name for an entry that has no id; the same before and after pi gave it one.

    firstKeptEntryIndex becomes an id in that migration, and hookMessage becomes custom: neither is part of the name.
    """
    message = entry.get("message")
    said = message.get("content") if isinstance(message, dict) else None
    rest = {k: v for k, v in message.items() if k not in ("role", "content")} if isinstance(message, dict) else None
    return f"v1-{content_sha256(entry.get('type'), entry.get('timestamp'), said, rest, entry.get('summary'))}"


def follow(reading: PiReading, weight: int) -> None:
    """Make the entry the new leaf; emit a rewind if its parent is not the last one.

    The entries are a tree in one file: going back appends an entry with an older parent. It is a rewind only if it
    abandons messages; labels and the like may be anywhere. A parent that is no entry (OpenClaw writes ids of sessions
    and calls there) means nothing.
    """
    name = text(reading.value.get("id"))
    if not name or len(name) > _MAX_ID_CHARS or not is_storable(name):
        return
    entries, leaf = reading.state.entries, reading.state.leaf
    written = reading.value.get("parentId")
    parent = text(written) if len(text(written)) <= _MAX_ID_CHARS and is_storable(text(written)) else ""
    is_root = "parentId" in reading.value and written is None
    if leaf and parent != leaf and (parent or is_root):
        known = {entry.name: entry for entry in entries}
        if parent in known or is_root:
            left = _left_behind(known, leaf, parent)
            if any(entry.weight for entry in left):
                dropped = sum(entry.weight == TURN for entry in left)
                reading.give(kinds.Rewind(left[-1].before or parent, dropped), suffix="/rewind")
    reading.set(leaf=name, entries=(*entries, Entry(name, parent, weight, reading.newest()))[-MAX_ENTRIES:])


def _left_behind(known: dict[str, Entry], leaf: str, target: str) -> list[Entry]:
    """Return the entries above `leaf` that are not above `target`, newest first."""
    kept = {entry.name for entry in _branch(known, target)}
    return [entry for entry in _branch(known, leaf) if entry.name not in kept]


def _branch(known: dict[str, Entry], name: str) -> list[Entry]:
    found: list[Entry] = []
    while name in known and len(found) <= MAX_ENTRIES:
        found.append(known[name])
        name = known[name].parent
    return found


_KNOWN = known_fields("pi")
_STOPS = frozenset(("stop", "length", "toolUse", "error", "aborted", "endTurn"))
_EXIT_CODE = re.compile(r"Command exited with code (-?\d{1,9})\s*\Z")
_TAIL_CHARS = 80


def read_message(reading: PiReading, message: dict[str, Any]) -> None:
    """Emit the events of an agent message, by its role."""
    role = text(message.get("role"))
    reader = _READERS.get(role)
    if reader is None:
        if role and not isinstance(message.get("content"), str | list):
            reading.unknown(f"message/{role}", without_opaque(message))
        else:
            reading.unknown(f"message/{role}", content_of(reading, message.get("content"))[0] or flatten(message))
        return
    reader(reading, message)


def content_of(reading: PiReading, content: Any) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return text and images of a content that is text or a list of blocks."""
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        if content is not None:
            reading.wrong("content")
        return flatten(content) if content is not None else "", ()
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "image":
            parts.append(_image(reading, block))
        elif kind == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
            reading.extra(block, _KNOWN["text"], "text")
        else:
            texts.append(block if isinstance(block, str) else flatten(without_opaque(block)))
    return "\n".join(filter(None, texts)), tuple(parts)


def _image(reading: PiReading, block: dict[str, Any]) -> kinds.Part:
    return reading.readable(base64_part("image", text(block.get("mimeType")), block.get("data")), "content.data")


def _user(reading: PiReading, message: dict[str, Any]) -> None:
    said, parts = content_of(reading, message.get("content"))
    for attachment in reading.items(message, "attachments"):
        if isinstance(attachment, dict):
            part, _ = base64_part(
                text(attachment.get("type")) or "file",
                text(attachment.get("mimeType")),
                attachment.get("content"),
                path=text(attachment.get("fileName")),
            )
            parts = (*parts, part)
    reading.give(kinds.UserMessage(said, "human", parts), "user")
    reading.extra(message, _KNOWN["user"], "user")


def _assistant(reading: PiReading, message: dict[str, Any]) -> None:
    model = reading.text(message, "model")
    stop_reason = reading.text(message, "stopReason")
    response_id = text(message.get("responseId"))
    reading.odd_value("assistant.stopReason", stop_reason, _STOPS)
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    counts: dict[str, int] = {}
    for block in blocks:
        kind = text(block.get("type")) if isinstance(block, dict) else ""
        number = counts[kind] = counts.get(kind, 0) + 1
        nth = f"/{number}" if number > 1 else ""
        if kind == "text":
            reading.give(
                kinds.AssistantMessage(reading.text(block, "text"), model, stop_reason, response_id), "assistant", nth
            )
            reading.extra(block, _KNOWN["text"], "text")
        elif kind == "thinking":
            thought = reading.text(block, "thinking")
            is_sealed = not thought and bool(block.get("thinkingSignature"))
            reading.give(kinds.Thinking(thought, response_id, is_sealed), "assistant", f"/thinking{nth}")
            reading.extra(block, _KNOWN["thinking"], "thinking")
        elif kind == "toolCall":
            call_id = reading.text(block, "id")
            name = reading.text(block, "name")
            arguments = block.get("arguments")
            if not arguments and text(block.get("partialJson")):
                arguments = block["partialJson"]
            expect(reading, call_id, name, edits_asked(name, arguments))
            call = kinds.ToolCall(call_id, name, canonical_tool(name), arguments, response_id)
            reading.give(call, "assistant", f"/call:{call_id or nth}")
            reading.extra(block, _KNOWN["call"], "toolCall")
        elif kind == "image":
            said = kinds.AssistantMessage("", model, stop_reason, response_id, (_image(reading, block),))
            reading.give(said, "assistant", f"/image{nth}")
        else:
            where = f"{reading.native_id}/block{nth}"
            reading.unknown(f"assistant/{kind}", without_opaque(block), native_id=where)
    error = reading.text(message, "errorMessage")
    if stop_reason == "aborted":
        reading.give(kinds.Lifecycle("interrupted", text=error), suffix="/stop")
    elif stop_reason == "error" or error:
        reading.give(kinds.Lifecycle("api_error", text=error), suffix="/stop")
    usage = reading.mapping(message, "usage")
    if usage:
        _usage(reading, usage, model, message)
    reading.extra(message, _KNOWN["assistant"], "assistant")


def _usage(reading: PiReading, usage: dict[str, Any], model: str, message: dict[str, Any]) -> None:
    """Emit a response's cost. The key is the response's own, so that a copy of the entry in a fork costs nothing.

    `input` holds no cached tokens. An aborted response without counts emits nothing.
    """
    spent = usage_of(reading, usage, model, _response_key(reading, model, message))
    if spent is None:
        return
    entry = text(reading.value.get("id"))
    reading.give(spent, "assistant", "/usage")
    if entry and is_storable(entry) and is_storable(spent.dedupe_key):
        reading.set(usages=(*reading.state.usages, (entry, spent.dedupe_key))[-MAX_USAGES:])
    reading.extra(usage, _KNOWN["usage"], "usage")


def usage_of(reading: PiReading, usage: dict[str, Any], model: str, key: str) -> kinds.TokenUsage | None:
    """Return a usage of pi as a payload, or None where it counts nothing."""
    cost = reading.mapping(usage, "cost")
    counts = [reading.count(usage, name) for name in ("input", "output", "cacheRead", "cacheWrite")]
    total = reading.money(cost, "total")
    if not any(counts) and not total:
        return None
    return kinds.TokenUsage(model, counts[0], counts[1], counts[2], counts[3], cost_usd=total, dedupe_key=key)


def _response_key(reading: PiReading, model: str, message: dict[str, Any]) -> str:
    response_id = text(message.get("responseId"))
    if response_id:
        return f"{response_id}:{model}"
    at = message.get("timestamp")
    return f"{at if isinstance(at, int | str) else reading.value.get('timestamp')}:{model}"[:200]


def _result(reading: PiReading, message: dict[str, Any]) -> None:
    call_id = reading.text(message, "toolCallId")
    name = reading.text(message, "toolName")
    said, parts = content_of(reading, message.get("content"))
    details = message.get("details")
    is_error = message.get("isError")
    if is_error is not None and not isinstance(is_error, bool):
        reading.wrong("isError")
    ok = not is_error if isinstance(is_error, bool) else None
    call = arrived(reading, call_id)
    diff = text(details.get("diff")) if isinstance(details, dict) else ""
    structured = {k: v for k, v in details.items() if k != "diff" and v} if isinstance(details, dict) else details
    code = _EXIT_CODE.search(said[-_TAIL_CHARS:]) if canonical_tool(name) == "shell" else None
    result = kinds.ToolResult(
        call_id,
        name or (call.name if call else ""),
        ok,
        int(code[1]) if code else None,
        said,
        without_opaque(structured) or None,
        parts=parts,
    )
    reading.give(result, "tool")
    if ok is not False and call.name:
        for i, edit in enumerate(file_edits(call, diff) if call.edits or diff else ()):
            reading.give(edit, "tool", f"/edit:{i}")
    reading.extra(message, _KNOWN["result"], "toolResult")


def _bash(reading: PiReading, message: dict[str, Any]) -> None:
    """Emit a command that the person ran with `!`: what they typed, the call and its output."""
    command = reading.text(message, "command")
    call_id = f"bash:{reading.native_id}"
    reading.give(kinds.UserMessage(f"!{command}", "command"), "user")
    reading.give(kinds.ToolCall(call_id, "bash", "shell", {"command": command}), "user", "/call")
    code = reading.whole(message, "exitCode")
    is_cancelled = message.get("cancelled") is True
    names = ("truncated", "cancelled", "fullOutputPath", "excludeFromContext")
    facts = {k: message[k] for k in names if message.get(k)}
    ok = False if is_cancelled else None if code is None else code == 0
    result = kinds.ToolResult(call_id, "bash", ok, code, reading.text(message, "output"), facts or None)
    reading.give(result, "tool", "/result")
    reading.extra(message, _KNOWN["bash"], "bashExecution")


def read_custom(reading: PiReading, message: dict[str, Any]) -> None:
    """Emit a message that an extension put into the context."""
    said, parts = content_of(reading, message.get("content"))
    reading.give(kinds.UserMessage(said, "injected", parts), "user")
    details = message.get("details")
    if details:
        kind = f"custom/{text(message.get('customType'))}"
        reading.kept(kind, without_opaque(details), native_id=f"{reading.native_id}/details")


def _custom(reading: PiReading, message: dict[str, Any]) -> None:
    read_custom(reading, message)
    reading.extra(message, _KNOWN["custom"], "custom")


def _system(reading: PiReading, message: dict[str, Any]) -> None:
    said, _ = content_of(reading, message.get("content"))
    reading.give(kinds.Instructions(said, text(message.get("role"))))
    reading.extra(message, _KNOWN["user"], "system")


def _compaction_summary(reading: PiReading, message: dict[str, Any]) -> None:
    reading.give(kinds.Compaction("", reading.text(message, "summary"), reading.whole(message, "tokensBefore")))
    reading.extra(message, _KNOWN["summary"], "compactionSummary")


def _branch_summary(reading: PiReading, message: dict[str, Any]) -> None:
    detail = {"from": message["fromId"]} if text(message.get("fromId")) else None
    reading.give(kinds.Lifecycle("branch_summary", text=reading.text(message, "summary"), detail=detail))
    reading.extra(message, _KNOWN["summary"], "branchSummary")


_READERS = {
    "user": _user,
    "assistant": _assistant,
    "toolResult": _result,
    "bashExecution": _bash,
    "custom": _custom,
    "hookMessage": _custom,
    "system": _system,
    "developer": _system,
    "compactionSummary": _compaction_summary,
    "branchSummary": _branch_summary,
}
