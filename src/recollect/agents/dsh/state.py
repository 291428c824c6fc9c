"""What the parser of DeepSeek Harness carries from record to record."""

from __future__ import annotations

import msgspec

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState

MAX_PIECES_CHARS = 32_768
"""Streamed text that is kept until its message comes."""


class Streamed(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What was streamed of a response so far. key: its turn and step."""

    key: str = ""
    said: str = ""
    thought: str = ""


class DshState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record."""

    model: str = ""
    prompt: str = ""
    """A hash of the system prompt that was given last."""
    streamed: Streamed = Streamed()
    waiting: tuple[Waiting, ...] = ()


Reading = kit.Reading[DshState]
