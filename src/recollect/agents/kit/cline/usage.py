"""Tokens: one request of the UI log, or one message of the SDK, counts once; totals beside them are never added up.

Evidence: format notes: Cline / Roo / Kilo, "Usage authority"; recorded sessions of the Cline SDK.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import mapping
from recollect.agents.kit.cline.state import ClineReading
from recollect.model.payloads import TokenUsage

_REQUEST = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
_METRICS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def request_usage(
    reading: ClineReading, spent: dict[str, Any], key: str, *, is_total: bool = False
) -> TokenUsage | None:
    """Return the usage of a request (or a task's total) in the extension's words; None where it states none yet."""
    if not any(isinstance(spent.get(name), int | float) for name in (*_REQUEST, "cost", "totalCost")):
        return None
    total, output, read, written = (reading.count(spent, name) for name in _REQUEST)
    cached = read + written
    if reading.state.counts_cached_input and cached <= total:
        total -= cached
    cost = reading.money(spent, "totalCost" if is_total else "cost")
    model = reading.text(spent, "modelId") or reading.now("model")
    return TokenUsage(
        model,
        total,
        output,
        read,
        written,
        cost_usd=cost,
        dedupe_key=key if is_total else f"{reading.state.session}:{key}",
        is_additive=not is_total,
    )


def message_usage(reading: ClineReading, value: dict[str, Any], message_id: str, model: str) -> TokenUsage | None:
    """Return the usage of an assistant message.

    The SDK's `inputTokens` hold the cached ones too, and only there do messages have ids; what the extension writes
    beside a message of its API log (`tokens`) repeats the UI log.
    """
    metrics = mapping(value.get("metrics"))
    nested = mapping(metrics.get("tokens"))
    if nested:
        return TokenUsage(
            model,
            reading.count(nested, "prompt"),
            reading.count(nested, "completion"),
            reading.count(nested, "cached"),
            cost_usd=reading.money(metrics, "cost"),
            is_additive=False,
        )
    if not any(isinstance(metrics.get(name), int | float) for name in _METRICS):
        return None
    is_authority = bool(message_id) and reading.state.role in ("sdk", "sdk_context")
    return sdk_usage(reading, metrics, model, f"message:{message_id}", is_additive=is_authority)


def sdk_usage(reading: ClineReading, spent: dict[str, Any], model: str, key: str, *, is_additive: bool) -> TokenUsage:
    """Return usage in the SDK's words, with the cached tokens taken off the input where they fit into it."""
    total, output, read, written = (reading.count(spent, name) for name in _METRICS)
    cached = read + written
    cost = reading.money(spent, "cost")
    return TokenUsage(
        model,
        total - cached if cached <= total else total,
        output,
        read,
        written,
        cost_usd=cost if cost is not None else reading.money(spent, "totalCost"),
        dedupe_key=key,
        is_additive=is_additive,
    )
