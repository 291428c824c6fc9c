"""Decides when a sweep is due and whether the clock can be trusted. Every sync asks, so it loads nothing else.

A clock that jumped ahead makes everything old. The times of files and records are no help: they come from the same
clock. So the memory remembers when it last saw the clock, and doubts a clock that moved by more than a day since. A
machine that was off looks the same, so a doubt ends by itself: the clock is believed once it says so for another day.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from recollect.model.time import day_of
from recollect.store.meta import last_told_at, newest_observation, read_mark, write_mark
from recollect.units import plural

Cadence = Literal["daily", "weekly", "on-hook"]
_SWEPT = "retention_swept_at"
_DAY_US = 24 * 3600 * 1_000_000
_PERIODS_US = {"daily": _DAY_US, "weekly": 7 * _DAY_US}


def swept_at(home: Path) -> int | None:
    """Return when the last whole sweep was, UTC microseconds; None for never. Raises StoreError."""
    text = read_mark(home, _SWEPT)
    return int(text) if text.isdecimal() else None


def swept(home: Path, *, now_us: int) -> None:
    """Keep that a sweep was done, and done whole. Raises StoreError."""
    write_mark(home, _SWEPT, str(now_us))


def is_due(home: Path, cadence: Cadence, *, now_us: int) -> bool:
    """Return whether a sweep is due. A clock set back before the last sweep makes it due. Raises StoreError."""
    last = swept_at(home)
    if last is None:
        return True
    if cadence == "on-hook":
        return last_told_at(home) > last
    return not 0 <= now_us - last < _PERIODS_US[cadence]


def next_sweep_at(home: Path, cadence: Cadence) -> int | None:
    """Return when time alone makes the next sweep due, UTC microseconds; None for never. Raises StoreError."""
    last = swept_at(home)
    if last is None:
        return 0
    return None if cadence == "on-hook" else last + _PERIODS_US[cadence]


HOUR_US = 3600 * 1_000_000
DAY_US = 24 * HOUR_US
MOST_APART_US = 26 * HOUR_US
"""A day, and something for a job that runs daily and not to the second."""
ANOTHER_DAY_US = 20 * HOUR_US
"""A doubt ends after this time: a day, less what one starts work earlier."""
FORGOTTEN_AFTER_US = 40 * DAY_US
"""A clock that moved by more than this since it was doubted is doubted again."""
_MARK = "clock"


class _Seen(NamedTuple):
    """agreed_at: what the clock said when it was last believed; doubted_at: when it was first doubted, or 0."""

    agreed_at: int
    doubted_at: int = 0


def observe(home: Path, *, now_us: int) -> str:
    """Remember what the clock says, and return why it cannot be believed, "" if it can. Raises StoreError."""
    before = _seen(home, now_us)
    now = _judged(before, now_us)
    is_news = now.doubted_at != before.doubted_at or now.agreed_at - before.agreed_at >= HOUR_US
    if is_news or now.agreed_at < before.agreed_at or not read_mark(home, _MARK):
        write_mark(home, _MARK, f"{now.agreed_at} {now.doubted_at}")
    return _said(now, now_us)


def doubt(home: Path, *, now_us: int) -> str:
    """Return why the clock cannot be believed, "" if it can. Changes nothing. Raises StoreError."""
    return _said(_judged(_seen(home, now_us), now_us), now_us)


def _judged(seen: _Seen, now_us: int) -> _Seen:
    if abs(now_us - seen.agreed_at) <= MOST_APART_US:
        return _Seen(now_us)
    waited_us = now_us - seen.doubted_at
    if not seen.doubted_at or not 0 <= waited_us <= FORGOTTEN_AFTER_US:
        return _Seen(seen.agreed_at, now_us)
    return _Seen(now_us) if waited_us >= ANOTHER_DAY_US else seen


def _seen(home: Path, now_us: int) -> _Seen:
    agreed_at, _, doubted_at = read_mark(home, _MARK).partition(" ")
    if agreed_at.isdecimal() and doubted_at.isdecimal():
        return _Seen(int(agreed_at), int(doubted_at))
    # What was seen in this pass is no evidence of the time before it.
    return _Seen(newest_observation(home, before=now_us - HOUR_US) or now_us)


def _said(seen: _Seen, now_us: int) -> str:
    if not seen.doubted_at:
        return ""
    days = round((now_us - seen.agreed_at) / DAY_US)
    direction = "later" if days > 0 else "earlier"
    return (
        f"the clock is {plural(abs(days), 'day')} {direction} than when this memory last saw it"
        f" ({day_of(seen.agreed_at)}); "
        "nothing is deleted for its age until the clock says so for another day"
    )
