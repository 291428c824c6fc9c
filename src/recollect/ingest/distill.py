"""Analyses due sessions in batches, then relates their results repository by repository.

After a sync each session is read once, for analysing and learning alike.

Killed anywhere, the next run continues: an analysis is kept whole or not at all, and what waits is in the database.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Literal

import msgspec

from recollect.clock import now_us
from recollect.errors import StoreLocked
from recollect.ingest.analysis import Analysed, Analyst, SessionTask, scheme_of
from recollect.ingest.run_limits import MICROSECONDS, after_sync, deadline

# A sync that has nothing to analyse, which is most of them, loads none of what analysing needs.
if TYPE_CHECKING:
    from recollect.erasure.forget import Opened
    from recollect.ingest.learnings.extract import Extracting
    from recollect.ingest.learnings.run import LearningRun
    from recollect.ingest.open_home import OpenHome
    from recollect.ingest.report import SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.insights.stages import Stages

MANY_SESSIONS = 32
"""Below this, starting a process (a second and a half, with its expressions) costs more than it saves."""
TOGETHER = 16
TOGETHER_SECONDS = 0.5
"""So many analyses, or those of so long, are kept in one transaction, so that committing costs little."""

HELPERS = "distill (helpers)"
"""The stage of a sync's report that has the CPU seconds of processes that help to analyse, their starts included."""

DistillState = Literal["done", "interrupted", "busy"]
DistillProgress = Callable[[int, int], None]
"""Called with (sessions done, sessions there were to do)."""


class DistillReport(msgspec.Struct):
    """The result of a run.

    state: done; interrupted (time or a signal; the next run continues); busy (another process is ingesting). sessions:
    analysed in this run. nodes: new or changed ones; revoked: no longer given by their session. under_way: sessions
    that wait until they end; next_at: when the first of them will be idle, UTC microseconds. notes: what could not be
    analysed, and why.
    """

    state: DistillState = "done"
    sessions: int = 0
    nodes: int = 0
    revoked: int = 0
    related_repos: int = 0
    under_way: int = 0
    next_at: int | None = None
    seconds: float = 0.0
    notes: list[str] = []


class DistillHealth(msgspec.Struct, frozen=True):
    """How far distilling is, in sessions. unfit: analysed under other rules than the current ones. waited_s: how
    long the
    longest waiting one could have been analysed, 0 without one."""

    analysed: int
    waiting: int
    under_way: int
    unfit: int
    waited_s: float


