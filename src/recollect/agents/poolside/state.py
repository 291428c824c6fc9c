"""What the parser of Poolside carries from record to record."""

from __future__ import annotations

import msgspec

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting

MAX_STEPS = 32


class Step(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A step that is being inferred, and the model that does it."""

    name: str
    model: str


class PoolsideState(kit.BaseState, frozen=True, gc=False, omit_defaults=True):
    """State after a record."""

    cwd: str = ""
    model: str = ""
    prompt: str = ""
    """A hash of the system prompt that was given last."""
    steps: tuple[Step, ...] = ()
    waiting: tuple[Waiting, ...] = ()


Reading = kit.Reading[PoolsideState]
