"""Kimi: one record in, its events out. What each becomes is in `wire`, `code`, `context` and `sidecars`."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.agents.kimi.code import read_code
from recollect.agents.kimi.context import read_context
from recollect.agents.kimi.declare import FACTS
from recollect.agents.kimi.sidecars import read_folders, read_state
from recollect.agents.kimi.state import KimiReading, KimiState, Origin
from recollect.agents.kimi.wire import read_wire, start
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.model.records import SourceInfo

_FILES = frozenset(("wire.jsonl", "context.jsonl", "state.json", "kimi.json"))
_ROTATED = re.compile(r"(.+?)(?:_([A-Za-z][\w-]*))?_(\d{1,6})\Z")
"""`context_1`: an older context of the session. `context_sub_1`, `<id>_read_1`: the context of a subagent."""
_UUID = re.compile(r"([0-9a-fA-F-]{36})(?:_(.+))?\Z")
_ROLES = frozenset(("_checkpoint", "_usage", "_system_prompt"))
_RECORDS = frozenset(
    (
        "metadata", "config.update", "tools.set_active_tools", "turn.prompt", "context.append_message",
        "context.append_loop_event", "usage.record",
    )
)  # fmt: skip
_MAX_LINES = 8


class KimiAdapter(KitAdapter[KimiState]):
    """The adapter of Kimi CLI, Kimi Code and Kimi Work."""

    facts = FACTS
    state_type = KimiState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the first records of a wire or of a context."""
        found = [_decoded(line) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES] if line.strip()]
        records = [record for record in found if isinstance(record, dict)]
        if not records:
            return None
        first = records[0]
        if text(first.get("role")) in _ROLES:
            return "old_context"
        is_wire = first.get("type") == "metadata" and isinstance(first.get("protocol_version"), str)
        if is_wire or _is_envelope(first):
            others = records[1:]
            if all(_is_envelope(r) or text(r.get("type")) in _RECORDS or "." in text(r.get("type")) for r in others):
                return "subagent" if _origin_of(path).parent else "wire"
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the session's folder; a subagent is `<session>/<agent>`."""
        return _origin_of(info.path).session or info.stem or first_line_name(head)

    def begin(self, info: SourceInfo) -> KimiState:
        """See `Adapter.begin`."""
        origin = _origin_of(info.path)
        return KimiState(
            session=info.session, role=info.role, name=info.name, parent_session=origin.parent, agent=origin.agent
        )

    def read(self, reading: KimiReading) -> None:
        """Give the events of one record."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        role = reading.state.role
        if role == "state":
            read_state(reading)
        elif role == "folders":
            read_folders(reading)
        elif role in ("context", "old_context"):
            read_context(reading)
        elif "message" in reading.value and "type" not in reading.value:
            read_wire(reading)
        elif reading.value.get("type") == "metadata" and "created_at" not in reading.value:
            start(reading)
        else:
            read_code(reading)


def _origin_of(path: str) -> Origin:
    """Return whose a file is, told by its path below `sessions`, or below any folder."""
    folders = path.split("/")
    name = folders.pop()
    is_file = name in _FILES or (name.startswith("context") and name.endswith(".jsonl"))
    if is_file and len(folders) >= 2 and folders[-2] in ("subagents", "agents"):
        agent, session = folders[-1], folders[-3] if len(folders) >= 3 else ""
        if folders[-2] == "agents" and agent == "main":
            return Origin(session)
        return Origin(f"{session}/{agent}", session, agent) if session else Origin(agent)
    stem = name.removesuffix(".jsonl").removesuffix(".json")
    if is_file:
        session = folders[-1] if folders else ""
        rotated = _ROTATED.match(stem) if stem.startswith("context") else None
        if rotated is None or not rotated[2]:
            return Origin(session)
        agent = f"{rotated[2]}_{rotated[3]}"
        return Origin(f"{session}/{agent}", session, agent)
    named = _UUID.match(stem)
    if named is None or not named[2] or named[2].isdigit():
        return Origin(named[1] if named else stem)
    return Origin(f"{named[1]}/{named[2]}", named[1], named[2])


def _is_envelope(record: dict[str, Any]) -> bool:
    message = mapping(record.get("message"))
    return isinstance(record.get("timestamp"), int | float) and "payload" in message and "type" in message


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
