"""Tokens in a stream of Copilot session events: only a shutdown states them in full, and cumulatively."""

from __future__ import annotations

from typing import Any, TypeVar

from recollect.agents.kit.access import mapping, number
from recollect.agents.kit.copilot.state import MAX_MODELS, CopilotState, Spent, storable
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import TokenUsage

S = TypeVar("S", bound=CopilotState)

_UUID_CHARS = 32
"""An event id at least this long names the event over all files."""
_USAGE_FIELDS = frozenset((
    "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens",
))  # fmt: skip
_METRIC_FIELDS = frozenset(("requests", "usage", "totalNanoAiu", "tokenDetails"))


def read_metrics(reading: Reading[S], data: dict[str, Any], session: str | None) -> None:
    """Give what each model took since the shutdown before.

    The counters run through one process. A counter that fell says that another one wrote them: all of it is new.
    """
    spent = {s.model: s for s in reading.now("spent")}
    for model, found in reading.mapping(data, "modelMetrics").items():
        metrics = mapping(found)
        if not mapping(metrics.get("usage")):
            continue
        now = _spent(reading, storable(model), mapping(metrics["usage"]))
        usage = _since(now, spent.get(now.model), model, _key(reading, model))
        spent[now.model] = now
        if usage is not None:
            name = f"{reading.native_id}/usage/{model}" if reading.native_id else None
            reading.add(usage, "assistant", native_id=name, session=session)
        requests = mapping(metrics.get("requests"))
        if number(requests.get("cost")) is None and requests.get("cost") is not None:
            reading.wrong("modelMetrics.requests.cost")
        reading.extra(metrics, _METRIC_FIELDS, "modelMetrics")
        reading.extra(mapping(metrics["usage"]), _USAGE_FIELDS, "modelMetrics.usage")
    reading.set(spent=tuple(spent.values())[-MAX_MODELS:])


def _spent(reading: Reading[S], model: str, usage: dict[str, Any]) -> Spent:
    return Spent(
        model,
        reading.count(usage, "inputTokens"),
        reading.count(usage, "outputTokens"),
        reading.count(usage, "cacheReadTokens"),
        reading.count(usage, "cacheWriteTokens"),
        reading.count(usage, "reasoningTokens"),
    )


def _since(now: Spent, before: Spent | None, model: str, key: str) -> TokenUsage | None:
    """Return the difference of two counters; `inputTokens` holds both classes of cached tokens."""
    if before is None or any(
        a < b
        for a, b in (
            (now.input_tokens, before.input_tokens),
            (now.output_tokens, before.output_tokens),
            (now.cache_read, before.cache_read),
            (now.cache_write, before.cache_write),
        )
    ):
        before = Spent(now.model)
    read, written = now.cache_read - before.cache_read, now.cache_write - before.cache_write
    fresh = max(0, now.input_tokens - before.input_tokens - read - written)
    output = now.output_tokens - before.output_tokens
    if not (fresh or output or read or written):
        return None
    return TokenUsage(
        model,
        fresh,
        output,
        read,
        written,
        reasoning_tokens=max(0, now.reasoning - before.reasoning),
        dedupe_key=key,
    )


def _key(reading: Reading[S], model: str) -> str:
    name = reading.native_id or f"shutdown-{reading.index}"
    return f"{name}:{model}" if len(name) >= _UUID_CHARS else f"{reading.state.session}/{name}:{model}"
