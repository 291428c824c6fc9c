"""What the parser of Amp remembers from message to message."""

from __future__ import annotations

from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState
from recollect.agents.kit.reading import Reading


class AmpState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """Names, calls without a result, and the model in use."""

    waiting: tuple[Waiting, ...] = ()
    model: str = ""


AmpReading = Reading[AmpState]
