"""When sessions worked: a calendar, weekdays and hours, days, and concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from recollect.errors import UsageError
from recollect.local_time import LOCAL
from recollect.serve.web.plots import Bars
from recollect.serve.web.spans import DaySpan, periods, span_of
from recollect.serve.web.usage_page import change, grouped_days, plot_of, table_as_csv

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import ActivityReport, Memory

LEVELS = 4
"""Shades of a day or an hour, beside that of one without anything."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LISTED = 200
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
