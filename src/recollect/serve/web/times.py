"""Times as the pages show them, in this machine's time zone."""

from __future__ import annotations

from datetime import datetime

from recollect.local_time import LOCAL
from recollect.model.time import in_zone
from recollect.units import plural

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_MONTH_US = 30 * 86_400_000_000


def ago(at_us: int | None, now: int) -> str:
    """Return how long ago, or in how long, an instant is, in the largest unit that fits."""
    if at_us is None:
        return "not yet"
    seconds = abs(now - at_us) // 1_000_000
    for unit, name in _UNITS:
        if seconds >= unit:
            text = plural(seconds // unit, name)
            break
    else:
        text = f"{seconds} s"
    return f"in {text}" if at_us > now else f"{text} ago"


def when(us: int | None, now: int) -> str:
    """Return how long ago an instant is, or its date where that is more than a month."""
    if us is None:
        return "no time"
    return ago(us, now) if abs(now - us) < _MONTH_US else stamp(us)[:10]


def _local(us: int) -> datetime:
    return in_zone(us, LOCAL)


def stamp(us: int | None) -> str:
    """Return an instant as `2026-03-01 14:05` in local time."""
    return _local(us).strftime("%Y-%m-%d %H:%M") if us is not None else "no time"


def clock(us: int | None) -> str:
    """Return the time of day of an instant, local."""
    return _local(us).strftime("%H:%M") if us is not None else ""


def iso(us: int | None) -> str:
    """Return an instant for the `datetime` of a `<time>`."""
    return _local(us).isoformat() if us is not None else ""


def span(seconds: float) -> str:
    """Return a length of time as `2 h 5 min`, `12 min` or `40 s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
