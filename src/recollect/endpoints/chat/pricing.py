"""What a model costs: the configuration's word, else the price list's (genai-prices, offline)."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

from recollect.config import LearningConfig
from recollect.errors import ConfigError
from recollect.model.time import to_datetime

_MICRO = 1_000_000


class Pricing(NamedTuple):
    """Prices of one model. model: as asked for. input_usd, output_usd: US dollars per million tokens, None: as the
    price list says. url: of the server, by which the list may know whose price counts."""

    model: str
    provider: str
    url: str
    input_usd: float | None = None
    output_usd: float | None = None

    def micro_dollars(self, input_tokens: int, output_tokens: int, *, at_us: int) -> int:
        """Return the price of a call at a time (UTC microseconds) in millionths of a US dollar, rounded up.

        Cached tokens count like others, which never makes it less than it is. Raises ConfigError where the price list
        does not know the model.
        """
        if self.input_usd is not None and self.output_usd is not None:
            exact = Decimal(str(self.input_usd)) * input_tokens + Decimal(str(self.output_usd)) * output_tokens
        else:
            exact = _listed(self, input_tokens, output_tokens, at_us) * _MICRO
        return int(exact.to_integral_value(ROUND_CEILING))


def pricing_of(config: LearningConfig, *, model: str, url: str, at_us: int) -> Pricing:
    """Return the prices of the configured model. Raises ConfigError where nobody says what it costs."""
    if config.provider == "ollama":
        return Pricing(model, config.provider, url, 0.0, 0.0)
    given, answered = config.input_usd_per_million, config.output_usd_per_million
    if given == "listed" and answered == "listed":
        found = Pricing(model, config.provider, url)
        found.micro_dollars(1, 1, at_us=at_us)
        return found
    if given == "listed" or answered == "listed":
        raise ConfigError(
            "[learning] input_usd_per_million and output_usd_per_million: both are numbers, or none is",
            key="learning.input_usd_per_million" if given == "listed" else "learning.output_usd_per_million",
        )
    return Pricing(model, config.provider, url, given, answered)


def _listed(pricing: Pricing, input_tokens: int, output_tokens: int, at_us: int) -> Decimal:
    """Return the price in US dollars by the list: of the server's own provider, else of the interface's, else of
    whoever offers a model of that name."""
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    at = to_datetime(at_us)
    for url, provider in ((pricing.url, None), (None, pricing.provider), (None, None)):
        try:
            if url:
                found = calc_price(usage, pricing.model, provider_api_url=url, genai_request_timestamp=at)
            else:
                found = calc_price(usage, pricing.model, provider_id=provider, genai_request_timestamp=at)
        except (LookupError, ValueError):
            continue
        return Decimal(found.total_price)
    raise ConfigError(
        f"[learning] model: the price list does not know {pricing.model!r}, so no budget could be kept",
        key="learning.model",
        hint="set `input_usd_per_million` and `output_usd_per_million` in [learning], 0 where the model is free",
    )
