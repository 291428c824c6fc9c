"""Tokens and cost by day, agent, model or repository, and when sessions worked: each beside the period before."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from operator import attrgetter
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request

from recollect.errors import UsageError
from recollect.local_time import LOCAL
from recollect.memory import ActivityReport, EventFilter, Memory, UsageTotals, UsageTrend
from recollect.serve.web.periods import DaySpan, choices, periods, span_of
from recollect.serve.web.plots import MISSING, Bars, draw_bars, draw_plot, in_dollars
from recollect.units import short_count
from recollect.visible import safe_line

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
    after, before = span.bounds
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
        format_values=in_dollars if unit.startswith("cost") else lambda values: list(map(short_count, values)),
    )  # fmt: skip
    return plot_of(memory, "usage", f"{unit.partition(' ')[0].capitalize()} by day", bars)


def plot_of(memory: Memory, name: str, title: str, bars: Bars) -> tuple[Markup, str]:
    """Return bars as SVG, and why there are none."""
    if bars.are_few:
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


MAX_DRAWN = 24
"""Plots that are kept, by what they show: to draw one again takes longer than to sum up a year."""
_drawn: dict[str, str] = {}
PLOT_SIZE = (9.6, 2.4)
"""Inches: wide and low, so that its letters are as large as the page's small ones."""


LEVELS = 4
"""Shades of a day or an hour, beside that of one without anything."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOUR_S = 3_600
_YEAR = 365


class Shaded(NamedTuple):
    """A cell of a calendar or of a week. level: 0 to 4, how much of the busiest one's time it has."""

    label: str
    active_s: int
    level: int
    href: str


def activity_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?period=`."""
    memory.refresh()
    span = span_of(memory, request)
    report = memory.usage.activity(first=span.first, last=span.last, zone=LOCAL)
    worked = {day.day: day for day in report.days}
    groups = grouped_days(span.days)
    labels = [group[0][5:] for group in groups]
    links = [f"/sessions?{urlencode({'after': group[0], 'before': group[-1]})}" for group in groups]

    def bars(name: str, heights: list[float], unit: str, colour: str) -> Bars:
        return Bars(labels, {name: heights}, {name: colour}, unit, links={name: links})

    hours = [sum(worked[day].active_s for day in group if day in worked) / _HOUR_S for group in groups]
    most = [max((worked[day].most_at_once for day in group if day in worked), default=0) for group in groups]
    active, why_none = plot_of(
        memory, "active", "Hours of work by day", bars("hours", hours, "hours", "first")._replace(is_whole=False)
    )
    at_once, _why = plot_of(
        memory,
        "at-once",
        "Sessions at work at the same time",
        bars("sessions", list(map(float, most)), "at once", "third"),
    )
    now, then = report.total, report.previous
    return "activity.html", {
        "span": span,
        "periods": periods("/activity", {}, span),
        "hidden": {},
        "report": report,
        "total": now,
        "changes": {
            name: change(getattr(now, name), getattr(then, name))
            for name in ("any_s", "active_s", "sessions", "days", "most_at_once")
        },
        "days": [worked[day] for day in reversed(span.days) if day in worked],
        "week": week(report, span),
        "weeks": calendar(report),
        "active": active,
        "at_once": at_once,
        "why_none": why_none,
        "csv": f"/activity.csv?{urlencode(span.given)}",
    }


def activity_csv(memory: Memory, request: Request) -> str:
    """Return the days of the span as CSV."""
    span = span_of(memory, request)
    report = memory.usage.activity(first=span.first, last=span.last, zone=LOCAL)
    rows = (day for day in report.days if report.first <= day.day <= report.last)
    fields = ("day", "active_s", "sessions", "most_at_once")
    return table_as_csv(fields, ([getattr(day, field) for field in fields] for day in rows))


def hour_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the sessions that worked in an hour of a weekday: `?weekday=0&hour=14&period=`."""
    span = span_of(memory, request)
    weekday, hour = (_number(request.query_params, *of) for of in (("weekday", 7), ("hour", 24)))
    uids = memory.usage.active_sessions(first=span.first, last=span.last, weekday=weekday, hour=hour, zone=LOCAL)
    known = memory.recall.sessions(uids[:LISTED])
    return "hour.html", {
        "span": span,
        "weekday": WEEKDAYS[weekday],
        "hour": hour,
        "count": len(uids),
        "sessions": [known[uid] for uid in uids[:LISTED] if uid in known],
        "back": f"/activity?{urlencode(span.given)}",
    }


def _number(asked: Mapping[str, str], name: str, end: int) -> int:
    text = asked.get(name, "")
    if not (text.isascii() and text.isdecimal() and int(text[:3]) < end):
        raise UsageError(f"{name} is a number from 0 to {end - 1}")
    return int(text)


def week(report: ActivityReport, span: DaySpan) -> list[tuple[str, list[Shaded]]]:
    """Return weekdays, Monday first, each with its hours."""
    busiest = max(map(max, report.hours))

    def cell(weekday: int, hour: int, active_s: int) -> Shaded:
        href = f"/activity/sessions?{urlencode({**span.given, 'weekday': weekday, 'hour': hour})}"
        return Shaded(f"{WEEKDAYS[weekday]} {hour:02}:00", active_s, _level(active_s, busiest), href)

    return [
        (WEEKDAYS[weekday][:3], [cell(weekday, hour, active_s) for hour, active_s in enumerate(row)])
        for weekday, row in enumerate(report.hours)
    ]


def calendar(report: ActivityReport) -> list[tuple[str, list[Shaded | None]]]:
    """Return the last year as weekdays, Monday first, each with a cell a week; None before it begins."""
    active = {day.day: day.active_s for day in report.days}
    busiest = max(active.values(), default=0)
    last = date.fromisoformat(report.last)
    first = last - timedelta(days=_YEAR - 1)
    start = first - timedelta(days=first.weekday())
    weeks = ((last - start).days // 7) + 1

    def cell(day: date) -> Shaded | None:
        if not first <= day <= last:
            return None
        name = day.isoformat()
        many = active.get(name, 0)
        return Shaded(name, many, _level(many, busiest), f"/sessions?{urlencode({'after': name, 'before': name})}")

    return [
        (WEEKDAYS[weekday][:3], [cell(start + timedelta(days=7 * number + weekday)) for number in range(weeks)])
        for weekday in range(7)
    ]


def _level(value: int, most: int) -> int:
    return -(-value * LEVELS // most) if most else 0
