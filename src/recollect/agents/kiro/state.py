"""What the parser of Kiro remembers from record to record."""

from __future__ import annotations

from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState
from recollect.agents.kit.reading import Reading


class KiroState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """Names, calls without a result, and where the session works."""

    waiting: tuple[Waiting, ...] = ()
    cwd: str = ""
    model: str = ""
    folder: str = ""
    """The name of the folder that the file lies in: of a workspace, its path in base64."""


KiroReading = Reading[KiroState]
