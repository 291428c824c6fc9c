"""OpenClaw: one entry in, its events out. The parser is the family's, `agents/kit/pi_entries`."""

from __future__ import annotations

from recollect.agents.kit.pi_entries import PiFamilyAdapter
from recollect.agents.openclaw.declare import FACTS

_NAMES = ("openclaw", "clawdbot", "qclaw")


class OpenClawAdapter(PiFamilyAdapter):
    """The adapter of OpenClaw."""

    facts = FACTS

    def is_own(self, path: str, head: bytes) -> bool:
        """See `PiFamilyAdapter.is_own`: a folder called after the agent, or its name in the first entries."""
        return any(name in path.lower() or name.encode() in head for name in _NAMES)
