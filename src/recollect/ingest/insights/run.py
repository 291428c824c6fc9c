"""Runs the analysis of sessions: after a sync, or with the ingest lock that somebody holds already."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.config import Config
from recollect.errors import ArchiveError, StoreError
from recollect.store.home import Home

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.ingest.insights.distill import DistillProgress, DistillReport, Helpers
    from recollect.ingest.insights.process import AnalysisGreeting
    from recollect.ingest.report import SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.insights.stages import Stages
    from recollect.store.writer import Writer

Opened = tuple["Writer", "Archive", "HomeKeys"]


class WritableHome(Protocol):
    """What a run needs of an open memory."""

    home: Path
    config: Config

    def writing(self) -> AbstractContextManager[Opened]: ...


class Wanted(NamedTuple):
    """What a run is to do, see `DistillingFacet.run`."""

    sessions: Sequence[str] | None = None
    stages: Stages | None = None
    should_stop: Callable[[], bool] = lambda: False
    progress: DistillProgress | None = None


def distill_after(memory: WritableHome, opened: Opened, request: SyncRequest, report: SyncReport) -> None:
    """Analyse what a sync left due, and add to its report what came of it. Ctrl-C ends it after the session under way.

    Raises ConfigError for a rule that cannot be used.
    """
    from recollect.ingest.report import SyncProgress
    from recollect.ingest.sync import interruptible
    from recollect.ingest.worker.timings import StageTimer

    def show(done: int, total: int) -> None:
        if request.progress is not None:
            request.progress(SyncProgress("distill", 0, 0, done, total))

    timer = StageTimer()
    started = time.perf_counter()
    try:
        with timer.stage("distill"), interruptible() as stop:
            wanted = Wanted(should_stop=stop.is_set, progress=show)
            done = distill(memory, opened, wanted, now_us=request.now_us)
    except (StoreError, ArchiveError) as error:
        report.state = "degraded"
        report.notes.append(f"not all sessions could be analysed ({error}); the next sync goes on")
        return
    finally:
        report.stage_seconds |= timer.seconds
        report.seconds += time.perf_counter() - started
    report.distilled_sessions, report.waiting_sessions = done.sessions, done.under_way
    report.notes += done.notes
    if done.state == "interrupted":
        report.state = "interrupted"


def distill(memory: WritableHome, opened: Opened, wanted: Wanted, *, now_us: Callable[[], int]) -> DistillReport:
    """Analyse with the ingest lock held, see `DistillingFacet.run`."""
    from recollect.ingest.insights.distill import Distilling, Sides, TransactionalWriter
    from recollect.ingest.learnings.keep import want_related
    from recollect.privacy.redact import redactor_of
    from recollect.store.insight_feed import SessionFeed
    from recollect.store.insights import InsightReader

    writer, archive, keys = opened
    feed = SessionFeed(memory.home, archive, redactor_of(keys.marker_key, memory.config.privacy))
    reader = InsightReader(memory.home)
    try:
        helpers = _helpers(memory, keys)
        related = partial(want_related, writer.learned.queue)
        sides = Sides(feed, reader, TransactionalWriter(writer.distilled, writer.transaction, related), helpers)
        run = Distilling(
            sides, memory.config, stages=wanted.stages, now_us=now_us, should_stop=wanted.should_stop,
            progress=wanted.progress,
        )  # fmt: skip
        with writer.for_what_can_be_made_again():
            return run.run(wanted.sessions)
    finally:
        reader.close()
        feed.close()


def _helpers(memory: WritableHome, keys: HomeKeys) -> Helpers:
    """Return who may analyse beside this process: it is one of the configured workers itself."""
    from recollect.ingest.insights.distill import Helpers

    def greeting() -> AnalysisGreeting:
        from recollect.ingest.insights.process import AnalysisGreeting

        return AnalysisGreeting(keys, str(memory.home), str(Home(memory.home).archive), memory.config)

    workers = memory.config.ingest.workers or os.cpu_count() or 1
    return Helpers(workers - 1, greeting)
