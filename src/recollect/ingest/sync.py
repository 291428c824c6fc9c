"""A sync: discover, plan, read, parse, redact, archive, store, index."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from types import FrameType
from typing import Literal, NamedTuple

from recollect.agents.base import Adapter
from recollect.agents.guard import raised_by
from recollect.agents.registry import adapter as find_adapter
from recollect.agents.registry import adapters, adapters_with, strangers
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import JOURNAL
from recollect.capture.discover import FoundSource
from recollect.capture.scope import Scope
from recollect.config import Config, PrivacyConfig
from recollect.erasure.exclusion import KeepingOut
from recollect.erasure.forget import Opened
from recollect.erasure.selection import excluded_repos
from recollect.erasure.tombstones import Forgotten
from recollect.errors import StoreError
from recollect.index.text.refresh import index_entries, mend_index
from recollect.index.text.writer import IndexWriterSet
from recollect.ingest.batch_writer import BatchWriter, Sinks
from recollect.ingest.damage import Healing
from recollect.ingest.imports import ImportOptions, Survey, tell_short
from recollect.ingest.plan import Heal, KnownBytes, KnownSources, Planned, Planner
from recollect.ingest.rechecks import Rechecks
from recollect.ingest.redact_again import renew_redaction
from recollect.ingest.report import AgentSync, ProgressCallback, Skipped, SyncProgress, SyncReport
from recollect.ingest.sources import Finder, Named
from recollect.ingest.spool import clear_spool
from recollect.ingest.spooled_events import hooks_folder, sources_of_hooks, take_spooled_events
from recollect.ingest.worker.derive import sealed_state
from recollect.ingest.worker.slices import OtherThreads, StageTimer, TaskAnswer, seldom_collected
from recollect.paths import expand as expand_path
from recollect.store.documents import has_folders
from recollect.store.erasure.redact_rows import STALE_PARSER
from recollect.store.home import Home
from recollect.store.reader import Reader
from recollect.store.rows import SourceRow
from recollect.store.writer import Writer
from recollect.units import plural, size

SHORT_JOURNAL_BYTES = 4 << 20
"""As much of a journal is compared with the database while somebody waits for an answer."""
_MANY_TIMES = 20
_USUAL_BYTES = 5_000_000
"""A sync that brings 20 times what is known of an agent (taken as at least 5 MB) is worth a warning."""


class SyncRequest:
    """What a sync is asked to do. max_bytes bounds a refresh on read; None: everything."""

    def __init__(
        self, config: Config, *, agents: Sequence[str] = (), env: Mapping[str, str] | None = None,
        progress: ProgressCallback | None = None, max_bytes: int | None = None, now_us: Callable[[], int],
    ) -> None:  # fmt: skip
        self.config = config
        self.imports: Named | None = None
        """Files and folders to ingest instead of what agents wrote on this machine."""
        self.found: Mapping[str, Sequence[FoundSource]] | None = None
        """The sources of each agent, where somebody has looked already; then nothing is looked for, nothing is indexed,
        and all is done in this process."""
        self.options: ImportOptions | None = None
        """Which of all that was found a bulk import ingests, and what of it is indexed; None: all."""
        self.known = adapters_with(config.formats())
        self.agents = tuple(find_adapter(name, self.known).facts.slug for name in agents)
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.progress = progress
        self.max_bytes = max_bytes
        self.now_us = now_us
        self.scope: Scope | None = None
        """Where to look, where it is known what changed; None: everywhere."""
        self.should_stop: Callable[[], bool] = lambda: False
        """Asked between slices: True ends the pass as Ctrl-C does."""
        self.is_settled = False
        """Set by a pass over everything: no file is left to be compared with what was ingested of it."""

    def chosen(self) -> list[Adapter]:
        """Return the adapters to ask: those named, else all that the configuration leaves on."""
        if self.agents:
            return [self.known[slug] for slug in self.agents]
        return [
            a
            for slug, a in self.known.items()
            if self.config.agent(slug).enabled
            and (self.named().folders or not a.facts.is_import_only)
            and (self.scope is None or slug in self.scope.agents or (self.scope.takes_spool and a.facts.hooks))
        ]

    def least_of(self, slug: str) -> int:
        """Return how many messages a session of an agent must hold to be indexed."""
        is_export = slug in self.known and self.known[slug].facts.is_import_only
        usual = 0 if is_export else self.config.ingest.min_messages
        return usual if self.options is None else self.options.least(usual)

    @property
    def looks_everywhere(self) -> bool:
        """Whether everything that agents wrote on this machine is looked at."""
        return self.scope is None and self.imports is None and self.found is None and not self.agents

    def named(self) -> Named:
        """Return the files and folders whose content tells whose they are."""
        if self.imports is not None:
            return self.imports
        folders = () if self.agents else self.config.ingest.folders
        return Named([os.path.abspath(expand_path(folder, self.env)) for folder in folders])


def sync(opened: Opened, request: SyncRequest) -> SyncReport:
    """Ingest what is new or changed. The caller holds the ingest lock (an open Writer is the lock).

    Interruptible anywhere: after Ctrl-C everything taken so far is written and the report says "interrupted". Raises
    StoreError and ArchiveError when the home cannot be written; failed sources are in the report.
    """
    home, writer, reader, archive, keys = opened
    started, before = time.perf_counter(), home.size_bytes() if request.scope is None else 0
    report = SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0)
    timer, threads = StageTimer(), OtherThreads()
    at, is_bounded = request.now_us(), request.max_bytes is not None
    report.notes += bring_together(opened, request.config.privacy, at=at, is_bounded=is_bounded)
    healing = Healing(opened, report, is_bounded=is_bounded) if request.scope is None else None
    keeping_out = KeepingOut(opened, excluded_repos(request.config, request.env), now_us=request.now_us())
    if request.scope is None:
        report.notes += strangers(request.config.agents, request.known).values()
        renew_redaction(opened, request.config.privacy, report, max_bytes=request.max_bytes, progress=request.progress)
    with _index_of(home, report) if request.found is None else nullcontext() as index:
        if index is not None:
            _mend(writer, reader, index, report)
        if request.scope is None:
            _rederive_stale(opened, index, request, report)
        is_own = request.imports is None and request.found is None
        if is_own and (request.scope is None or request.scope.takes_spool):
            report.notes += take_spooled_events(str(home.spool), request.known, now_us=request.now_us())
        with timer.stage("discover"):
            planned = _plan_and_touch(opened, (keeping_out, healing), request, report)
        if request.options is not None and request.options.chooses:
            planned = _choose(planned, (home, reader, keys), request, report, forgotten=keeping_out.forgotten)
        ingester = BatchWriter(
            Sinks(writer, archive, index, reader), report, now_us=request.now_us, timer=timer, keeping_out=keeping_out
        )
        if not _run_all(planned, ingester, keeping_out, (home, keys), request):
            report.state = "interrupted"
        else:
            _take_documents(home, keys, request, report)
        if index is not None:
            with report.despite("what was learned and noted could not be indexed: {}"):
                index_entries(writer, reader, index)
        if request.scope is None:
            clear_spool(home, reader, request.chosen(), request.env, now_us=request.now_us())
    report.notes += keeping_out.finish(ingester.touched_sessions)
    report.notes += keeping_out.left_out() if request.scope is None and not is_bounded else []
    archive.condition.remember(change=writer.last_change())
    if request.options is not None:
        tell_short(report, writer, reader, ingester.touched_sessions)
    _finish_report(report, ingester, timer, threads)
    report.stored_bytes = home.size_bytes() - before if request.scope is None else 0
    report.seconds = time.perf_counter() - started
    return report


def bring_together(opened: Opened, privacy: PrivacyConfig, *, at: int, is_bounded: bool) -> list[str]:
    """Bring archive and database in step where they may differ; return a line on each thing done. at: UTC microseconds.

    The length of the journal at the last commit is written down in the database, and how the journal looked in the
    archive. As long as both are the same nothing has to be read. Else a crash came between the two, or one of them was
    damaged, removed or replaced by an older copy. is_bounded: a refresh on read, which leaves a long comparison to
    `sync`. Raises KeyUnavailable, StoreError, ArchiveError, IndexUnavailable.
    """
    writer, archive = opened.writer, opened.archive
    is_older = writer.last_change() < archive.condition.change
    is_same = writer.journal_mark == archive.journal.size_bytes() and JOURNAL not in archive.condition.changed_packs()
    if is_same and not is_older:
        return []
    if is_bounded and archive.journal.size_bytes() > SHORT_JOURNAL_BYTES:
        raise StoreError("archive and database must be compared first: run `recollect sync`")
    from recollect.ingest.reconciliation import bring_in_step, drop_what_is_ahead

    notes = drop_what_is_ahead(opened) if is_older else []
    return notes + bring_in_step(opened, privacy, at=at)


@contextmanager
def _index_of(home: Home, report: SyncReport) -> Iterator[IndexWriterSet | None]:
    """Yield the index, to be written; None where it cannot be opened."""
    index = None
    with report.despite("the search index cannot be opened: {}"):
        index = IndexWriterSet.open(home.index)
    try:
        yield index
    finally:
        if index is not None:
            with report.despite("the search index could not be written: {}"):
                index.close()


def _rederive_stale(opened: Opened, index: IndexWriterSet | None, request: SyncRequest, report: SyncReport) -> None:
    """After an upgrade: derive again from the archive what an older parser read, before anything is added; also seal
    parser states stored in clear, and mark what rewinds undid.
    """
    _home, writer, reader, archive, keys = opened
    writer.seal_states(partial(sealed_state, sealer=archive.sealer))
    writer.mark_undone()
    versions = {slug: a.facts.derived_version for slug, a in adapters().items()}
    stale = {version for agent, version in reader.parsed_by() if version != versions.get(agent, version)}
    rewound = writer.rewound()
    if not stale and not (rewound and any(s.source_id in rewound and s.agent in versions for s in reader.sources())):
        return
    from recollect.ingest.rebuild import rederive_stale
    from recollect.privacy.redact import redactor_of

    ingester = BatchWriter.of_archive(writer, archive, index, stored=reader)
    redactor = redactor_of(keys.marker_key, request.config.privacy)
    lost: list[str] = []
    ingester.lost = lost
    count = rederive_stale(writer, reader, archive, redactor, ingester)
    ingester.commit_index()
    if lost:
        report.degrade(*lost)
    if count and stale != {STALE_PARSER}:  # what forgetting left of a source is no news
        derived = plural(count, "source was", "sources were")
        report.notes.append(f"{derived} rebuilt from the archive by a newer parser")


def _mend(writer: Writer, reader: Reader, index: IndexWriterSet, report: SyncReport) -> None:
    with report.despite("the search index could not be repaired: {}"):
        mended = mend_index(writer, reader, index)
        if mended:
            report.notes.append(f"the search index was brought in step: {plural(mended, 'event')} added")


def _take_documents(home: Home, keys: HomeKeys, request: SyncRequest, report: SyncReport) -> None:
    """Bring project documents up to date. Failures are reported and stop nothing else."""
    if request.imports is not None or request.agents or (request.scope is not None and not request.scope.documents):
        return
    with report.despite("project documents could not be ingested: {}", StoreError):
        if not has_folders(home.folder):
            return
        from recollect.ingest.documents import RefreshContext, notes_of, take_documents

        with interruptible() as stop:
            context = RefreshContext(
                home, request.config, keys, request.now_us, lambda: stop.is_set() or request.should_stop()
            )
            changed = None if request.scope is None else request.scope.documents
            report.documents = take_documents(context, changed=changed, max_bytes=request.max_bytes)
        report.notes += notes_of(report.documents if request.max_bytes is None else ())
        if any(one.state == "interrupted" for one in report.documents):
            report.state = "interrupted"


class Places(NamedTuple):
    """Where a plan looks: at what is known of sources, at the archive, and at what hooks told."""

    known: KnownSources
    reader: Reader
    archive: KnownBytes
    spool: str
    heal: Heal | None = None
    rechecks: Rechecks | None = None
    """What is to be compared whole; None where nothing may be noted."""


def look_over(places: Places, home: Home, keys: HomeKeys, request: SyncRequest, forgotten: Forgotten) -> SyncReport:
    """Say what an import would do. Writes nothing and takes no lock; sources are read as an import reads them.

    Raises UnknownName for a session that is neither found nor stored.
    """
    started = time.perf_counter()
    report = SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0, is_dry_run=True)
    planned, _touched = _plan_all(places, lambda _item: False, request, report)
    report.bytes = sum(p.bytes for p in _choose(planned, (home, places.reader, keys), request, report, forgotten))
    report.seconds = time.perf_counter() - started
    return report


def _choose(
    planned: list[Planned], opened: tuple[Home, Reader, HomeKeys], request: SyncRequest, report: SyncReport,
    forgotten: Forgotten,
) -> list[Planned]:  # fmt: skip
    """Return what of a plan is wanted, and say what becomes of every session. All is read once for that."""
    home, reader, keys = opened
    survey = Survey(planned)
    meter = _Meter(planned, request.progress, "survey") if planned else None
    answers = _answers(planned, sum(p.bytes for p in planned), home, keys, request, forgotten=forgotten)
    done_bytes = 0
    with interruptible() as stop:
        try:
            for answer in answers:
                survey.take(answer)
                for failed in answer.failed:
                    skipped = Skipped(failed.source.path, failed.reason, failed.is_failure)
                    report.agents[failed.source.agent].skipped.append(skipped)
                done_bytes += sum(done.slice.bytes_seen - done.slice.from_bytes for done in answer.done)
                if meter is not None:
                    meter.show(done_bytes, sum(done.next is None for done in answer.done), answer)
                if stop.is_set() or request.should_stop():
                    report.state = "interrupted"
                    return []
        finally:
            answers.close()
    kept, report.imported = survey.choose(
        planned, request.options or ImportOptions(), reader, least_of=request.least_of
    )
    left = {item.task.source.source_id for item in planned} - {item.task.source.source_id for item in kept}
    for item in planned:
        if item.task.source.source_id in left:
            line = report.agents[item.task.source.agent]
            line.new -= item.task.is_first_sight
            line.changed -= not item.task.is_first_sight
    return kept


def _plan_and_touch(
    opened: Opened, watching: tuple[KeepingOut, Healing | None], request: SyncRequest, report: SyncReport
) -> list[Planned]:
    """Return what is to be ingested, in order, and record changes of sources without new bytes."""
    writer = opened.writer
    writer.short.least_of = request.least_of
    keeping_out, healing = watching
    is_thorough = request.looks_everywhere and request.max_bytes is None
    rechecks = Rechecks(
        opened.home.folder, is_thorough=is_thorough, now_us=request.now_us(),
        idle_s=request.config.distill.idle_seconds,
    )  # fmt: skip
    heal = healing.take if healing is not None else None
    places = Places(writer, opened.reader, opened.archive, str(opened.home.spool), heal, rechecks)
    planned, touched = _plan_all(places, keeping_out.was_left_out, request, report)
    if healing is not None:
        healing.tell()
    for slug, adapter in request.known.items():
        report.notes += [f"{slug}: {said}; please report this" for said in raised_by(adapter)]
    rechecks.save()
    request.is_settled = is_thorough and rechecks.is_settled()
    if touched:
        with writer.transaction():
            for row in touched:
                writer.touch_source(row)
    planned, left = _bounded(planned, request.max_bytes)
    # A session's authority comes before what only adds to it; within a lane oldest first.
    planned.sort(key=lambda p: p.task.source.lane)
    if left:
        report.notes.append(f"{size(left)} are not ingested yet; run `recollect sync`")
    return planned


def _plan_all(
    places: Places, was_left_out: Callable[[FoundSource], bool], request: SyncRequest, report: SyncReport
) -> tuple[list[Planned], list[SourceRow]]:
    """Return what is to be ingested, and rows to write without new bytes."""
    planned: list[Planned] = []
    touched: list[SourceRow] = []
    known, reader, archive, spool, heal, rechecks = places
    planners: list[Planner] = []
    chosen = request.chosen()
    scope = request.scope
    finder = Finder(chosen, request.config, request.env, reader, request.named(), scope=scope)
    report.untaken = [Skipped(r.path, r.reason, r.is_failure) for r in finder.untaken]
    report.notes += [f"{folder} is not there" for folder in finder.absent]
    for adapter in chosen:
        line = report.agents[adapter.facts.slug] = AgentSync(agent=adapter.facts.slug)
        slice_bytes = request.config.ingest.slice_bytes
        told_folder = hooks_folder(spool, adapter.facts.slug)
        if scope is not None:
            scope.add(told_folder)
        planner = Planner(adapter, known, line, archive=archive, slice_bytes=slice_bytes, scope=scope)
        planner.was_left_out, planner.heal, planner.rechecks = was_left_out, heal, rechecks
        planners.append(planner)
        if request.found is not None:
            planned += planner.plan(request.found.get(adapter.facts.slug, ()), present_roots=())
            continue
        found = finder.find(adapter, planner)
        if request.imports is None and adapter.facts.hooks is not None:
            found.sources += sources_of_hooks(spool, adapter.facts.slug)
        line.roots = tuple(root for root in found.roots if found.sources or root not in finder.shared_roots)
        line.skipped += [Skipped(r.path, r.reason, r.is_failure) for r in found.refused]
        present = [*(root for root in found.roots if _has_entries(root)), *finder.folders, told_folder]
        planned += planner.plan(found.sources, present_roots=present)
        touched += planner.touched
        if scope is None:
            _warn(line, planner, planned)
    if rechecks is not None:
        rechecks.run()
        planned += [found for planner in planners for found in planner.rewritten]
    planned.sort(key=lambda p: p.task.source.mtime_ns)
    return planned, touched


def _has_entries(root: str) -> bool:
    """An empty folder may be an unmounted volume: its content is then absent, not deleted."""
    if os.path.isfile(root):  # a database that a variable names
        return True
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _warn(line: AgentSync, planner: Planner, planned: list[Planned]) -> None:
    """Say when an agent in use gave nothing, or far more than usual: both are how a changed format first shows."""
    if line.roots and not line.found:
        if planner.known_roles:
            line.warnings.append("its folder is there but holds no sessions any more; what was stored stays")
        else:
            line.warnings.append("its folder is there but no session was found in it")
    new_bytes = sum(p.bytes for p in planned if p.task.source.agent == line.agent)
    if planner.known_bytes and new_bytes > _MANY_TIMES * max(planner.known_bytes, _USUAL_BYTES):
        line.warnings.append(f"{size(new_bytes)} are new, far more than everything known so far")


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


def _run_all(
    planned: list[Planned], ingester: BatchWriter, keeping_out: KeepingOut, opened: tuple[Home, HomeKeys],
    request: SyncRequest,
) -> bool:  # fmt: skip
    """Take everything planned in, what must be looked at twice a second time; return False when it was interrupted.

    Empties the list: a plan of very many files is let go of as they are taken.
    """
    kept = list(planned) if keeping_out.is_needed else []
    is_whole = _run(planned, ingester, *opened, request)
    if is_whole and keeping_out.mixed:  # what is to be kept out stands before what is not: now all of it is read
        mixed = [p for p in kept if p.task.source.source_id in keeping_out.mixed]
        keeping_out.take_again()
        is_whole = _run(mixed, ingester, *opened, request)
    return is_whole


def _run(planned: list[Planned], ingester: BatchWriter, home: Home, keys: HomeKeys, request: SyncRequest) -> bool:
    """Take everything planned in, and empty the list; return False when it was interrupted.

    What was taken is written in any case.
    """
    if not planned:
        return True
    meter = _Meter(planned, request.progress)
    answers = _answers(planned, meter.total_bytes, home, keys, request, forgotten=ingester.forgotten)
    planned.clear()
    is_whole = True
    with interruptible() as stop, seldom_collected():
        try:
            for answer in answers:
                finished = ingester.take_answer(answer)
                meter.show(ingester.done_bytes, finished, answer)
                del answer  # what waits to be written is the ingester's; the rest is not needed while the next comes
                if stop.is_set() or request.should_stop():
                    is_whole = False
                    break
        finally:
            answers.close()
        ingester.flush()
        ingester.commit_index()
    return is_whole


class _Meter:
    """Tells the caller how far the pass is: once when it begins, then after every group."""

    def __init__(
        self, planned: list[Planned], progress: ProgressCallback | None, stage: Literal["survey", "ingest"] = "ingest"
    ) -> None:
        self._stage = stage
        self.total_bytes = sum(p.bytes for p in planned)
        self._total_sources = len(planned)
        self._done_sources = 0
        self._progress = progress
        self._tell(0, planned[0].task.source.agent)

    def show(self, done_bytes: int, finished: int, answer: TaskAnswer) -> None:
        """Take note of an answer that finished so many sources."""
        self._done_sources += finished
        self._tell(done_bytes, answer.done[-1].slice.source.agent if answer.done else "")

    def _tell(self, done_bytes: int, agent: str) -> None:
        if self._progress is not None:
            done = min(done_bytes, self.total_bytes)
            self._progress(
                SyncProgress(self._stage, done, self.total_bytes, self._done_sources, self._total_sources, agent)
            )


def _answers(
    planned: list[Planned], total: int, home: Home, keys: HomeKeys, request: SyncRequest, *, forgotten: Forgotten
) -> Generator[TaskAnswer]:
    from recollect.ingest.worker import pool  # parsers and detectors are loaded only when there is something to do
    from recollect.ingest.worker.pool import Greeting

    formats, privacy = request.config.formats(), request.config.privacy
    greeting = Greeting(keys, str(home.archive), formats, privacy, forgotten)
    queue = pool.WorkQueue(planned)
    if total <= pool.SMALL_BYTES or request.found is not None:
        return pool.run_here(queue, greeting)
    workers = request.config.ingest.workers or os.cpu_count() or 1
    return pool.run_in_processes(queue, greeting, workers=workers)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop after what is under way; a second one raises."""
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


def _finish_report(report: SyncReport, ingester: BatchWriter, timer: StageTimer, threads: OtherThreads) -> None:
    timer.merge({"index engine and feeding (threads)": threads.seconds()})
    for line in report.agents.values():
        report.bytes += line.bytes
        if line.records and not line.events and not line.replays:
            line.warnings.append(f"{plural(line.records, 'record')} gave no event; its format may have changed")
        line.sessions = sum(1 for uid in ingester.touched_sessions if uid.startswith(f"{line.agent}:"))
    failures = sum(s.is_failure for line in report.agents.values() for s in line.skipped)
    if failures:
        report.notes.append(f"{plural(failures, 'source')} could not be read; the next sync tries again")
        if report.state == "done":
            report.state = "degraded"
    report.stage_seconds = dict(timer.seconds)
