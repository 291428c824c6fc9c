"""Times, speeds and prices as people read them. Pure but for the local zone."""

from __future__ import annotations

from recollect.cli.local_time import LOCAL
from recollect.model.time import in_zone, minute_of
from recollect.units import size

LEAST_TIMED_BYTES = 1_000_000
"""Reading less takes as long as starting and ending do: a rate would say nothing."""
_STEPS = ((60, "s"), (60, "min"), (24, "h"), (7, "d"), (4.345, "wk"), (12, "mo"))


def stamp(us: int | None) -> str:
    """Return `2026-08-01 11:00` in the local zone; "no time" for None."""
    return "no time" if us is None else minute_of(us, LOCAL)


def clock(us: int | None) -> str:
    """Return `11:00:04` in the local zone; dashes for None."""
    return "--:--:--" if us is None else f"{in_zone(us, LOCAL):%H:%M:%S}"


def ago(us: int | None, now_us: int) -> str:
    """Return how long before now an instant was, in one unit (`3 d ago`); "" for None or the future."""
    if us is None or us > now_us:
        return ""
    left = (now_us - us) / 1e6
    for step, unit in _STEPS:
        if left < step:
            return f"{int(left)} {unit} ago"
        left /= step
    return f"{int(left)} y ago"


def when(us: int | None, now_us: int) -> str:
    """Return `3 d ago (2026-08-01 11:00)`."""
    relative = ago(us, now_us)
    return f"{relative} ({stamp(us)})" if relative else stamp(us)


def speed(count_bytes: int, seconds: float) -> str:
    """Return `7.8 MB/s`; "" where it would say nothing."""
    return f"{size(count_bytes / seconds)}/s" if count_bytes >= LEAST_TIMED_BYTES and seconds > 0 else ""


def usd(amount: float | None) -> str:
    """Return `$1.23`; a dash where no price is known."""
    if amount is None:
        return "-"
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"
