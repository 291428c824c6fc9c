"""The current time, in the unit in which everything is stored."""

from __future__ import annotations

import time


def now_us() -> int:
    """Return the time now, UTC microseconds since 1970."""
    return time.time_ns() // 1000
