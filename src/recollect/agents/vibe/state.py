"""What the parser of Vibe carries from record to record."""

from __future__ import annotations

from recollect.agents.kit import adapter as kit
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.names import NamingState


class VibeState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record."""

    parent: str = ""
    """Of a subagent: the session that started it."""
    agent: str = ""
    waiting: tuple[Waiting, ...] = ()


Reading = kit.Reading[VibeState]
