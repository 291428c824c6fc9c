"""Shelley: one row in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from typing import Any, NamedTuple

from recollect.agents.facts import facts_of
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.names import Marks, content_sha256, count_name, name_of, short_name, times_counted
from recollect.agents.kit.values import items, mapping, text
from recollect.agents.shelley.content import read_blocks, said_in
from recollect.agents.shelley.state import Reading, ShelleyState
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Instructions,
    Lifecycle,
    Part,
    SessionStart,
    TokenUsage,
    UserMessage,
)

_STOPPED = "[Operation cancelled]"
_TALK = frozenset(("user", "agent", "tool"))
_NOTES = {"error": "api_error", "warning": "warning"}
_KINDS = _TALK | {"system", "gitinfo", *_NOTES}
_ERRORS = frozenset(("truncation", "llm_request"))
_MESSAGE_FIELDS = frozenset(
    "message_id conversation_id sequence_id type llm_data user_data usage_data created_at display_data "
    "excluded_from_context generation model_name forked_from_message_id other_usage_data".split()
)
_LLM_FIELDS = frozenset("Role Content ToolUse EndOfTurn ExcludedFromContext ErrorType ErrorRetryable".split())
_USAGE_FIELDS = frozenset(
    "input_tokens cache_creation_input_tokens cache_read_input_tokens output_tokens cost_usd model url start_time "
    "end_time".split()
)
_CONVERSATION_FIELDS = frozenset(
    "conversation_id slug user_initiated created_at cwd archived parent_conversation_id model current_generation tags "
    "is_draft".split()
)
_MARK_BYTES = 8


class ShelleyAdapter(KitAdapter[ShelleyState]):
    """The adapter of Shelley."""

    facts = facts_of("shelley")
    state_type = ShelleyState

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif reading.state.role == "session":
            _read_conversation(reading)
        else:
            _read_message(reading)


def _read_conversation(reading: Reading) -> None:
    """Give what the conversation's row says: where it runs, its lineage and its title."""
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    parent = reading.text(row, "parent_conversation_id")
    is_subagent = bool(parent) and row.get("user_initiated") in (0, False)
    slug = reading.text(row, "slug")
    start = SessionStart(
        cwd=reading.text(row, "cwd"),
        model=reading.text(row, "model"),
        resumed_from="" if is_subagent else parent,
        parent_session=parent if is_subagent else "",
        agent_name=slug if is_subagent else "",
    )
    reading.add(start, native_id="start")
    if slug:
        reading.add(Lifecycle("title", title=slug), native_id="title")
    tags = [t for t in items(row.get("tags")) if isinstance(t, str)]
    if tags:
        reading.add(Lifecycle("tag", text=", ".join(tags)), native_id="tags")
    if row.get("archived") in (1, True):
        reading.add(Lifecycle("archived"), native_id="archived")
    reading.extra(row, _CONVERSATION_FIELDS, "conversations", native_id="start")


def _read_message(reading: Reading) -> None:
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    origin = text(row.get("forked_from_message_id")) or text(row.get("message_id"))
    name = short_name(origin) if origin else name_of(reading, "m", row.get("sequence_id"), row.get("llm_data"))
    kind = reading.text(row, "type")
    llm = reading.mapping(row, "llm_data")
    blocks = reading.items(llm, "Content")
    about = mapping(row.get("user_data"))
    if _is_copy(reading, kind, llm):
        copied = Lifecycle("copied_message", text=said_in(reading, blocks)[0], detail={"type": kind})
        reading.add(copied, native_id=name)
        return
    if kind not in _KINDS:
        reading.unknown(kind or "message", native_id=name)
        return
    said, parts = said_in(reading, blocks)
    message = _Message(row, llm, about, name, said, parts)
    read_blocks(reading, blocks, name, row.get("display_data"), lambda: _say(reading, kind, message))
    _add_usage(reading, row, name)
    reading.extra(row, _MESSAGE_FIELDS, "messages", native_id=name)
    reading.extra(llm, _LLM_FIELDS, "llm_data", native_id=name)


class _Message(NamedTuple):
    """A row with what was found out of it."""

    row: dict[str, Any]
    llm: dict[str, Any]
    about: dict[str, Any]
    name: str
    said: str
    parts: tuple[Part, ...]


