"""Cursor: one record in, its events out. Pure, and never raises on content.

Editor: `bubbles` and `composer`. Command line: `store`. Transcripts: `transcripts`. The last two share `messages`.
What becomes one session and what is told twice is in README.md beside this file.
"""

from __future__ import annotations

from collections.abc import Callable

from recollect.agents.cursor import identify as identity
from recollect.agents.cursor.composer import read_ide_row
from recollect.agents.cursor.declare import (
    CLI_META,
    CLI_STORE,
    FACTS,
    HISTORY,
    IDE,
    SUBAGENT,
    TRANSCRIPT,
    TRANSCRIPT_TEXT,
)
from recollect.agents.cursor.state import CursorState, Step, named
from recollect.agents.cursor.store import read_blob, read_meta
from recollect.agents.cursor.transcripts import read_line, read_text
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.model.payloads import UserMessage
from recollect.model.records import SourceInfo


def _read_prompt(step: Step) -> None:
    """Give one prompt of the history, which says neither when nor where it was typed."""
    said = step.record.value
    if not isinstance(said, str):
        read_odd(step)
    elif said:
        step.add(UserMessage(said), "user", native_id=named(step, "ask", said))


def _row(read: Callable[[Step], None]) -> Callable[[Step], None]:
    def read_row(step: Step) -> None:
        if isinstance(step.record.value, dict):
            read(step)
        else:
            read_odd(step)

    return read_row


_READERS: dict[str, Callable[[Step], None]] = {
    IDE: _row(read_ide_row),
    CLI_STORE: _row(read_blob),
    CLI_META: _row(read_meta),
    TRANSCRIPT: read_line,
    SUBAGENT: read_line,
    TRANSCRIPT_TEXT: read_text,
    HISTORY: _read_prompt,
}


class CursorAdapter(KitAdapter[CursorState]):
    """The adapter of Cursor."""

    facts = FACTS
    state_type = CursorState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Databases are known by their place only."""
        return identity.recognise(path, head)

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`."""
        return identity.key_of(info)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`."""
        return identity.session_of(info, head)

    def begin(self, info: SourceInfo) -> CursorState:
        """See `Adapter.begin`."""
        return CursorState(
            session=info.session,
            role=info.role,
            name=info.name,
            document=info.document,
            parent=identity.parent_of(info),
        )

    def read(self, reading: Step) -> None:
        """See `KitAdapter.read`."""
        read = _READERS.get(reading.state.role)
        if read is None:
            read_odd(reading)
        else:
            read(reading)
