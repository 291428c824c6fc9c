"""Paths that are looked at once more, a little later: where the first look may have come too early."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.ingest.report import SyncReport

FIRST_S = 1.0
MOST_LOOKS = 5
_MOST_PATHS = 1_000
"""More than these wait for the pass over everything."""


class SecondLooks:
    """A new folder may be filled before the system watches it; a source may change while it is read."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[float, int]] = {}
        self._looks: dict[str, int] = {}

    def after(self, paths: Iterable[str], report: SyncReport) -> None:
        """Take note of a pass over some paths and of what came of it."""
        troubled = {one.path for line in report.agents.values() for one in line.skipped}
        now = time.monotonic()
        for path in paths:
            looks = self._looks.pop(path, 0)
            is_troubled = any(one == path or one.startswith((path + os.sep, path + "#")) for one in troubled)
            most = MOST_LOOKS if is_troubled else 1
            if looks < most and len(self._waiting) < _MOST_PATHS and (is_troubled or os.path.isdir(path)):
                self._waiting[path] = (now + FIRST_S * 2**looks, looks + 1)

    def due(self) -> set[str]:
        """Return the paths whose time has come."""
        now = time.monotonic()
        found = {path for path, (at, _) in self._waiting.items() if at <= now}
        for path in found:
            self._looks[path] = self._waiting.pop(path)[1]
        return found

    def next_at(self) -> float:
        """Return when the next is due, on the clock of `time.monotonic`."""
        return min((at for at, _ in self._waiting.values()), default=float("inf"))
