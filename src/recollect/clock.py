"""The time now, as everything that is stored counts it."""

from __future__ import annotations

import time


def now_us() -> int:
    """Return the time now, UTC microseconds since 1970."""
    return time.time_ns() // 1000
