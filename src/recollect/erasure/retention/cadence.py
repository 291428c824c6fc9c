"""When a sweep is due. Asked after every sync, so it loads nothing that a sweep needs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from recollect.store.erasure.holdings import last_told_at, read_mark, write_mark

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
    """Tell whether a sweep is due. A clock that was set back before the last sweep makes it due. Raises StoreError."""
    last = swept_at(home)
    if last is None:
        return True
    if cadence == "on-hook":
        return last_told_at(home) > last
    return not 0 <= now_us - last < _PERIODS_US[cadence]
