"""`memory.usage`: tokens and cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo

from recollect.memory.agents import AgentsFacet
from recollect.model.usage import UsageReport
from recollect.store.ports import EventFilter, Reader, UsageBy


class UsageFacet:
    """Token totals and cost over responses counted once each."""

    def __init__(self, reader: Callable[[], Reader], agents: AgentsFacet) -> None:
        self._reader = reader
        self._agents = agents

    def report(
        self,
        *,
        by: UsageBy = "day",
        where: EventFilter | None = None,
        after: int | None = None,
        before: int | None = None,
        zone: tzinfo = UTC,
    ) -> UsageReport:
        """Return tokens and cost grouped by session, day, repo, model, agent or in total.

        after/before: UTC microseconds, [after, before). zone: in which days count.
        Forks, replays and repeated lines count once.
        """
        return self._reader().usage(
            by=by, where=self._agents.in_filter(where or EventFilter()), after=after, before=before, zone=zone
        )
