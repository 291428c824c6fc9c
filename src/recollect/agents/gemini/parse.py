"""Gemini CLI: one record in, its events out. Pure, and never raises on content."""

from __future__ import annotations

from typing import Any

from recollect.agents.gemini import sources
from recollect.agents.gemini.declare import FACTS
from recollect.agents.gemini.folders import read_project_root, read_projects
from recollect.agents.gemini.recording import read_record, read_snapshot_record
from recollect.agents.gemini.state import GeminiState
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.content.google.chat import read_logged_prompt, read_saved_turn
from recollect.agents.kit.reading import MAX_NAME_CHARS, Reading
from recollect.model.records import SourceInfo


class GeminiAdapter(KitAdapter[GeminiState]):
    """The adapter of Gemini CLI."""

    facts = FACTS
    state_type = GeminiState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`."""
        return sources.recognise(path, head)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`."""
        return sources.session_of(info, head)

    def begin(self, info: SourceInfo) -> GeminiState:
        """See `Adapter.begin`."""
        return GeminiState(
            session=info.session,
            role=info.role,
            name=info.name,
            document=info.document,
            project=sources.project_of(info)[:MAX_NAME_CHARS],
            parent=sources.parent_of(info)[:MAX_NAME_CHARS],
        )

    def read(self, reading: Reading[GeminiState]) -> None:
        """Give the events of one record."""
        value, role = reading.record.value, reading.state.role
        if role == "project" and isinstance(value, str):
            read_project_root(reading, value)
        elif role == "chat_json" and (isinstance(value, dict) or reading.at == "messages"):
            read_snapshot_record(reading)
        elif not isinstance(value, dict):
            read_odd(reading)
        elif role == "prompts":
            read_logged_prompt(reading)
        elif role == "saved":
            _read_saved(reading, value)
        elif role == "projects":
            read_projects(reading)
        else:
            read_record(reading)


def _read_saved(reading: Reading[GeminiState], value: dict[str, Any]) -> None:
    """Give a conversation saved by `/chat save`: a list of turns, later inside an object."""
    if "history" not in value:
        read_saved_turn(reading, value)
        return
    for turn in reading.items(value, "history"):
        if isinstance(turn, dict):
            read_saved_turn(reading, turn)
        else:
            reading.wrong("history")
    reading.native_id = "saved"
    reading.extra(value, frozenset(("history", "authType", "messageIds")), "saved")
