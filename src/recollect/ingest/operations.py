"""Operations that write to a home: sync, import, refresh on read, rebuild. They take the ingest lock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recollect.client import UNANSWERED
from recollect.clock import now_us
from recollect.errors import IndexUnavailable, RecollectError, SchemaTooNew, SourceUnavailable, StoreError, StoreLocked
from recollect.ingest.daemon_status import is_alive, settled
from recollect.ingest.open_home import OpenHome
from recollect.ingest.quick_look import AgentFound, LastLook, QuickLook, Quiet, last_look, quick_look
from recollect.ingest.secret_names import hide_secret_names
from recollect.paths import DATABASE_NAME
from recollect.store.home import Home, LazyArchive, LazyRedactor
from recollect.units import plural
from recollect.wire import firings_folder

# Every read refreshes, most of the time where a daemon already did: what only ingesting needs is imported there.
if TYPE_CHECKING:
    from recollect.capture.discover import FoundSource
    from recollect.capture.scope import Scope
    from recollect.erasure.forget import Opened
    from recollect.erasure.reports import EvictReport
    from recollect.ingest.imports import ImportOptions
    from recollect.ingest.quick_look import Quiet
    from recollect.ingest.rebuild import Progress
    from recollect.ingest.report import ProgressCallback, SyncReport
    from recollect.ingest.sync import SyncRequest

REFRESH_EVERY_S = 0.4
"""A process looks for new bytes at most this often when it reads: what was written half a second ago is found, or the
answer says that it is catching up."""
QUICK_EVERY_S = 0.1
"""The same where a look at the state of files tells that nothing changed."""
REFRESH_BYTES = 64_000_000
"""A refresh on read ingests at most this much, newest first; the rest waits for `sync`."""
LARGE_SYNC_BYTES = 64_000_000
"""After a sync of more than this the vocabularies for infix questions are made at once, not at the first of them."""
ASK_FOR_S = 20.0
"""A sync asks a model no longer than this; what is left the next one does."""


def sync(
    home: OpenHome, *, agents: Sequence[str] = (), force: bool = False, progress: ProgressCallback | None = None
) -> SyncReport:
    """Ingest what is new, analyse and learn from it, and keep the bounds; see `Memory.sync`."""
    if not agents and not force and (same := _unchanged(home)) is not None:
        return same
    from recollect.ingest.sync import SyncRequest
    from recollect.ingest.sync import sync as take
    from recollect.store.meta import keep_patterns

    request = SyncRequest(home.config, agents=agents, env=home.env, progress=progress, now_us=now_us)
    try:
        recovered = _recover(home)
        if force and (home.home / DATABASE_NAME).exists() and not recovered:
            report = rebuild(home, "all", request=request)
        else:
            with home.writing() as opened:
                look = quick_look(home.look_context(), home.reader()) if request.looks_everywhere else None
                report = take(opened, request)
                next_at = _analyse(home, opened, request, report)
                evicted = _retain(home, opened, report)
                if report.bytes or report.distilled_sessions or report.learned_sessions:
                    keep_patterns(home.home)
                if look is not None and _is_whole(report):
                    home.leave(look, _quiet(home, report, next_at) if request.is_settled else None)
            _make_ready(home, report)
            _notify(home, evicted, report)
            report.notes[:0] = recovered
    except StoreLocked as error:
        return _busy(error)
    _ask_model(home, report)
    return report


def _unchanged(home: OpenHome) -> SyncReport | None:
    """Return what a sync says where nothing is to be done: everything is as the last one left it; else None."""
    from recollect.ingest.report import AgentSync, SyncReport

    started = time.perf_counter()
    last = _last_look(home)
    if last is None or last.quiet is None or is_behind(home):  # notes are written without the ingest lock
        return None
    agents = {
        one.agent: AgentSync(
            one.agent, roots=one.roots, found=one.found, unchanged=one.unchanged, warnings=list(one.warnings)
        )
        for one in last.quiet.agents
    }
    report = SyncReport(agents, time.perf_counter() - started, 0, 0)
    report.waiting_sessions = last.quiet.waiting
    return report


def _quiet(home: OpenHome, report: SyncReport, next_at: int | None) -> Quiet | None:
    """Return the report of the next sync if nothing changes; None if this one did something, or a model is asked.

    next_at: when there is something to analyse or learn even without changes.
    """
    from recollect.erasure.schedule import next_sweep_at
    from recollect.ingest.learnings.run import LearnFacet

    learn, lines = LearnFacet(home), report.agents.values()
    is_changed = report.bytes or report.distilled_sessions or report.learned_sessions
    if is_changed or learn.asks_model or any(a.new or a.changed or a.moved or a.gone for a in lines):
        return None
    times = [at for at in (next_at, next_sweep_at(home.home, home.config.retention.cadence)) if at is not None]
    found = [AgentFound(a.agent, a.roots, a.found, a.unchanged, tuple(a.warnings)) for a in lines]
    return Quiet(tuple(found), report.waiting_sessions, min(times, default=None), (str(learn.user_file()),))


def import_(
    home: OpenHome, paths: Sequence[Path], *, agents: Sequence[str] = (), options: ImportOptions | None = None,
    is_dry_run: bool = False, progress: ProgressCallback | None = None,
) -> SyncReport:  # fmt: skip
    """Ingest files and folders that the user names; see `Memory.take_in`."""
    from recollect.capture.unzip import is_zip, unpacked
    from recollect.ingest.imports import ImportOptions, lift
    from recollect.ingest.sources import named_by
    from recollect.ingest.sync import SyncRequest
    from recollect.ingest.sync import sync as take

    for path in paths:
        if not path.exists():
            raise SourceUnavailable(f"{path} does not exist")
    paths = [Path(os.path.abspath(path)) for path in paths]  # `../a` and `a` are one file, not two
    archives = [path for path in paths if is_zip(path)]
    plain = [str(path) for path in paths if path not in archives]
    request = SyncRequest(home.config, agents=agents, env=home.env, progress=progress, now_us=now_us)
    request.options = (options or ImportOptions())._replace(zone=home.zone)
    if is_dry_run:
        return _preview_import(home.folders, request, plain, archives)
    try:
        recovered = _recover(home)
        with home.writing() as opened, unpacked(archives, home.folders.unpacking) as shown_as:
            request.imports = named_by(plain, shown_as)
            places = [*plain, *map(str, archives)]
            lift(opened.writer, opened.reader, request.options, places, least_of=request.least_of)
            report = take(opened, request)
            _analyse(home, opened, request, report)
    except StoreLocked as error:
        return _busy(error)
    _make_ready(home, report)
    report.notes[:0] = recovered
    return report


def take_found(home: OpenHome, found: Mapping[str, Sequence[FoundSource]]) -> SyncReport:
    """Ingest sources that were found before, of each agent, and analyse their sessions; nothing is indexed.

    Raises StoreLocked, StoreError, ArchiveError.
    """
    from recollect.ingest.sync import SyncRequest
    from recollect.ingest.sync import sync as take

    request = SyncRequest(home.config, agents=tuple(found), env=home.env, now_us=now_us)
    request.found = found
    with home.writing() as opened:
        report = take(opened, request)
        _analyse(home, opened, request, report)
    return report


def _preview_import(home: Home, request: SyncRequest, plain: Sequence[str], archives: Sequence[Path]) -> SyncReport:
    """Return what an import of these files, folders and zip archives would do; without any: of the agents' own folders.

    Writes nothing, takes no lock, and creates no memory.
    """
    import shutil
    import tempfile

    from recollect.archive.archive import Archive
    from recollect.archive.keys import load_keys, load_or_create_keys
    from recollect.capture.unzip import unpacked
    from recollect.erasure.tombstones import NOTHING, Forgotten
    from recollect.ingest.imports import StoredSources
    from recollect.ingest.sources import named_by
    from recollect.ingest.sync import Places, look_over
    from recollect.store.connection import has_database
    from recollect.store.reader import open_reader

    beside = Path(tempfile.mkdtemp(prefix="recollect-"))
    try:
        stored = home if has_database(home.folder) else Home(beside / "home")
        has_archive = (stored.archive / "journal.log").exists()
        keys = load_keys(stored.keys) if has_archive else load_or_create_keys(Home(beside).keys)
        forgotten = NOTHING
        if has_archive:
            with closing(Archive.open(stored.archive, keys, read_only=True)) as archive:
                forgotten = Forgotten.of(keys.forget_key, archive.tombstones())
        redactor = LazyRedactor(stored.keys, request.config.privacy)
        with (
            closing(LazyArchive(stored)) as chunks,
            open_reader(stored.folder, chunks, redactor) as reader,
            unpacked(archives, beside / "import") as shown_as,
        ):
            request.imports = named_by(plain, shown_as)
            places = Places(StoredSources(reader), reader, chunks, str(home.spool))
            return look_over(places, stored, keys, request, forgotten)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def take_changes(home: OpenHome, scope: Scope | None, *, should_stop: Callable[[], bool] = lambda: False) -> SyncReport:
    """Ingest what changed in a scope, None: anywhere. Nothing is analysed or made ready: a daemon does that later.

    should_stop: asked between slices. Raises StoreLocked while another process is ingesting, StoreError, ArchiveError.
    """
    from recollect.ingest.sync import SyncRequest
    from recollect.ingest.sync import sync as take

    request = SyncRequest(home.config, env=home.env, now_us=now_us)
    request.scope, request.should_stop = scope, should_stop
    recovered = _recover(home)
    with home.writing() as opened:
        report = take(opened, request)
    report.notes[:0] = recovered
    return report


def rebuild(
    home: OpenHome, what: Literal["index", "all"], *, progress: Progress | None = None,
    request: SyncRequest | None = None, authored: Path | None = None,
) -> SyncReport:  # fmt: skip
    """Derive the index, or everything, again; then ingest changes. Raises StoreLocked.

    authored: see `ingest.rebuild.rebuild_all`.
    """
    from recollect.archive.keys import load_keys
    from recollect.ingest.rebuild import Rebuilt, complete_index_of, rebuild_all, rebuild_index_of
    from recollect.ingest.sync import SyncRequest
    from recollect.ingest.sync import sync as take

    request = request or SyncRequest(home.config, env=home.env, now_us=now_us)
    done = Rebuilt([], [])
    is_all = {"index": False, "all": True}[what]
    if is_all:
        keys = load_keys(home.folders.keys)
        _look_at_everything(home, request)
        home.close()
        done = rebuild_all(home.folders, keys, home.config, progress=progress, authored=authored)
        home.close()
    with home.writing() as opened:
        (complete_index_of if is_all else rebuild_index_of)(home.folders, opened.writer, opened.reader)
        report = take(opened, request)
        _analyse(home, opened, request, report)
    _make_ready(home, report)
    report.notes += [*done.lost, *done.notes]
    if done.lost:
        report.degrade()
    return report


class Refresher:
    """Ingests on read what has changed, seldom and bounded. One a memory."""

    def __init__(self, home: OpenHome) -> None:
        self._home = home
        self._refreshing = threading.Lock()
        self._looked_at = -REFRESH_EVERY_S
        self._quick: QuickLook | None = None
        """Once everything was looked at and nothing was left."""
        self._is_first = True

    def refresh(self) -> tuple[str, ...]:
        """See `Memory.refresh`."""
        home = self._home
        told = home.keeper() if home.keeper is not None else settled(home.home)
        if told is not None:
            home.stale = told
            if self.looks_again():  # the daemon may have met new names
                self._looked_at = time.monotonic()
                hide_secret_names(home.home)
            return home.stale
        if not self._refreshing.acquire(blocking=False):
            return ()
        try:
            unanswered = (UNANSWERED,) if is_alive(home.home) else ()
            if not self.looks_again():
                return (*unanswered, *index_entries(home))
            self._looked_at = time.monotonic()  # before it looks: what is written meanwhile may have been passed by
            is_damaged = home.index is not None and bool(home.index.damaged)  # a question found it; a pass repairs it
            if not is_damaged and self._is_same():
                return (*unanswered, *index_entries(home))
            return (*unanswered, *self._take())
        finally:
            self._refreshing.release()

    def looks_again(self) -> bool:
        """Return whether a refresh would look for changes now."""
        return time.monotonic() - self._looked_at >= (REFRESH_EVERY_S if self._quick is None else QUICK_EVERY_S)

    def _is_same(self) -> bool:
        """Return whether everything is as this process saw it last, or, at first, as another one did."""
        if self._quick is not None:
            return self._quick.is_same()
        last = _last_look(self._home) if self._is_first else None
        self._is_first = False
        self._quick = last.look if last is not None else None
        return last is not None

    def _take(self) -> tuple[str, ...]:
        from recollect.ingest.sync import SyncRequest
        from recollect.ingest.sync import sync as take

        home, self._quick = self._home, None
        request = SyncRequest(home.config, env=home.env, max_bytes=REFRESH_BYTES, now_us=now_us)
        try:
            with home.writing(patience_s=0.0) as opened:
                quick = quick_look(home.look_context(), home.reader())
                report = take(opened, request)
                is_whole = _is_whole(report)
                if quick is not None and is_whole:
                    home.leave(quick)
        except StoreLocked:
            home.stale = ("catching up: another process is ingesting; this is what is stored so far",)
            return home.stale
        except SchemaTooNew as error:
            home.stale = (f"read only: {error}; {error.hint}",)
            return home.stale
        except RecollectError as error:
            home.stale = (f"could not ingest first, so changes since the last sync were not searched: {error}",)
            return home.stale
        home.last_sync = report
        if home.index is not None and home.index.damaged:  # found by a question since
            report.notes.append(remake_shards(home, home.index.damaged))
        home.stale = tuple(report.notes) if report.state != "done" else ()
        if quick is not None and is_whole and not report.notes:
            quick.done()
            self._quick = quick
        return tuple(report.notes)


def _last_look(home: OpenHome) -> LastLook | None:
    """Return the look that another process left, where everything is still as it was."""
    return last_look(home.look_context(), lambda: home.reader().last_change())


def _is_whole(report: SyncReport) -> bool:
    """Return whether a pass left nothing for another one."""
    return report.state == "done" and not report.notes and not any(a.skipped for a in report.agents.values())


def is_behind(home: OpenHome) -> bool:
    """Return whether some learning or note is not searchable yet. One look at the database."""
    return (home.home / DATABASE_NAME).exists() and home.reader().entries.has_changes()


def index_entries(home: OpenHome) -> tuple[str, ...]:
    """Make new learnings and notes searchable; return a note if that is impossible now."""
    try:
        if not is_behind(home):
            return ()
        from recollect.index.text import refresh as entries
        from recollect.index.text.writer import IndexWriterSet

        with home.writing() as opened, IndexWriterSet.open(home.folders.index) as index:
            entries.index_entries(opened.writer, opened.reader, index)
    except StoreLocked:
        return ("catching up: the latest notes may be missing",)
    except RecollectError as error:
        return (f"the latest notes cannot be searched: {error}",)
    return ()


def remake_shards(home: OpenHome, damaged: Sequence[str]) -> str:
    """Rebuild unreadable shards of the text index; return a note on the result. Never raises."""
    from recollect.index.text.engine import set_aside
    from recollect.index.text.refresh import mend_index
    from recollect.index.text.writer import IndexWriterSet

    try:
        with home.writing() as opened:
            home.index = None
            for name in damaged:
                if (home.folders.index / name).exists():
                    set_aside(home.folders.index / name)
            with IndexWriterSet.open(home.folders.index) as index:
                count = mend_index(opened.writer, opened.reader, index)
    except RecollectError as error:
        return f"the search index could not be repaired: {error}"
    return f"a damaged part of the search index was rebuilt:  {plural(count, 'event')}"


def _busy(error: StoreLocked) -> SyncReport:
    from recollect.ingest.report import SyncReport

    return SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0, state="busy", notes=[str(error)])


def _look_at_everything(home: OpenHome, request: SyncRequest) -> None:
    """Before a rebuild: bring journal and database in step, and find out which chunks do not open.

    A database that cannot be read is why people rebuild.
    """
    from recollect.ingest.damage import check
    from recollect.ingest.reconciliation import bring_in_step

    try:
        with home.writing() as opened:
            bring_in_step(opened, request.config.privacy, at=now_us())
            check(opened.archive, opened.writer.removing.holes.places())
    except (StoreLocked, SchemaTooNew):
        raise
    except StoreError:
        return


def _recover(home: OpenHome) -> list[str]:
    """Where the database is gone, and the archive is not: derive it from the archive. Return what is to be said.

    Kept in the audit too, because a daemon's or a hook's sync says it to nobody. Raises StoreLocked, StoreError,
    ArchiveError.
    """
    from recollect.store.connection import is_lost

    if not is_lost(home.home):
        return []
    from recollect.archive.keys import load_keys
    from recollect.ingest.rebuild import finish_swap, rebuild_all
    from recollect.ingest.restore_swap import finish_restore
    from recollect.store.audit import add_audit
    from recollect.store.connection import lost as error_of

    finish_restore(home.home)
    finish_swap(home.folders)
    if not is_lost(home.home):
        return []
    error = error_of(home.home)
    keys = load_keys(home.folders.keys)
    home.close()
    rebuilt = rebuild_all(home.folders, keys, home.config)
    home.close()
    sessions = sum(agent.sessions for agent in home.reader().stats().agents)
    add_audit(home.home, "recover", {"sessions": sessions}, at=now_us())
    return [
        f"{error}. It was rebuilt from the archive: {plural(sessions, 'session is', 'sessions are')} back. Notes, "
        "facts, diaries, pins and decisions that you added were only in the database: `recollect repair --from "
        "BACKUP` restores them",
        *rebuilt.lost,
    ]


def _analyse(home: OpenHome, opened: Opened, request: SyncRequest, report: SyncReport) -> int | None:
    """Analyse the sessions that have ended, and learn from them. What was ingested stays whatever comes of it.

    Return when there is something to do again though nothing changes, UTC microseconds.
    """
    from recollect.ingest.language_cache import kept_tables
    from recollect.ingest.learnings.run import LearnFacet, LearningRun, learn_after

    _make_vocabularies(home, report)
    writer, next_at = opened.writer, None
    with kept_tables(home.home), closing(LearningRun(home, opened, now_us=request.now_us)) as learning:
        if home.config.distill.enabled:
            if report.state != "interrupted":
                from recollect.ingest.distill import distill_after

                next_at = distill_after(home, opened, request, report, learning=learning)
        elif writer.distilled.has_changes():
            # What changed is known when it is switched on again, and the change log need not keep it until then.
            with writer.transaction():
                writer.distilled.note_changes()
        if report.state != "interrupted":
            learn_after(learning, opened, request, report)
    learned = learning.report
    report.learned_sessions, report.new_learnings = learned.sessions, learned.new
    report.notes += learned.notes
    if report.state == "interrupted" and not learned.changed:
        return None
    _index_learned(home, opened, report)
    LearnFacet(home).keep_user_file(report.notes)
    return min((at for at in (next_at, learned.next_at) if at is not None), default=None)


def _index_learned(home: OpenHome, opened: Opened, report: SyncReport) -> None:
    """What was just learned is found at once, not only after the next pass."""
    if not opened.reader.entries.changes():
        return
    from recollect.index.text import refresh as entries
    from recollect.index.text.writer import IndexWriterSet

    with (
        report.despite("what was learned could not be indexed: {}; the next sync does it"),
        IndexWriterSet.open(home.folders.index) as index,
    ):
        entries.index_entries(opened.writer, opened.reader, index)


def _retain(home: OpenHome, opened: Opened, report: SyncReport) -> EvictReport | None:
    """Keep the memory within its bounds, when that is due. The report says what went."""
    from recollect.erasure.schedule import is_due, observe

    observe(home.home, now_us=now_us())
    if report.state == "interrupted" or not is_due(home.home, home.config.retention.cadence, now_us=now_us()):
        return None
    from recollect.ingest.retention import retain_after

    return retain_after(home, opened, report)


def _notify(home: OpenHome, evicted: EvictReport | None, report: SyncReport) -> None:
    """Tell whom the configuration names what should not wait. Without the ingest lock: it may take seconds."""
    if evicted is None:
        return
    from recollect.ingest.retention import RetentionFacet

    known = len(evicted.notes)
    RetentionFacet(home).tell(evicted)
    report.notes += evicted.notes[known:]


def _ask_model(home: OpenHome, report: SyncReport) -> None:
    """Ask the model that is configured, for a moment. Where a daemon is at work, it asks."""
    from recollect.ingest.learnings.run import LearnFacet
    from recollect.ingest.sync import interruptible

    learn = LearnFacet(home)
    if report.state != "done" or not learn.asks_model or home.keeper is not None or is_alive(home.home):
        return
    try:
        with interruptible() as stop:
            answered = learn.ask(max_seconds=ASK_FOR_S, should_stop=stop.is_set)
    except RecollectError as error:
        report.notes.append(f"no model was asked: {error}")
        return
    report.new_learnings += answered.report.new
    if answered.failure is not None:
        report.notes.append(f"the model was not asked about everything: {answered.failure}; nothing is lost")
    if answered.report.changed:
        learn.keep_user_file(report.notes)
        _make_ready(home, report)


def _make_ready(home: OpenHome, report: SyncReport) -> None:
    """Have answers for sessions that start, and store how often such were given. Optional, so never an error."""
    from recollect.recall.context.prepare_blocks import DAMAGE

    try:
        home.ready().make()
    except DAMAGE as error:
        report.notes.append(f"the context for the start of a session could not be prepared: {error}")
    if any(Path(firings_folder(str(home.home))).glob("*.json")):
        from recollect.recall.context.facet import ContextFacet

        ContextFacet(home.home, home.env, search=None).take_spooled()


def _make_vocabularies(home: OpenHome, report: SyncReport) -> None:
    """The first infix question after a large sync would otherwise wait for them. Optional, so never an error."""
    if report.bytes <= LARGE_SYNC_BYTES:
        return
    from recollect.index.text.shards import TextIndex

    try:
        TextIndex.open(home.folders.index).build_vocabularies()
    except IndexUnavailable as error:
        report.notes.append(f"words for infix questions could not be listed: {error}")
