"""Session rows, and the versions of changed files."""

from __future__ import annotations

from typing import Any

from recollect.agents.crush.state import Reading
from recollect.agents.kit.access import mapping, text
from recollect.model.payloads import FileEdit, Lifecycle, SessionStart, TokenUsage

_SESSION = frozenset(
    (
        "id", "parent_session_id", "title", "message_count", "prompt_tokens", "completion_tokens", "cost",
        "updated_at", "created_at", "summary_message_id", "todos", "estimated_usage",
    )
)  # fmt: skip
_TODO = frozenset(("content", "status", "active_form"))
_FILE = frozenset(("id", "session_id", "path", "content", "version", "created_at", "updated_at"))
_TITLE_SESSION = "title-"
_CALL_MARK = "$$"


def read_session(reading: Reading) -> None:
    """Give a session: its start and lineage, its title, its to-do list and its counters."""
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    parent = reading.text(row, "parent_session_id")
    reading.add(
        SessionStart(parent_session=parent, agent_name=_agent_of(text(row.get("id")), parent)), native_id="start"
    )
    title = reading.text(row, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    reading.date(row.get("updated_at"), "updated_at")
    _give_todos(reading, row.get("todos"))
    usage = TokenUsage(
        input_tokens=reading.count(row, "prompt_tokens"),
        output_tokens=reading.count(row, "completion_tokens"),
        cost_usd=reading.money(row, "cost"),
        dedupe_key=f"crush:session:{reading.state.session}",
        is_additive=False,
    )
    if usage.input_tokens or usage.output_tokens or usage.cost_usd:
        reading.add(usage, native_id="totals")
    reading.extra(row, _SESSION, "session", native_id="session")


def _agent_of(name: str, parent: str) -> str:
    """Return what a session without a person is for: a call of the tool `agent` names it `<message>$$<call>`."""
    if not parent:
        return ""
    return "title" if name.startswith(_TITLE_SESSION) else "agent" if _CALL_MARK in name else ""


def _give_todos(reading: Reading, todos: Any) -> None:
    if todos is None or todos == "":
        return
    if not isinstance(todos, list):
        reading.wrong("todos")
        reading.kept("todos", todos, native_id="todos")
        return
    for ordinal, todo in enumerate(todos):
        line = mapping(todo)
        name = f"todo:{ordinal}"
        said = text(line.get("content")) if line else text(todo)
        detail = {k: line[k] for k in ("status", "active_form") if line.get(k)}
        reading.add(Lifecycle("todo", said, detail or None), native_id=name)
        reading.extra(line, _TODO, "session.todos", native_id=name)


def read_file(reading: Reading) -> None:
    """Give a version of a file that the session changed: a copy, not an edit, which the tool's result is."""
    row = reading.value
    name = f"file:{text(row.get('id'))}"
    reading.date(row.get("created_at"), "created_at")
    version = reading.whole(row, "version")
    path = reading.text(row, "path")
    reading.add(
        FileEdit(path, "checkpoint", after=reading.text(row, "content"), backup=f"version {version or 0}"),
        "tool",
        native_id=name,
    )
    reading.extra(row, _FILE, "file", native_id=name)
