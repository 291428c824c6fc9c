"""What Claude Code writes beside its transcripts: prompt history, file backups, spilled output, tasks, titles.

Each of these belongs to a session by its path, or says so itself.
Evidence: format notes: Claude Code, "where files live".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from recollect.agents.claude.state import MAX_NAME, Reading
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import content_text, without_opaque
from recollect.agents.kit.drift import note_fields, note_value
from recollect.model.payloads import (
    FileEdit,
    Lifecycle,
    Origin,
    Part,
    SessionStart,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.text import flatten

_PASTED = frozenset(("id", "type", "content", "mediaType", "filename"))
_STATUSES = frozenset(("pending", "in_progress", "completed"))
"""Of entries of the to-do list, old and new."""


def read_history(reading: Reading) -> None:
    """Give one prompt of `history.jsonl`, in the session it names; lines without one are kept by project.

    The folder is said again only when it changes, so that a session without a transcript has one too.
    """
    record = reading.record
    project = reading.field_text(record, "project")
    session = reading.field_text(record, "sessionId") or f"history/{_short_sha256(project)}"
    if project and (project != reading.cwd or session[:MAX_NAME] != reading.prompt_session):
        reading.add(Lifecycle("cwd", cwd=project), session=session)
    reading.cwd = project
    reading.prompt_session = session[:MAX_NAME]
    said = [reading.field_text(record, "display")]
    parts: list[Part] = []
    for paste in reading.field_mapping(record, "pastedContents").values():
        pasted = mapping(paste)
        note_fields(reading.drift, pasted, _PASTED, "history.pastedContents")
        if pasted.get("type") == "image":
            parts.append(Part("image", media_type=text(pasted.get("mediaType")), path=text(pasted.get("filename"))))
        else:
            said.append(content_text(pasted.get("content")))
    body = "\n".join(t for t in said if t)
    origin: Origin = "command" if body.startswith("/") and "\n" not in body else "human"
    reading.add(UserMessage(body, origin, tuple(parts)), "user", session=session)


def read_backup(reading: Reading, value: str) -> None:
    """Give the whole text of a file as it was before the agent changed it."""
    reading.add(FileEdit(operation="checkpoint", before=value, backup=reading.state.name))


def read_spill(reading: Reading, value: str) -> None:
    """Give the whole output of a tool that the transcript shows only the beginning of."""
    name = reading.state.name
    stem = name.removesuffix(".txt")
    call_id = stem if stem.startswith("toolu_") else ""
    reading.add(ToolResult(call_id=call_id, text=value, structured={"spilled_to": name}), "tool")


def _read_todo(reading: Reading) -> None:
    _read_item(reading, "todo", "content")


def _read_task(reading: Reading) -> None:
    _read_item(reading, "task", "subject")


def _read_item(reading: Reading, name: str, main: str) -> None:
    record = reading.record
    note_value(reading.drift, f"{name}.status", record.get("status"), _STATUSES)
    detail = {k: v for k, v in record.items() if k != main and v not in (None, "", [], {})}
    reading.add(Lifecycle(name, text=content_text(record.get(main)), detail=detail or None))


def _read_title(reading: Reading) -> None:
    record = reading.record
    title = text(record.get("customTitle")) or text(record.get("title"))
    rest = {k: v for k, v in record.items() if k not in ("customTitle", "title", "sessionId")}
    reading.add(Lifecycle("title", text=flatten(rest), title=title))


def _read_subagent_meta(reading: Reading) -> None:
    """Give the type of a subagent, where it works, and what it is to do."""
    record = reading.record
    reading.add(
        SessionStart(
            cwd=reading.field_text(record, "worktreePath"),
            parent_session=reading.state.parent_session,
            agent_name=reading.field_text(record, "agentType"),
        )
    )
    rest = {k: v for k, v in record.items() if k not in ("agentType", "worktreePath")}
    if rest:
        reading.add(Lifecycle("subagent", text=flatten(without_opaque(rest))))


def _read_desktop_meta(reading: Reading) -> None:
    """Give what the desktop application says of a session: folder, title, model."""
    record = reading.record
    reading.add(
        SessionStart(
            cwd=text(record.get("cwd")) or text(next(iter(items(record.get("userSelectedFolders"))), "")),
            model=text(record.get("model")),
            originator="claude-desktop",
        )
    )
    title = text(record.get("title"))
    if title:
        reading.add(Lifecycle("title", title=title))


DOCUMENTS: dict[str, Callable[[Reading], None]] = {
    "history": read_history,
    "todos": _read_todo,
    "tasks": _read_task,
    "title": _read_title,
    "subagent_meta": _read_subagent_meta,
    "desktop_meta": _read_desktop_meta,
}
"""Readers of sidecar records, by the role of their source."""

TEXTS: dict[str, Callable[[Reading, str], None]] = {"backup": read_backup, "spill": read_spill}
"""Readers of whole-file texts, by the role of their source."""


def read_odd(reading: Reading, value: Any) -> None:
    """Give a record that is not a JSON object: its kind of value and all its text."""
    reading.wrong("record")
    reading.add(Unknown(type(value).__name__, flatten(without_opaque(value))))


def _short_sha256(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
