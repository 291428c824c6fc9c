"""The daemon's work while nothing changes: analyse, learn, prepare blocks, embed, apply retention."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect.errors import RecollectError, StoreLocked, where_raised
from recollect.ingest.daemon_status import Failure
from recollect.ingest.distill import DistillingFacet
from recollect.ingest.learnings.run import LearnFacet
from recollect.ingest.operations import index_entries
from recollect.ingest.retention import RetentionFacet

if TYPE_CHECKING:
    from recollect.ingest.open_home import OpenHome


READY_AFTER_S = 1.0
"""After a change a session's start has an answer again this soon."""
DISTILL_AFTER_S = 5.0
"""A session whose end was ingested is analysed this soon."""
DISTILL_EVERY_S = 30.0
"""While sessions are under way: how often is looked whether one has ended."""
DISTILL_FOR_S = 20.0
"""The ingest lock is held no longer than this at a time."""
LEARN_AFTER_S = 1.0
"""After a change: which sessions are read then, the queue of learning decides."""
LEARN_FOR_S = 10.0
"""The ingest lock is held no longer than this at a time, and no longer than one session takes."""
LEARN_EVERY_S = 600.0
"""What becomes due by itself (an action that expires) is looked for at least this often."""
ASK_FOR_S = 600.0
EMBED_AFTER_S = 10.0
EMBED_EVERY_S = 60.0
SWEEP_CHECK_S = 900.0
"""How often is asked whether the bounds are to be looked after; the configuration says how often they are."""
SWEEP_FOR_S = 5.0
SHARE_AFTER_S = 10.0
"""After a change: what is said meanwhile goes with it."""
NEVER = float("inf")


