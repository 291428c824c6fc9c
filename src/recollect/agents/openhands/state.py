"""What the parser of an OpenHands source remembers."""

from __future__ import annotations

from recollect.agents.kit.naming import NamingState
from recollect.agents.kit.reading import Reading


class OpenHandsState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record.

    spent: the running totals of the old generation (prompt, completion, cache read, cache write), and its cost.
    """

    spent: tuple[int, ...] = ()
    cost: float = 0.0


OpenHandsReading = Reading[OpenHandsState]
