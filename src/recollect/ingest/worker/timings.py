"""Where the time of a pass goes: CPU seconds by stage, summed over processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class StageTimer:
    """Adds up CPU seconds of this thread by stage. A measurement only: no decision depends on it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside the block for a stage."""
        started = time.thread_time()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.thread_time() - started

    def merge(self, other: dict[str, float]) -> None:
        """Add the times of another timer."""
        for name, seconds in other.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds


class OtherThreads:
    """CPU seconds of this process that its other threads used since this was made: mostly the index engine's."""

    def __init__(self) -> None:
        self._process = time.process_time()
        self._thread = time.thread_time()

    def seconds(self) -> float:
        """Return the seconds so far."""
        return max(0.0, (time.process_time() - self._process) - (time.thread_time() - self._thread))
