"""The limits of a run over sessions, and how it follows a sync, for analysis and learning."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from recollect.errors import ArchiveError, StoreError

if TYPE_CHECKING:
    from recollect.ingest.report import SyncReport
    from recollect.ingest.sync import SyncRequest

MICROSECONDS = 1_000_000


def deadline(max_seconds: float | None, should_stop: Callable[[], bool] | None) -> Callable[[], bool]:
    """Return what tells that a run is to end: it was asked to, or its time is over."""
    ends_at = None if max_seconds is None else time.monotonic() + max_seconds
    return lambda: (should_stop is not None and should_stop()) or (ends_at is not None and time.monotonic() > ends_at)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Do without looking for garbage in cycles, a sixth of the cost of reading a session, which makes none."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


@contextmanager
def after_sync(
    stage: Literal["distill", "learn"], done: str, request: SyncRequest, report: SyncReport
) -> Iterator[tuple[Callable[[], bool], Callable[[int, int], None]]]:
    """Run a stage after a sync; yield its stop signal and its progress callback.

    Ctrl-C ends it after the present session. Failures are in the report: what was ingested stays.
    """
    from recollect.ingest.report import SyncProgress
    from recollect.ingest.sync import interruptible
    from recollect.ingest.worker.slices import StageTimer

    def show(sessions: int, total: int) -> None:
        if request.progress is not None:
            request.progress(SyncProgress(stage, 0, 0, sessions, total))

    timer = StageTimer()
    started = time.perf_counter()
    try:
        with timer.stage(stage), interruptible() as stop:
            yield stop.is_set, show
    except (StoreError, ArchiveError) as error:
        report.degrade(f"not all sessions could be {done} ({error}); the next sync goes on")
    finally:
        report.stage_seconds |= timer.seconds
        report.seconds += time.perf_counter() - started
