"""What a daemon does while nothing changes: analyse, learn, make ready, embed, keep the memory within its bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recollect.config import Config
from recollect.ingest.keeper.attempts import Attempts

if TYPE_CHECKING:
    from recollect.erasure.reports import EvictReport
    from recollect.index.vectors.embed import EmbedReport
    from recollect.ingest.insights.distill import DistillReport
    from recollect.ingest.learnings.extract import LearnReport
    from recollect.ingest.learnings.run import Answered
    from recollect.ingest.learnings.views import LearnStatus

READY_AFTER_S = 1.0
"""After a change a session's start has an answer again this soon."""
DISTILL_AFTER_S = 5.0
"""A session whose end was taken in is analysed this soon."""
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
_NEVER = float("inf")


class Analysing(Protocol):
    """Analyses sessions, see `memory.distilling`."""

    def run(self, *, max_seconds: float | None, should_stop: Callable[[], bool] | None) -> DistillReport: ...


class Embedding(Protocol):
    """Makes vectors, see `memory.embedding`."""

    @property
    def is_on(self) -> bool: ...
    def is_stale(self) -> bool: ...
    def run(self, *, max_seconds: float | None, with_passages: bool) -> EmbedReport: ...
    def start_in_background(self) -> bool: ...
    def stop(self) -> None: ...


class Learning(Protocol):
    """Learns from sessions and asks a model, see `memory.learn`."""

    @property
    def asks_model(self) -> bool: ...
    def run(
        self, *, max_seconds: float | None, should_stop: Callable[[], bool] | None, is_patient: bool
    ) -> LearnReport: ...
    def ask(self, *, max_seconds: float | None, should_stop: Callable[[], bool] | None) -> Answered: ...
    def status(self) -> LearnStatus: ...


class WorkingMemory(Protocol):
    """What this work needs of an open memory."""

    home: Path
    config: Config

    @property
    def distilling(self) -> Analysing: ...
    @property
    def embedding(self) -> Embedding: ...
    @property
    def learn(self) -> Learning: ...
    def make_ready(self) -> None: ...


class Sweep(Protocol):
    """Evicts what the bounds ask for, see `RetentionFacet.sweep`."""

    def __call__(self, *, max_seconds: float | None, should_stop: Callable[[], bool]) -> EvictReport: ...


