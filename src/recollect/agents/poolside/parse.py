"""Poolside: one record in, its events out. Pure, and never raises on content.

A record is `{id, step_id, timestamp, type}` and one payload, under its type with underscores. What each type becomes is
in `events` and `tools`; traps are in README.md beside this file.
"""

from __future__ import annotations

import msgspec

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.poolside.declare import FACTS, TRAJECTORY
from recollect.agents.poolside.events import READERS, read_event
from recollect.agents.poolside.state import PoolsideState, Reading
from recollect.model.records import SourceInfo

_PREFIX = "trajectory-"
_MAX_LINES = 10


class PoolsideAdapter(KitAdapter[PoolsideState]):
    """The adapter of Poolside's agent."""

    facts = FACTS
    state_type = PoolsideState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a known type, and its payload under the same name."""
        del path
        for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
            try:
                value = mapping(msgspec.json.decode(line))
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                continue
            kind = text(value.get("type"))
            if kind in READERS and isinstance(value.get(kind.replace(".", "_")), dict):
                return TRAJECTORY
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`. Only the file's name says it: `trajectory-<agent>_<session>.ndjson`."""
        stem = info.name.removesuffix(".ndjson")
        return stem.removeprefix(_PREFIX).partition("_")[2] or stem or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """Give the events of one record."""
        if isinstance(reading.record.value, dict):
            read_event(reading)
        else:
            read_odd(reading)
