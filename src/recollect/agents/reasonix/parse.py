"""Reasonix: one event, line or sidecar in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from collections import Counter
from typing import Any

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.naming import mark_of, short_name
from recollect.agents.reasonix.declare import FACTS
from recollect.agents.reasonix.messages import base_name, read_message
from recollect.agents.reasonix.state import Reading, ReasonixState
from recollect.model.payloads import Compaction, Lifecycle, Rewind, SessionStart
from recollect.model.records import SourceInfo

_SUFFIXES = (".jsonl.meta", ".events.jsonl", ".meta.json")
_SHORTENED = ("compact", "fold", "summar")
_EVENTS = frozenset(("append", "replace"))
_EVENT_FIELDS = frozenset(
    "schema_version type revision base_revision message_index messages content_digest writer_id reason "
    "created_at".split()
)
_META_FIELDS = frozenset(
    "id name parent_id fork_turn fork_message_index created_at updated_at scope workspace_root topic_id topic_title "
    "model schema_version turns preview persona_name".split()
)
_SUBAGENT_FIELDS = frozenset(
    "ref createdAt updatedAt status terminalReason kind name workspaceRoot parentSession parentToolCallId forkedFrom "
    "systemPromptHash toolScope toolSchemaHash model effort capsule capsuleHash".split()
)
_STATUSES = frozenset(("running", "completed", "failed", "cancelled", "interrupted"))


class ReasonixAdapter(KitAdapter[ReasonixState]):
    """The adapter of Reasonix."""

    facts = FACTS
    state_type = ReasonixState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the first event of a log. Checkpoints have nothing of their own."""
        del path
        line = head.lstrip().partition(b"\n")[0]
        is_event = line.startswith(b'{"schema_version":') and b'"type":"' in line[:60] and b'"messages":[' in line
        return "events" if is_event else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: all files of a session begin with its name."""
        suffix = next((s for s in _SUFFIXES if info.name.endswith(s)), "")
        return info.name.removesuffix(suffix).removesuffix(".jsonl") or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        role = reading.state.role
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif role == "events":
            _read_event(reading)
        elif role == "meta":
            _read_meta(reading)
        elif role == "subagent_meta":
            _read_subagent(reading)
        else:
            read_message(reading, reading.value)


def _read_event(reading: Reading) -> None:
    """Give an event's messages: new ones, or the whole transcript again after it was changed."""
    event = reading.value
    kind = text(event.get("type"))
    name = short_name(f"event:{reading.whole(event, 'revision')}:{text(event.get('content_digest'))[:16]}")
    if kind not in _EVENTS:
        reading.date(event.get("created_at"), "created_at")
        reading.unknown(kind or "record")
        return
    messages = reading.items(event, "messages")
    if kind == "append":
        reading.date(event.get("created_at"), "created_at")
        _read_messages(reading, messages, Counter())
    else:
        _replace(reading, messages, text(event.get("reason")), name)
    reading.extra(event, _EVENT_FIELDS, "event", native_id=name)


def _read_messages(reading: Reading, messages: list[Any], known: Counter[bytes]) -> None:
    for item in messages:
        message = mapping(item)
        if not message:
            reading.unknown("message", item)
            continue
        mark = mark_of(base_name(message))
        is_known = known[mark] > 0
        if is_known:
            known[mark] -= 1
        read_message(reading, message, is_known=is_known)


def _replace(reading: Reading, messages: list[Any], reason: str, name: str) -> None:
    """Take the transcript anew. What it has no more was taken back, unless the agent made it shorter by itself."""
    before: tuple[str, ...] = reading.now("turns")
    stood = dict(zip(before, reading.now("befores"), strict=False))
    known: Counter[bytes] = Counter(reading.now("marks"))
    reading.set(marks=(), turns=(), befores=())
    first = len(reading.events)
    _read_messages(reading, messages, known)
    after: tuple[str, ...] = reading.now("turns")
    reading.set(befores=tuple(stood.get(t, b) for t, b in zip(after, reading.now("befores"), strict=True)))
    if any(word in reason for word in _SHORTENED):
        reading.add(Compaction(trigger=reason), native_id=f"{name}/compaction")
        return
    dropped = [turn for turn in before if turn not in after]
    if dropped:
        is_end = list(before[-len(dropped) :]) == dropped
        reading.add(Rewind(stood.get(dropped[0], ""), len(dropped)) if is_end else Rewind(), native_id=f"{name}/rewind")
        reading.events.insert(first, reading.events.pop())  # what is new in the transcript came after it


def _read_meta(reading: Reading) -> None:
    """Give what stands beside a session: where it runs, its title and what it was branched from."""
    meta = reading.value
    reading.date(meta.get("created_at"), "created_at")
    start = SessionStart(
        cwd=reading.text(meta, "workspace_root"),
        model=reading.text(meta, "model"),
        originator=reading.text(meta, "scope"),
        forked_from=reading.text(meta, "parent_id"),
    )
    reading.add(start, native_id="start")
    title = reading.text(meta, "name") or reading.text(meta, "topic_title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    names = ("fork_turn", "fork_message_index", "persona_name", "topic_id")
    facts = {k: meta[k] for k in names if meta.get(k)}
    if facts:
        reading.add(Lifecycle("session_facts", detail=facts), native_id="facts")
    reading.extra(meta, _META_FIELDS, "meta", native_id="start")


def _read_subagent(reading: Reading) -> None:
    """Give whose subagent a session is and how it ended."""
    meta = reading.value
    reading.date(meta.get("createdAt"), "createdAt")
    start = SessionStart(
        cwd=reading.text(meta, "workspaceRoot"),
        model=reading.text(meta, "model"),
        parent_session=reading.text(meta, "parentSession"),
        forked_from=reading.text(meta, "forkedFrom"),
        agent_name=reading.text(meta, "name"),
        originator=reading.text(meta, "kind"),
    )
    reading.add(start, native_id="start")
    status = reading.text(meta, "status")
    reading.odd_value("subagent.status", status, _STATUSES)
    detail = {k: meta[k] for k in ("terminalReason", "effort", "toolScope") if meta.get(k)}
    call_id = text(meta.get("parentToolCallId"))
    reading.add(Lifecycle("subagent", text=status, detail=detail or None, call_id=call_id), native_id="status")
    reading.extra(meta, _SUBAGENT_FIELDS, "subagent", native_id="start")
