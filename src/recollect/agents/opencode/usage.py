"""Tokens of one model call, and which of their sightings counts.

A message states the tokens of its last call; each `step-finish` part those of its own. The parts count. A message
whose first part begins no step has none: then its own tokens do. Evidence: format notes: opencode, "usage" and
"double token sources".
"""

from __future__ import annotations

from typing import Any

from recollect.agents.opencode.state import Reading
from recollect.model.payloads import TokenUsage

_TOKENS = frozenset(("input", "output", "reasoning", "cache", "total"))
_CACHE = frozenset(("read", "write"))


def usage_of(reading: Reading, holder: dict[str, Any], model: str, created: int | None, name: str) -> TokenUsage | None:
    """Return the usage that `tokens` and `cost` of a holder state, None where it is nothing (a call under way).

    The key is made of the call's time and numbers, not of an id: a fork copies messages under new ids, and the same
    call stands in the tables of two generations.
    """
    tokens = reading.mapping(holder, "tokens")
    cache = reading.mapping(tokens, "cache")
    fresh, answer, thought = (reading.count(tokens, field) for field in ("input", "output", "reasoning"))
    read, written = reading.count(cache, "read"), reading.count(cache, "write")
    reading.extra(tokens, _TOKENS, "tokens", native_id=name)
    reading.extra(cache, _CACHE, "tokens.cache", native_id=name)
    cost = reading.money(holder, "cost")
    if not (fresh or answer or thought or read or written or cost):
        return None
    moment = name if created is None else created
    numbers = ":".join(str(n) for n in (fresh, answer, thought, read, written))
    is_part = reading.whole(tokens, "total") == fresh + answer + read + written
    return TokenUsage(
        model=model,
        input_tokens=fresh,
        output_tokens=answer if is_part else answer + thought,
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
        reasoning_tokens=thought,
        cost_usd=cost,
        dedupe_key=f"opencode:{moment}:{numbers}",
    )


def give_pending(reading: Reading) -> None:
    """Give the tokens of the last message, which turned out to have no steps."""
    pending: TokenUsage | None = reading.now("pending")
    if pending is not None:
        reading.set(pending=None)
        is_sidechain, reading.is_sidechain = reading.is_sidechain, reading.now("is_side")
        reading.add(pending, "assistant", native_id=f"{reading.now('message')}/usage")
        reading.is_sidechain = is_sidechain
