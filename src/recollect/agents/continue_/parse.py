"""Continue: one item of a session's history in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re

from recollect.agents.continue_.declare import FACTS
from recollect.agents.continue_.items import folder_of, give_title, read_item, read_session
from recollect.agents.continue_.state import ContinueReading, ContinueState
from recollect.agents.kit.access import text, whole
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.naming import name_of
from recollect.model.payloads import SessionStart
from recollect.model.records import SourceInfo

_HEAD = re.compile(rb'\s*\{\s*"(?:sessionId|title|workspaceDirectory|history)"')
_KEYS = (b'"workspaceDirectory"', b'"sessionId"')
_HISTORY = re.compile(rb'"history" ?: ?\[\s*(?:\{\s*"(?:message|contextItems|editorState)"|\])')
_HEAD_SESSION = re.compile(rb'"sessionId" ?: ?"([^"\\]{1,200})"')
_KIRO = b'"executionId"'
_INDEX = frozenset(("sessionId", "title", "dateCreated", "workspaceDirectory", "messageCount"))
INDEX_SESSION = "sessions"


class ContinueAdapter(KitAdapter[ContinueState]):
    """The adapter of Continue."""

    facts = FACTS
    state_type = ContinueState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Kiro's sessions are made like these, but each item names its execution."""
        del path
        if not _HEAD.match(head) or _KIRO in head or not all(key in head for key in _KEYS):
            return None
        return "session" if _HISTORY.search(head) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the file's name in Continue's layout, else the id inside."""
        if info.role == "index":
            return INDEX_SESSION
        named = _HEAD_SESSION.search(head) if "/" not in info.path else None
        return (named[1].decode("utf-8", "replace") if named else info.stem) or first_line_name(head)

    def read(self, reading: ContinueReading) -> None:
        """Give the events of one record."""
        if reading.state.role == "index":
            _read_index(reading)
        elif reading.at == "history":
            read_item(reading)
        else:
            read_session(reading)


def _read_index(reading: ContinueReading) -> None:
    """Give an entry of the list of sessions: the only place that says when one began."""
    entry = reading.value
    session = text(entry.get("sessionId"))
    if not session:
        if entry:
            reading.kept("sessions", native_id=name_of(reading, "entry", entry))
        else:
            read_odd(reading)
        return
    written = entry.get("dateCreated")
    created = whole(written)
    reading.date(written if created is None else created, "dateCreated")
    start = SessionStart(cwd=folder_of(reading.text(entry, "workspaceDirectory")))
    reading.add(start, native_id="index/start", session=session)
    give_title(reading, entry, session)
    reading.extra(entry, _INDEX, "sessions", native_id=f"entry:{session}")
