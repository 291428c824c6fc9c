"""Mistral Vibe: one record in, its events out. Pure, and never raises on content.

What each becomes is in `messages` and `meta`; traps are in README.md beside this file.
"""

from __future__ import annotations

import re

from recollect.agents.facts import facts_of
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.names import short
from recollect.agents.kit.values import decoded_json, instant, mapping, text
from recollect.agents.vibe.messages import ROW_FIELDS, read_message
from recollect.agents.vibe.meta import is_meta, read_meta
from recollect.agents.vibe.state import Reading, VibeState
from recollect.model.records import SourceInfo

MESSAGES = "messages"
META = "meta"

_FOLDER = re.compile(r"(?P<prefix>.*)_(?P<day>\d{8})_(?P<time>\d{6})_(?P<id>[0-9a-f]{8})", re.DOTALL)
_ROLES = frozenset(("user", "assistant", "tool", "system"))
_AGENTS = "agents"
_MAX_LINES = 20


class VibeAdapter(KitAdapter[VibeState]):
    """The adapter of Mistral Vibe."""

    facts = facts_of("vibe")
    state_type = VibeState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Rows alone are like many others': only under Vibe's own name."""
        name = path.rsplit("/", 1)[-1]
        if name == "meta.json":
            return META if is_meta(decoded_json(head)) else None
        if name != "messages.jsonl":
            return None
        rows = [mapping(decoded_json(line)) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]]
        told = [row for row in rows if row]
        is_told = bool(told) and all(text(row.get("role")) in _ROLES and row.keys() <= ROW_FIELDS for row in told)
        return MESSAGES if is_told and any("message_id" in row for row in told) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the short id at the end of the folder's name, as Vibe itself finds sessions."""
        return _session(_folder(info)) or first_line_name(head)

    def begin(self, info: SourceInfo) -> VibeState:
        """See `Adapter.begin`. The folder's name holds the only time there is."""
        folders = info.path.split("/")[:-1]
        is_subagent = len(folders) > 2 and folders[-2] == _AGENTS
        told = _FOLDER.fullmatch(_folder(info))
        when = f"{told['day'][:4]}-{told['day'][4:6]}-{told['day'][6:]}T{_clock(told['time'])}Z" if told else ""
        return VibeState(
            session=info.session,
            role=info.role,
            ts=instant(when) if when else None,
            parent=short(_session(folders[-3])) if is_subagent else "",
            agent=short(told["prefix"]) if told and is_subagent else "",
        )

    def read(self, reading: Reading) -> None:
        """Give the events of one record, by the kind of source."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif reading.state.role == META:
            read_meta(reading)
        else:
            read_message(reading)


def _folder(info: SourceInfo) -> str:
    folders = info.path.split("/")[:-1]
    return folders[-1] if folders else ""


def _session(folder: str) -> str:
    told = _FOLDER.fullmatch(folder)
    return told["id"] if told else folder


def _clock(digits: str) -> str:
    return f"{digits[:2]}:{digits[2:4]}:{digits[4:]}"
