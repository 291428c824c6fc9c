"""What the parser of goose carries from record to record."""

from __future__ import annotations

import msgspec

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting

_MAX_NAMES = 512


class Ledger(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Sums of the rows of `usage_ledger`, as written: input with its cached part."""

    rows: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Named(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How many messages had a name, and what the newest of them said."""

    name: str
    gist: str
    count: int


class GooseState(kit.BaseState, frozen=True):
    """The memory between records; bounded whatever comes."""

    named: tuple[Named, ...] = ()
    """The newest names of messages, the last at the end."""
    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet."""
    put_away: bool = False
    """Messages that the model sees no more came, and no summary of them yet."""
    ledger: Ledger = Ledger()


Reading = kit.Reading[GooseState]
"""A record in hand."""


def occurrence(reading: Reading, name: str, gist: str) -> str:
    """Return the name for one more message called so: `name`, then `name/2` and so on.

    gist: tells messages of one name apart; the same as the last time is the same message again.
    """
    known: tuple[Named, ...] = reading.now("named")
    before = next((n for n in reversed(known) if n.name == name), None)
    if before is None:
        found = Named(name, gist, 1)
    elif before.gist == gist:
        found = before
    else:
        found = Named(name, gist, before.count + 1)
    rest = tuple(n for n in known if n is not before)
    reading.set(named=(*rest, found)[-_MAX_NAMES:])
    return name if found.count == 1 else f"{name}/{found.count}"
