"""Analyses the sessions that are due, one transaction each, then relates what they gave, repository by repository.

Killed anywhere, the next run goes on: an analysis is kept whole or not at all, and what waits is in the database.
"""

from __future__ import annotations

import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from recollect.config import Config
from recollect.errors import ArchiveError, ConfigError, StoreCorrupt, StoreError
from recollect.pipeline.distill.evidence import completed, locations_of
from recollect.store.distilled import AnalysisDraft, DistilledReader, OfSession, SessionFeed

# A sync that has nothing to analyse, which is most of them, loads none of what analysing needs.
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from recollect.distill.stages import GateRule, Stages
    from recollect.store.distilled import DistilledWriter

SCHEME = 1
"""Raised whenever the same events would give another digest, other signals or other nodes."""
MICROSECONDS = 1_000_000

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

    distilled: DistilledWriter
    transaction: Callable[[], AbstractContextManager[None]]


class Sides(NamedTuple):
    """What a run reads from and writes to. The caller holds the ingest lock."""

    feed: SessionFeed
    reader: DistilledReader
    writer: TransactionalWriter


class Distilling:
    """One run over a home."""

    def __init__(
        self, sides: Sides, config: Config, *, now_us: Callable[[], int], stages: Stages | None = None,
        should_stop: Callable[[], bool] = lambda: False, progress: DistillProgress | None = None,
    ) -> None:  # fmt: skip
        """stages: in place of those that ship, with the configuration's rules, which are made when they are needed."""
        self._feed, self._reader, self._writer = sides
        self._scheme = scheme_of(config)
        self._task_patterns = config.distill.task_patterns
        self._idle_us = config.distill.idle_seconds * MICROSECONDS
        self._config = config
        self._stages = stages
        self._now_us = now_us
        self._should_stop = should_stop
        self._progress = progress
        self.report = DistillReport(notes=[])

    def run(self, uids: Sequence[str] | None = None) -> DistillReport:
        """Analyse sessions that are due, or (uids) those, under way or not; then relate what they gave.

        Raises StoreError, ConfigError; what was kept by then stays.
        """
        started = time.perf_counter()
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
        for done, uid in enumerate(wanted, 1):
            if self._should_stop():
                return False
            self._analyse(uid)
            self._tell(done, len(wanted))
        for repo in self._writer.distilled.touched_repos():
            if self._should_stop():
                return False
            self._relate(repo)
        return True

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None and total:
            self._progress(done, total)

    def _analyse(self, uid: str) -> None:
        try:
            source = self._feed.read(uid)
            if source is None:
                return
            stages = self._used_stages()
            draft = draft_of(source, stages, scheme=self._scheme, task_patterns=self._task_patterns)
        except (StoreCorrupt, ArchiveError) as error:
            self.report.notes.append(f"{uid} could not be analysed: {error}")
            return
        except (ConfigError, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 - one session must not keep all others from being analysed; it is told
            self.report.notes.append(f"{uid} could not be analysed: a bug of Recollect, {_where(error)}")
            return
        with self._writer.transaction():
            counts = self._writer.distilled.save(draft, now_us=self._now_us())
        self.report.sessions += 1
        self.report.nodes += counts.new + counts.changed
        self.report.revoked += counts.revoked

    def _relate(self, repo: str) -> None:
        from recollect.distill.stages import Lineage

        found = self._reader.repo_nodes(repo)
        lineage = {uid: Lineage(parent, root, repo) for uid, (parent, root) in found.lineage.items()}
        relations = self._used_stages().relator.relate(found.decisions, found.episodes, lineage)
        seen = found.recorded_at
        recorded_at = {b.id: max(seen.get(b.source, 0), seen.get(b.episode, 0)) for b in relations.bindings} | seen
        with self._writer.transaction():
            counts = self._writer.distilled.relate(
                repo, relations.links, relations.bindings, recorded_at=recorded_at, now_us=self._now_us()
            )
        self.report.related_repos += 1
        self.report.nodes += counts.new + counts.changed
        self.report.revoked += counts.revoked

    def _used_stages(self) -> Stages:
        if self._stages is None:
            from recollect.distill.preparing import default_stages

            self._stages = default_stages(rules_of(self._config))
        return self._stages


def _where(error: Exception) -> str:
    """Return what an unexpected error is and where it was raised: names of ours, nothing of a transcript."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def draft_of(source: OfSession, stages: Stages, *, scheme: int, task_patterns: Sequence[str] = ()) -> AnalysisDraft:
    """Return the analysis of a session, with whole evidence. Raises StoreCorrupt, ArchiveError."""
    session = source.session
    from recollect.distill.preparing import analyse

    if not source.events:
        return AnalysisDraft(session, scheme, None, [], [], {}, source.change_id, 0)
    analysis = analyse(source.events, session=session, stages=stages, load=source.load, task_patterns=task_patterns)
    nodes, signals = completed(analysis.nodes, analysis.signals, source.completed)
    recorded_at = {node.id: source.observed_at(set(locations_of(node))) for node in nodes}
    return AnalysisDraft(
        session, scheme, analysis.digest, signals, nodes, recorded_at, source.change_id, len(source.events)
    )


def scheme_of(config: Config) -> int:
    """Return the scheme that a configuration gives: with rules and patterns of its own another one."""
    own = (config.gate.rules, config.distill.task_patterns)
    return SCHEME if own == ((), ()) else SCHEME << 32 | zlib.crc32(msgspec.json.encode(own))


def rules_of(config: Config) -> list[GateRule]:
    """Return the rules of a configuration for the gate."""
    from recollect.distill.stages import GateRule

    return [GateRule(rule.id, rule.category, rule.pattern, rule.strength) for rule in config.gate.rules]
