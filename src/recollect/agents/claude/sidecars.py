"""Parses the files beside the transcripts: prompt history, file backups, spilled output, tasks, titles.

Each of these belongs to a session by its path, or says so itself.
Evidence: format notes: Claude Code, "where files live".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from recollect.agents.claude.state import MAX_NAME, Reading
from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import note_fields, note_value
from recollect.agents.kit.content import content_text, without_opaque
from recollect.agents.kit.values import items, mapping, text, word_set
from recollect.model.payloads import FileEdit, Lifecycle, Origin, Part, SessionStart, ToolResult, Unknown, UserMessage
from recollect.model.text import flatten

# Fields that this version does not know: counted as drift, and what a conversation's record says in them is kept.
#
# The lists hold every field of the format notes and of the transcripts they were checked against; what of them
# carries words is read in `messages`, `results`, `records` and here, the rest is bookkeeping of the agent.
# Of records around the conversation only the names of unknown fields are noted; nearly all of them give their whole
# text anyway. The desktop application's file about a session is not checked: only what is named here is ever taken
# of it.

_KNOWN = known_fields("claude")
_BLOCKS = known_by_type("claude", "blocks")


_PLAIN = word_set("type uuid parentUuid timestamp sessionId session_id cwd gitBranch version userType isSidechain")
"""What any record may carry beside its own."""
_OWN = {
    kind: _PLAIN | frozenset(fields.split())
    for kind, fields in {
        "progress": "data parentToolUseID toolUseID slug agentId entrypoint sessionKind",
        "file-history-snapshot": "messageId snapshot isSnapshotUpdate trackedFileBackups",
        "file-history-delta": "messageId snapshot isSnapshotUpdate trackedFileBackups",
        "summary": "summary leafUuid",
        "queue-operation": "operation content",
        "ai-title": "aiTitle",
        "custom-title": "customTitle",
        "agent-name": "agentName",
        "agent-setting": "agentSetting",
        "tag": "tag",
        "last-prompt": "lastPrompt leafUuid",
        "mode": "mode",
        "permission-mode": "permissionMode",
        "pr-link": "prNumber prUrl prRepository",
        "relocated": "relocatedCwd",
        "worktree-state": "worktreeName worktreeSession",
        "teleported-from": "remoteSessionId branch messageCount",
        "frame-link": "path frameUrl title",
        "cost-state": "modelUsage",
        "bridge-session": "bridgeSessionId lastSequenceNum ownerAccountUuid ownerOrganizationUuid",
        "atis-latch": "atis",
        "history": "display pastedContents project",
        "todos": "id content status activeForm priority",
        "tasks": "id subject description activeForm status owner blocks blockedBy metadata",
        "title": "title customTitle",
        "subagent_meta": "agentType worktreePath description spawnDepth",
    }.items()
}
"""Of records that carry no message, by type; of sidecars, by the role of their source."""


def note_own_fields(reading: Reading, kind: str) -> None:
    """Note the unknown fields of a record that carries no message. kind: its type, or its source's role."""
    known = _OWN.get(kind)
    if known is not None:
        note_fields(reading.drift, reading.record, known, kind)


def note_message_fields(reading: Reading, kind: str) -> list[dict[str, Any]]:
    """Note and return what a record of the conversation, its message and its blocks hold beyond the known fields."""
    record, drift = reading.record, reading.drift
    found = [note_fields(drift, record, _KNOWN["record"], kind)]
    message = record.get("message")
    if isinstance(message, dict):
        found.append(note_fields(drift, message, _KNOWN["message"], f"{kind}.message"))
        content = message.get("content")
        if isinstance(content, list):
            found += [_of_block(reading, block) for block in content]
    return [fields for fields in found if fields]


def give_fields(reading: Reading, fields: list[dict[str, Any]]) -> None:
    """Give unknown fields as one event beside the record's own."""
    reading.add_aside(Unknown("fields", flatten(without_opaque(fields))))


def _of_block(reading: Reading, block: Any) -> dict[str, Any] | None:
    kind = block.get("type") if isinstance(block, dict) else None
    known = _BLOCKS.get(kind) if isinstance(kind, str) else None
    return note_fields(reading.drift, block, known, str(kind)) if known is not None else None


_STATUSES = frozenset(("pending", "in_progress", "completed"))
"""Of entries of the to-do list, old and new."""


def read_history(reading: Reading) -> None:
    """Emit one prompt of `history.jsonl`, in the session it names; lines without one are kept by project.

    The folder is said again only when it changes, so that a session without a transcript has one too.
    """
    record = reading.record
    project = reading.text(record, "project")
    session = reading.text(record, "sessionId") or f"history/{_short_sha256(project)}"
    if project and (project != reading.cwd or session[:MAX_NAME] != reading.prompt_session):
        reading.add(Lifecycle("cwd", cwd=project), session=session)
    reading.cwd = project
    reading.prompt_session = session[:MAX_NAME]
    said = [reading.text(record, "display")]
    parts: list[Part] = []
    for paste in reading.mapping(record, "pastedContents").values():
        pasted = mapping(paste)
        note_fields(reading.drift, pasted, _KNOWN["pasted"], "history.pastedContents")
        if pasted.get("type") == "image":
            parts.append(Part("image", media_type=text(pasted.get("mediaType")), path=text(pasted.get("filename"))))
        else:
            said.append(content_text(pasted.get("content")))
    body = "\n".join(t for t in said if t)
    origin: Origin = "command" if body.startswith("/") and "\n" not in body else "human"
    reading.add(UserMessage(body, origin, tuple(parts)), "user", session=session)


def read_backup(reading: Reading, value: str) -> None:
    """Emit the whole text of a file as it was before the agent changed it."""
    reading.add(FileEdit(operation="checkpoint", before=value, backup=reading.state.name))


def read_spill(reading: Reading, value: str) -> None:
    """Emit the whole output of a tool that the transcript shows only the beginning of."""
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
    """Emit the type of a subagent, where it works, and what it is to do."""
    record = reading.record
    reading.add(
        SessionStart(
            cwd=reading.text(record, "worktreePath"),
            parent_session=reading.state.parent_session,
            agent_name=reading.text(record, "agentType"),
        )
    )
    rest = {k: v for k, v in record.items() if k not in ("agentType", "worktreePath")}
    if rest:
        reading.add(Lifecycle("subagent", text=flatten(without_opaque(rest))))


def _read_desktop_meta(reading: Reading) -> None:
    """Emit what the desktop application says of a session: folder, title, model."""
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
    """Emit a record that is not a JSON object: its kind of value and all its text."""
    reading.wrong("record")
    reading.add(Unknown(type(value).__name__, flatten(without_opaque(value))))


def _short_sha256(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
