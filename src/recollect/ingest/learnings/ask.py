"""Asks a model about waiting turns: claim, ask, store. Without the ingest lock, as answers may take a minute.

Claiming is one transaction, results with the end of the job another; between them nothing is held but a lease. Several
workers may be at it, in any number of processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from recollect.config import LearningConfig
from recollect.errors import ConfigError, EndpointError, EndpointRefused, EndpointUnavailable, EndpointUnusable
from recollect.ingest.learnings.extract import ANSWERED_NOTE, LearnReport, ModelJobs, chance
from recollect.insights.learnings.pause import (
    NOTE,
    Failed,
    Pause,
    PauseReason,
    holds,
    keep_pause,
    paused,
    unpack_pause,
    wait_us,
)
from recollect.store.jobs import QUESTIONS, TURN_GOES_ON, TURN_IS_OVER, Job
from recollect.store.learnings import LearningStore, Quarantined, Sighting

if TYPE_CHECKING:
    from recollect.endpoints.chat import ChatClient
    from recollect.ingest.learnings.keep import Keeping
    from recollect.insights.learnings.budget import Budget
    from recollect.insights.learnings.questions import Asked, TurnBatch
    from recollect.store.insight_feed import AnalysisInput, SessionFeed
    from recollect.store.learnings import LearningStore

SINCE_NOTE = "asking_since"
"""Keeps since when a model is configured, UTC microseconds: turns before it are not asked about."""
FINGERPRINT_NOTE = "asking_as"
"""Keeps the fingerprint of the configuration that was used last: another one frees what is parked."""
PATIENCE_US = 120_000_000
"""A lease is so much longer than one call may take."""
MOST_UNUSABLE = 5
"""So many answers in a row that are none, and the server is not asked again until the configuration changes."""
_ENDED = frozenset({"session_end"})


class Turns(msgspec.Struct, frozen=True):
    """`Job.data` of a job of kind `model` or `past`."""

    turns: tuple[int, ...] = ()


LOOK_AGAIN_US = 60_000_000
"""A session that goes on is not read again sooner: by its own times it may go on for long (a clock that is ahead)."""


class JobMaker:
    """Makes jobs of the turns that are finished since a model is configured, see `Extracting`."""

    def __init__(self, *, since_us: int, idle_us: int, is_at_once: bool = False) -> None:
        """idle_us: after so long without an event the last turn of a session is finished too. is_at_once: nothing is
        held back for turns to come, and the last turn is finished once the agent has answered."""
        self._since_us = since_us
        self._is_at_once = is_at_once
        self._idle_us = idle_us

    def __call__(self, of_session: AnalysisInput, *, after_turn: int, now_us: int) -> ModelJobs:
        """Return what a model is to be asked about a session."""
        from recollect.insights.learnings.questions import groups_of, job_key

        events = of_session.events
        after_turn = max(after_turn, _last_old_turn(of_session, self._since_us))
        newest = max((e.ts for e in events if e.ts is not None), default=0)
        if not events or events[-1].turn_index <= after_turn:
            return ModelJobs((), after_turn)
        is_over = events[-1].kind in _ENDED or newest + self._idle_us <= now_us
        through = None
        if self._is_at_once and not is_over:
            telling = (event.kind for event in reversed(events) if event.kind in TURN_GOES_ON | TURN_IS_OVER)
            is_over = next(telling, "") in TURN_IS_OVER
            through = None if is_over else events[-1].turn_index - 1
        groups = groups_of(of_session, after_turn=after_turn, through_turn=through, is_over=is_over or self._is_at_once)
        uid = of_session.session.session_uid
        jobs = [
            Job(job_key(group), "model", uid, msgspec.json.encode(Turns(group.turns)), now_us + place, now_us)
            for place, group in enumerate(groups)
        ]
        last = max((turn for group in groups for turn in group.turns), default=after_turn)
        if is_over:
            last = max(last, events[-1].turn_index)
        return ModelJobs(jobs, last, None if is_over else now_us + max(self._idle_us, LOOK_AGAIN_US))


class Asking:
    """One run over the turns that wait."""

    def __init__(
        self, feed: SessionFeed, store: LearningStore, budget: Budget, client: ChatClient, keeping: Keeping, *,
        timeout_s: int, fingerprint: str, now_us: Callable[[], int], should_stop: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._feed = feed
        self._store = store
        self._queue = store.queue
        self._budget = budget
        self._client = client
        self._keeping = keeping
        self._fingerprint = fingerprint
        self._now_us = now_us
        self._should_stop = should_stop
        self._lease_us = timeout_s * 1_000_000 + PATIENCE_US
        self._holder = os.urandom(8).hex()
        self._read: tuple[str, AnalysisInput | None] = ("", None)
        self.failure: EndpointError | ConfigError | None = None
        """What kept the last question from being answered, None where all were."""
        self.report = LearnReport(notes=[])

    def run(self) -> LearnReport:
        """Ask until nothing is due, a pause begins or it is to stop. Raises StoreError, ArchiveError."""
        started = time.perf_counter()
        try:
            while not self._is_paused() and (job := self._claim()) is not None:
                self._do(job)
                if self._should_stop():
                    self.report.state = "interrupted"
                    break
        finally:
            self.report.new, self.report.changed = self._keeping.added, self._keeping.changed
            self.report.batch = self._keeping.batch
            self.report.seconds = time.perf_counter() - started
        return self.report

    def _is_paused(self) -> bool:
        pause = unpack_pause(self._store.note(NOTE))
        is_held = holds(pause, fingerprint=self._fingerprint, now_us=self._now_us())
        if is_held and pause is not None:
            self.report.notes.append(pause.message)
            if self.failure is None and pause.reason != "budget":
                self.failure = EndpointUnavailable(pause.message, kind=pause.reason)
        return is_held

    def _claim(self) -> Job | None:
        with self._store.transaction():
            now = self._now_us()
            claims = (
                self._queue.claim(kind, holder=self._holder, now_us=now, lease_us=self._lease_us) for kind in QUESTIONS
            )
            return next((job for job in claims if job is not None), None)

    def _do(self, job: Job) -> None:
        from recollect.insights.learnings.questions import ask, batch_of, job_key

        source = self._session(job.session_uid)
        if job.kind == "older":
            self._split(job, source)
            return
        batch = None if source is None else batch_of(source, msgspec.json.decode(job.data, type=Turns).turns)
        if source is None or batch is None or job_key(batch.group) != job.key:
            # Its events changed since, or are gone: what they are now is another job.
            with self._store.transaction():
                self._queue.finish(job, holder=self._holder)
                if batch is not None:
                    self._queue.add([msgspec.structs.replace(job, key=job_key(batch.group))])
            return
        try:
            asked = ask(self._client, batch, budget=self._budget)
        except (EndpointError, ConfigError) as error:
            self.failure = error
            self._failed(job, error)
            return
        if asked.denied is not None:
            self._denied(job, asked)
        else:
            self._keep(job, source, batch, asked)

    def _split(self, job: Job, source: AnalysisInput | None) -> None:
        """Make jobs of the turns of a session from before a model was configured: those that it was not asked about."""
        from recollect.insights.learnings.questions import groups_of, job_key

        groups = []
        if source is not None:
            since_us = int(self._store.note(SINCE_NOTE) or self._now_us())
            groups = groups_of(source, through_turn=_last_old_turn(source, since_us), is_over=True)
        with self._store.transaction():
            if self._queue.finish(job, holder=self._holder):
                self._queue.add(
                    Job(job_key(group), "past", job.session_uid, msgspec.json.encode(Turns(group.turns)),
                        job.made_at + place, job.due_at)
                    for place, group in enumerate(groups)
                )  # fmt: skip

    def _keep(self, job: Job, source: AnalysisInput, batch: TurnBatch, asked: Asked) -> None:
        """Keep results and the end of the job at once; nothing of a job that another worker has by now."""
        now = self._now_us()
        locations = {(event.event_id, event.part): event.location for event in source.events}
        uid = batch.session.session_uid
        found = []
        for learning in asked.learnings:
            places = {locations[e.event_id, e.part] for e in learning.evidence if (e.event_id, e.part) in locations}
            seen = msgspec.structs.replace(learning, recorded_at=source.observed_at(places))
            found.append(Sighting(uid, job.key, seen))
        held = [
            Quarantined(f"{job.key}#{number}", uid, now, item.reason, item.text)
            for number, item in enumerate(asked.quarantined)
        ]
        with self._store.transaction():
            if not self._queue.finish(job, holder=self._holder):
                return
            self._store.add_quarantined(held)
            self._keeping.keep(self._keeping.as_by_rules(found, uid, source.session.repo), [])
            self._store.set_note(ANSWERED_NOTE, str(now).encode())
            if self._store.note(NOTE):
                keep_pause(self._store, None)
        self.failure = None
        self.report.turns += 1
        if self._keeping.changed:
            self._relate()

    def _relate(self) -> None:
        """Compare new learnings with known ones while that is quick; the next run of the rules does the rest."""
        with self._store.transaction():
            job = self._queue.claim("relate", holder=self._holder, now_us=self._now_us(), lease_us=self._lease_us)
            if job is not None:
                self._queue.finish(job, holder=self._holder)
                self._keeping.relate(job.key.partition(":")[2])

    def _denied(self, job: Job, asked: Asked) -> None:
        denied = asked.denied
        if denied is None:
            return
        now = self._now_us()
        with self._store.transaction():
            if denied.until_us is None:
                self._queue.park(job, holder=self._holder, reason=denied.reason)
                return
            # It keeps its place: the newest is asked about first on the next day too.
            self._queue.retry(job, holder=self._holder, due_at=job.due_at, reason=denied.reason, is_counted=False)
            self._pause(Failed("budget", denied.reason, now))

    def _failed(self, job: Job, error: EndpointError | ConfigError) -> None:
        """A failure that other jobs would meet too pauses all of them; one that only this job met counts against it."""
        now = self._now_us()
        message = str(error)
        before = unpack_pause(self._store.note(NOTE))
        is_first = before is None or before.fingerprint != self._fingerprint
        is_known_good = is_first and bool(self._store.note(ANSWERED_NOTE))
        with self._store.transaction():
            if isinstance(error, EndpointRefused) and error.kind == "too_large":
                self._queue.give_up(job, holder=self._holder, reason=message)
                return
            is_own = isinstance(error, EndpointUnusable) or (is_known_good and _may_be_own(error))
            # What is no fault of the job waits with all the others, behind those that wait already.
            due_at = now + wait_us(job.attempts, chance()) if is_own else now
            self._queue.retry(job, holder=self._holder, due_at=due_at, reason=message, is_counted=is_own)
            retry_after_s = error.retry_after_s if isinstance(error, EndpointUnavailable) else None
            self._pause(Failed(_reason_of(error), message, now, retry_after_s), is_own=is_own)

    def _pause(self, failed: Failed, *, is_own: bool = False) -> None:
        """is_own: the job may be at fault: the next one is asked at once, but failures are counted in a row."""
        before = unpack_pause(self._store.note(NOTE))
        pause = paused(before, failed, fingerprint=self._fingerprint, chance=chance())
        if is_own and pause.failures < MOST_UNUSABLE:
            pause = msgspec.structs.replace(pause, until=failed.at_us)
        keep_pause(self._store, pause)

    def _session(self, uid: str) -> AnalysisInput | None:
        """Return a session; that of the job before is not read again."""
        if self._read[0] != uid:
            self._read = (uid, self._feed.read(uid))
        return self._read[1]


def fingerprint_of(config: LearningConfig, env: Mapping[str, str]) -> str:
    """Return a text that changes when the configuration or the key does."""
    from recollect.endpoints.chat import fingerprint

    return fingerprint(config, env)


def begin_asking(store: LearningStore, fingerprint: str, now_us: int) -> None:
    """Before a run: another configuration than the last one frees what is parked and ends every pause."""
    if store.note(FINGERPRINT_NOTE) == fingerprint.encode():
        return
    with store.transaction():
        for kind in QUESTIONS:
            store.queue.unpark(kind, now_us=now_us)
        keep_pause(store, None)
        store.set_note(FINGERPRINT_NOTE, fingerprint.encode())


def end_waits(store: LearningStore, now_us: int) -> None:
    """Ask now, on request: ends a pause and delays after failures. The budget still applies."""
    pause = unpack_pause(store.note(NOTE))
    with store.transaction():
        for kind in QUESTIONS:
            store.queue.unpark(kind, now_us=now_us)
        if pause is not None:  # that it failed before is kept: how long it has lasted is told
            keep_pause(store, msgspec.structs.replace(pause, until=now_us))


def asking_since(store: LearningStore, config: LearningConfig, now_us: int) -> int | None:
    """Return since when a model is configured, None for none; noted when it is first seen, forgotten with it."""
    noted = store.note(SINCE_NOTE)
    if bool(config.provider) == bool(noted):
        return int(noted) if noted else None
    with store.transaction():
        store.set_note(SINCE_NOTE, str(now_us).encode() if config.provider else b"")
        if not config.provider:
            _end_asking(store)
    return now_us if config.provider else None


def switched_off(store: LearningStore) -> None:
    """Learning is switched off: a pause delays nobody, and nobody is told of it any more."""
    if store.note(NOTE):
        with store.transaction():
            _end_asking(store)


def _end_asking(store: LearningStore) -> None:
    """Clear what kept a model from being asked; parked jobs are asked when asking resumes."""
    keep_pause(store, None)
    store.set_note(FINGERPRINT_NOTE, b"")


def pause_for(store: LearningStore, error: ConfigError, *, fingerprint: str, now_us: int) -> Pause:
    """Keep that nothing can be asked with this configuration."""
    failed = Failed("configuration", str(error), now_us)
    pause = paused(unpack_pause(store.note(NOTE)), failed, fingerprint=fingerprint, chance=0.0)
    with store.transaction():
        keep_pause(store, pause)
    return pause


def _last_old_turn(of_session: AnalysisInput, since_us: int) -> int:
    """Return the last turn in which something is from before a model was configured, -1 for none."""
    return max((e.turn_index for e in of_session.events if e.ts is None or e.ts < since_us), default=-1)


def _may_be_own(error: EndpointError | ConfigError) -> bool:
    if isinstance(error, EndpointUnavailable):
        return error.kind in ("slow", "cut", "broken")
    return isinstance(error, EndpointRefused) and error.kind == "request"


def _reason_of(error: EndpointError | ConfigError) -> PauseReason:
    if isinstance(error, EndpointUnavailable):
        return "rate" if error.kind == "rate" else "unavailable"
    if isinstance(error, EndpointRefused):
        known: dict[str, PauseReason] = {"authentication": "authentication", "quota": "quota"}
        return known.get(error.kind, "configuration")
    return "unusable" if isinstance(error, EndpointUnusable) else "configuration"
