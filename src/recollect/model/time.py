"""Time as UTC microseconds. Pure: nothing here reads a clock."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?\s*"
)
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


def day_of(us: int, offset_minutes: int = 0) -> str:
    """Return the calendar day `YYYY-MM-DD` at a fixed offset from UTC."""
    return to_datetime(us).astimezone(timezone(timedelta(minutes=offset_minutes))).strftime("%Y-%m-%d")


def month_of(us: int) -> str:
    """Return the UTC month `YYYY-MM`."""
    return to_datetime(us).strftime("%Y-%m")