class IdleWork:
    """The work between changes, in the thread of the loop. Embedding has one of its own, which writes elsewhere, and so
    have asking a model and sharing with a team, which wait most of the time."""

    def __init__(
        self, home: OpenHome, *, now_us: Callable[[], int], log: Callable[[str], None],
        share: Callable[[], float] | None = None,
    ) -> None:  # fmt: skip
        """share: shares with a team what is new, and says in how many seconds to do so again."""
        self._home = home
        self.questions = Questions()
        self._push = share
        self._now_us = now_us
        self._log = log
        self._ready = Attempts("making ready", now_us=now_us, log=log)
        self._distill = Attempts("analysing", now_us=now_us, log=log)
        self._embed = Attempts("embedding", now_us=now_us, log=log)
        self._retain = Attempts("retention", now_us=now_us, log=log)
        self._learn = Attempts("learning", now_us=now_us, log=log)
        self._ask = Attempts("asking a model", now_us=now_us, log=log)
        self._share = Attempts("sharing with the team", now_us=now_us, log=log)
        self.attempts = (
            self._ready, self._distill, self._learn, self._ask, self._embed, self._retain, self._share,
        )  # fmt: skip
        self.distilled_sessions = 0
        self.learned_sessions = 0
        self.asked_turns = 0
        self.embedded_texts = 0
        self.sweeps = 0
        self.swept_at: int | None = None
        """UTC microseconds."""
        self._threads: dict[str, threading.Thread] = {}
        self._ending = threading.Event()

    def has_changed(self) -> None:
        """Take note that something was ingested."""
        now = time.monotonic()
        self._ready.want(now + READY_AFTER_S)
        self._distill.want(now + DISTILL_AFTER_S)
        self._learn.want(now + LEARN_AFTER_S)
        self._embed.want(now + EMBED_AFTER_S)
        if self._push is not None:
            self._share.want(now + SHARE_AFTER_S)
        if self._retain.due_at == NEVER:
            self._retain.due_at = now + READY_AFTER_S

    def distil_soon(self) -> None:
        """Take note that a session has ended. Any thread may say so."""
        self._distill.due_at = self._learn.due_at = 0.0

    def next_at(self) -> float:
        """Return when something is due, on the clock of `time.monotonic`."""
        return min(attempts.next_at() for attempts in self.attempts)

    def work(self, *, should_stop: Callable[[], bool]) -> None:
        """Do what is due. should_stop: checked between steps; the rest waits for the next time."""
        if self._ready.is_due():
            with self._ready.one():
                self._home.ready().make()
                self._ready.due_at = NEVER
        if self._distill.is_due() and not should_stop():
            with self._distill.one():
                self._analyse(should_stop)
        if self._learn.is_due() and not should_stop():
            with self._learn.one():
                self._learn_from_sessions(should_stop)
        if self._ask.is_due() and not should_stop():
            self._start("asking", self._ask, self._run_asking, again_s=LEARN_AFTER_S)
        if self._embed.is_due() and not should_stop():
            if self._home.embedding.is_on:
                self._start("embedding", self._embed, self._run_embedding, again_s=EMBED_EVERY_S)
            else:
                self._embed.due_at = NEVER
        if self._share.is_due() and not should_stop():
            # A push that is killed with the process is begun again by the next one.
            self._start("sharing", self._share, self._run_sharing, again_s=SHARE_AFTER_S)
        if self._retain.is_due() and not should_stop():
            with self._retain.one():
                self._sweep(should_stop)

    def stop(self) -> None:
        """End embedding after its present batch, and asking after its answer. From any thread."""
        self._ending.set()
        self._home.embedding.stop()

    def _sweep(self, should_stop: Callable[[], bool]) -> None:
        report = RetentionFacet(self._home).sweep(max_seconds=SWEEP_FOR_S, should_stop=should_stop)
        is_left = report.state in ("busy", "interrupted")
        self._retain.due_at = time.monotonic() + (DISTILL_EVERY_S if is_left else SWEEP_CHECK_S)
        if report.state == "done":
            self.sweeps += 1
            self.swept_at = self._now_us()
        for note in report.notes:
            self._log(f"retention: {note}")

    def _analyse(self, should_stop: Callable[[], bool]) -> None:
        if not self._home.config.distill.enabled:
            self._distill.due_at = NEVER
            return
        report = DistillingFacet(self._home).run(max_seconds=DISTILL_FOR_S, should_stop=should_stop)
        self.distilled_sessions += report.sessions
        now = time.monotonic()
        if report.sessions:
            self._ready.want(now + READY_AFTER_S)
        if report.state != "done":  # something changed meanwhile, or another process is ingesting
            self._distill.due_at = now + READY_AFTER_S
        else:
            self._distill.due_at = now + DISTILL_EVERY_S if report.under_way else NEVER

    def _learn_from_sessions(self, should_stop: Callable[[], bool]) -> None:
        report = LearnFacet(self._home).run(max_seconds=LEARN_FOR_S, should_stop=should_stop, is_patient=True)
        self.learned_sessions += report.sessions
        now = time.monotonic()
        if report.changed:
            self._ready.want(now + READY_AFTER_S)
            index_entries(self._home)  # else whoever asks next waits for it
        if report.state in ("interrupted", "busy"):
            self._learn.due_at = now + READY_AFTER_S
        elif report.next_at is None:
            self._learn.due_at = NEVER
        else:
            self._learn.due_at = now + min(LEARN_EVERY_S, max(LEARN_AFTER_S, (report.next_at - self._now_us()) / 1e6))
        if LearnFacet(self._home).asks_model:
            self._ask.want(now)
        for note in report.notes:
            self._log(f"learning: {note}")

    def _start(self, name: str, attempts: Attempts, run: Callable[[], None], *, again_s: float) -> None:
        """Do it in a thread of its own; while the last one is at it, try again later."""
        attempts.due_at = NEVER
        if name in self._threads and self._threads[name].is_alive():
            attempts.due_at = time.monotonic() + again_s
        elif not self._ending.is_set():
            self._threads[name] = threading.Thread(target=run, name=name, daemon=True)
            self._threads[name].start()

    def _run_asking(self) -> None:
        next_s = LEARN_AFTER_S  # also where it fails: how long that waits, the attempts say
        with self._ask.one():
            answered = LearnFacet(self._home).ask(max_seconds=ASK_FOR_S, should_stop=self._ending.is_set)
            self.asked_turns += answered.report.turns
            if answered.failure is not None:
                raise answered.failure
            if answered.next_at is None:
                next_s = NEVER
            else:
                next_s = min(LEARN_EVERY_S, max(LEARN_AFTER_S, (answered.next_at - self._now_us()) / 1e6))
            if answered.report.changed:
                self._ready.want(time.monotonic() + READY_AFTER_S)
        self._ask.want(time.monotonic() + next_s)

    def _run_embedding(self) -> None:
        is_left = True  # also where it fails
        with self._embed.one():
            embedding = self._home.embedding
            is_left = embedding.is_stale()
            if is_left:
                report = embedding.run(
                    max_seconds=EMBED_EVERY_S, with_passages=False, progress=lambda *_: self.questions.give_way()
                )
                self.embedded_texts += report.chunks
                is_left = report.state in ("interrupted", "busy")
            if not is_left:  # the contextual model has a process of its own
                embedding.start_in_background()
        if is_left:
            self._embed.due_at = time.monotonic() + EMBED_AFTER_S

    def _run_sharing(self) -> None:
        next_s = SHARE_AFTER_S
        with self._share.one():
            next_s = self._push() if self._push is not None else NEVER
        self._share.want(time.monotonic() + next_s)


