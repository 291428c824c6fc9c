"""How work that fails is tried again: ever more seldom, never given up, and always told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from recollect.errors import RecollectError, StoreLocked, where_raised
from recollect.ingest.keeper.status import Failure

FIRST_S = 0.5
LONGEST_S = 60.0
BUSY_S = 0.1
LONGEST_BUSY_S = 2.0
PERSISTENT_TIMES = 8
"""So many in a row, a minute of them, are told beyond the log."""
_US = 1_000_000
_FRAMES = 6


class Attempts:
    """The failures of one kind of work. wait_s: how long to wait after the last one, 0 where it went well."""

    def __init__(self, work: str, *, now_us: Callable[[], int], log: Callable[[str], None]) -> None:
        """work: what is done, as a person reads it. log: takes a line for every failure worth one."""
        self._work = work
        self._now_us = now_us
        self._log = log
        self._times = 0
        self.failures = 0
        """All there were. That another process was ingesting is none."""
        self.failure: Failure | None = None
        self.wait_s = 0.0
        self.was_busy = False
        """Whether the last attempt found another process ingesting."""
        self._again_at = 0.0
        self.persists: Callable[[Failure], None] | None = None
        """Called once when a failure has come `PERSISTENT_TIMES` in a row. Must not raise."""

    def is_due(self) -> bool:
        """Tell whether it may be tried now."""
        return time.monotonic() >= self._again_at

    @contextmanager
    def one(self) -> Iterator[None]:
        """Try once. What fails inside is kept as the failure and goes no further: the loop must go on."""
        self.was_busy = False
        try:
            yield
        except StoreLocked as busy:
            self.was_busy = True
            self._failed(busy.code, str(busy), BUSY_S, LONGEST_BUSY_S, is_logged=False)
        except RecollectError as error:
            self._failed(error.code, str(error), FIRST_S, LONGEST_S, is_logged=True)
        except OSError as error:
            self._failed("system", error.strerror or type(error).__name__, FIRST_S, LONGEST_S, is_logged=True)
        except Exception as bug:  # noqa: BLE001 - the daemon's loop: a bug of ours must not end it, nor pass in silence
            self._failed(
                "bug", f"{where_raised(bug, frames=_FRAMES)}; please report this", FIRST_S, LONGEST_S, is_logged=True
            )
        else:
            if self.failure is not None and self._times > 1 and self.failure.code != StoreLocked.code:
                self._log(f"{self._work} works again, after {self._times} failures")
            self._times, self.failure, self.wait_s, self._again_at = 0, None, 0.0, 0.0

    def _failed(self, code: str, message: str, first_s: float, longest_s: float, *, is_logged: bool) -> None:
        self._times += 1
        self.failures += is_logged
        self.wait_s = min(first_s * 2 ** min(self._times - 1, 16), longest_s)
        self._again_at = time.monotonic() + self.wait_s
        now = self._now_us()
        self.failure = Failure(self._work, code, message, self._times, now, now + round(self.wait_s * _US))
        if is_logged and self._times & (self._times - 1) == 0:  # the first, second, fourth, eighth …
            self._log(f"{self._work} failed ({self._times} in a row): {code}: {message}")
        if is_logged and self._times == PERSISTENT_TIMES and self.persists is not None:
            self.persists(self.failure)
