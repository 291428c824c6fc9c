"""The questions that a daemon is answering, and work in the same process that gives way to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_S = 0.1
"""Who asks once often asks again this soon."""
MOST_S = 2.0
"""No longer than this does one step of the work wait: questions without a pause must not keep it from ever ending."""


class Questions:
    """Counts questions under way. Safe from many threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._answered_at = -QUIET_S

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a question while it is answered."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._answered_at = time.monotonic()

    def give_way(self) -> None:
        """Wait until nobody has asked for a moment, or for `MOST_S`.

        Python runs one thread at a time: beside one that computes, an answer takes two to four times as long.
        """
        ends = time.monotonic() + MOST_S
        with self._changed:
            while (now := time.monotonic()) < ends and (self._count or now - self._answered_at < QUIET_S):
                self._changed.wait(QUIET_S)