FIRST_S = 0.5
LONGEST_S = 60.0
BUSY_S = 0.1
LONGEST_BUSY_S = 2.0
PERSISTENT_TIMES = 8
"""So many in a row, a minute of them, are told beyond the log."""
_US = 1_000_000
_FRAMES = 6


class Attempts:
    """The failures of one kind of work. wait_s: how long to wait after the last one, 0 where it went well."""

    def __init__(self, work: str, *, now_us: Callable[[], int], log: Callable[[str], None]) -> None:
        """work: what is done, as a person reads it. log: takes a line for every failure worth one."""
        self._work = work
        self._now_us = now_us
        self._log = log
        self._times = 0
        self.failures = 0
        """All there were. That another process was ingesting is none."""
        self.failure: Failure | None = None
        self.wait_s = 0.0
        self.was_busy = False
        """Whether the last attempt found another process ingesting."""
        self._again_at = 0.0
        self.due_at = NEVER
        """When it is to be done next, on the clock of `time.monotonic`."""
        self.persists: Callable[[Failure], None] | None = None
        """Called once when a failure has come `PERSISTENT_TIMES` in a row. Must not raise."""

    def may_try(self) -> bool:
        """Return whether it may be tried now: it has not just failed."""
        return time.monotonic() >= self._again_at

    def is_due(self) -> bool:
        """Return whether it is due, and may be tried, now."""
        return self.due_at <= time.monotonic() and self.may_try()

    def next_at(self) -> float:
        """Return when it is due, on the clock of `time.monotonic`."""
        return max(self.due_at, self._again_at)

    def want(self, at: float) -> None:
        """Have it done then, if not before."""
        self.due_at = min(self.due_at, at)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Try once. Records a failure and does not propagate it: the loop must continue."""
        self.was_busy = False
        try:
            yield
        except StoreLocked as busy:
            self.was_busy = True
            self._failed(busy.code, str(busy), BUSY_S, LONGEST_BUSY_S, is_logged=False)
        except RecollectError as error:
            self._failed(error.code, str(error), FIRST_S, LONGEST_S, is_logged=True)
        except OSError as error:
            self._failed("system", error.strerror or type(error).__name__, FIRST_S, LONGEST_S, is_logged=True)
        except Exception as bug:  # noqa: BLE001 - the daemon's loop: a bug of ours must not end it, nor pass in silence
            self._failed(
                "bug", f"{where_raised(bug, frames=_FRAMES)}; please report this", FIRST_S, LONGEST_S, is_logged=True
            )
        else:
            if self.failure is not None and self._times > 1 and self.failure.code != StoreLocked.code:
                self._log(f"{self._work} works again, after {self._times} failures")
            self._times, self.failure, self.wait_s, self._again_at = 0, None, 0.0, 0.0

    def _failed(self, code: str, message: str, first_s: float, longest_s: float, *, is_logged: bool) -> None:
        self._times += 1
        self.failures += is_logged
        self.wait_s = min(first_s * 2 ** min(self._times - 1, 16), longest_s)
        self._again_at = time.monotonic() + self.wait_s
        now = self._now_us()
        self.failure = Failure(self._work, code, message, self._times, now, now + round(self.wait_s * _US))
        if is_logged and self._times & (self._times - 1) == 0:  # the first, second, fourth, eighth …
            self._log(f"{self._work} failed ({self._times} in a row): {code}: {message}")
        if is_logged and self._times == PERSISTENT_TIMES and self.persists is not None:
            self.persists(self.failure)


QUIET_S = 0.1
"""Who asks once often asks again this soon."""
MOST_S = 2.0
"""No longer than this does one step of the work wait: questions without a pause must not keep it from ever ending."""


class Questions:
    """Counts questions under way. Safe from many threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._answered_at = -QUIET_S

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a question while it is answered."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._answered_at = time.monotonic()

    def give_way(self) -> None:
        """Wait until nobody has asked for a moment, or for `MOST_S`.

        Python runs one thread at a time: beside one that computes, an answer takes two to four times as long.
        """
        ends = time.monotonic() + MOST_S
        with self._changed:
            while (now := time.monotonic()) < ends and (self._count or now - self._answered_at < QUIET_S):
                self._changed.wait(QUIET_S)
