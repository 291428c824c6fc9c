"""What tokens cost: rates from genai-prices, offline, so that sums are priced without one call per response."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from recollect.model.time import to_datetime

_PROBE = 1_000_000
_CHECKED = re.compile(r"(?:as of|checked on|verified on) (20\d\d-\d\d-\d\d)")


class Rates(NamedTuple):
    """USD per token of one model at one time, for one band of input size."""

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float


class Prices:
    """Rates by model and time. Tiers are cliffs: the tier of a response's whole input sets the rate of all its tokens.

    Pricing is linear inside a tier, so a few probes per model give its rates, and sums can be priced. A model
    whose price depends on the time of day is priced at the time asked for. What it has found it keeps; two threads
    may find the same thing twice, which is harmless.
    """

    def __init__(self) -> None:
        self._models: dict[str, Any] = {}
        self._rates: dict[tuple[str, int, int], Rates] = {}

    def thresholds(self, models: Sequence[str]) -> tuple[int, ...]:
        """Return every input size at which some of the models changes its price, in order."""
        from genai_prices.types import ModelPrice, TieredPrices

        starts: set[int] = set()
        for name in models:
            model = self._model(name)
            if model is None:
                continue
            prices = [model.prices] if isinstance(model.prices, ModelPrice) else [p.prices for p in model.prices]
            for price in prices:
                for value in vars(price).values():
                    if isinstance(value, TieredPrices):
                        starts.update(tier.start for tier in value.tiers)
        return tuple(sorted(starts))

    def rates(self, name: str, at: int, above: int) -> Rates | None:
        """Return a model's rates, None where no price is known.

        Args:
            at: UTC microseconds of the response.
            above: the greatest threshold that its input (cached tokens too) exceeds, 0 for none.
        """
        model = self._model(name)
        if model is None:
            return None
        price = model.get_prices(to_datetime(at))
        key = (name, id(price), above)
        found = self._rates.get(key)
        if found is None:
            found = self._rates[key] = _probe(price, above)
        return found

    def _model(self, name: str) -> Any:
        """Return the library's model, None where it knows none."""
        if name not in self._models:
            from genai_prices import Usage, calc_price

            try:
                self._models[name] = calc_price(Usage(input_tokens=1), name).model
            except (LookupError, ValueError):
                self._models[name] = None
        return self._models[name]


def _probe(price: Any, above: int) -> Rates:
    from genai_prices import Usage

    size = above + _PROBE if above else 1  # the smallest input is in no tier
    plain = float(price.calc_price(Usage(input_tokens=size))["total_price"])

    def rate(**kinds: int) -> float:
        return float(price.calc_price(Usage(input_tokens=size, **kinds))["total_price"]) / size

    both = float(price.calc_price(Usage(input_tokens=size, output_tokens=_PROBE))["total_price"])
    return Rates(
        input=plain / size,
        output=(both - plain) / _PROBE,
        cache_read=rate(cache_read_tokens=size),
        cache_write_5m=rate(cache_write_tokens=size, cache_write_5m_tokens=size),
        cache_write_1h=rate(cache_write_tokens=size, cache_write_1h_tokens=size),
    )


@cache
def price_book() -> Prices:
    """Return the process's prices."""
    return Prices()


@cache
def prices_on() -> str:
    """Return the newest date (YYYY-MM-DD) on which the price data says that prices were checked, "" if it names none.

    The package gives no date of its own; its comments say "as of", "checked on" or "verified on".
    """
    from genai_prices.data_snapshot import get_snapshot

    comments = (model.price_comments for provider in get_snapshot().providers for model in provider.models)
    more = (provider.price_comments for provider in get_snapshot().providers)
    return max((date for text in (*comments, *more) if text for date in _CHECKED.findall(text)), default="")
