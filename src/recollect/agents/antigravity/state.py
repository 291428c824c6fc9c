"""What the parser of Antigravity carries from record to record."""

from __future__ import annotations

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState


class AntigravityState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record."""

    model: str = ""
    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet, the oldest first."""


Reading = kit.Reading[AntigravityState]
