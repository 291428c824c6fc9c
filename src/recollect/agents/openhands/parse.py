"""OpenHands: one record in, its events out. What each becomes is in `events`, `old`, `sidecars` and `llm_log`."""

from __future__ import annotations

from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.openhands.declare import FACTS
from recollect.agents.openhands.events import read_event
from recollect.agents.openhands.llm_log import read_log, session_of
from recollect.agents.openhands.old import read_old_event
from recollect.agents.openhands.sidecars import read_metadata, read_state, read_tasks
from recollect.agents.openhands.state import OpenHandsReading, OpenHandsState
from recollect.model.records import SourceInfo

_STATE_MARKS = (b'"usage_to_metrics"', b'"execution_status"', b'"workspace"')
_READERS = {
    "conversation": read_event,
    "old_conversation": read_old_event,
    "state": read_state,
    "old_state": read_metadata,
    "llm_log": read_log,
}


class OpenHandsAdapter(KitAdapter[OpenHandsState]):
    """The adapter of OpenHands."""

    facts = FACTS
    state_type = OpenHandsState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the state of a conversation, or the log of a request of the agent."""
        start = head.lstrip()
        if start.startswith(b"{") and all(mark in head for mark in _STATE_MARKS):
            return "state"
        if b"You are OpenHands" in head and session_of(head):
            return "llm_log"
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the conversation's folder."""
        if info.document:
            return info.document
        if info.role == "llm_log":
            return session_of(head) or info.stem or first_line_name(head)
        folders = info.path.split("/")[:-1]
        return (folders[-1] if folders else "") or info.stem or first_line_name(head)

    def read(self, reading: OpenHandsReading) -> None:
        """Give the events of one record."""
        role = reading.state.role
        if role == "tasks":
            read_tasks(reading)
        elif not isinstance(reading.record.value, dict):
            read_odd(reading)
        else:
            _READERS.get(role, read_event)(reading)
