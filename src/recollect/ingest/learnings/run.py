"""Runs learning: after a sync, beside a daemon's other work, or on demand."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.config import Config
from recollect.errors import ArchiveError, ConfigError, EndpointError, StoreError
from recollect.ingest.learnings.extract import LearnReport

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.ingest.learnings.extract import Extractor, LearnProgress
    from recollect.ingest.report import SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.insights.learnings.settlement import Rules
    from recollect.model.learnings.learnings import LearningState
    from recollect.store.writer import Writer

Opened = tuple["Writer", "Archive", "HomeKeys"]
MICROSECONDS = 1_000_000
MOST_ACTIONS = 200
"""Actions of a repository that a session may show to be done, the newest."""


class WritableHome(Protocol):
    """What learning needs of an open memory."""

    home: Path
    config: Config

    def writing(self) -> AbstractContextManager[Opened]: ...


class Wanted(NamedTuple):
    """What a run is to do. is_patient: as `Extracting.run`. extractor: in place of the rules that ship. is_at_once: a
    person waits: nothing is put off, and a model is asked about sessions that go on, up to the last turn that is over.
    """

    should_stop: Callable[[], bool] = lambda: False
    progress: LearnProgress | None = None
    is_patient: bool = False
    extractor: Extractor | None = None
    is_at_once: bool = False


class AskingHome(WritableHome, Protocol):
    """What asking a model needs of an open memory."""

    env: Mapping[str, str]


class Answered(NamedTuple):
    """What a run of asking came to. failure: what keeps a model from being asked. next_at: when there is work again,
    UTC microseconds, None: not before sessions change."""

    report: LearnReport
    failure: EndpointError | ConfigError | None = None
    next_at: int | None = None


def rules_of(config: Config, now_us: Callable[[], int]) -> Callable[[], Rules]:
    """Return what decides which learnings hold, by the configuration and the clock."""
    from recollect.insights.learnings.settlement import Rules

    learning = config.learning
    return lambda: Rules(now_us(), learning.action_days, learning.most_actions)


def learn(memory: WritableHome, opened: Opened, wanted: Wanted, *, now_us: Callable[[], int]) -> LearnReport:
    """Have the rules read what is due, with the ingest lock held. Raises StoreError, ArchiveError."""
    from recollect.ingest.learnings.ask import JobMaker, asking_since, switched_off
    from recollect.ingest.learnings.extract import Extracting, Sides, has_work
    from recollect.ingest.learnings.keep import Keeping
    from recollect.privacy.redact import redactor_of
    from recollect.store.insight_feed import SessionFeed
    from recollect.store.learnings import LearningFilter, LearningReader
    from recollect.store.notes import new_batch

    writer, archive, keys = opened
    store = writer.learned
    started_at = now_us()
    if not memory.config.learning.enabled:
        # What changed is known when it is switched on again, and the change log need not keep it until then.
        if store.queue.has_changes():
            with store.transaction():
                store.queue.note_changes(now_us=started_at, least_wait_us=0)
        switched_off(store)
        return LearnReport("off", notes=[])
    since_us = asking_since(store, memory.config.learning, started_at)
    if wanted.is_at_once:
        with store.transaction():
            store.queue.unpark("rules", now_us=started_at)
    if wanted.extractor is None and not has_work(store, store.queue, now_us=started_at, is_patient=wanted.is_patient):
        return LearnReport(notes=[], next_at=store.queue.next_due_at(("rules", "relate"), now_us=started_at))
    feed = SessionFeed(memory.home, archive, redactor_of(keys.marker_key, memory.config.privacy))
    reader = LearningReader(memory.home)
    try:
        keeping = Keeping(
            store, store.queue, rules_of(memory.config, now_us),
            new_batch("learnings", started_at=started_at, about="learned from sessions"),
        )  # fmt: skip
        states: tuple[LearningState, ...] = ("active", "confirmed", "done", "expired")
        sides = Sides(
            feed, store, store.queue,
            lambda repo: reader.learnings(
                LearningFilter(kinds=("action",), repos=(repo,), states=states, limit=MOST_ACTIONS)
            ),
        )  # fmt: skip
        run = Extracting(
            sides,
            wanted.extractor or shipped_extractor(is_ranked=memory.config.distill.ranked),
            keeping,
            now_us=now_us,
            should_stop=wanted.should_stop,
            progress=wanted.progress,
        )
        if since_us is not None:
            idle_us = memory.config.distill.idle_seconds * MICROSECONDS
            run.make_model_jobs = JobMaker(since_us=since_us, idle_us=idle_us, is_at_once=wanted.is_at_once)
        with writer.for_what_can_be_made_again():
            return run.run(is_patient=wanted.is_patient)
    finally:
        reader.close()
        feed.close()


def learn_after(memory: WritableHome, opened: Opened, request: SyncRequest, report: SyncReport) -> None:
    """Learn from what a sync left due, and add to its report what came of it. Ctrl-C ends it after the session under
    way."""
    from recollect.ingest.report import SyncProgress
    from recollect.ingest.sync import interruptible
    from recollect.ingest.worker.timings import StageTimer

    def show(done: int, total: int) -> None:
        if request.progress is not None:
            request.progress(SyncProgress("learn", 0, 0, done, total))

    timer = StageTimer()
    started = time.perf_counter()
    try:
        with timer.stage("learn"), interruptible() as stop:
            done = learn(memory, opened, Wanted(stop.is_set, show), now_us=request.now_us)
    except (StoreError, ArchiveError) as error:
        report.state = "degraded"
        report.notes.append(f"not all sessions could be learned from ({error}); the next sync goes on")
        return
    finally:
        report.stage_seconds |= timer.seconds
        report.seconds += time.perf_counter() - started
    report.learned_sessions, report.new_learnings = done.sessions, done.new
    report.notes += done.notes
    if done.state == "interrupted":
        report.state = "interrupted"


def shipped_extractor(*, is_ranked: bool) -> Extractor:
    """Return the rules that ship, with learned weights where wanted; loading them takes a moment."""
    from recollect.ingest.learnings.extractor import RuleExtractor

    return RuleExtractor(is_ranked=is_ranked)


def want_older(memory: AskingHome, after: int | None, before: int | None, *, now_us: Callable[[], int]) -> int:
    """Have the model asked about sessions from before it was configured; return how many were not asked for yet."""
    from recollect.ingest.learnings.ask import asking_since
    from recollect.store.learning_writer import open_learning_store

    now = now_us()
    with open_learning_store(memory.home) as store:
        since = asking_since(store, memory.config.learning, now)
        if since is None:
            return 0
        with store.transaction():
            return store.queue.add_older_sessions(since=since, after=after, before=before, now_us=now)


def ask_models(
    memory: AskingHome, should_stop: Callable[[], bool], *, now_us: Callable[[], int], is_at_once: bool = False
) -> Answered:
    """Ask the configured model about the turns that wait, without the ingest lock. Raises StoreError, ArchiveError."""
    from recollect.endpoints.chat import ChatClient
    from recollect.ingest.learnings.ask import Asking, AskingSides, begin_asking, end_waits, fingerprint_of, pause_for
    from recollect.ingest.learnings.keep import Keeping
    from recollect.insights.learnings.budget import Budget
    from recollect.store.home import Home, LazyArchive, LazyRedactor
    from recollect.store.insight_feed import SessionFeed
    from recollect.store.jobs import QUESTIONS, SpendingLedger
    from recollect.store.learning_writer import open_learning_store
    from recollect.store.notes import new_batch

    config = memory.config.learning
    with open_learning_store(memory.home) as store:
        due_at = store.queue.next_due_at(QUESTIONS, now_us=now_us())
        fingerprint = fingerprint_of(config, memory.env)
        begin_asking(store, store.queue, fingerprint, now_us())
        if is_at_once:
            end_waits(store, store.queue, now_us())
        if due_at is None and store.queue.next_due_at(QUESTIONS, now_us=now_us()) is None:
            return Answered(LearnReport(notes=[]))
        try:
            client = ChatClient.of(config, memory.env, now_us=now_us)
        except ConfigError as error:
            pause = pause_for(store, error, fingerprint=fingerprint, now_us=now_us())
            return Answered(LearnReport(notes=[pause.message]), error)
        archive = LazyArchive(Home(memory.home))
        feed = SessionFeed(memory.home, archive, LazyRedactor(Home(memory.home).keys, memory.config.privacy))
        try:
            budget = Budget(config, SpendingLedger(memory.home), client.pricing, now_us=now_us)
            batch = new_batch("learnings", started_at=now_us(), about=f"learned by asking {client.model}")
            keeping = Keeping(store, store.queue, rules_of(memory.config, now_us), batch)
            asking = Asking(
                AskingSides(feed, store, store.queue, budget, client), keeping, config, fingerprint=fingerprint,
                now_us=now_us, should_stop=should_stop,
            )  # fmt: skip
            report = asking.run()
            return Answered(report, asking.failure, store.queue.next_due_at(QUESTIONS, now_us=now_us()))
        finally:
            feed.close()
            archive.close()
            client.close()
