"""Token totals and cost, as answers give them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import add

import msgspec


class UsageTotals(msgspec.Struct, frozen=True):
    """Tokens, each response counted once. `cost_usd` None: the price of some model is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    responses: int = 0
    cost_usd: float | None = None

    @property
    def cache_write_tokens(self) -> int:
        """Tokens written to the cache, however long they stay there."""
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def cached_tokens(self) -> int:
        """Tokens read from the cache or written to it."""
        return self.cache_read_tokens + self.cache_write_tokens

    @property
    def tokens(self) -> int:
        """All tokens that a model read or wrote, those of its cache too."""
        return self.input_tokens + self.output_tokens + self.cached_tokens


class UsageRow(msgspec.Struct, frozen=True):
    """One line of a usage report: the group's value (session, day, repo, model or agent) and its totals."""

    key: str
    totals: UsageTotals
    unpriced_models: tuple[str, ...] = ()


class UsageReport(msgspec.Struct, frozen=True):
    """A usage report. `prices_on` is the date of the price data (YYYY-MM-DD), "" if unknown."""

    by: str
    rows: tuple[UsageRow, ...]
    total: UsageTotals
    prices_on: str
    notes: tuple[str, ...] = ()


class UsageSum:
    """Totals while they grow."""

    def __init__(self) -> None:
        self._tokens = [0] * 7
        self._cost: float | None = None
        self.unpriced: Counter[str] = Counter()

    def add(self, tokens: Sequence[int], cost: float | None, model: str, *, unpriced: int) -> None:
        """Add what responses used. tokens: as `UsageTotals` has them, with the responses. unpriced: of these, those
        whose price is unknown."""
        self._tokens = list(map(add, self._tokens, tokens))
        if cost is not None:
            self._cost = (self._cost or 0.0) + cost
        if unpriced:
            self.unpriced[model] += unpriced

    def totals(self) -> UsageTotals:
        """Return what was added."""
        tokens = dict(zip(UsageTotals.__struct_fields__, self._tokens, strict=False))
        return UsageTotals(**tokens, cost_usd=None if self._cost is None else round(self._cost, 6))


def usage_report(
    by: str, sums: Mapping[str, UsageSum], total: UsageSum, prices_on: str, notes: tuple[str, ...]
) -> UsageReport:
    """Return the report of sums by key: days and weeks in order, else what cost most first."""
    rows = [UsageRow(key, one.totals(), tuple(sorted(one.unpriced))) for key, one in sums.items()]
    rows.sort(key=lambda row: row.key if by in ("day", "week") else (-(row.totals.cost_usd or 0.0), row.key))
    return UsageReport(by, tuple(rows), total.totals(), prices_on, notes)


class UsageDay(msgspec.Struct, frozen=True):
    """The usage of one group (an agent, a model, a repository) on one day, `2026-03-01`."""

    day: str
    key: str
    totals: UsageTotals


class UsageTrend(msgspec.Struct, frozen=True):
    """A period of whole days and as many days before it. first, last: its days. days: only of the period, in order."""

    first: str
    last: str
    report: UsageReport
    previous: UsageReport
    days: tuple[UsageDay, ...]


class ActiveDay(msgspec.Struct, frozen=True):
    """One day of work. active_s: summed over sessions. most_at_once: sessions that worked at the same time."""

    day: str
    active_s: int
    sessions: int
    most_at_once: int


class ActivityTotals(msgspec.Struct, frozen=True):
    """A period of work. days: with any work. any_s: time in which at least one session worked."""

    active_s: int = 0
    any_s: int = 0
    sessions: int = 0
    days: int = 0
    most_at_once: int = 0


class ActivityReport(msgspec.Struct, frozen=True):
    """When sessions worked, in slots of `slot_s` seconds. A session with an event in a slot worked in all of it.

    first, last: days of the period; previous: as many days before it. hours: active seconds by weekday (Monday first)
    and hour. days: days with work, from a year before the end of the period on.
    """

    first: str
    last: str
    slot_s: int
    total: ActivityTotals
    previous: ActivityTotals
    hours: tuple[tuple[int, ...], ...]
    days: tuple[ActiveDay, ...]
