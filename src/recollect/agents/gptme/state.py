"""What the parser of gptme carries from record to record."""

from __future__ import annotations

from recollect.agents.kit import adapter as kit
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.names import NamingState


class GptmeState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record."""

    branch_of: str = ""
    """Of a branch: the conversation it left."""
    has_prompt: bool = False
    """A person has said something: system messages before that are instructions."""
    waiting: tuple[Waiting, ...] = ()
    """Calls that ran for certain, the oldest first."""
    possible: tuple[Waiting, ...] = ()
    """Code blocks of the last message that may have been run: their language is a tool's and an example's alike."""
    model: str = ""


Reading = kit.Reading[GptmeState]
