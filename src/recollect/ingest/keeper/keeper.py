"""The daemon's loop: notices what agents write, ingests it at once, and does the rest in between.

One thread does all that writes, so that nothing waits for anything but itself and an append is never far behind. What
fails is tried again and told; nothing that fails ends the loop.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING

from recollect.agents.registry import adapters_with
from recollect.capture.watch import FolderWatcher, WatchPlan
from recollect.erasure.schedule import swept_at
from recollect.errors import RecollectError
from recollect.ingest.daemon_status import BEHIND, SETTLE_S, Counters, Delay, LiveStatus, Phase, WatchedPlace
from recollect.ingest.keeper.document_watch import DocumentWatch
from recollect.ingest.keeper.idle_work import Attempts, IdleWork, Questions
from recollect.ingest.keeper.notices import MOST_LATEST, LatestPaths, Noticed, Notices, SecondLooks
from recollect.ingest.learnings.run import LearnFacet
from recollect.ingest.learnings.status import learning_now
from recollect.ingest.operations import index_entries, take_changes
from recollect.ingest.sources import repositories_of
from recollect.ready_blocks import PROGRAM

if TYPE_CHECKING:
    from recollect.capture.scope import Scope
    from recollect.ingest.open_home import OpenHome
    from recollect.ingest.report import SyncReport


LOOK_EVERY_S = 2.0
"""How often folders that are not there are looked for, and those that are for being replaced."""
REPLAN_EVERY_S = 10.0
"""New sessions may work in new folders; what to watch is thought over at most this often."""
_LATEST = 512


class Keeper:
    """Keeps one memory fresh in a thread of its own, from `start` to `stop`. Any thread may ask it."""

    def __init__(
        self, home: OpenHome, *, now_us: Callable[[], int], log: Callable[[str], None],
        share: Callable[[], float] | None = None,
    ) -> None:  # fmt: skip
        """log: takes lines that say nothing of transcripts. share: see `IdleWork`."""
        self._home = home
        self._idle_work = IdleWork(home, now_us=now_us, log=log, share=share)
        self._now_us = now_us
        self._log = log
        self._settings = home.config.daemon
        self._notices = Notices()
        self._latest = LatestPaths()
        self._again = SecondLooks()
        self._watcher = FolderWatcher(self._notices.add, is_polling=self._settings.watch == "poll")
        self._documents = DocumentWatch(
            home.home, home.config, self._notices.add, is_polling=self._settings.watch == "poll"
        )
        self._plan: WatchPlan | None = None
        self._planning = Attempts("watching", now_us=now_us, log=log)
        self._taking = Attempts("taking in", now_us=now_us, log=log)
        self._clocks = Clocks()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeping fresh", daemon=True)
        self._counters = Counters()
        self._delays: deque[float] = deque(maxlen=_LATEST)
        self._phase: Phase = "starting"
        self.started_at = now_us()
        """UTC microseconds."""
        self._last_pass_at: int | None = None
        self._last_full_at: int | None = None
        self._full_due = 0.0
        self._look_due = 0.0
        self._plan_due = 0.0
        self._needs_plan = True
        self._notes: tuple[str, ...] = ()
        self._is_degraded = False

    @property
    def attempts(self) -> tuple[Attempts, ...]:
        """All kinds of work, and how the latest of each went."""
        return (self._planning, self._taking, *self._idle_work.attempts)

    @property
    def questions(self) -> Questions:
        """The questions that are being answered; work that computes gives way to them."""
        return self._idle_work.questions

    def start(self) -> None:
        """Begin; the first pass looks at everything."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """End the present work after its slice or session. Returns at once."""
        self._phase = "stopping"
        self._ending.set()
        self._notices.end()
        self._idle_work.stop()

    def stop(self, seconds: float) -> bool:
        """End; False where the work under way did not end in this time. It may then be killed: nothing is lost."""
        self.ask_to_stop()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def settle(self, seconds: float = SETTLE_S) -> tuple[str, ...]:
        """Wait a moment until noticed changes are searchable; return notes on what is missing.

        Also notices changes that the system has not reported yet in the most recently changed files, and makes
        learnings and notes of other processes searchable.
        """
        with self.questions.answering():  # every surface asks this first
            if changed := self._latest.changed():
                self._notices.add(changed)
            is_settled = self._notices.settle(seconds)
        notes = () if is_settled else (BEHIND,)
        failure = self._taking.failure
        if failure is not None and not self._taking.was_busy:
            notes = (*notes, f"not refreshed: {failure.message}")
        return (*notes, *(self._notes if self._is_degraded else ()), *index_entries(self._home))

    def notice_agent(self, agent: str, *, has_ended: bool = False) -> None:
        """Look at everything of an agent now: it said that it has just written. has_ended: a session of it is over.

        Then a full pass follows, which compares the session's file with the archive from its first byte.
        """
        plan = self._plan
        if plan is not None:
            self._notices.add(plan.roots_of(agent))
        if has_ended:
            self._notices.add_everything()
            self._idle_work.distil_soon()

    def has_looked(self) -> bool:
        """Return whether everything was looked at since the start."""
        return self._last_full_at is not None

    def answered_hook(self) -> None:
        """Count an answer to a hook."""
        self._counters.hook_answers += 1

    def status(self, *, url: str = "", http: str = "") -> LiveStatus:
        """Return how it is now. url, http: of whoever serves it, see `LiveStatus`."""
        folders = self._watcher.folders()
        watched = tuple(WatchedPlace(f.folder, f.agents, f.how, f.reason) for f in folders if f.how != "absent")
        failures = [attempts.failure for attempts in self.attempts]
        in_s = max(0.0, self._full_due - time.monotonic())
        return LiveStatus(
            pid=os.getpid(), version=PROGRAM, home=str(self._home.home), phase=self._phase,
            started_at=self.started_at, now=self._now_us(), counters=self._count(), url=url, http=http,
            waiting_paths=self._notices.count(), last_pass_at=self._last_pass_at, last_full_at=self._last_full_at,
            next_full_at=self._now_us() + round(in_s * 1e6) if self._last_full_at is not None else None,
            last_sweep_at=self._last_sweep_at(), delay=_delay_of(sorted(self._delays)),
            watched=(*watched, *self._documents.places()),
            absent=len(folders) - len(watched), failures=tuple(f for f in failures if f is not None),
            notes=self._notes, learning=learning_now(LearnFacet(self._home).status),
        )  # fmt: skip

    def _last_sweep_at(self) -> int | None:
        """Return the time of the last maintenance by any process; this process's own if unknown."""
        try:
            return swept_at(self._home.home)
        except RecollectError:  # whose work it holds up says so among the failures
            return self._idle_work.swept_at

    # The loop

    def _run(self) -> None:
        # What is watched is watched before everything is looked at: nothing falls between the two.
        self._plan_anew()
        self._notices.add_everything()
        while not self._ending.is_set():
            self._turn()
            self._notices.wait(self._pause())
        self._watcher.close()
        self._documents.close()

    def _turn(self) -> None:
        now = time.monotonic()
        if self._clocks.has_jumped():
            self._log("the machine slept or its clock was set: looking at everything")
            self._notices.add_everything()
        if now >= self._full_due and self._last_full_at is not None:
            self._notices.add_everything()
        if again := self._again.due():
            self._notices.add(again)
        if now >= self._look_due and self._planning.may_try():
            self._look_due = now + LOOK_EVERY_S
            if self._needs_plan and now >= self._plan_due:
                self._plan_anew()
            else:
                with self._planning.one():
                    self._watcher.look()
                    self._documents.look()
        noticed = self._notices.take()
        if noticed is not None:
            self._take(noticed)
        elif not self._ending.is_set():
            self._idle_work.work(should_stop=self._is_wanted_elsewhere)
        if self._phase != "stopping":
            self._phase = "watching" if self._last_full_at is not None else "starting"

    def _pause(self) -> float:
        """Return how long nothing is due, in seconds."""
        now = time.monotonic()
        due = [self._look_due, self._again.next_at(), self._idle_work.next_at()]
        if self._last_full_at is not None:
            due.append(self._full_due)
        return max(0.005, min(due) - now)

    def _is_wanted_elsewhere(self) -> bool:
        return self._ending.is_set() or self._notices.is_waiting()

    def _take(self, noticed: Noticed) -> None:
        scope = None
        self._latest.note(noticed.paths)
        if not noticed.is_everything:
            scope = self._scope_of(noticed)
            if scope is None:  # what changed is nobody's
                self._notices.taken()
                return
        self._phase = "taking in"
        report: SyncReport | None = None
        with self._taking.one():
            report = take_changes(self._home, scope, should_stop=self._ending.is_set)
        if report is None or (report.state == "interrupted" and not self._ending.is_set()):
            self._counters.busy += self._taking.was_busy
            self._notices.put_back(noticed, seconds=self._taking.wait_s)
            return
        self._notices.taken()
        self._has_taken(noticed, scope, report)

    def _has_taken(self, noticed: Noticed, scope: Scope | None, report: SyncReport) -> None:
        now, at = time.monotonic(), self._now_us()
        self._counters.passes += 1
        self._counters.events += report.events
        self._counters.bytes += report.bytes
        self._last_pass_at = at
        if scope is None:
            self._counters.full_passes += 1
            self._last_full_at = at
            self._full_due = now + self._settings.rescan_seconds
            self._notes, self._is_degraded = tuple(report.notes), report.state == "degraded"
            self._needs_plan, self._plan_due = True, 0.0
            with suppress(RecollectError):  # the next pass tells of it
                rows = sorted(self._home.reader().ledgers(), key=attrgetter("observed_at"))
                self._latest.know(rows[-MOST_LATEST:])
        else:
            self._again.after(scope.paths, report)
            if report.events:
                self._delays.append((now - noticed.since) * 1000)
        if any(line.new for line in report.agents.values()) and not self._needs_plan:
            self._needs_plan, self._plan_due = True, now + REPLAN_EVERY_S
        if report.events or report.documents or scope is None:
            self._idle_work.has_changed()

    def _scope_of(self, noticed: Noticed) -> Scope | None:
        """Return what a pass must look at: what agents wrote, and documents."""
        from recollect.capture.scope import Scope

        scope = self._plan.scope_of(noticed.paths) if self._plan is not None else None
        documents = self._documents.changed(noticed.paths)
        if documents:
            scope = scope or Scope((), agents=())
            scope.documents = documents
        return scope

    def _plan_anew(self) -> None:
        with self._planning.one():
            home = self._home
            known = [a for slug, a in adapters_with(home.config.formats()).items() if home.config.agent(slug).enabled]
            self._plan = WatchPlan(
                known, home.config, home.env, repositories=repositories_of(home.reader()), home=str(home.home)
            )
            self._watcher.watch(self._plan.folders)
            self._documents.look()
            self._needs_plan = False

    def _count(self) -> Counters:
        found = self._counters
        found.failures = sum(a.failures for a in self.attempts)
        found.distilled_sessions, found.sweeps = self._idle_work.distilled_sessions, self._idle_work.sweeps
        found.embedded_texts = self._idle_work.embedded_texts
        return found


def _delay_of(delays: list[float]) -> Delay | None:
    if not delays:
        return None
    last = len(delays) - 1
    return Delay(round(delays[round(last * 0.5)], 1), round(delays[round(last * 0.95)], 1), len(delays))


JUMP_S = 5.0
"""Smaller steps are those by which a clock is kept right, or a machine that was busy."""
LATE_S = 30.0
"""Who looks every few seconds and looks this late was not running."""


class Clocks:
    """Compares the wall clock with the one that only goes forward, each time it is asked."""

    def __init__(self, *, wall: Callable[[], float] = time.time, forward: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._forward = forward
        self._last = (wall(), forward())

    def has_jumped(self) -> bool:
        """Return whether, since the last call, the machine slept or somebody set its clock."""
        wall, forward = self._wall(), self._forward()
        passed, waited = wall - self._last[0], forward - self._last[1]
        self._last = (wall, forward)
        return abs(passed - waited) > JUMP_S or waited > LATE_S
