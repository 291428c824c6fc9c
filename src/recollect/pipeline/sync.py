"""The one pass over everything agents wrote: discover → plan → read, parse, redact → archive, store, index."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from recollect.agents.base import Adapter
from recollect.agents.registry import adapter as find_adapter
from recollect.agents.registry import adapters
from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys
from recollect.capture.discover import Discovery, discover, roots_of
from recollect.capture.files import read_head
from recollect.config import Config
from recollect.errors import DiskFull, IndexUnavailable
from recollect.index.writer import IndexWriterSet
from recollect.pipeline.home import Home
from recollect.pipeline.ingest import Ingester
from recollect.pipeline.mend import mend_index
from recollect.pipeline.plan import Planned, Planner
from recollect.pipeline.pool import SMALL_BYTES, WorkQueue, run_here, run_in_processes
from recollect.pipeline.report import AgentSync, ProgressCallback, Skipped, SyncProgress, SyncReport
from recollect.pipeline.stages import StageTimer
from recollect.pipeline.tasks import TaskAnswer
from recollect.store.ports import Reader, Writer

_MANY_TIMES = 20
"""A sync that brings this many times an agent's usual bytes is worth a warning."""


class SyncRequest:
    """What a sync is asked to do. max_bytes bounds a refresh on read; None: everything."""

    def __init__(
        self, config: Config, *, agents: Sequence[str] = (), env: Mapping[str, str] | None = None,
        progress: ProgressCallback | None = None, max_bytes: int | None = None, now_us: Callable[[], int],
    ) -> None:  # fmt: skip
        self.config = config
        self.agents = tuple(find_adapter(name).facts.slug for name in agents)
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.progress = progress
        self.max_bytes = max_bytes
        self.now_us = now_us

    def chosen(self) -> list[Adapter]:
        """Return the adapters to ask: those named, else all that the configuration leaves on."""
        known = adapters()
        if self.agents:
            return [known[slug] for slug in self.agents]
        return [a for slug, a in known.items() if self.config.agent(slug).enabled]


def sync(
    home: Home, writer: Writer, reader: Reader, archive: Archive, keys: HomeKeys, request: SyncRequest
) -> SyncReport:
    """Take in what is new or changed. The caller holds the ingest lock (an open Writer is the lock).

    Interruptible anywhere: after Ctrl-C what was taken so far is written and the report says "interrupted".
    Raises StoreError and ArchiveError when the home cannot be written; sources that fail are in the report.
    """
    started = time.perf_counter()
    report = SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0)
    before = home.size_bytes()
    timer = StageTimer()
    index = _open_index(home, report)
    try:
        if index is not None:
            _mend(writer, reader, index, report)
        with timer.stage("discover"):
            planned = _plan_all(writer, request, report)
        planned, left = _bounded(planned, request.max_bytes)
        if left:
            report.notes.append(f"{left / 1e6:.0f} MB are not taken in yet; run `recollect sync`")
        ingester = Ingester(writer, archive, index, report, now_us=request.now_us, timer=timer)
        _run(planned, ingester, home, keys, request, report)
    finally:
        if index is not None:
            _close_index(index, report)
    _finish_report(report, ingester, timer)
    report.stored_bytes = home.size_bytes() - before
    report.seconds = time.perf_counter() - started
    return report


def _open_index(home: Home, report: SyncReport) -> IndexWriterSet | None:
    try:
        return IndexWriterSet.open(home.index)
    except IndexUnavailable as error:
        report.state = "degraded"
        report.notes.append(f"the search index cannot be opened: {error}")
        return None


def _mend(writer: Writer, reader: Reader, index: IndexWriterSet, report: SyncReport) -> None:
    try:
        mended = mend_index(writer, reader, index)
    except IndexUnavailable as error:
        report.state = "degraded"
        report.notes.append(f"the search index could not be mended: {error}")
        return
    if mended:
        report.notes.append(f"the search index was brought in step: {mended} events added")


