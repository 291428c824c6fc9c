"""iFlow CLI: Claude Code's envelope around Google's tool results. Pure, and never raises on content."""

from __future__ import annotations

from recollect.agents.iflow.declare import FACTS
from recollect.agents.kit.adapter import KitAdapter, Reading, read_odd
from recollect.agents.kit.claude_like import RelativeState, read_record
from recollect.agents.kit.values import head_objects, mapping, text

_PREFIX = "session-"
_MAX_LINES = 20


class IflowState(RelativeState, frozen=True):
    """See `RelativeState`."""


class IflowAdapter(KitAdapter[IflowState]):
    """The adapter of iFlow CLI."""

    facts = FACTS
    state_type = IflowState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Its session ids begin with `session-`, as its files do; Claude Code's are UUIDs."""
        del path
        for value in head_objects(head, _MAX_LINES):
            is_message = value.get("type") in ("user", "assistant") and "content" in mapping(value.get("message"))
            if is_message and "userType" in value and text(value.get("sessionId")).startswith(_PREFIX):
                return "transcript"
        return None

    def read(self, reading: Reading[IflowState]) -> None:
        """Give the events of one record."""
        if isinstance(reading.record.value, dict):
            read_record(reading, frozenset())
        else:
            read_odd(reading)
