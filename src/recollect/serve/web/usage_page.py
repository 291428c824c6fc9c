"""Activity and usage: tokens and cost by day, agent, model and repository, and a calendar of the last year."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from urllib.parse import urlencode

from markupsafe import Markup

from recollect.clock import now_us
from recollect.local_time import LOCAL
from recollect.memory import EventFilter
from recollect.serve.web.plots import MISSING, Bars, draw_bars, draw_plot

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import Memory, UsageReport, UsageTotals

DAY_US = 86_400_000_000
PERIODS = {"7d": 7, "30d": 30, "90d": 90, "1y": 365}
GROUPINGS = ("agent", "model", "repo")
SERIES = ("first", "second", "third", "success")
"""Colours of what is drawn by name; the rest is drawn together as "others"."""
MAX_BARS = 62
LEVELS = 4
"""Shades of a day in the calendar, beside that of a day without anything."""
Grouping = Literal["agent", "model", "repo"]


class CalendarDay(NamedTuple):
    """A day of the calendar. level: 0 to 4, how much of the busiest day's tokens it has."""

    day: str
    tokens: int
    level: int


class UsagePeriod(NamedTuple):
    """What the page is asked for. after, before: UTC microseconds, [after, before)."""

    period: str
    by: Grouping
    after: int
    before: int


def usage_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?period=&by=`."""
    memory.refresh()
    asked = _asked(request)
    span = asked.before - asked.after
    report = memory.usage.report(by=asked.by, after=asked.after, before=asked.before, zone=LOCAL)
    earlier = memory.usage.report(by="total", after=asked.after - span, before=asked.after, zone=LOCAL).total
    year = memory.usage.report(by="day", after=asked.before - 365 * DAY_US, before=asked.before, zone=LOCAL)
    plot, why_none = _plot(memory, asked, report)
    return "usage.html", {
        "asked": asked,
        "periods": tuple(PERIODS),
        "groupings": GROUPINGS,
        "report": report,
        "rows": [(row, tokens_of(row.totals)) for row in report.rows],
        "most": max((tokens_of(row.totals) for row in report.rows), default=0),
        "total": tokens_of(report.total),
        "change": _change(tokens_of(report.total), tokens_of(earlier)),
        "cache_share": _cache_share(report.total),
        "weeks": calendar(year, asked.before),
        "plot": plot,
        "why_none": why_none,
        "csv": f"/usage.csv?{urlencode({'period': asked.period, 'by': asked.by})}",
    }


def usage_csv(memory: Memory, request: Request) -> str:
    """Return the page's table as CSV."""
    asked = _asked(request)
    report = memory.usage.report(by=asked.by, after=asked.after, before=asked.before, zone=LOCAL)
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    fields = ("input_tokens", "output_tokens", "cache_read_tokens", "responses", "cost_usd")
    table.writerow((asked.by, *fields))
    table.writerows((_plain(row.key), *(getattr(row.totals, field) for field in fields)) for row in report.rows)
    return written.getvalue()


def _plain(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


def _asked(request: Request) -> UsagePeriod:
    period = request.query_params.get("period", "")
    period = period if period in PERIODS else "30d"
    by = request.query_params.get("by", "")
    midnight = datetime.now(LOCAL).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    before = max(int(midnight.timestamp()) * 1_000_000, now_us())
    grouping = cast("Grouping", by if by in GROUPINGS else "agent")
    return UsagePeriod(period, grouping, before - PERIODS[period] * DAY_US, before)


def tokens_of(totals: UsageTotals) -> int:
    """Return all tokens that a model read or wrote, those of its cache too."""
    written = totals.cache_write_5m_tokens + totals.cache_write_1h_tokens
    return totals.input_tokens + totals.output_tokens + totals.cache_read_tokens + written


def _cache_share(totals: UsageTotals) -> float:
    read = totals.input_tokens + totals.cache_read_tokens
    return totals.cache_read_tokens / read if read else 0.0


def _change(now: int, before: int) -> float | None:
    """Return the change against the period before, as a share of that; None where there is nothing to compare."""
    return now / before - 1 if before else None


def calendar(year: UsageReport, before: int) -> list[list[CalendarDay | None]]:
    """Return the last year as weekdays, Monday first, each with a cell a week; None before it begins."""
    tokens = {row.key: tokens_of(row.totals) for row in year.rows}
    most = max(tokens.values(), default=0)
    last = datetime.fromtimestamp(before / 1_000_000 - 1, LOCAL).date()
    first = last - timedelta(days=364)
    start = first - timedelta(days=first.weekday())
    weeks = ((last - start).days // 7) + 1

    def cell(day: date) -> CalendarDay | None:
        if not first <= day <= last:
            return None
        many = tokens.get(day.isoformat(), 0)
        return CalendarDay(day.isoformat(), many, -(-many * LEVELS // most) if most else 0)

    return [[cell(start + timedelta(days=7 * week + weekday)) for week in range(weeks)] for weekday in range(7)]


def _plot(memory: Memory, asked: UsagePeriod, report: UsageReport) -> tuple[Markup, str]:
    """Return the bars of each day, stacked where the grouping is also a filter; and why there are none."""
    named = [row.key for row in sorted(report.rows, key=lambda row: -tokens_of(row.totals)) if row.key]
    series: dict[str, Mapping[str, int]] = {"all": _by_day(memory, asked, EventFilter())}
    if asked.by != "model":
        for name in named[: len(SERIES)]:
            where = EventFilter(agents=(name,)) if asked.by == "agent" else EventFilter(repos=(f"={name}",))
            series[name] = _by_day(memory, asked, where)
    days = [_day(asked.after + number * DAY_US) for number in range(PERIODS[asked.period])]
    size = max(1, -(-len(days) // MAX_BARS))
    groups: Sequence[Sequence[str]] = [days[place : place + size] for place in range(0, len(days), size)]
    heights = {name: [float(sum(of.get(day, 0) for day in group)) for group in groups] for name, of in series.items()}
    whole = heights.pop("all")
    rest = [max(0.0, all_ - sum(own[place] for own in heights.values())) for place, all_ in enumerate(whole)]
    colours = dict(zip(heights, SERIES, strict=False))
    if heights:
        heights["others"], colours["others"] = rest, "unknown"
    else:
        heights["tokens"], colours["tokens"] = rest, SERIES[0]
    links = [f"/sessions?{urlencode({'after': group[0], 'before': group[-1]})}" for group in groups]
    bars = Bars(
        [group[0][5:] for group in groups], heights, colours, "tokens", links=links,
        format_value=_short,
    )  # fmt: skip
    try:
        svg = draw_plot("usage", "Tokens by day", partial(draw_bars, bars=bars), cache=memory.home / "cache")
    except ImportError:
        return Markup(), MISSING
    return Markup(svg), ""  # noqa: S704 - the drawing escapes what stands in it


def _by_day(memory: Memory, asked: UsagePeriod, where: EventFilter) -> dict[str, int]:
    report = memory.usage.report(by="day", where=where, after=asked.after, before=asked.before, zone=LOCAL)
    return {row.key: tokens_of(row.totals) for row in report.rows}


def _day(us: int) -> str:
    return datetime.fromtimestamp(us / 1_000_000, LOCAL).date().isoformat()


def _short(value: float) -> str:
    """Return a number of tokens for an axis: `2.5M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
