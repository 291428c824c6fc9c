"""`memory.distilling`: analyses sessions; after a sync, on demand, or beside answers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.config import Config
from recollect.errors import ArchiveError, StoreError, StoreLocked
from recollect.ingest.insights.distill import DistillReport
from recollect.maintenance.reports import DistillHealth
from recollect.paths import DATABASE_NAME
from recollect.store.home import Home

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.ingest.insights.distill import DistillProgress, Helpers
    from recollect.ingest.insights.process import AnalysisGreeting
    from recollect.ingest.report import SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.insights.stages import Stages
    from recollect.store.sqlite import SqliteWriter

Opened = tuple["SqliteWriter", "Archive", "HomeKeys"]


class WritableHome(Protocol):
    """What the facet needs of an open memory."""

    home: Path
    config: Config

    def writing(self) -> AbstractContextManager[Opened]: ...


class Wanted(NamedTuple):
    """What a run is to do, see `DistillingFacet.run`."""

    sessions: Sequence[str] | None = None
    stages: Stages | None = None
    should_stop: Callable[[], bool] = lambda: False
    progress: DistillProgress | None = None


class DistillingFacet:
    """Analyses what is stored. Nothing new is taken in."""

    def __init__(self, memory: WritableHome, now_us: Callable[[], int]) -> None:
        self._memory = memory
        self._now_us = now_us

    def run(
        self, *, sessions: Sequence[str] | None = None, max_seconds: float | None = None,
        stages: Stages | None = None, should_stop: Callable[[], bool] | None = None,
        progress: DistillProgress | None = None,
    ) -> DistillReport:  # fmt: skip
        """Analyse the sessions that are due; or those named by their exact uid, under way or not.

        max_seconds: after this time the next run goes on. stages: in place of those that ship. While another process
        is ingesting, returns at once with state "busy". Raises ConfigError for a rule that cannot be used, StoreError.
        """
        if not (self._memory.home / DATABASE_NAME).exists():
            return DistillReport(notes=["nothing is stored yet"])
        ends_at = None if max_seconds is None else time.monotonic() + max_seconds

        def is_over() -> bool:
            return (should_stop is not None and should_stop()) or (ends_at is not None and time.monotonic() > ends_at)

        try:
            with self._memory.writing() as opened:
                wanted = Wanted(sessions, stages, is_over, progress)
                return distill(self._memory, opened, wanted, now_us=self._now_us)
        except StoreLocked as error:
            return DistillReport("busy", notes=[str(error)])

    def health(self) -> DistillHealth:
        """Return how far it is, from the database alone. Raises StoreError and its kinds."""
        from recollect.ingest.insights.analysis import scheme_of
        from recollect.ingest.insights.distill import MICROSECONDS
        from recollect.store.sqlite.insights.feed import SqliteSessionFeed
        from recollect.store.sqlite.insights.reader import SqliteDistilledReader

        scheme, now = scheme_of(self._memory.config), self._now_us()
        feed = SqliteSessionFeed(self._memory.home, None, None)
        try:
            idle_us = self._memory.config.distill.idle_seconds * MICROSECONDS
            due = feed.due(scheme=scheme, now_us=now, idle_us=idle_us)
        finally:
            feed.close()
        reader = SqliteDistilledReader(self._memory.home)
        try:
            counts = reader.counts(scheme)
        finally:
            reader.close()
        waited = 0.0 if due.oldest_us is None else max(0.0, (now - due.oldest_us) / MICROSECONDS)
        return DistillHealth(counts.sessions, len(due.uids), due.under_way, counts.unfit, waited)


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
    from recollect.privacy.configured import redactor_of
    from recollect.store.sqlite.insights.feed import SqliteSessionFeed
    from recollect.store.sqlite.insights.reader import SqliteDistilledReader

    writer, archive, keys = opened
    feed = SqliteSessionFeed(memory.home, archive, redactor_of(keys.marker_key, memory.config.privacy))
    reader = SqliteDistilledReader(memory.home)
    try:
        helpers = _helpers(memory, keys)
        sides = Sides(feed, reader, TransactionalWriter(writer.distilled, writer.transaction), helpers)
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
