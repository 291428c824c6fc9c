"""Analyses the sessions that are due, some in a transaction, then relates what they gave, repository by repository.

Killed anywhere, the next run goes on: an analysis is kept whole or not at all, and what waits is in the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from recollect.config import Config
from recollect.ingest.insights.analysis import Analysed, Analyst, scheme_of
from recollect.store.insight_feed import SessionFeed
from recollect.store.insights import InsightReader

# A sync that has nothing to analyse, which is most of them, loads none of what analysing needs.
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from recollect.ingest.insights.process import AnalysisGreeting
    from recollect.insights.stages import Stages
    from recollect.store.insight_writer import InsightWriter

MICROSECONDS = 1_000_000
MANY_SESSIONS = 32
"""Below this, starting a process (a second and a half, with its expressions) costs more than it saves."""
TOGETHER = 16
TOGETHER_SECONDS = 0.5
"""So many analyses, or those of so long, are kept in one transaction, so that committing costs little."""

DistillState = Literal["done", "interrupted", "busy"]
DistillProgress = Callable[[int, int], None]
"""Called with (sessions done, sessions there were to do)."""


class DistillReport(msgspec.Struct):
    """What a run did.

    state: done; interrupted (time or a signal; the next run goes on); busy (another process is ingesting). sessions:
    analysed in this run. nodes: new or changed ones; revoked: no longer given by their session. under_way: sessions
    that wait until they end. notes: what could not be analysed, and why.
    """

    state: DistillState = "done"
    sessions: int = 0
    nodes: int = 0
    revoked: int = 0
    related_repos: int = 0
    under_way: int = 0
    seconds: float = 0.0
    notes: list[str] = []


class TransactionalWriter(NamedTuple):
    """The ingester's side: what keeps analyses, and its transactions."""

    distilled: InsightWriter
    transaction: Callable[[], AbstractContextManager[None]]
    related: Callable[[str], None]
    """Told inside the transaction that a repository's decisions were related: what was learned there may be over."""


class Helpers(NamedTuple):
    """Processes that may analyse beside this one: how many, and what makes the first message to each."""

    number: int
    greeting: Callable[[], AnalysisGreeting]


class Sides(NamedTuple):
    """What a run reads from and writes to, and who helps. The caller holds the ingest lock."""

    feed: SessionFeed
    reader: InsightReader
    writer: TransactionalWriter
    helpers: Helpers | None = None


class Distilling:
    """One run over a home."""

    def __init__(
        self, sides: Sides, config: Config, *, now_us: Callable[[], int], stages: Stages | None = None,
        should_stop: Callable[[], bool] = lambda: False, progress: DistillProgress | None = None,
    ) -> None:  # fmt: skip
        """stages: in place of those that ship with the configuration's rules; helpers have only these."""
        self._feed, self._reader, self._writer, helpers = sides
        self._helpers = helpers if stages is None else None
        self._analyst = Analyst(self._feed, config, stages)
        self._scheme = scheme_of(config)
        self._idle_us = config.distill.idle_seconds * MICROSECONDS
        self._now_us = now_us
        self._began_us = 0
        """When the run began: its sessions are analysed together, whichever of them came first."""
        self._should_stop = should_stop
        self._progress = progress
        self.report = DistillReport(notes=[])

    def run(self, uids: Sequence[str] | None = None) -> DistillReport:
        """Analyse sessions that are due, or (uids) those, under way or not; then relate what they gave.

        Raises StoreError, ConfigError; what was kept by then stays.
        """
        started = time.perf_counter()
        self._began_us = self._now_us()
        try:
            if not self._run(uids):
                self.report.state = "interrupted"
        finally:
            self.report.seconds = time.perf_counter() - started
        return self.report

    def _run(self, uids: Sequence[str] | None) -> bool:
        if self._writer.distilled.has_changes():
            with self._writer.transaction():
                self._writer.distilled.note_changes()
        due = self._feed.due(scheme=self._scheme, now_us=self._now_us(), idle_us=self._idle_us)
        wanted = due.uids if uids is None else uids
        self.report.under_way = due.under_way
        self._tell(0, len(wanted))
        if self._should_stop():
            return False
        if not self._analyse(wanted):
            return False
        for repo in self._writer.distilled.touched_repos():
            if self._should_stop():
                return False
            self._relate(repo)
        return True

    def _analyse(self, uids: Sequence[str]) -> bool:
        """Analyse sessions and keep what comes of them; tell whether all were."""
        waiting: list[Analysed] = []
        kept_at = time.monotonic()
        try:
            with closing(self._analyses(uids)) as analyses:
                for done, analysed in enumerate(analyses, 1):
                    waiting.append(analysed)
                    if len(waiting) >= TOGETHER or time.monotonic() - kept_at >= TOGETHER_SECONDS:
                        self._keep(waiting)
                        kept_at = time.monotonic()
                    self._tell(done, len(uids))
                    if self._should_stop():
                        return False
        finally:
            self._keep(waiting)
        return True

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None and total:
            self._progress(done, total)

    def _analyses(self, uids: Sequence[str]) -> Generator[Analysed]:
        """Yield what comes of each session, in order: many are shared with helpers, where there are cores for them."""
        if self._helpers is None or self._helpers.number < 1 or len(uids) < MANY_SESSIONS:
            yield from map(self._analyst.analyse, uids)
            return
        from recollect.ingest.insights.parallel import shared

        self._analyst.prepare()  # a rule that cannot be used ends the run before anything is started
        yield from shared(uids, self._analyst, self._helpers.greeting(), helpers=self._helpers.number)

    def _keep(self, waiting: list[Analysed]) -> None:
        """Keep what came of sessions in one transaction, and empty the list."""
        drafts = [analysed.draft for analysed in waiting if analysed.draft is not None]
        self.report.notes += [analysed.note for analysed in waiting if analysed.note]
        waiting.clear()
        if not drafts:
            return
        with self._writer.transaction():
            counts = [self._writer.distilled.save(draft, now_us=self._began_us) for draft in drafts]
        self.report.sessions += len(drafts)
        self.report.nodes += sum(count.new + count.changed for count in counts)
        self.report.revoked += sum(count.revoked for count in counts)

    def _relate(self, repo: str) -> None:
        from recollect.insights.stages import Lineage

        found = self._reader.repo_nodes(repo)
        lineage = {uid: Lineage(parent, root, repo) for uid, (parent, root) in found.lineage.items()}
        relations = self._analyst.prepare().relator.relate(found.decisions, found.episodes, lineage)
        seen = found.recorded_at
        recorded_at = {b.id: max(seen.get(b.source, 0), seen.get(b.episode, 0)) for b in relations.bindings} | seen
        with self._writer.transaction():
            counts = self._writer.distilled.relate(
                repo, relations.links, relations.bindings, recorded_at=recorded_at, now_us=self._now_us()
            )
            self._writer.related(repo)
        self.report.related_repos += 1
        self.report.nodes += counts.new + counts.changed
        self.report.revoked += counts.revoked
