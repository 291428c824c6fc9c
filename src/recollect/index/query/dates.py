"""Dates that a question names in passing: "what did we decide on 8 January 2026"."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from typing import NamedTuple

from recollect.model.time import Period, calendar_period, in_zone, relative_period

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
_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY_MONTH = re.compile(rf"(?:on\s+)?(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(\d{{4}})\b", re.I)
_MONTH_DAY = re.compile(rf"(?:on\s+)?\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+)(\d{{4}})\b", re.I)
_MONTH_YEAR = re.compile(rf"(?:in\s+)?\b{_MONTH},?\s+(\d{{4}})\b", re.I)
_ISO_DAY = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_NEW_YEARS_EVE = re.compile(r"\bnew year['’]?s eve(?:\s+(?:of\s+)?(\d{4}))?", re.I)
_RELATIVE = re.compile(r"\b(today|yesterday|(?:last|this) (?:week|month|year))\b", re.I)


class Passing(NamedTuple):
    """A date said in passing, and where: text[start:end]."""

    period: Period
    start: int
    end: int


def said_in_passing(text: str, now_us: int, zone: tzinfo = UTC) -> Passing | None:
    """Return the first period that a question names in words, in the calendar of a zone."""
    for pattern, order in ((_DAY_MONTH, "dmy"), (_MONTH_DAY, "mdy"), (_MONTH_YEAR, "my"), (_ISO_DAY, "iso")):
        found = pattern.search(text)
        if found is None:
            continue
        if order == "iso":
            period = calendar_period(int(found[1]), int(found[2]), int(found[3] or 0), zone)
        else:
            parts = dict(zip(order, found.groups(), strict=True))
            period = calendar_period(int(parts["y"]), _MONTHS[parts["m"].lower()], int(parts.get("d", 0)), zone)
        if period is not None:
            return Passing(period, *found.span())
    found = _NEW_YEARS_EVE.search(text)
    if found is not None:
        year = int(found[1]) if found[1] else in_zone(now_us, zone).year - 1
        period = calendar_period(year, 12, 31, zone)
        return Passing(period, *found.span()) if period is not None else None
    found = _RELATIVE.search(text)
    period = relative_period(found[1].lower(), now_us, zone) if found is not None else None
    return Passing(period, *found.span()) if found is not None and period is not None else None
