"""What the parser of Reasonix carries from record to record."""

from __future__ import annotations

from recollect.agents.kit import reading as kit
from recollect.agents.kit.turns import TurnState

MAX_TURNS = 512


class ReasonixState(TurnState, frozen=True, gc=False, omit_defaults=True):
    """The memory between records; bounded whatever comes."""

    turns: tuple[str, ...] = ()
    """Names of the newest human turns: which of them a replaced transcript has no more was taken back."""
    befores: tuple[str, ...] = ()
    """The events that stood before these turns when they were given."""


Reading = kit.Reading[ReasonixState]
"""A record in hand."""
