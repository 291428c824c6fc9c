"""Dates in questions: exact ones of `after:`, `before:`, `on:`, and those said in passing ("on 8 January 2026").

All in UTC. Nothing here reads a clock: relative words are resolved against the instant passed in.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from recollect.model.time import parse_iso, to_datetime

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_AGO = re.compile(r"(\d{1,5})\s*(h|hours?|d|days?|w|weeks?|m|mo|months?|y|years?)(?:\s+ago)?")
_CALENDAR = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_DAY_MONTH = re.compile(rf"(?:on\s+)?(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(\d{{4}})\b", re.I)
_MONTH_DAY = re.compile(rf"(?:on\s+)?\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+)(\d{{4}})\b", re.I)
_MONTH_YEAR = re.compile(rf"(?:in\s+)?\b{_MONTH},?\s+(\d{{4}})\b", re.I)
_ISO_DAY = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_NEW_YEARS_EVE = re.compile(r"\bnew year['’]?s eve(?:\s+(?:of\s+)?(\d{4}))?", re.I)
_RELATIVE = re.compile(r"\b(today|yesterday|(?:last|this) (?:week|month|year))\b", re.I)
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}


class Period(NamedTuple):
    """A stretch of time: start_us <= t < end_us."""

    start_us: int
    end_us: int


def parse_date(text: str, now_us: int) -> Period | None:
    """Return the period a date value names, or None.

    `2026`, `2026-08`, `2026-08-01`, an ISO time, `today`, `yesterday`, a weekday (the last one), `last week`,
    `this month` …, and `7d`, `24h`, `2w`, `3m`, `1y` (from that long ago until now; a month is 30 days).
    """
    text = text.strip().lower().replace("_", " ")
    found = _CALENDAR.fullmatch(text)
    if found is not None:
        year, month, day = found.groups()
        return _calendar(int(year), int(month) if month else None, int(day) if day else None)
    instant = parse_iso(text.upper())
    if instant is not None:
        return Period(instant, instant + 1)
    found = _AGO.fullmatch(text)
    if found is not None:
        us = int(found[1]) * _HOURS[found[2][0]] * 3_600_000_000
        return Period(max(now_us - us, _to_us(datetime(1, 1, 1, tzinfo=UTC))), now_us)
    return _relative(text.replace("-", " "), now_us)


class Passing(NamedTuple):
    """A date said in passing, and where: text[start:end]."""

    period: Period
    start: int
    end: int


def said_in_passing(text: str, now_us: int) -> Passing | None:
    """Return the first period that a question names in words."""
    for pattern, order in ((_DAY_MONTH, "dmy"), (_MONTH_DAY, "mdy"), (_MONTH_YEAR, "my"), (_ISO_DAY, "iso")):
        found = pattern.search(text)
        if found is None:
            continue
        if order == "iso":
            period = _calendar(int(found[1]), int(found[2]), int(found[3]) if found[3] else None)
        else:
            parts = dict(zip(order, found.groups(), strict=True))
            period = _calendar(int(parts["y"]), _MONTHS[parts["m"].lower()], int(parts["d"]) if "d" in parts else None)
        if period is not None:
            return Passing(period, *found.span())
    found = _NEW_YEARS_EVE.search(text)
    if found is not None:
        period = _calendar(int(found[1]) if found[1] else to_datetime(now_us).year - 1, 12, 31)
        return Passing(period, *found.span()) if period is not None else None
    found = _RELATIVE.search(text)
    period = _relative(found[1].lower(), now_us) if found is not None else None
    return Passing(period, *found.span()) if found is not None and period is not None else None


def _relative(text: str, now_us: int) -> Period | None:
    today = to_datetime(now_us).replace(hour=0, minute=0, second=0, microsecond=0)
    day = timedelta(days=1)
    if text == "now":
        return Period(now_us, now_us + 1)
    if text in ("today", "yesterday"):
        start = today if text == "today" else today - day
        return _period(start, start + day)
    if text in _WEEKDAYS:
        start = today - day * ((today.weekday() - _WEEKDAYS.index(text)) % 7 or 7)
        return _period(start, start + day)
    which, _, unit = text.partition(" ")
    if which not in ("last", "this"):
        return None
    if unit == "week":
        start = today - day * (today.weekday() + (7 if which == "last" else 0))
        return _period(start, start + day * 7)
    if unit == "month":
        first = today.replace(day=1)
        return _calendar(*_month_before(first), None) if which == "last" else _calendar(first.year, first.month, None)
    if unit == "year":
        return _calendar(today.year - (which == "last"), None, None)
    return None


def _month_before(first: datetime) -> tuple[int, int]:
    return (first.year, first.month - 1) if first.month > 1 else (first.year - 1, 12)


def _calendar(year: int, month: int | None, day: int | None) -> Period | None:
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
        if day is not None:
            end = start + timedelta(days=1)
        elif month is not None and month < 12:
            end = datetime(year, month + 1, 1, tzinfo=UTC)
        else:
            end = datetime(year + 1, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return _period(start, end)


def _period(start: datetime, end: datetime) -> Period:
    return Period(_to_us(start), _to_us(end))


def _to_us(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND
