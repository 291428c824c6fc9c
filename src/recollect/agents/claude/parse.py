"""Claude Code: one record in, its events out. Pure, and never raises on content.

The order of events of one record: session start, change of folder or branch, what the record says, its usage, a rewind.
What each record becomes is in `messages`, `bookkeeping` and `sidecars`; traps are in README.md beside this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.agents.claude import identify as identity
from recollect.agents.claude.bookkeeping import BOOKKEEPING, keep_whole, read_attachment, read_system, read_unknown
from recollect.agents.claude.declare import FACTS
from recollect.agents.claude.extras import give_fields, note_message_fields, note_own_fields
from recollect.agents.claude.messages import read_assistant, read_user
from recollect.agents.claude.sidecars import DOCUMENTS, TEXTS, read_odd
from recollect.agents.claude.state import EMPTY, ClaudeState, Reading
from recollect.agents.kit.access import text
from recollect.model.payloads import Lifecycle, SessionStart
from recollect.model.records import Parsed, Record, SourceInfo

_MESSAGES: dict[str, Callable[[Reading], None]] = {
    "user": read_user,
    "assistant": read_assistant,
    "system": read_system,
    "attachment": read_attachment,
}
"""The records that carry the session's facts: folder, branch, version."""


class ClaudeAdapter:
    """The adapter of Claude Code."""

    facts = FACTS
    state_type = ClaudeState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`."""
        return identity.recognise(path, head)

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`."""
        return identity.key_of(info)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`."""
        return identity.session_of(info, head)

    def begin(self, info: SourceInfo) -> ClaudeState:
        """See `Adapter.begin`."""
        return ClaudeState(
            session=info.session, role=info.role, name=info.name, parent_session=identity.parent_of(info)
        )

    def parse(self, record: Record, state: ClaudeState) -> Parsed[ClaudeState]:
        """See `Adapter.parse`."""
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
    read_message = _MESSAGES.get(kind)
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
    """Give the session's start at the first record that carries a message, later each change of folder or branch."""
    record = reading.record
    if reading.is_started and record.get("cwd") == reading.cwd and record.get("gitBranch") == reading.branch:
        return
    cwd = reading.field_text(record, "cwd")
    branch = reading.field_text(record, "gitBranch")
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
            tool_version=reading.field_text(record, "version"),
            originator=text(record.get("entrypoint")),
            resumed_from=named if is_root and named != state.session else "",
            parent_session=state.parent_session,
            agent_name=text(record.get("agentName")),
        )
    )
