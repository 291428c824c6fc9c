"""What the parser of Hermes carries from record to record."""

from __future__ import annotations

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState


class HermesState(NamingState, frozen=True):
    """The memory between records; bounded whatever comes."""

    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet."""
    kept: str = ""
    """The newest event before the run of taken-back messages that is being read."""
    rewound: str = ""
    """The first message of the run of taken-back messages that is being read."""
    rewound_turns: int = 0
    has_compacted: bool = False
    usage_rows: int = 0
    prompt_hash: str = ""
    prompt: str = ""
    """The system prompt whose sessions come next."""


Reading = kit.Reading[HermesState]
"""A record in hand."""
