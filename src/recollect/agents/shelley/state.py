"""What the parser of Shelley carries from row to row."""

from __future__ import annotations

from recollect.agents.kit import adapter as kit
from recollect.agents.kit.calls import TurnState
from recollect.agents.kit.names import Marks


class ShelleyState(TurnState, frozen=True, gc=False, omit_defaults=True):
    """The memory between rows; bounded whatever comes."""

    said: Marks = ()
    """Hashes of the messages so far, the newest last: a compaction copies some of them."""
    is_copying: bool = False
    """A summary came, and since then only copies."""


Reading = kit.Reading[ShelleyState]
"""A row in hand."""
