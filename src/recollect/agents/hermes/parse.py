"""Hermes Agent: one row, document member or line in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from recollect.agents.hermes.declare import FACTS
from recollect.agents.hermes.documents import read_document, read_line, read_trajectory
from recollect.agents.hermes.messages import name_of, read_message
from recollect.agents.hermes.sessions import (
    read_model_usage,
    read_prompt,
    read_prompted_session,
    read_session,
    take_time,
)
from recollect.agents.hermes.state import HermesState, Reading
from recollect.agents.kit.access import mapping
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.model.payloads import Lifecycle, Rewind
from recollect.model.records import SourceInfo

_MANY_TURNS = 1_000_000
_SESSION_ID = re.compile(rb'"session_id"\s*:\s*"([^"\\]{1,200})"')
_DOCUMENT = re.compile(rb'\s*\{\s*"session_id"\s*:\s*"')
_OF_THE_DOCUMENT = (b'"session_start"', b'"platform"', b'"messages"')


class HermesAdapter(KitAdapter[HermesState]):
    """The adapter of Hermes Agent."""

    facts = FACTS
    state_type = HermesState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a session document, an older session's first line, a trajectory."""
        del path
        if _DOCUMENT.match(head) and all(name in head for name in _OF_THE_DOCUMENT[:2]):
            return "file"
        line = head.lstrip().partition(b"\n")[0]
        if line.startswith(b"{") and b'"session_meta"' in line and b'"role"' in line:
            try:
                meta = mapping(msgspec.json.decode(line))
            except (msgspec.DecodeError, ValueError, RecursionError):
                meta = {}
            return "lines" if meta.get("role") == "session_meta" and "platform" in meta else None
        is_trajectory = b'"conversations"' in line and b'"from"' in line and b'"api_calls"' in line
        return "trajectories" if is_trajectory else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the document, the id in a session file, else the file's name."""
        if info.document:
            return info.document
        if info.role == "file":
            found = _SESSION_ID.search(head)
            name = found[1].decode("utf-8", "replace") if found else info.stem.removeprefix("session_")
            return name or first_line_name(head)
        return info.stem or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        read = _READERS.get((reading.state.role, reading.at)) or _READERS.get((reading.state.role, ""))
        if read is None:
            reading.unknown(reading.at or "record")
            return
        before = len(reading.events)
        read(reading)
        is_quiet = len(reading.events) == before and not reading.defects
        if is_quiet and reading.state.role in ("messages", "session", "trajectories"):
            reading.unknown(reading.at or "record")


def _read_row(reading: Reading) -> None:
    """Give a row of `messages`, and what its flags say of the conversation."""
    row = reading.value
    take_time(reading, row.get("timestamp"), "timestamp")
    name = name_of(row)
    is_active = row.get("active") not in (0, False)
    is_compacted = row.get("compacted") in (1, True)
    if is_compacted:
        reading.set(has_compacted=True)
    if is_active or is_compacted:
        _close_rewind(reading)
    is_turn = read_message(reading, row, name)
    if is_active or is_compacted:
        return
    if not reading.now("rewound"):
        reading.set(rewound=name, kept=reading.state.newest)
        reading.add(Lifecycle("rewound", detail={"from": name}), native_id=f"{name}/rewound")
    reading.set(rewound_turns=min(reading.now("rewound_turns") + is_turn, _MANY_TURNS))


def _close_rewind(reading: Reading) -> None:
    """Give the rewind that ends at this message: the messages before it were taken back."""
    first = reading.now("rewound")
    if first:
        rewind = Rewind(reading.now("kept"), reading.now("rewound_turns") or None)
        reading.add(rewind, native_id=f"{first}/rewind")
        reading.set(rewound="", rewound_turns=0)


_READERS: dict[tuple[str, str], Callable[[Reading], None]] = {
    ("messages", ""): _read_row,
    ("session", ""): read_session,
    ("session", "session_model_usage"): read_model_usage,
    ("prompts", ""): read_prompted_session,
    ("prompts", "system_prompts"): read_prompt,
    ("file", ""): read_document,
    ("lines", ""): read_line,
    ("trajectories", ""): read_trajectory,
}
"""What reads the records of a role, by the table or member where it matters."""
