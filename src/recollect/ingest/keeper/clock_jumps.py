"""Tells that a machine slept or its clock was set: the time that passed is not the time that was waited."""

from __future__ import annotations

import time
from collections.abc import Callable

JUMP_S = 5.0
"""Smaller steps are those by which a clock is kept right, or a machine that was busy."""
LATE_S = 30.0
"""Who looks every few seconds and looks this late was not running."""


class Clocks:
    """Compares the wall clock with the one that only goes forward, each time it is asked."""

    def __init__(self, *, wall: Callable[[], float] = time.time, forward: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._forward = forward
        self._last = (wall(), forward())

    def has_jumped(self) -> bool:
        """Tell whether, since the last question, the machine slept or somebody set its clock."""
        wall, forward = self._wall(), self._forward()
        passed, waited = wall - self._last[0], forward - self._last[1]
        self._last = (wall, forward)
        return abs(passed - waited) > JUMP_S or waited > LATE_S
