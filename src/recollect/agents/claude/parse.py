"""Claude Code: parses a record into events. Pure; never raises on content.

The order of events of one record: session start, change of folder or branch, what the record says, its usage, a rewind.
What each record becomes is in `messages` and `records`; traps are in README.md beside this file.
"""

import hashlib
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from recollect.agents.claude.messages import read_assistant, read_user
from recollect.agents.claude.records import BOOKKEEPING, keep_whole, read_attachment, read_system, read_unknown
from recollect.agents.claude.state import EMPTY, MAX_NAME, ClaudeState, Reading
from recollect.agents.facts import facts_of, known_by_type, known_fields
from recollect.agents.kit.adapter import note_fields, note_value
from recollect.agents.kit.content import content_text, without_opaque
from recollect.agents.kit.values import HEAD_SESSION, group_in, head_objects, items, mapping, text, word_set
from recollect.model.payloads import FileEdit, Lifecycle, Origin, Part, SessionStart, ToolResult, Unknown, UserMessage
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.model.text import flatten

# Parses the files beside the transcripts: prompt history, file backups, spilled output, tasks, titles.
#
# Each of these belongs to a session by its path, or says so itself.
# Evidence: format notes: Claude Code, "where files live".

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
_OWN = {kind: _PLAIN | fields for kind, fields in known_by_type("claude", "own").items()}
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
    reading.add(UserMessage(body, origin, tuple(parts)), session=session)


def read_backup(reading: Reading, value: str) -> None:
    """Emit the whole text of a file as it was before the agent changed it."""
    reading.add(FileEdit(operation="checkpoint", before=value, backup=reading.state.name))


def read_spill(reading: Reading, value: str) -> None:
    """Emit the whole output of a tool that the transcript shows only the beginning of."""
    name = reading.state.name
    stem = name.removesuffix(".txt")
    call_id = stem if stem.startswith("toolu_") else ""
    reading.add(ToolResult(call_id=call_id, text=value, structured={"spilled_to": name}))


def _read_item(name: str, main: str, reading: Reading) -> None:
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
    "todos": partial(_read_item, "todo", "content"),
    "tasks": partial(_read_item, "task", "subject"),
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


# Whose a source is, by its content first and its path second; the names of sessions and sources.
#
# Evidence: format notes: Claude Code, "where files live", "unit of session".

_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_MESSAGES = frozenset(("user", "assistant", "system", "attachment", "progress"))
_BOOKKEEPING = word_set("""
    queue-operation ai-title custom-title agent-name agent-setting tag last-prompt mode permission-mode pr-link
    cost-state teleported-from relocated worktree-state bridge-session atis-latch frame-link
""")
_MAX_LINES = 50
_HEAD_TYPE = re.compile(rb'"type" ?: ?"(?:user|assistant|system|attachment|progress)"')
_HEAD_AGENT = re.compile(rb'"agentId" ?: ?"([^"\\]{1,200})"')
_HEAD_ENVELOPE = (b'"parentUuid"', b'"isSidechain"')
_DIGITS = 16


