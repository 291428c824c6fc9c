"""Tokens and cost by day, agent, model or repository, compared with the period before."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from recollect.errors import UsageError
from recollect.local_time import LOCAL
from recollect.memory import EventFilter
from recollect.model.time import day_start
from recollect.serve.web.plots import MISSING, Bars, draw_bars, draw_plot
from recollect.serve.web.spans import DaySpan, choices, periods, span_of
from recollect.units import short_count, usd
from recollect.visible import safe_line

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import Memory, UsageTotals, UsageTrend

Grouping = Literal["agent", "model", "repo"]
GROUPINGS: tuple[tuple[Grouping, str], ...] = (("agent", "agent"), ("model", "model"), ("repo", "repository"))
MEASURES = (("cost", "cost"), ("tokens", "tokens"))
SERIES = ("first", "second", "third", "fourth", "fifth")
"""Colours of what is drawn by name; the rest is drawn together as "others"."""
MAX_BARS = 62
"""More days than these are drawn as weeks."""
LISTED = 200
"""Sessions behind a bar."""


class UsageLine(NamedTuple):
    """A row of the table. tokens: of all kinds. change: against the period before, None where there was nothing."""

    key: str
    totals: UsageTotals
    tokens: int
    change: float | None
    href: str


def usage_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?period=&by=&show=`."""
    memory.refresh()
    span, by, shown = _asked(memory, request)
    trend = memory.usage.trend(by=by, first=span.first, last=span.last, zone=LOCAL)
    measure = cost_of if shown == "cost" else attrgetter("tokens")
    given = {**span.given, "by": by, "show": shown}
    before = {row.key: row.totals for row in trend.previous.rows}
    lines = [
        UsageLine(
            row.key,
            row.totals,
            row.totals.tokens,
            change(measure(row.totals), measure(before[row.key])) if row.key in before else None,
            sessions_behind(by, row.key, span.first, span.last),
        )
        for row in trend.report.rows
    ]
    plot, why_none = _plot(memory, span, by, trend, measure, "cost (USD)" if shown == "cost" else "tokens")
    now, then = trend.report.total, trend.previous.total
    return "usage.html", {
        "span": span,
        "periods": periods("/usage", {"by": by, "show": shown}, span),
        "groupings": choices("/usage", given, "by", [(value, f"by {label}") for value, label in GROUPINGS]),
        "measures": choices("/usage", given, "show", MEASURES),
        "hidden": {"by": by, "show": shown},
        "by": dict(GROUPINGS)[by],
        "report": trend.report,
        "lines": lines,
        "most": max((measure(row.totals) for row in trend.report.rows), default=0) or 1,
        "measure": measure,
        "total": now,
        "tokens": now.tokens,
        "changes": {
            "cost": change(cost_of(now), cost_of(then)),
            "tokens": change(now.tokens, then.tokens),
            "responses": change(now.responses, then.responses),
        },
        "cache_share": cache_share(now),
        "cache_before": cache_share(then) if then.responses else None,
        "plot": plot,
        "why_none": why_none,
        "csv": f"/usage.csv?{urlencode(given)}",
        "csv_days": f"/usage.csv?{urlencode({**given, 'each': 'day'})}",
    }


def usage_sessions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the sessions behind a bar or a row, `?by=&key=&first=&last=`, the dearest first."""
    span, by, _shown = _asked(memory, request)
    key = request.query_params.get("key", "")
    after, before = day_start(span.first, LOCAL), day_start(span.last + timedelta(days=1), LOCAL)
    if not key:
        where, model = EventFilter(), ""
    elif by == "model":
        where, model = EventFilter(), key
    else:
        where, model = EventFilter(agents=(key,)) if by == "agent" else EventFilter(repos=(f"={key}",)), ""
    report = memory.usage.report(by="session", where=where, after=after, before=before, zone=LOCAL, model=model)
    rows = sorted(report.rows, key=lambda row: (-cost_of(row.totals), -row.totals.tokens))[:LISTED]
    known = memory.recall.sessions(tuple(row.key for row in rows))
    return "usage_sessions.html", {
        "span": span,
        "by": dict(GROUPINGS)[by],
        "key": key,
        "total": report.total,
        "count": len(report.rows),
        "rows": [(known[row.key], row.totals, row.totals.tokens) for row in rows if row.key in known],
        "back": f"/usage?{urlencode({**span.given, 'by': by})}",
    }


def usage_csv(memory: Memory, request: Request) -> str:
    """Return the page's table as CSV; with `each=day`, day by day."""
    span, by, _shown = _asked(memory, request)
    trend = memory.usage.trend(by=by, first=span.first, last=span.last, zone=LOCAL)
    fields = ("input_tokens", "output_tokens", "cache_read_tokens", "responses", "cost_usd")

    def figures(totals: UsageTotals) -> tuple[Any, ...]:
        return tuple(getattr(totals, field) for field in fields)

    if request.query_params.get("each") == "day":
        return table_as_csv(("day", by, *fields), ((day.day, day.key, *figures(day.totals)) for day in trend.days))
    return table_as_csv((by, *fields), ((row.key, *figures(row.totals)) for row in trend.report.rows))


