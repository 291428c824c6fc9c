"""What the parser of Droid carries from record to record."""

from __future__ import annotations

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting


class DroidState(kit.BaseState, frozen=True, gc=False, omit_defaults=True):
    """State after a record."""

    waiting: tuple[Waiting, ...] = ()
    model: str = ""
    cwd: str = ""


Reading = kit.Reading[DroidState]