class _Run:
    """One run over a home. The caller holds the ingest lock."""

    def __init__(
        self, home: OpenHome, opened: Opened, *, now_us: Callable[[], int], stages: Stages | None = None,
        should_stop: Callable[[], bool] = lambda: False, progress: DistillProgress | None = None,
        learning: Extracting | None = None, spent: Callable[[float], None] = lambda _seconds: None,
    ) -> None:  # fmt: skip
        """stages: in place of those that ship with the configuration's rules; helpers have only these. learning: learns
        from sessions beside. spent: told the CPU seconds of each helper."""
        from recollect.store.connection import ReadPool
        from recollect.store.home import LazyRedactor
        from recollect.store.insight_feed import SessionFeed
        from recollect.store.insights import InsightReader

        config, keys = home.config, opened.keys
        pool = ReadPool(home.home)
        self._feed = SessionFeed(pool, opened.archive, LazyRedactor(home.folders.keys, config.privacy))
        self._reader = InsightReader(pool)
        self._writer = opened.writer
        # This process is one of the configured workers itself.
        self._helpers = (config.ingest.workers or os.cpu_count() or 1) - 1 if stages is None else 0
        self._greeting = (keys, str(home.home), str(home.folders.archive), config)
        self._analyst = Analyst(self._feed, config, stages)
        self._scheme = scheme_of(config)
        self._idle_us = config.distill.idle_seconds * MICROSECONDS
        self._now_us = now_us
        self._began_us = 0
        """When the run began: its sessions are analysed together, whichever of them came first."""
        self._should_stop = should_stop
        self._progress = progress
        self._learning = learning
        self._spent = spent
        self.report = DistillReport(notes=[])

    def close(self) -> None:
        """Close the connections for reading."""
        self._reader.close()
        self._feed.close()

    def run(self, uids: Sequence[str] | None = None) -> DistillReport:
        """Analyse due sessions, or (uids) those, active or not; then relate their results.

        Raises StoreError, ConfigError; what was stored by then stays.
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
        self.report.under_way, self.report.next_at = due.under_way, due.next_us
        if not self._read(self._wanted(wanted)):
            return False
        for repo in self._writer.distilled.touched_repos():
            if self._should_stop():
                return False
            self._relate(repo)
        return True

    def _wanted(self, uids: Sequence[str]) -> list[SessionTask]:
        """Return what is to be read: first what is to be learned from, in the order that learning asks for."""
        if self._learning is None:
            return [SessionTask(uid) for uid in uids]
        due, learned = set(uids), dict.fromkeys(self._learning.waiting())
        both = [SessionTask(uid, uid in due, is_learned_from=True) for uid in learned]
        return both + [SessionTask(uid) for uid in uids if uid not in learned]

    def _read(self, wanted: Sequence[SessionTask]) -> bool:
        """Read sessions, and keep what comes of them; tell whether all were."""
        waiting: list[Analysed] = []
        kept_at = time.monotonic()
        self._tell(0, len(wanted))
        if self._should_stop():
            return False
        try:
            with closing(self._analyses(wanted)) as analyses:
                for done, (of_session, analysed) in enumerate(zip(wanted, analyses, strict=True), 1):
                    waiting.append(analysed._replace(extraction=None))
                    if self._learning is not None and of_session.is_learned_from:
                        self._learning.take(of_session.uid, analysed.extraction)
                    if len(waiting) >= TOGETHER or time.monotonic() - kept_at >= TOGETHER_SECONDS:
                        self._keep(waiting)
                        kept_at = time.monotonic()
                    self._tell(done, len(wanted))
                    if self._should_stop():
                        return False
        finally:
            self._keep(waiting)
        return True

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None and total:
            self._progress(done, total)

    def _analyses(self, wanted: Sequence[SessionTask]) -> Generator[Analysed]:
        """Yield what comes of each session, in order: many are shared with helpers, where there are cores for them."""
        if self._helpers < 1 or len(wanted) < MANY_SESSIONS:
            yield from map(self._analyst.analyse, wanted)
            return
        from recollect.ingest.analysis_helpers import AnalysisGreeting, shared

        self._analyst.prepare()  # a rule that cannot be used ends the run before anything is started
        greeting = AnalysisGreeting(*self._greeting)
        yield from shared(wanted, self._analyst, greeting, helpers=self._helpers, spent=self._spent)

    def _keep(self, waiting: list[Analysed]) -> None:
        """Store the results of sessions in one transaction, and empty the list."""
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
        from recollect.ingest.learnings.keep import want_related
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
            want_related(self._writer.learned.queue, repo)  # what was learned there may be over
        self.report.related_repos += 1
        self.report.nodes += counts.new + counts.changed
        self.report.revoked += counts.revoked


class DistillingFacet:
    """Analyses what is stored: after a sync, on demand, or beside answers. Nothing new is ingested."""

    def __init__(self, home: OpenHome, now_us: Callable[[], int] = now_us) -> None:
        self._home = home
        self._now_us = now_us

    def run(
        self, *, sessions: Sequence[str] | None = None, max_seconds: float | None = None,
        stages: Stages | None = None, should_stop: Callable[[], bool] | None = None,
        progress: DistillProgress | None = None,
    ) -> DistillReport:  # fmt: skip
        """Analyse the due sessions; or those with these exact uids, active or not.

        max_seconds: after this time the next run continues. stages: replace the standard ones. When another process is
        ingesting, returns at once with state "busy". Raises ConfigError for an invalid rule, StoreError.
        """
        if not self._home.is_there():
            return DistillReport(notes=["nothing is stored yet"])
        try:
            with self._home.writing() as opened:
                return distill(
                    self._home, opened, sessions, stages=stages, now_us=self._now_us,
                    should_stop=deadline(max_seconds, should_stop), progress=progress,
                )  # fmt: skip
        except StoreLocked as error:
            return DistillReport("busy", notes=[str(error)])

    def health(self) -> DistillHealth:
        """Return the progress of analysis, from the database alone. Raises StoreError and its subclasses."""
        from recollect.store.insight_feed import SessionFeed
        from recollect.store.insights import InsightReader

        scheme, now = scheme_of(self._home.config), self._now_us()
        with closing(SessionFeed(self._home.home, None, None)) as feed:
            due = feed.due(scheme=scheme, now_us=now, idle_us=self._home.config.distill.idle_seconds * MICROSECONDS)
        with closing(InsightReader(self._home.home)) as reader:
            counts = reader.counts(scheme)
        waited = 0.0 if due.oldest_us is None else max(0.0, (now - due.oldest_us) / MICROSECONDS)
        return DistillHealth(counts.sessions, len(due.uids), due.under_way, counts.unfit, waited)


def distill_after(
    home: OpenHome, opened: Opened, request: SyncRequest, report: SyncReport, *, learning: LearningRun
) -> int | None:
    """Analyse what a sync left due and learn from it in the same pass; add the result of the analysis to its report.

    Return when the first session that is under way will be due, UTC microseconds. Raises ConfigError for a rule that
    cannot be used.
    """
    next_at = None

    def add(seconds: float) -> None:
        report.stage_seconds[HELPERS] = report.stage_seconds.get(HELPERS, 0.0) + seconds

    with after_sync("distill", "analysed", request, report) as (should_stop, show):
        done = distill(
            home, opened, now_us=request.now_us, should_stop=should_stop, progress=show,
            learning=learning.begin(), spent=add,
        )  # fmt: skip
        report.distilled_sessions, report.waiting_sessions = done.sessions, done.under_way
        report.notes += done.notes
        next_at = done.next_at
        if done.state == "interrupted":
            report.state = "interrupted"
    return next_at


def distill(
    home: OpenHome, opened: Opened, sessions: Sequence[str] | None = None, *, now_us: Callable[[], int],
    stages: Stages | None = None, should_stop: Callable[[], bool] = lambda: False,
    progress: DistillProgress | None = None, learning: Extracting | None = None,
    spent: Callable[[float], None] = lambda _seconds: None,
) -> DistillReport:  # fmt: skip
    """Analyse with the ingest lock held, see `DistillingFacet.run`. learning: learns from what is due there beside.
    spent: told the CPU seconds of each helper."""
    run = _Run(
        home, opened, now_us=now_us, stages=stages, should_stop=should_stop, progress=progress, learning=learning,
        spent=spent,
    )  # fmt: skip
    with closing(run), opened.writer.for_what_can_be_made_again():
        return run.run(sessions)
