"""Periods and other choices that a page offers as chips, each with its own address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request

from recollect.errors import UsageError
from recollect.local_time import LOCAL
from recollect.memory import Memory
from recollect.model.time import day_start

PERIODS = {"7d": ("week", 7), "30d": ("30 days", 30), "90d": ("90 days", 90), "1y": ("year", 365)}
"""By the word in the address: what it is called, and its days."""

FIRST_YEAR, LAST_YEAR = 1971, 2200


class DaySpan(NamedTuple):
    """first, last: days, in the time zone of this machine. period: of `PERIODS`, "" for days that were named."""

    first: date
    last: date
    period: str

    @property
    def days(self) -> list[str]:
        """All its days, `2026-03-01`."""
        return [(self.first + timedelta(days=number)).isoformat() for number in range(self.length)]

    @property
    def length(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    @property
    def bounds(self) -> tuple[int, int]:
        """When it begins and ends, UTC microseconds."""
        return day_start(self.first, LOCAL), day_start(self.last + timedelta(days=1), LOCAL)

    @property
    def given(self) -> dict[str, str]:
        """How an address says it."""
        if self.period:
            return {"period": self.period}
        return {"first": self.first.isoformat(), "last": self.last.isoformat()}


class ChoiceLink(NamedTuple):
    """What a click chooses."""

    label: str
    href: str
    is_on: bool


def span_of(memory: Memory, request: Request, *, otherwise: str = "") -> DaySpan:
    """Return the days of `?period=` or `?first=&last=`; without either the last 30, or more where those would be empty.

    Raises UsageError for what is no day.
    """
    asked = request.query_params
    today = datetime.now(LOCAL).date()
    if asked.get("first"):
        last = asked.get("last", "")
        return DaySpan(named_day(asked["first"]), named_day(last) if last else today, "")
    period = asked.get("period", "")
    if period not in PERIODS:
        period = otherwise or _usual_period(memory, today)
    return DaySpan(today - timedelta(days=PERIODS[period][1] - 1), today, period)


def _usual_period(memory: Memory, today: date) -> str:
    """Return the shortest period from 30 days on that reaches back to the newest session."""
    newest = memory.sessions(limit=1, sync=False).sessions
    at = newest[0].ended_at if newest else None
    back = 30 if at is None else (today - datetime.fromtimestamp(at / 1_000_000, LOCAL).date()).days + 1
    return next((word for word, (_name, days) in PERIODS.items() if days >= max(30, back)), "1y")


def choices(
    path: str, given: Mapping[str, str], name: str, offered: Sequence[tuple[str, str]]
) -> tuple[ChoiceLink, ...]:
    """Return chips for a parameter. given: all parameters of the page; offered: (value, label)."""
    now = given.get(name, "")
    return tuple(
        ChoiceLink(label, f"{path}?{urlencode({**{k: v for k, v in given.items() if v}, name: value})}", value == now)
        for value, label in offered
    )


def periods(path: str, given: Mapping[str, str], span: DaySpan) -> tuple[ChoiceLink, ...]:
    """Return chips for the span. given: the other parameters."""
    offered = [(word, label) for word, (label, _days) in PERIODS.items()]
    return choices(path, {**given, "period": span.period}, "period", offered)


def named_day(text: str) -> date:
    """Return the day of `2026-03-01`. Raises UsageError."""
    try:
        day = date.fromisoformat(text.strip())
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise ValueError
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a day", hint=f"write 2026-03-01, of the years {FIRST_YEAR} to {LAST_YEAR}"
        ) from error
    return day