def table_as_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV in which no cell is a formula to a spreadsheet."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(head)
    table.writerows([_plain(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return written.getvalue()


def _plain(text: str) -> str:
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


def _asked(memory: Memory, request: Request) -> tuple[DaySpan, Grouping, str]:
    asked = request.query_params
    by, shown = asked.get("by", ""), asked.get("show", "")
    if by and by not in dict(GROUPINGS):
        raise UsageError(f"nothing is grouped by {by!r}", hint="by is agent, model or repo")
    return span_of(memory, request), by or "agent", shown if shown in dict(MEASURES) else "cost"


def cost_of(totals: UsageTotals) -> float:
    """Return the cost as far as it is known."""
    return totals.cost_usd or 0.0


def cache_share(totals: UsageTotals) -> float:
    """Return how much of what models read came from their cache, 0 to 1."""
    read = totals.input_tokens + totals.cache_read_tokens
    return totals.cache_read_tokens / read if read else 0.0


def change(now: float, before: float) -> float | None:
    """Return the change against the period before, as a share of that; None where there is nothing to compare."""
    return now / before - 1 if before else None


def sessions_behind(by: str, key: str, first: date | str, last: date | str) -> str:
    """Return the address of the sessions that used something."""
    return f"/usage/sessions?{urlencode({'by': by, 'key': key, 'first': str(first), 'last': str(last)})}"


def grouped_days(days: Sequence[str]) -> list[Sequence[str]]:
    """Return days one by one, or by weeks where there are many."""
    size = 1 if len(days) <= MAX_BARS else 7
    return [days[place : place + size] for place in range(0, len(days), size)]


def _plot(
    memory: Memory, span: DaySpan, by: Grouping, trend: UsageTrend, measure: Callable[[UsageTotals], float], unit: str
) -> tuple[Markup, str]:
    """Return the bars of each day, stacked; and why there are none."""
    groups = grouped_days(span.days)
    place_of = {day: place for place, group in enumerate(groups) for day in group}
    largest = [row.key for row in sorted(trend.report.rows, key=lambda row: -measure(row.totals))[: len(SERIES)]]
    shown = {key: safe_line(key) or "unknown" for key in largest}
    names = list(dict.fromkeys(shown.values()))
    if len(trend.report.rows) > len(largest):
        names.append("others")
    heights: dict[str, list[float]] = {name: [0.0] * len(groups) for name in names}
    for one in trend.days:
        heights[shown.get(one.key, "others")][place_of[one.day]] += measure(one.totals)
    colours = dict(zip(names, (*SERIES, "unknown"), strict=False)) | {"others": "unknown"}
    keys = {name: key for key, name in shown.items()}
    links = {name: [sessions_behind(by, keys.get(name, ""), g[0], g[-1]) for g in groups] for name in names}
    bars = Bars(
        [group[0][5:] for group in groups], heights, colours, unit, is_whole=False, links=links,
        format_value=usd if unit.startswith("cost") else short_count,
    )  # fmt: skip
    return plot_of(memory, "usage", f"{unit.partition(' ')[0].capitalize()} by day", bars)


def plot_of(memory: Memory, name: str, title: str, bars: Bars) -> tuple[Markup, str]:
    """Return bars as SVG, and why there are none. Fewer than three bars say less than their figures: none are drawn."""
    places = {place for values in bars.heights.values() for place, value in enumerate(values) if value}
    if len(places) < LEAST_BARS:
        return Markup(), ""
    shown = repr((name, title, bars))
    svg = _drawn.get(shown)
    if svg is None:
        try:
            make = partial(draw_bars, bars=bars._replace(size=PLOT_SIZE))
            svg = draw_plot(name, title, make, cache=memory.home / "cache", is_placed=True)
        except ImportError:
            return Markup(), MISSING
        if len(_drawn) >= MAX_DRAWN:
            _drawn.clear()
        _drawn[shown] = svg
    return Markup(svg), ""  # noqa: S704 - the drawing escapes what stands in it


LEAST_BARS = 3
MAX_DRAWN = 24
"""Plots that are kept, by what they show: to draw one again takes longer than to sum up a year."""
_drawn: dict[str, str] = {}
PLOT_SIZE = (9.6, 2.4)
"""Inches: wide and low, so that its letters are as large as the page's small ones."""