def _is_subagent_name(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith("agent-")


def _is_foreign(record: dict[str, Any]) -> bool:
    """Qwen Code copied the envelope, but its messages have `parts` and its notices a `systemPayload`; iFlow's session
    ids begin with `session-`, Claude Code's are UUIDs."""
    message = record.get("message")
    is_qwen = "systemPayload" in record or (isinstance(message, dict) and "parts" in message)
    return is_qwen or text(record.get("sessionId")).startswith("session-")


def _role(record: dict[str, Any]) -> str | None:
    kind = record.get("type")
    if kind is None:
        is_prompt = isinstance(record.get("display"), str) and ("pastedContents" in record or "project" in record)
        return "history" if is_prompt else None
    if not isinstance(kind, str):
        return None
    session = record.get("sessionId")
    if kind in _MESSAGES:
        if not isinstance(session, str) or not isinstance(record.get("uuid"), str):
            return None
        message = record.get("message")
        if kind in ("user", "assistant") and not (isinstance(message, dict) and "content" in message):
            return None
        return "subagent" if record.get("isSidechain") is True and record.get("agentId") else "transcript"
    if kind in ("file-history-snapshot", "file-history-delta"):
        return "transcript" if "messageId" in record else None
    if kind == "summary":
        return "transcript" if "leafUuid" in record and "summary" in record else None
    return "transcript" if kind in _BOOKKEEPING and isinstance(session, str) else None


def _named_session(info: SourceInfo, head: bytes) -> str:
    segments = info.path.split("/")
    desktop = _desktop_session(segments)
    match info.role:
        case "subagent" | "subagent_meta":
            parent = desktop or _dir_above(segments, "subagents")
            name = info.stem.removesuffix(".meta")
            parent = parent or _first_field(head, "sessionId", HEAD_SESSION)
            if not name.startswith("agent-"):
                agent = _first_field(head, "agentId", _HEAD_AGENT)
                name = f"agent-{agent}" if agent else name
            return f"{parent}/{name}" if parent else ""
        case "spill":
            return desktop or _dir_above(segments, "tool-results")
        case "title" | "backup" | "tasks":
            return desktop or (segments[-2] if len(segments) > 1 else "")
        case "todos":
            return info.stem.partition("-agent-")[0]
        case "desktop_meta":
            return info.stem
        case "history":
            return "history"
    if desktop:
        return desktop
    if _UUID.fullmatch(info.stem):
        return info.stem
    return _first_field(head, "sessionId", HEAD_SESSION) or _layout_stem(info, segments)


def parent_of(info: SourceInfo) -> str:
    """Return the native id of the session that started a subagent, "" where it isn't known."""
    if not info.role.startswith("subagent"):
        return ""
    parent, slash, _ = info.session.rpartition("/")
    return parent if slash else ""


def _desktop_session(segments: list[str]) -> str:
    """Return the `local_*` folder: it names a desktop session, not the CLI session nested in it."""
    for folder, below in pairwise(segments):
        if folder.startswith("local_") and below == ".claude":
            return folder
    return ""


def _dir_above(segments: list[str], folder: str) -> str:
    return segments[segments.index(folder) - 1] if folder in segments[1:-1] else ""


def _layout_stem(info: SourceInfo, segments: list[str]) -> str:
    is_in_layout = len(segments) >= 3 and segments[-3] == "projects"
    return info.stem if is_in_layout else ""


def _first_field(head: bytes, field: str, pattern: re.Pattern[bytes]) -> str:
    for record in head_objects(head, _MAX_LINES):
        found = text(record.get(field))
        if found:
            return found
    return group_in(pattern, head)


_MESSAGE_READERS: dict[str, Callable[[Reading], None]] = {
    "user": read_user,
    "assistant": read_assistant,
    "system": read_system,
    "attachment": read_attachment,
}
"""The records that carry the session's facts: folder, branch, version."""


class ClaudeAdapter:
    facts = facts_of("claude")
    state_type = ClaudeState

    def recognise(self, path: str, head: bytes) -> str | None:
        """Return "transcript", "subagent", "history", or None for what Claude Code didn't write."""
        is_claude = False
        for record in head_objects(head, _MAX_LINES):
            if _is_foreign(record):
                return None
            role = _role(record)
            if role == "history":
                return role
            if role == "subagent" or (role is not None and _is_subagent_name(path)):
                return "subagent"
            if role == "transcript" and text(record.get("type")) in _MESSAGES:
                return role
            is_claude = is_claude or role is not None
        if is_claude:
            return "transcript"
        # Tell by a first line that is longer than the head: its envelope may stand before the message.
        line = head.partition(b"\n")[0]
        if not line.startswith(b"{") or not _HEAD_TYPE.search(line) or not HEAD_SESSION.search(line):
            return None
        if not all(key in line for key in _HEAD_ENVELOPE):
            return None
        is_subagent = _HEAD_AGENT.search(line) is not None and b'"isSidechain":true' in line
        return "subagent" if is_subagent or _is_subagent_name(path) else "transcript"

    def source_key(self, info: SourceInfo) -> str:
        """Return what stays the same when Claude Code moves a transcript to another project folder."""
        segments = info.path.split("/")
        if info.role == "transcript" and (_UUID.fullmatch(info.stem) or _layout_stem(info, segments)):
            return f"session/{info.stem}"
        if info.role == "subagent":
            parent = _dir_above(segments, "subagents")
            if parent:
                return f"{parent}/{info.stem}"
        return info.path

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the native id of the session a source belongs to; see `Adapter.identify`."""
        first = hashlib.sha256(head.partition(b"\n")[0]).hexdigest()
        return _named_session(info, head) or f"file-{first[:_DIGITS]}"

    def begin(self, info: SourceInfo) -> ClaudeState:
        return ClaudeState(session=info.session, role=info.role, name=info.name, parent_session=parent_of(info))

    def parse(self, record: Record, state: ClaudeState) -> Parsed[ClaudeState]:
        value = record.value
        if not isinstance(value, dict):
            reading = Reading(EMPTY, record.index, state)
            read_text = TEXTS.get(state.role)
            if read_text is not None and isinstance(value, str):
                read_text(reading, value)
            else:
                read_odd(reading, value)
            return reading.finish()
        reading = Reading(value, record.index, state)
        read_document = DOCUMENTS.get(state.role)
        if read_document is not None:
            read_document(reading)
            note_own_fields(reading, state.role)
        else:
            _read_record(reading, value.get("type"))
        return reading.finish()


def _read_record(reading: Reading, kind: Any) -> None:
    if not isinstance(kind, str):
        if kind is not None:
            reading.wrong("type")
        read_unknown(reading, "")
        return
    read_message = _MESSAGE_READERS.get(kind)
    if read_message is not None:
        _see_place(reading)
        before = len(reading.events)
        read_message(reading)
        fields = note_message_fields(reading, kind)
        if len(reading.events) == before:
            keep_whole(reading, kind)
        elif fields:
            give_fields(reading, fields)
        return
    read_bookkeeping = BOOKKEEPING.get(kind)
    if read_bookkeeping is None:
        read_unknown(reading, kind)
        return
    read_bookkeeping(reading)
    note_own_fields(reading, kind)
    if not reading.events:
        keep_whole(reading, kind)


def _see_place(reading: Reading) -> None:
    """Emit the session's start at the first record that carries a message, later each change of folder or branch."""
    record = reading.record
    if reading.is_started and record.get("cwd") == reading.cwd and record.get("gitBranch") == reading.branch:
        return
    cwd = reading.text(record, "cwd")
    branch = reading.text(record, "gitBranch")
    if not reading.is_started:
        reading.is_started = True
        reading.cwd, reading.branch = cwd, branch
        _start(reading, cwd, branch)
        return
    if reading.is_sidechain and reading.state.role != "subagent":
        return
    if cwd and cwd != reading.cwd:
        reading.cwd = cwd
        reading.add_aside(Lifecycle("cwd", cwd=cwd))
    if branch and branch != reading.branch:
        reading.branch = branch
        reading.add_aside(Lifecycle("branch", branch=branch))


def _start(reading: Reading, cwd: str, branch: str) -> None:
    record, state = reading.record, reading.state
    named = text(record.get("sessionId"))
    is_root = state.role == "transcript" and "local_" not in state.session
    message = record.get("message")
    model = text(message.get("model")) if isinstance(message, dict) else ""
    reading.add_aside(
        SessionStart(
            cwd=cwd,
            git_branch=branch,
            model="" if model.startswith("<") else model,
            tool_version=reading.text(record, "version"),
            originator=text(record.get("entrypoint")),
            resumed_from=named if is_root and named != state.session else "",
            parent_session=state.parent_session,
            agent_name=text(record.get("agentName")),
        )
    )