def _say(reading: Reading, kind: str, message: _Message) -> None:
    """Give the words of a message: a person's, the model's or the agent's own."""
    _, llm, about, name, said, _ = message
    if kind == "user" and about.get("distilled") == "true":
        reading.set(is_copying=True)
        summary = text(about.get("distillation_content")) or said
        reading.add(Compaction(summary=summary, continues_at=name), native_id=name)
    elif about.get("distill_status"):
        reading.add(Lifecycle("distillation", text=said, detail=about), native_id=name)
    elif kind in ("user", "tool"):
        _add_user(reading, message)
    elif kind == "agent":
        _add_agent(reading, message)
    elif kind == "system":
        reading.add(Instructions(said, "system"), native_id=name)
    elif kind == "gitinfo":
        _add_git(reading, about, said, name)
    else:
        detail = {k: llm[k] for k in ("ErrorType", "ErrorRetryable") if llm.get(k)}
        words = said or text(about.get("text"))
        reading.add(Lifecycle(_NOTES[kind], text=words, detail=detail or None), native_id=name)


def _is_copy(reading: Reading, kind: str, llm: dict[str, Any]) -> bool:
    """Say whether a message only repeats one from before the summary, as compactions do with the newest ones."""
    if kind not in _TALK or not llm:
        return False
    name = content_sha256(kind, llm.get("Content"))
    marks: Marks = reading.now("said")
    if reading.now("is_copying"):
        if times_counted(marks, name):
            return True
        reading.set(is_copying=False)
    reading.set(said=count_name(marks, name)[1])
    return False


def _add_user(reading: Reading, message: _Message) -> None:
    """Give what a person wrote. A row of nothing but results is none."""
    is_waiting = message.row.get("excluded_from_context") in (1, True)
    words = message.said or text(message.about.get("text"))
    if words or message.parts:
        payload = UserMessage(words, "queued" if is_waiting else "human", message.parts)
        reading.add(payload, "user", native_id=message.name)


def _add_agent(reading: Reading, message: _Message) -> None:
    row, llm, _, name, said, parts = message
    error = text(llm.get("ErrorType"))
    if said == _STOPPED:
        reading.add(Lifecycle("interrupted", text=said), native_id=name)
    elif error:
        reading.odd_value("llm_data.ErrorType", error, _ERRORS)
        reading.add(Lifecycle("api_error", text=said, detail={"type": error}), native_id=name)
    elif said or parts:
        model = text(row.get("model_name")) or text(mapping(row.get("usage_data")).get("model"))
        stop = "end_turn" if llm.get("EndOfTurn") is True else ""
        reading.add(AssistantMessage(said, model, stop, name, parts), "assistant", native_id=name)


def _add_git(reading: Reading, about: dict[str, Any], said: str, name: str) -> None:
    """Give a change of branch or commit, as the agent saw it."""
    detail = {k: about[k] for k in ("worktree", "commit", "subject") if about.get(k)}
    branch = text(about.get("branch"))
    words = text(about.get("text")) or said
    reading.add(Lifecycle("branch", text=words, detail=detail or None, branch=branch), native_id=name)


def _add_usage(reading: Reading, row: dict[str, Any], name: str) -> None:
    """Give what a response cost; rows of people and tools have counts of nothing."""
    usage = reading.mapping(row, "usage_data")
    if not usage:
        return
    counted = TokenUsage(
        model=text(usage.get("model")) or text(row.get("model_name")),
        input_tokens=reading.count(usage, "input_tokens"),
        output_tokens=reading.count(usage, "output_tokens"),
        cache_read_tokens=reading.count(usage, "cache_read_input_tokens"),
        cache_write_5m_tokens=reading.count(usage, "cache_creation_input_tokens"),
        cost_usd=reading.money(usage, "cost_usd") or None,
        dedupe_key=f"shelley:{name}",
    )
    if counted.input_tokens or counted.output_tokens or counted.cache_read_tokens or counted.cache_write_5m_tokens:
        reading.add(counted, native_id=f"{name}/usage")
    reading.extra(usage, _USAGE_FIELDS, "usage_data", native_id=name)
