"""pi: one entry in, its events out. The parser is the family's, `agents/kit/pi_entries`."""

from __future__ import annotations

from recollect.agents.kit.pi_entries import PiFamilyAdapter
from recollect.agents.pi.declare import FACTS

_RELATIVES = ("openclaw", "clawdbot", "qclaw")


class PiAdapter(PiFamilyAdapter):
    """The adapter of pi, Oh My Pi and Prime Agent."""

    facts = FACTS

    def is_own(self, path: str, head: bytes) -> bool:
        """See `PiFamilyAdapter.is_own`: everything of the family but OpenClaw."""
        return not any(name in path.lower() or name.encode() in head for name in _RELATIVES)
