"""Instants in UTC microseconds, and the one grammar of times that people and agents write.

Pure: nothing here reads a clock. Whoever asks passes the instant that relative words start from and the zone that
calendar words count in: the zone of the machine for people, UTC for programs.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple

from recollect.errors import UsageError
from recollect.late import late_pattern
from recollect.units import DURATION_UNITS

TIME_FORMS = "2026-08-01, 2026-08-01T09:00, 2026-08, today, monday, last week, 30min, 12h, 3d, 2w, 6mo, 1y"
"""What `parse_time` understands, for help and messages."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CALENDAR = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_LENGTH = r"(\d{1,6})\s*(min|minute|h|hour|d|day|w|week|m|mo|month|y|year)s?(?:\s+ago)?"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO = late_pattern(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?\s*"
)
_WEEK_US = 7 * 86_400_000_000
_YEAR_2100_US = 4_102_444_800_000_000
_MIN_US = -62_135_596_800_000_000
_MAX_US = 253_402_300_799_999_999


def parse_iso(text: object) -> int | None:
    """Return UTC microseconds of an ISO 8601 / RFC 3339 time, or None. No offset means UTC."""
    if not isinstance(text, str):
        return None
    m = _ISO.fullmatch(text)
    if m is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = m.groups()
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), min(int(second or 0), 59))
    except ValueError:
        return None
    us = (at.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    if fraction:
        us += int((fraction + "000000")[:6])
    if offset and offset not in "Zz":
        digits = offset[1:].replace(":", "")
        shift = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000_000
        us -= shift if offset[0] == "+" else -shift
    return us


def from_epoch(value: object) -> int | None:
    """Return UTC microseconds of a number of seconds, milliseconds or microseconds since 1970, told by its size."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    magnitude = abs(value)
    if magnitude < 1e11:
        scaled = value * 1_000_000
    elif magnitude < 1e14:
        scaled = value * 1_000
    else:
        scaled = value
    return int(scaled) if _MIN_US <= scaled <= _MAX_US else None


def parse_any(value: object) -> int | None:
    """Return UTC microseconds of an ISO text or an epoch number, or None."""
    return parse_iso(value) if isinstance(value, str) else from_epoch(value)


def to_datetime(us: int) -> datetime:
    """Return an aware UTC datetime; values out of range are clamped."""
    return _EPOCH + timedelta(microseconds=max(_MIN_US, min(_MAX_US, us)))


def to_iso(us: int) -> str:
    """Return RFC 3339 in UTC with milliseconds, for example `2026-08-01T09:00:00.000Z`."""
    return to_datetime(us).strftime("%Y-%m-%dT%H:%M:%S.") + f"{us // 1000 % 1000:03d}Z"


def in_zone(us: int, zone: tzinfo) -> datetime:
    """Return an instant as the calendar and clock of a zone have it."""
    at = to_datetime(us)
    with suppress(OverflowError, OSError, ValueError):  # the first and last day of the calendar have no time elsewhere
        at = at.astimezone(zone)
    return at


def day_start(day: date, zone: tzinfo = UTC) -> int:
    """Return when a day begins in a zone, UTC microseconds."""
    return _to_us(datetime(day.year, day.month, day.day), zone)


def day_of(us: int, zone: tzinfo = UTC) -> str:
    """Return the calendar day `YYYY-MM-DD`."""
    return in_zone(us, zone).date().isoformat()


def minute_of(us: int, zone: tzinfo = UTC) -> str:
    """Return `2026-08-01 11:00`, as people read a time."""
    return in_zone(us, zone).replace(tzinfo=None).isoformat(" ", "minutes")


def month_of(us: int) -> str:
    """Return the UTC month `YYYY-MM`."""
    return to_datetime(us).strftime("%Y-%m")


class OffsetSpan(NamedTuple):
    """From start_us on, a zone is offset_us ahead of UTC."""

    start_us: int
    offset_us: int


def offsets_within(first_us: int, last_us: int, zone: tzinfo) -> list[OffsetSpan]:
    """Return how far a zone is ahead of UTC from one instant to another, in order, each change to the microsecond.

    Before 1970 and after 2100 the nearest offset holds. A change that is taken back within a week may be left out.
    """

    def offset(us: int) -> int:
        return (in_zone(us, zone).utcoffset() or timedelta()) // timedelta(microseconds=1)

    at, end = (max(0, min(us, _YEAR_2100_US)) for us in (first_us, last_us))
    spans = [OffsetSpan(at, offset(at))]
    while at < end:
        after = min(at + _WEEK_US, end)
        if offset(after) != spans[-1].offset_us:
            while after - at > 1:
                middle = (at + after) // 2
                at, after = (middle, after) if offset(middle) == spans[-1].offset_us else (at, middle)
            spans.append(OffsetSpan(after, offset(after)))
        at = after
    return spans


class Period(NamedTuple):
    """What a text about time means: start_us <= t < end_us.

    is_point: one moment is meant, `start_us`: an instant, or a length such as `3d`, whose period lasts until now.
    """

    start_us: int
    end_us: int
    is_point: bool = False

    @property
    def last_us(self) -> int:
        """What "at" a period means: its last microsecond; of a point, the point."""
        return self.start_us if self.is_point else self.end_us - 1

    @property
    def until_us(self) -> int:
        """What "until" a period means, as an exclusive end: the period is included; a point is not."""
        return self.start_us if self.is_point else self.end_us


def parse_time(text: str, now_us: int, zone: tzinfo = UTC) -> Period | None:
    """Return the period that a text names, or None. Case doesn't count; `last-week` and `last_week` are `last week`.

    - `2026`, `2026-08`, `2026-08-01`, `today`, `yesterday`, `monday` (the last one before today), `last week`,
      `this month`, `last year`: from its first instant to its last, in the calendar of `zone`.
    - `2026-08-01T09:00`, `now`: one microsecond. A time with an offset means that offset, one without it `zone`.
    - `30min`, `12h`, `3d`, `2w`, `6mo` or `6m`, `1y`, also `3 days ago`: from that long ago until now. A month is 30
      days, a year 365.

    What a surface takes of it: `after`, `since` and `from` begin with the period (`start_us`); `before` ends where it
    starts (`start_us`); `until` includes it (`until_us`); `on` is within it; `at` is its last moment (`last_us`).
    """
    word = " ".join(text.lower().replace("_", " ").split())
    found = re.fullmatch(_CALENDAR, word)
    if found is not None:
        year, month, day = found.groups()
        return calendar_period(int(year), int(month or 0), int(day or 0), zone)
    instant = _instant(text.strip(), zone)
    if instant is not None:
        return Period(instant, instant + 1, is_point=True)
    word = word.replace("-", " ")
    found = re.fullmatch(_LENGTH, word)
    if found is not None:
        unit = "min" if found[2].startswith("min") else "mo" if found[2].startswith("m") else found[2][0]
        us = int(found[1]) * round(DURATION_UNITS[unit]) * 1_000_000
        return Period(max(now_us - us, _MIN_US), now_us, is_point=True)
    return relative_period(word, now_us, zone)


def required_time(text: str, now_us: int, zone: tzinfo, *, name: str) -> Period:
    """Return the period that a text names. Raises UsageError, which calls it by `name`."""
    period = parse_time(text, now_us, zone)
    if period is None:
        raise UsageError(f"{name}: {text!r} is not a time", hint=f"write one of {TIME_FORMS}")
    return period


def calendar_period(year: int, month: int = 0, day: int = 0, zone: tzinfo = UTC) -> Period | None:
    """Return a year, a month of it (1 to 12), or a day of that, in the calendar of a zone; None if there is none."""
    try:
        start = datetime(year, month or 1, day or 1)
        if day:
            end = start + timedelta(days=1)
        elif month:
            end = datetime(year + month // 12, month % 12 + 1, 1)
        else:
            end = datetime(year + 1, 1, 1)
    except (ValueError, OverflowError):
        return None
    return _period(start, end, zone)


def relative_period(word: str, now_us: int, zone: tzinfo = UTC) -> Period | None:
    """Return what `now`, `today`, `yesterday`, a weekday, `last week` and the like name, or None."""
    if word == "now":
        return Period(now_us, now_us + 1, is_point=True)
    today = in_zone(now_us, zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None, fold=0)
    day = timedelta(days=1)
    try:
        if word in ("today", "yesterday"):
            start = today if word == "today" else today - day
            return _period(start, start + day, zone)
        if word in _WEEKDAYS:
            start = today - day * ((today.weekday() - _WEEKDAYS.index(word)) % 7 or 7)
            return _period(start, start + day, zone)
        which, _, unit = word.partition(" ")
        if which not in ("last", "this"):
            return None
        if unit == "week":
            start = today - day * (today.weekday() + (7 if which == "last" else 0))
            return _period(start, start + day * 7, zone)
        if unit == "month":
            first = today.replace(day=1) - day if which == "last" else today
            return calendar_period(first.year, first.month, zone=zone)
        if unit == "year":
            return calendar_period(today.year - (which == "last"), zone=zone)
    except OverflowError:  # before the first day of the calendar
        return None
    return None


def _instant(text: str, zone: tzinfo) -> int | None:
    us = parse_iso(text.upper())
    if us is None or re.search(r"(?:Z|[+-]\d\d:?\d\d)\s*$", text.upper()):
        return us
    return _to_us(to_datetime(us).replace(tzinfo=None), zone)


def _period(start: datetime, end: datetime, zone: tzinfo) -> Period:
    return Period(_to_us(start, zone), _to_us(end, zone))


def _to_us(wall: datetime, zone: tzinfo) -> int:
    """Return the instant of a time on the wall. Twice an hour in autumn: the first one."""
    return (wall.replace(tzinfo=zone) - _EPOCH) // timedelta(microseconds=1)
