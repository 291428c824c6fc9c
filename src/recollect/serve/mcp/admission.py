"""How many calls run at once, how many wait, and for how long: a server that is asked too much says so at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from recollect.errors import RecollectError
from recollect.units import duration

PARALLEL = 4
QUEUED = 16
DEADLINE_S = 20.0


class Busy(RecollectError):
    """More calls are under way than the server takes."""

    code = "busy"
    retryable = True


class DeadlineExceeded(RecollectError):
    """A call took longer than a caller should wait."""

    code = "deadline_exceeded"
    retryable = True


class Admission:
    """Runs calls in threads of its own.

    A call that is cancelled or late gives its answer to nobody; a thread cannot be stopped, so its place is free only
    when it has ended, and the bound holds whatever callers do.
    """

    def __init__(self, *, parallel: int = PARALLEL, queued: int = QUEUED, deadline_s: float = DEADLINE_S) -> None:
        self._most = parallel + queued
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(parallel, thread_name_prefix="recollect-call")
        self._lock = threading.Lock()
        self._under_way = 0

    async def run(self, call: Callable[[], str]) -> str:
        """Return what a call returns. Raises Busy, DeadlineExceeded, or what the call raises."""
        with self._lock:
            if self._under_way >= self._most:
                raise Busy(f"{self._most} calls are under way", hint="try again in a moment")
            self._under_way += 1
        future = self._threads.submit(call)
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._deadline_s)
        except TimeoutError as error:
            if future.done() and not future.cancelled():
                return future.result()  # it ended at the last moment, or the call itself raised this
            raise DeadlineExceeded(
                f"no answer within {duration(self._deadline_s)}", hint="ask for less: a smaller limit, a narrower query"
            ) from error

    def close(self) -> None:
        """Take no more calls, and drop those that wait."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _leave(self, _done: Future[str]) -> None:
        with self._lock:
            self._under_way -= 1
