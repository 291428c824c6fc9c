"""When a fact holds: half-open intervals of UTC microseconds, [begin, end); None is open on its side."""

from __future__ import annotations

from recollect.errors import UsageError


def check_interval(begin: int | None, end: int | None) -> None:
    """Raise UsageError for an interval in which nothing could hold: one that ends before it begins, or at once."""
    if begin is not None and end is not None and end <= begin:
        how = "at the instant" if end == begin else "before"
        raise UsageError(f"this fact would end {how} it begins, so it would never hold", hint="give a later end")


def holds_at(begin: int | None, end: int | None, at: int) -> bool:
    """Tell whether an instant lies in an interval."""
    return (begin is None or begin <= at) and (end is None or at < end)


def overlap(one: tuple[int | None, int | None], other: tuple[int | None, int | None]) -> bool:
    """Tell whether two intervals share an instant. Those that only meet do not."""
    begins = [begin for begin, _end in (one, other) if begin is not None]
    ends = [end for _begin, end in (one, other) if end is not None]
    return not begins or not ends or max(begins) < min(ends)