class Between:
    """The work between changes, in the thread of the loop. Embedding has one of its own, which writes elsewhere, and so
    has asking a model, which waits most of the time."""

    def __init__(
        self, memory: WorkingMemory, *, sweep: Sweep, now_us: Callable[[], int],
        log: Callable[[str], None],
    ) -> None:  # fmt: skip
        """sweep: looks after the bounds if the configuration says that it is time to."""
        self._memory = memory
        self._sweep = sweep
        self._now_us = now_us
        self._log = log
        self._ready = Attempts("making ready", now_us=now_us, log=log)
        self._distill = Attempts("analysing", now_us=now_us, log=log)
        self._embed = Attempts("embedding", now_us=now_us, log=log)
        self._retain = Attempts("retention", now_us=now_us, log=log)
        self._learn = Attempts("learning", now_us=now_us, log=log)
        self._ask = Attempts("asking a model", now_us=now_us, log=log)
        self.attempts = (self._ready, self._distill, self._learn, self._ask, self._embed, self._retain)
        self.distilled_sessions = 0
        self.learned_sessions = 0
        self.asked_turns = 0
        self.embedded_texts = 0
        self.sweeps = 0
        self.swept_at: int | None = None
        """UTC microseconds."""
        self._ready_due = self._distill_due = self._embed_due = _NEVER
        self._sweep_due = self._learn_due = self._ask_due = _NEVER
        self._embedding: threading.Thread | None = None
        self._asking: threading.Thread | None = None
        self._ending = threading.Event()

    def has_changed(self) -> None:
        """Take note that something was taken in."""
        now = time.monotonic()
        self._ready_due = min(self._ready_due, now + READY_AFTER_S)
        self._distill_due = min(self._distill_due, now + DISTILL_AFTER_S)
        self._learn_due = min(self._learn_due, now + LEARN_AFTER_S)
        self._embed_due = min(self._embed_due, now + EMBED_AFTER_S)
        if self._sweep_due == _NEVER:
            self._sweep_due = now + READY_AFTER_S

    def distil_soon(self) -> None:
        """Take note that a session has ended. Any thread may say so."""
        self._distill_due = self._learn_due = 0.0

    def next_at(self) -> float:
        """Return when something is due, on the clock of `time.monotonic`."""
        return min(
            max(due, time.monotonic() + attempts.wait_s if not attempts.is_due() else 0.0)
            for due, attempts in (
                (self._ready_due, self._ready),
                (self._distill_due, self._distill),
                (self._learn_due, self._learn),
                (self._ask_due, self._ask),
                (self._embed_due, self._embed),
                (self._sweep_due, self._retain),
            )
        )

    def work(self, *, should_stop: Callable[[], bool]) -> None:
        """Do what is due. should_stop: asked between steps; what is left is done the next time."""
        now = time.monotonic()
        if self._ready_due <= now and self._ready.is_due():
            with self._ready.one():
                self._memory.make_ready()
                self._ready_due = _NEVER
        if self._distill_due <= now and self._distill.is_due() and not should_stop():
            with self._distill.one():
                self._analyse(should_stop)
        if self._learn_due <= now and self._learn.is_due() and not should_stop():
            with self._learn.one():
                self._learn_from_sessions(should_stop)
        if self._ask_due <= now and self._ask.is_due() and not should_stop():
            self._start_asking()
        if self._embed_due <= now and self._embed.is_due() and not should_stop():
            self._start_embedding()
        if self._sweep_due <= now and self._retain.is_due() and not should_stop():
            with self._retain.one():
                report = self._sweep(max_seconds=SWEEP_FOR_S, should_stop=should_stop)
                is_left = report.state in ("busy", "interrupted")
                self._sweep_due = time.monotonic() + (DISTILL_EVERY_S if is_left else SWEEP_CHECK_S)
                if report.state == "done":
                    self.sweeps += 1
                    self.swept_at = self._now_us()
                for note in report.notes:
                    self._log(f"retention: {note}")

    def stop(self) -> None:
        """Have the embedding end after the batch it is at, and asking after its answer. Any thread may say so."""
        self._ending.set()
        self._memory.embedding.stop()

    def _analyse(self, should_stop: Callable[[], bool]) -> None:
        if not self._memory.config.distill.enabled:
            self._distill_due = _NEVER
            return
        report = self._memory.distilling.run(max_seconds=DISTILL_FOR_S, should_stop=should_stop)
        self.distilled_sessions += report.sessions
        now = time.monotonic()
        if report.sessions:
            self._ready_due = min(self._ready_due, now + READY_AFTER_S)
        if report.state != "done":  # something changed meanwhile, or another process is ingesting
            self._distill_due = now + READY_AFTER_S
        else:
            self._distill_due = now + DISTILL_EVERY_S if report.under_way else _NEVER

    def _learn_from_sessions(self, should_stop: Callable[[], bool]) -> None:
        report = self._memory.learn.run(max_seconds=LEARN_FOR_S, should_stop=should_stop, is_patient=True)
        self.learned_sessions += report.sessions
        now = time.monotonic()
        if report.changed:
            self._ready_due = min(self._ready_due, now + READY_AFTER_S)
        if report.state in ("interrupted", "busy"):
            self._learn_due = now + READY_AFTER_S
        elif report.next_at is None:
            self._learn_due = _NEVER
        else:
            self._learn_due = now + min(LEARN_EVERY_S, max(LEARN_AFTER_S, (report.next_at - self._now_us()) / 1e6))
        if self._memory.learn.asks_model:
            self._ask_due = min(self._ask_due, now)
        for note in report.notes:
            self._log(f"learning: {note}")

    def _start_asking(self) -> None:
        self._ask_due = _NEVER
        if self._asking is not None and self._asking.is_alive():
            self._ask_due = time.monotonic() + LEARN_AFTER_S
        elif not self._ending.is_set():
            self._asking = threading.Thread(target=self._run_asking, name="asking", daemon=True)
            self._asking.start()

    def _run_asking(self) -> None:
        next_s = LEARN_AFTER_S  # also where it fails: how long that waits, the attempts say
        with self._ask.one():
            answered = self._memory.learn.ask(max_seconds=ASK_FOR_S, should_stop=self._ending.is_set)
            self.asked_turns += answered.report.turns
            if answered.failure is not None:
                raise answered.failure
            if answered.next_at is None:
                next_s = _NEVER
            else:
                next_s = min(LEARN_EVERY_S, max(LEARN_AFTER_S, (answered.next_at - self._now_us()) / 1e6))
            if answered.report.changed:
                self._ready_due = min(self._ready_due, time.monotonic() + READY_AFTER_S)
        self._ask_due = min(self._ask_due, time.monotonic() + next_s)

    def _start_embedding(self) -> None:
        self._embed_due = _NEVER
        if self._embedding is not None and self._embedding.is_alive():
            self._embed_due = time.monotonic() + EMBED_EVERY_S
        elif self._memory.embedding.is_on:
            self._embedding = threading.Thread(target=self._run_embedding, name="embedding", daemon=True)
            self._embedding.start()

    def _run_embedding(self) -> None:
        is_left = True  # also where it fails
        with self._embed.one():
            embedding = self._memory.embedding
            is_left = embedding.is_stale()
            if is_left:
                report = embedding.run(max_seconds=EMBED_EVERY_S, with_passages=False)
                self.embedded_texts += report.chunks
                is_left = report.state in ("interrupted", "busy")
            if not is_left:  # the contextual model has a process of its own
                embedding.start_in_background()
        if is_left:
            self._embed_due = time.monotonic() + EMBED_AFTER_S
