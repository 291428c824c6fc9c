"""Antigravity: one record in, its events out. Pure, and never raises on content.

What each step becomes is in `steps` and `tools`; traps are in README.md beside this file.
"""

from __future__ import annotations

import msgspec

from recollect.agents.antigravity.declare import FACTS, HISTORY, PLAN, TRANSCRIPT
from recollect.agents.antigravity.state import AntigravityState, Reading
from recollect.agents.antigravity.steps import SOURCES, read_step
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.naming import name_of, short
from recollect.model.payloads import Lifecycle, UserMessage
from recollect.model.records import SourceInfo

_BRAIN = "brain"
_MAX_LINES = 10
_HISTORY_FIELDS = frozenset(("display", "timestamp", "workspace", "conversationId", "type", "mode"))


class AntigravityAdapter(KitAdapter[AntigravityState]):
    """The adapter of Antigravity."""

    facts = FACTS
    state_type = AntigravityState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: steps with a producer of Antigravity's and a time of creation."""
        del path
        for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
            try:
                value = mapping(msgspec.json.decode(line))
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                continue
            if text(value.get("source")) in SOURCES and "created_at" in value:
                return TRANSCRIPT
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the conversation's folder in the brain. Prompts name theirs line by line."""
        if info.role == HISTORY:
            return HISTORY
        folders = info.path.split("/")[:-1]
        after = folders[folders.index(_BRAIN) + 1 :] if _BRAIN in folders else []
        return (after[0] if after else info.stem) or first_line_name(head)

    def read(self, reading: Reading) -> None:
        """Give the events of one record, by the kind of source."""
        value = reading.record.value
        if reading.state.role == PLAN and isinstance(value, str):
            name = reading.state.name
            payload = Lifecycle("plan", text=value, detail={"file": name})
            reading.add(payload, native_id=f"plan:{short(name)}")
        elif not isinstance(value, dict):
            read_odd(reading)
        elif reading.state.role == HISTORY:
            _read_prompt(reading)
        else:
            read_step(reading)


def _read_prompt(reading: Reading) -> None:
    """Give a line of the prompt history, which alone says in which folder a conversation was held."""
    value = reading.value
    reading.date(value.get("timestamp"))
    said, session = reading.text(value, "display"), reading.text(value, "conversationId")
    name = name_of(reading, "prompt", value)
    workspace = reading.text(value, "workspace")
    if not session or not said:
        reading.kept("prompt", native_id=name)
        return
    if workspace:
        cwd = Lifecycle("cwd", cwd=workspace)
        reading.add(cwd, native_id=f"history:cwd:{workspace}", session=session)
    reading.add(UserMessage(said), "user", native_id=name, session=session)
    reading.extra(value, _HISTORY_FIELDS, "history", native_id=name)
