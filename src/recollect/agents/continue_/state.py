"""What the parser of Continue remembers from item to item."""

from __future__ import annotations

from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState
from recollect.agents.kit.reading import Reading


class ContinueState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """Names, calls without a result, results that were given, and what the session runs with."""

    waiting: tuple[Waiting, ...] = ()
    answered: tuple[str, ...] = ()
    has_message_usage: bool = False
    model: str = ""


ContinueReading = Reading[ContinueState]