def _close_index(index: IndexWriterSet, report: SyncReport) -> None:
    try:
        index.close()
    except IndexUnavailable as error:
        report.state = "degraded"
        report.notes.append(f"the search index could not be written: {error}")


def _plan_all(writer: Writer, request: SyncRequest, report: SyncReport) -> list[Planned]:
    planned: list[Planned] = []
    for adapter in request.chosen():
        line = report.agents[adapter.facts.slug] = AgentSync(agent=adapter.facts.slug)
        planner = Planner(adapter, writer, line, slice_bytes=request.config.ingest.slice_bytes)
        found = _discover(adapter, request, planner)
        line.roots = tuple(found.roots)
        line.skipped += [Skipped(r.path, r.reason) for r in found.refused]
        planned += planner.plan(found.sources, present_roots=found.roots)
        if planner.touched:
            with writer.transaction():
                for row in planner.touched:
                    writer.touch_source(row)
        _warn(line, planner)
    planned.sort(key=lambda p: p.task.source.mtime_ns)
    return planned


def _discover(adapter: Adapter, request: SyncRequest, planner: Planner) -> Discovery:
    roots = roots_of(adapter, request.config, request.env)
    return discover(adapter, roots, known_roles=planner.known_roles, read_head=read_head)


def _warn(line: AgentSync, planner: Planner) -> None:
    if line.roots and not line.found and planner.known_roles:
        line.warnings.append("its folder is there but holds no sessions any more; what was stored stays")
    elif line.roots and not line.found:
        line.warnings.append("its folder is there but no session was found in it")


def _bounded(planned: list[Planned], max_bytes: int | None) -> tuple[list[Planned], int]:
    """Keep the newest sources up to a bound (a refresh on read must not take minutes)."""
    if max_bytes is None or sum(p.bytes for p in planned) <= max_bytes:
        return planned, 0
    kept: list[Planned] = []
    room, left = max_bytes, 0
    for item in reversed(planned):
        if item.bytes <= room:
            kept.append(item)
            room -= item.bytes
        else:
            left += item.bytes
    return kept[::-1], left


def _run(
    planned: list[Planned], ingester: Ingester, home: Home, keys: HomeKeys, request: SyncRequest, report: SyncReport
) -> None:  # fmt: skip
    total = sum(p.bytes for p in planned)
    queue = WorkQueue([(p.task, p.bytes) for p in planned])
    answers: Iterator[TaskAnswer]
    if total <= SMALL_BYTES:
        answers = run_here(queue, keys, home.archive)
    else:
        workers = request.config.ingest.workers or os.cpu_count() or 1
        answers = run_in_processes(queue, keys, home.archive, workers=workers)
    done_sources = 0
    with _interruptible() as stop:
        try:
            for answer in answers:
                done_sources += _take(answer, ingester, report)
                if request.progress is not None:
                    request.progress(
                        SyncProgress("ingest", min(ingester.done_bytes, total), total, done_sources, len(planned))
                    )
                if stop.is_set():
                    report.state = "interrupted"
                    break
        except DiskFull:
            report.notes.append("the disk is full; what was stored stays, the next sync goes on")
            raise
        finally:
            answers.close()  # type: ignore[attr-defined]
        ingester.flush()
        if planned:
            ingester.commit_index()


def _take(answer: TaskAnswer, ingester: Ingester, report: SyncReport) -> int:
    finished = 0
    for done in answer.done:
        ingester.take(done.slice)
        finished += done.next is None
    for failed in answer.failed:
        report.agents[failed.source.agent].skipped.append(Skipped(failed.source.path, failed.reason))
        finished += 1
    return finished


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop after the slice under way; a second one raises."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {n: signal.signal(n, ask) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _finish_report(report: SyncReport, ingester: Ingester, timer: StageTimer) -> None:
    for line in report.agents.values():
        report.bytes += line.bytes
        line.sessions = sum(1 for uid in ingester.touched_sessions if uid.startswith(f"{line.agent}:"))
    report.stage_seconds = dict(timer.seconds)
