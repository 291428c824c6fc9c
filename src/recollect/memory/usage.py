"""`memory.usage`: tokens and cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo

from recollect.model.usage import UsageReport
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter, UsageBy


class UsageFacet:
    """Token totals and cost over responses counted once each."""

    def __init__(self, reader: Callable[[], Reader], known: Callable[[EventFilter], EventFilter]) -> None:
        """known: gives a filter with its agents named by their slugs, or raises UnknownName for any name in it."""
        self._reader = reader
        self._known = known

    def report(
        self,
        *,
        by: UsageBy = "day",
        where: EventFilter | None = None,
        after: int | None = None,
        before: int | None = None,
        zone: tzinfo = UTC,
    ) -> UsageReport:
        """Return tokens and cost grouped by session, day, repo, domain, model, agent or in total.

        after/before: UTC microseconds, [after, before). zone: in which days count.
        Forks, replays and repeated lines count once. Raises UnknownName.
        """
        where = self._known(where or EventFilter())
        return self._reader().usage(by=by, where=where, after=after, before=before, zone=zone)
