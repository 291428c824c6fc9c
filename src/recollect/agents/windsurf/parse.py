"""Windsurf: one record in, its events out. Pure, and never raises on content.

Transcripts: `transcripts`. Payloads of hooks: `hooks`. The older chat: `chats`. Traps: README.md.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.windsurf.chats import read_chat_row
from recollect.agents.windsurf.declare import FACTS, HOOKS, TRANSCRIPT, WORKSPACE
from recollect.agents.windsurf.hooks import read_payload
from recollect.agents.windsurf.state import Step, WindsurfState
from recollect.agents.windsurf.transcripts import read_step
from recollect.model.records import SourceInfo

_READERS = {TRANSCRIPT: read_step, HOOKS: read_payload, WORKSPACE: read_chat_row}
_STEP = frozenset(("type", "status"))


class WindsurfAdapter(KitAdapter[WindsurfState]):
    """The adapter of Windsurf."""

    facts = FACTS
    state_type = WindsurfState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. A step has nothing but its type, its status and what stands under its type."""
        del path
        first = _first(head)
        if isinstance(first.get("agent_action_name"), str) and isinstance(first.get("trajectory_id"), str):
            return HOOKS
        kind = first.get("type")
        if isinstance(kind, str) and first.keys() == _STEP | {kind} and isinstance(first[kind], dict):
            return TRANSCRIPT
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the trajectory; of a workspace's store its folder: its chats name themselves."""
        folders = info.path.split("/")
        if info.role == WORKSPACE and len(folders) > 1:
            return f"workspace-{folders[-2]}"
        if info.role == HOOKS:
            return text(_first(head).get("trajectory_id")) or first_line_name(head)
        return info.stem or first_line_name(head)

    def read(self, reading: Step) -> None:
        """See `KitAdapter.read`."""
        read = _READERS.get(reading.state.role, read_odd)
        read(reading)


def _first(head: bytes) -> dict[str, Any]:
    line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    try:
        record = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
