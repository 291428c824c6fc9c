"""`memory.distilling`: analyses sessions; after a sync, on demand, or beside answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from recollect.errors import StoreLocked
from recollect.ingest.insights.distill import DistillReport
from recollect.ingest.insights.run import Wanted, WritableHome, distill
from recollect.maintenance.reports import DistillHealth
from recollect.paths import DATABASE_NAME

if TYPE_CHECKING:
    from recollect.ingest.insights.distill import DistillProgress
    from recollect.insights.stages import Stages


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
        from recollect.store.insight_feed import SessionFeed
        from recollect.store.insights import InsightReader

        scheme, now = scheme_of(self._memory.config), self._now_us()
        feed = SessionFeed(self._memory.home, None, None)
        try:
            idle_us = self._memory.config.distill.idle_seconds * MICROSECONDS
            due = feed.due(scheme=scheme, now_us=now, idle_us=idle_us)
        finally:
            feed.close()
        reader = InsightReader(self._memory.home)
        try:
            counts = reader.counts(scheme)
        finally:
            reader.close()
        waited = 0.0 if due.oldest_us is None else max(0.0, (now - due.oldest_us) / MICROSECONDS)
        return DistillHealth(counts.sessions, len(due.uids), due.under_way, counts.unfit, waited)
