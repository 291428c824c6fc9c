"""Tokens of an item. Only calls of a model count; what agents and tools above them state is a sum of theirs."""

from __future__ import annotations

from recollect.agents.kit.access import number
from recollect.agents.otel.telling import Telling
from recollect.agents.otel.wire import amount
from recollect.model.payloads import TokenUsage

_INPUT = "gen_ai.usage.input_tokens"
_OUTPUT = "gen_ai.usage.output_tokens"
_READ = "gen_ai.usage.cache_read.input_tokens"
_WRITTEN = "gen_ai.usage.cache_creation.input_tokens"
_THOUGHT = "gen_ai.usage.reasoning.output_tokens"
_COSTS = ("gen_ai.usage.cost", "gen_ai.usage.cost_usd", "cost_usd")
NAMES = (_INPUT, _OUTPUT, _READ, _WRITTEN, _THOUGHT, *_COSTS)


def tell_usage(telling: Telling, model: str, *, is_additive: bool, excludes_cached: bool = False) -> None:
    """Give the tokens that an item states, if it does.

    The conventions count cached tokens in the input; a sender whose input is smaller than its cached tokens does not.
    The response's id names the call, so that a framework's span around a client's span counts once with it.
    """
    says = telling.says
    if all(says.get(name) is None for name in (_INPUT, _OUTPUT, _READ, _WRITTEN)):
        return
    counts = {name: amount(says.get(name)) for name in (_INPUT, _OUTPUT, _READ, _WRITTEN, _THOUGHT)}
    for name, count in counts.items():
        if count is None and says.get(name) is not None:
            telling.reading.wrong(name)
    whole, output, read, written, thought = (count or 0 for count in counts.values())
    cached = read + written
    costs = (number(says.get(name)) for name in _COSTS)
    usage = TokenUsage(
        model=model,
        input_tokens=whole if excludes_cached or cached > whole else whole - cached,
        output_tokens=output if thought <= output else output + thought,
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
        reasoning_tokens=thought,
        cost_usd=next((cost for cost in costs if cost is not None), None),
        dedupe_key=telling.text("gen_ai.response.id") or telling.text("request_id") or telling.span,
        is_additive=is_additive,
    )
    owner = telling.span if is_additive else telling.key
    telling.add(usage, "assistant", f"{owner}/usage", telling.item.end)
