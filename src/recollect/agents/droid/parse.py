"""Factory Droid: one record in, its events out. Pure, and never raises on content.

What each record becomes is in `records`, `messages`, `results`, `settings` and `stream`; traps are in README.md.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.droid.declare import FACTS, SETTINGS, STREAM, TRANSCRIPT
from recollect.agents.droid.records import read_record
from recollect.agents.droid.settings import is_settings, read_settings
from recollect.agents.droid.state import DroidState, Reading
from recollect.agents.droid.stream import read_stream, stream_session
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.model.records import SourceInfo

_MAX_LINES = 20
_SUFFIX = ".settings"


class DroidAdapter(KitAdapter[DroidState]):
    """The adapter of Factory Droid."""

    facts = FACTS
    state_type = DroidState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. The messages alone could be another agent's; the header is Droid's."""
        values = _values(head)
        for value in values:
            if value.get("type") == "session_start" and _header_id(value):
                return TRANSCRIPT
        if any(stream_session(value) for value in values):
            return STREAM
        return SETTINGS if path.endswith(".settings.json") and is_settings(_decoded(head)) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the file's stem in the agent's own layout, else what the content says."""
        stem = info.stem.removesuffix(_SUFFIX)
        if info.role == SETTINGS or info.path.startswith("sessions/"):
            return stem or first_line_name(head)
        found = _header_id if info.role == TRANSCRIPT else stream_session
        return next((name for value in _values(head) if (name := found(value))), stem) or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """Give the events of one record, by the kind of source."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
        elif reading.state.role == SETTINGS:
            read_settings(reading)
        elif reading.state.role == STREAM:
            read_stream(reading)
        else:
            read_record(reading)


def _header_id(value: dict[str, Any]) -> str:
    """Return the id that a header gives; the first versions kept it one level deeper."""
    if value.get("type") != "session_start":
        return ""
    return text(value.get("id")) or text(mapping(value.get("session")).get("id"))


def _values(head: bytes) -> list[dict[str, Any]]:
    return [mapping(_decoded(line)) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]]


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
