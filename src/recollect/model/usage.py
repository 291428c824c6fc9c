"""Token totals and cost, as answers give them."""

from __future__ import annotations

import msgspec


class UsageTotals(msgspec.Struct, frozen=True):
    """Tokens summed over responses counted once each. `cost_usd` None: no price known for some model."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    responses: int = 0
    cost_usd: float | None = None


class UsageRow(msgspec.Struct, frozen=True):
    """One line of a usage report: the value grouped by (session, day, repo, model or agent) and its totals."""

    key: str
    totals: UsageTotals
    unpriced_models: tuple[str, ...] = ()


class UsageReport(msgspec.Struct, frozen=True):
    """A usage report. `prices_on` is the date of the price data (YYYY-MM-DD), "" where unknown."""

    by: str
    rows: tuple[UsageRow, ...]
    total: UsageTotals
    prices_on: str
    notes: tuple[str, ...] = ()
