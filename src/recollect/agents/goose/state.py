"""What the parser of goose carries from record to record."""

from __future__ import annotations

import msgspec

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Call
from recollect.agents.kit.rows.names import NamingState


class Ledger(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Sums of the rows of `usage_ledger`, as written: input with its cached part."""

    rows: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class GooseState(NamingState, frozen=True):
    """The memory between records; bounded whatever comes."""

    calls: tuple[Call, ...] = ()
    """Calls without a result yet."""
    put_away: bool = False
    """Messages that the model sees no more came, and no summary of them yet."""
    ledger: Ledger = Ledger()


Reading = kit.Reading[GooseState]
"""A record in hand."""
