"""The records of a transcript: the header, messages, and what stands between them.

Evidence: format notes: other agents, Factory Droid; captured sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.droid.messages import read_message
from recollect.agents.droid.state import Reading
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.naming import MAX_PATH_CHARS, short
from recollect.model.payloads import Compaction, Lifecycle, SessionStart
from recollect.model.text import flatten

_START_FIELDS = frozenset((
    "type", "id", "title", "sessionTitle", "isSessionTitleManuallySet", "sessionTitleAutoStage", "owner", "parent",
    "version", "cwd", "lastCwd", "decompSessionType", "decompMissionId", "callingSessionId", "callingToolUseId",
    "hostId", "timestamp", "session",
))  # fmt: skip
_COMPACTION_FIELDS = frozenset((
    "type", "id", "timestamp", "summaryText", "summaryTokens", "summaryKind", "removedCount", "anchorMessage",
    "systemInfo", "summary", "parentId",
))  # fmt: skip
_TODO_FIELDS = frozenset(("type", "id", "timestamp", "todos", "messageIndex", "parentId"))
_OUTCOME_FIELDS = frozenset(("type", "id", "timestamp", "turnId", "reason", "resultKind", "parentId"))
_UNTITLED = "New Session"
_ENDED = ("completed", "")
_FAILED = ("error", "failed")


def read_record(reading: Reading) -> None:
    """Give the events of one record of a transcript."""
    value = reading.value
    kind = reading.text(value, "type")
    reading.native_id = short(reading.text(value, "id")) or None
    reading.parent_id = short(reading.text(value, "parentId")) or None
    reading.date(value.get("timestamp"))
    read = _READERS.get(kind)
    if read is None:
        reading.unknown(kind or "record")
    else:
        read(reading)


def _read_start(reading: Reading) -> None:
    """Give the session's start and its title; the title is the first prompt until the agent has found a better one."""
    value = reading.value
    facts = mapping(value.get("session")) or value
    cwd, version = reading.text(facts, "cwd"), facts.get("version")
    start = SessionStart(
        cwd=cwd,
        # A whole number is the format's, text is the program's.
        tool_version=version if isinstance(version, str) else "",
        forked_from=text(facts.get("parent")),
        parent_session=text(facts.get("callingSessionId")),
        agent_name=text(facts.get("decompSessionType")),
    )
    reading.add(start, native_id="start")
    titles = (text(facts.get("sessionTitle")), text(facts.get("title")))
    title = next((t for t in titles if t and t != _UNTITLED), "")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    last = text(facts.get("lastCwd"))
    if last and last != cwd:
        reading.add(Lifecycle("cwd", cwd=last), native_id="cwd")
    reading.set(is_started=True, cwd=short(last or cwd, MAX_PATH_CHARS))
    reading.extra(value, _START_FIELDS, "session_start", native_id="start")


def _read_compaction(reading: Reading) -> None:
    value = reading.value
    summary = mapping(value.get("summary"))
    said = reading.text(value, "summaryText") or "\n".join(
        filter(None, (text(summary.get(k)) for k in ("title", "body")))
    )
    anchor = text(mapping(value.get("anchorMessage")).get("id"))
    reading.add(
        Compaction(
            text(value.get("summaryKind")),
            said,
            tokens_after=reading.whole(value, "summaryTokens"),
            continues_at=anchor,
        )
    )
    info = value.get("systemInfo")
    if info:
        reading.kept("compaction_state.systemInfo", without_opaque(info), native_id=_below(reading, "system"))
    reading.extra(value, _COMPACTION_FIELDS, "compaction_state")


def _read_todos(reading: Reading) -> None:
    value = reading.value
    todos = value.get("todos")
    said = mapping(todos).get("todos")
    reading.add(Lifecycle("todo", text=said if isinstance(said, str) else flatten(todos)))
    reading.extra(value, _TODO_FIELDS, "todo_state")


def _read_outcome(reading: Reading) -> None:
    """Give the end of a turn, which has neither id nor time. What is neither done nor an error was interrupted."""
    value = reading.value
    reason = reading.text(value, "reason")
    name = "turn_ended" if reason in _ENDED else "turn_aborted" if reason in _FAILED else "interrupted"
    detail = {k: value[k] for k in ("reason", "resultKind") if value.get(k)}
    turn = short(reading.text(value, "turnId"))
    reading.add(Lifecycle(name, text=reason, detail=detail or None), native_id=f"turn:{turn}" if turn else None)
    reading.extra(value, _OUTCOME_FIELDS, "agent_turn_outcome", native_id=f"turn:{turn}" if turn else None)


def _read_settings(reading: Reading) -> None:
    """Give a change of settings, and of the model with it."""
    rest: dict[str, Any] = {k: v for k, v in reading.value.items() if k not in ("type", "id", "timestamp", "parentId")}
    reading.add(Lifecycle("settings", detail=without_opaque(rest) or None, model=text(rest.get("model"))))


def _below(reading: Reading, name: str) -> str | None:
    return f"{reading.native_id}/{name}" if reading.native_id else None


_READERS: dict[str, Callable[[Reading], None]] = {
    "session_start": _read_start,
    "message": read_message,
    "compaction_state": _read_compaction,
    "todo_state": _read_todos,
    "agent_turn_outcome": _read_outcome,
    "session_settings": _read_settings,
}
