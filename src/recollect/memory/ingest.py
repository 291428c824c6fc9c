"""Taking in: how a memory gets what agents wrote. Everything that writes holds the ingest lock."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from recollect.clock import now_us
from recollect.config import Config
from recollect.errors import IndexUnavailable, RecollectError, SchemaTooNew, SourceUnavailable, StoreError, StoreLocked
from recollect.index.text.shards import TextIndex
from recollect.memory.names import hide_secret_names, note_secret_names
from recollect.paths import DATABASE_NAME, HOME_VARIABLE
from recollect.store.home import Home, LazyRedactor, make_home
from recollect.store.reader import Reader
from recollect.units import plural

# A search must start quickly: what only taking in needs is imported there.
if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.capture.scope import Scope
    from recollect.erasure.reports import EvictReport
    from recollect.ingest.imports.options import ImportWish
    from recollect.ingest.rebuild.rebuild import Progress
    from recollect.ingest.report import ProgressCallback, SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.recall.context.ready import ReadyBlocks
    from recollect.store.writer import Writer

REFRESH_EVERY_S = 0.4
"""A process looks for new bytes at most this often when it reads: what was written half a second ago is found, or the
answer says that it is catching up."""
REFRESH_BYTES = 64_000_000
"""A refresh on read takes in at most this much, the newest first; the rest waits for `sync`."""
BESIDE_DAEMON_S = 5.0
"""A command that writes beside a daemon waits so long for it to be done with what it is at."""
ASK_AGAIN_S = 0.02
LARGE_SYNC_BYTES = 64_000_000
"""After a sync of more than this the vocabularies for infix questions are made at once, not at the first of them."""


class TakesIn(ABC):
    """The side of a memory that writes. `Memory` is the other one."""

    def __init__(self, home: Path, config: Config, env: Mapping[str, str]) -> None:
        self.home = home
        self.config = config
        self.env: Mapping[str, str] = {**env, HOME_VARIABLE: str(home)}
        self.config_path: Path | None = None
        """The file that the configuration was looked for in; None where it was handed over."""
        self.last_sync: SyncReport | None = None
        self.stale: tuple[str, ...] = ()
        """What the last refresh could not take in: until it can, no answer claims that something does not exist."""
        """What the last refresh on read of this process found."""
        self.zone: tzinfo = UTC
        """The zone in which dates of questions and of what is noted count."""
        self.keeper: Callable[[], tuple[str, ...]] | None = None
        """In the daemon's own process: how a read waits for what was noticed; None elsewhere."""
        self._folders = Home(home)
        self._lock = threading.RLock()
        self._refreshing = threading.Lock()
        self._looked_at = -REFRESH_EVERY_S
        self._index: TextIndex | None = None

    @abstractmethod
    def reader(self) -> Reader:
        """Return the shared reader of the store."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. Opening again is done by itself."""

    def sync(
        self, *, agents: Sequence[str] = (), force: bool = False, progress: ProgressCallback | None = None
    ) -> SyncReport:
        """Take in everything new or changed. force: derive what is stored anew from the archive first.

        When another process is ingesting, returns at once with state "busy".
        Raises UnknownName for an agent that does not exist, StoreError or ArchiveError when the home
        cannot be written.
        """
        from recollect.ingest.report import SyncReport
        from recollect.ingest.sync import SyncRequest, sync

        request = SyncRequest(self.config, agents=agents, env=self.env, progress=progress, now_us=now_us)
        try:
            recovered = self._recover()
            if force and (self.home / DATABASE_NAME).exists() and not recovered:
                return self.rebuild("all", request=request)
            with self.writing() as (writer, archive, keys):
                report = sync(self._folders, writer, self.reader(), archive, keys, request)
                self._make_vocabularies(report)
                self._distill((writer, archive, keys), request, report)
                evicted = self._retain((writer, archive, keys), report)
            self._make_ready(report)
            self._tell(evicted, report)
            report.notes[:0] = recovered
            return report
        except StoreLocked as error:
            return SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0, state="busy", notes=[str(error)])

    def take_in(
        self, paths: Sequence[Path], *, agents: Sequence[str] = (), wish: ImportWish | None = None,
        is_dry_run: bool = False, progress: ProgressCallback | None = None,
    ) -> SyncReport:  # fmt: skip
        """Take in files and folders that the user names: transcripts in any layout, exports of conversations.

        A zip archive is unpacked for the time. agents: whose the files are, where their content does not tell. Without
        paths: what agents wrote in their own folders. wish: what of all that is wanted. is_dry_run: only say what would
        be done; nothing is written and no lock taken.
        Raises SourceError for a path that is not there or an archive that cannot be unpacked, before anything is taken
        in; UnknownName for a session that is nowhere; else as `sync`.
        """
        from recollect.capture.unpack import is_zip, unpacked
        from recollect.ingest.imports.options import ImportWish
        from recollect.ingest.imports.short_sessions import lift
        from recollect.ingest.preview import look_over_beside
        from recollect.ingest.report import SyncReport
        from recollect.ingest.sources import named_by
        from recollect.ingest.sync import SyncRequest, sync

        for path in paths:
            if not path.exists():
                raise SourceUnavailable(f"{path} is not there")
        wish = (wish or ImportWish())._replace(zone=self.zone)
        archives = [path for path in paths if is_zip(path)]
        plain = [str(path.absolute()) for path in paths if path not in archives]
        request = SyncRequest(self.config, agents=agents, env=self.env, progress=progress, now_us=now_us)
        request.wish = wish
        if is_dry_run:
            return look_over_beside(self._folders, request, plain, archives)
        try:
            recovered = self._recover()
            with (
                self.writing() as (writer, archive, keys),
                unpacked(archives, self._folders.unpacking) as shown_as,
            ):
                request.imports = named_by(plain, shown_as)
                places = [*plain, *(str(path.absolute()) for path in archives)]
                lift(writer, self.reader(), wish, places, least_of=request.least_of)
                report = sync(self._folders, writer, self.reader(), archive, keys, request)
                self._make_vocabularies(report)
                self._distill((writer, archive, keys), request, report)
            self._make_ready(report)
            report.notes[:0] = recovered
            return report
        except StoreLocked as error:
            return SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0, state="busy", notes=[str(error)])

    def take_changes(self, scope: Scope | None, *, should_stop: Callable[[], bool]) -> SyncReport:
        """Take in what changed in a scope, None: anywhere. Nothing is analysed or made ready: `live` does that later.

        should_stop: asked between slices. Raises StoreLocked while another process is ingesting, StoreError,
        ArchiveError.
        """
        from recollect.ingest.sync import SyncRequest, sync

        request = SyncRequest(self.config, env=self.env, now_us=now_us)
        request.scope, request.should_stop = scope, should_stop
        recovered = self._recover()
        with self.writing() as (writer, archive, keys):
            report = sync(self._folders, writer, self.reader(), archive, keys, request)
        report.notes[:0] = recovered
        return report

    def make_ready(self) -> None:
        """Have answers for sessions that start, see `recollect.ready`. Raises StoreError."""
        self._ready().make()

    def refresh(self) -> tuple[str, ...]:
        """Ingest what has changed, at most every REFRESH_EVERY_S; return notes on what could not be done.

        Where a daemon keeps the memory fresh, it is asked to finish what it has noticed instead. Never raises for a
        home that is busy, full or read-only: what is stored is read on.
        """
        told = self.kept_fresh()
        if told is not None:
            self.stale = (*told, *self._index_entries())
            if self._looks_again():  # the daemon may have met new names
                self._looked_at = time.monotonic()
                hide_secret_names(self.home)
            return self.stale
        if not self._refreshing.acquire(blocking=False):
            return ()
        try:
            from recollect.ingest.sync import SyncRequest, sync

            if not self._looks_again():
                return self._index_entries()
            self._looked_at = time.monotonic()  # before it looks: what is written meanwhile may have been passed by
            request = SyncRequest(self.config, env=self.env, max_bytes=REFRESH_BYTES, now_us=now_us)
            try:
                with self.writing(patience_s=0.0) as (writer, archive, keys):
                    report = sync(self._folders, writer, self.reader(), archive, keys, request)
            except StoreLocked:
                return self._stale("catching up: another process is ingesting, this is what is stored so far")
            except SchemaTooNew as error:
                return self._stale(f"read only: {error}; {error.hint}")
            except RecollectError as error:
                return self._stale(f"not refreshed, so what changed since the last sync was not searched: {error}")
            self.last_sync = report
            if self._index is not None and self._index.damaged:  # found by a question since
                report.notes.append(self._mend(self._index.damaged))
            self.stale = tuple(report.notes) if report.state != "done" else ()
            return tuple(report.notes)
        finally:
            self._refreshing.release()

    def _stale(self, note: str) -> tuple[str, ...]:
        self.stale = (note,)
        return self.stale

    def is_refresh_due(self) -> bool:
        """Tell whether `refresh` would do anything now. One look at the database at most."""
        return self._looks_again() or self.is_behind()

    def _looks_again(self) -> bool:
        return time.monotonic() - self._looked_at >= REFRESH_EVERY_S

    def is_behind(self) -> bool:
        """Tell whether something that was learned or noted cannot be searched yet. One look at the database."""
        return (self.home / DATABASE_NAME).exists() and self.reader().entries.has_changes()

    def _index_entries(self) -> tuple[str, ...]:
        """Make searchable what was learned and noted since; return a note where that cannot be done now."""
        try:
            if not self.is_behind():
                return ()
            from recollect.index.text.refresh import index_entries
            from recollect.index.text.writer import IndexWriterSet

            with self.writing() as (writer, _archive, _keys), IndexWriterSet.open(self._folders.index) as index:
                index_entries(writer, self.reader(), index)
        except StoreLocked:
            return ("catching up: what was noted last may be missing",)
        except RecollectError as error:
            return (f"what was noted last is not searchable: {error}",)
        return ()

    def kept_fresh(self) -> tuple[str, ...] | None:
        """Return what a daemon at work says is missing, None where there is none or it does not answer."""
        if self.keeper is not None:
            return self.keeper()
        from recollect.ingest.keeper.client import settled

        return settled(self.home)

    def rebuild(
        self, what: Literal["index", "all"], *, progress: Progress | None = None, request: SyncRequest | None = None,
        authored: Path | None = None,
    ) -> SyncReport:  # fmt: skip
        """Derive the index, or everything, anew; then take in what is new. Raises StoreLocked.

        authored: see `ingest.rebuild.rebuild.rebuild_all`.
        """
        from recollect.archive.keys import load_keys
        from recollect.ingest.rebuild.rebuild import rebuild_all, rebuild_index_of
        from recollect.ingest.sync import SyncRequest, sync

        request = request or SyncRequest(self.config, env=self.env, now_us=now_us)
        lost: list[str] = []
        notes: list[str] = []
        is_all = {"index": False, "all": True}[what]
        if is_all:
            keys = load_keys(self._folders.keys)
            self._look_at_everything(request)
            self.close()
            lost, notes = rebuild_all(
                self._folders, keys, self.config, now_us=now_us, progress=progress, authored=authored
            )
            self.close()
        with self.writing() as (writer, archive, keys):
            if not is_all:
                rebuild_index_of(self._folders, writer, self.reader())
            report = sync(self._folders, writer, self.reader(), archive, keys, request)
            self._make_vocabularies(report)
            self._distill((writer, archive, keys), request, report)
        self._make_ready(report)
        report.notes += [*lost, *notes]
        if lost:
            report.state = "degraded"
        return report

    def _look_at_everything(self, request: SyncRequest) -> None:
        """Before a rebuild: bring journal and database in step, and find out which chunks do not open.

        A database that cannot be read is why people rebuild.
        """
        from recollect.erasure.forget import Opened
        from recollect.ingest.damage import check
        from recollect.ingest.repair.reconciliation import bring_in_step

        try:
            with self.writing() as (writer, archive, keys):
                opened = Opened(self._folders, writer, self.reader(), archive, keys)
                bring_in_step(opened, request.config.privacy, at=now_us())
                check(archive, writer.removing.holes.places())
        except (StoreLocked, SchemaTooNew):
            raise
        except StoreError:
            return

    def _recover(self) -> list[str]:
        """Where the database is gone, and the archive is not: derive it from the archive. Return what is to be said.

        Kept in the audit too, because a daemon's or a hook's sync says it to nobody. Raises StoreLocked, StoreError,
        ArchiveError.
        """
        from recollect.store.connection import is_lost

        if not is_lost(self.home):
            return []
        from recollect.archive.keys import load_keys
        from recollect.ingest.rebuild.rebuild import finish_swap, rebuild_all
        from recollect.maintenance.backup.staging import finish_restore
        from recollect.store.audit import add_audit
        from recollect.store.connection import lost as error_of

        finish_restore(self.home)
        finish_swap(self._folders)
        if not is_lost(self.home):
            return []
        error = error_of(self.home)
        keys = load_keys(self._folders.keys)
        self.close()
        rebuilt = rebuild_all(self._folders, keys, self.config, now_us=now_us)
        self.close()
        count = self.reader().stats()
        sessions = sum(agent.sessions for agent in count.agents)
        add_audit(self.home, "recover", {"sessions": sessions}, at=now_us())
        return [
            f"{error}. It was rebuilt from the archive: {plural(sessions, 'session is', 'sessions are')} back. Notes, "
            "facts, diaries, pins and decisions that you added were in the database alone: "
            "`recollect repair --from BACKUP` brings them back",
            *rebuilt.lost,
        ]

    @contextmanager
    def writing(self, *, patience_s: float = BESIDE_DAEMON_S) -> Iterator[tuple[Writer, Archive, HomeKeys]]:
        """Hold the ingest lock with everything that writing needs open. Raises StoreLocked, StoreError.

        patience_s: how long to wait for a daemon, which holds the lock for moments only; nobody else is waited for.
        """
        from recollect.archive.archive import Archive
        from recollect.archive.keys import load_keys, load_or_create_keys
        from recollect.erasure.cuts import settle
        from recollect.ingest.rebuild.rebuild import finish_swap
        from recollect.maintenance.backup.staging import finish_restore
        from recollect.store.connection import has_archive

        make_home(self.home)
        finish_restore(self.home)
        finish_swap(self._folders)
        writer = self._open_writer(patience_s)
        try:
            keys = (load_keys if has_archive(self.home) else load_or_create_keys)(self._folders.keys)
            archive = Archive.open(self._folders.archive, keys)
            try:
                settle(archive, writer)
                yield writer, archive, keys
                self._settle(writer)
                self._hide_names()
            finally:
                archive.close()
        finally:
            writer.close()

    def _open_writer(self, patience_s: float) -> Writer:
        from recollect.store.writer import open_writer

        ends = time.monotonic() + patience_s
        while True:
            try:
                return open_writer(self.home, domains=self.config.repos.domains)
            except StoreLocked:
                from recollect.ingest.keeper.instance import is_alive

                if self.keeper is not None or time.monotonic() >= ends or not is_alive(self.home):
                    raise
                time.sleep(ASK_AGAIN_S)

    def _mend(self, damaged: Sequence[str]) -> str:
        """Make shards anew that cannot be read; return a note on how that went. Never raises for a home in use."""
        from recollect.index.text.engine import set_aside
        from recollect.index.text.refresh import mend_index
        from recollect.index.text.writer import IndexWriterSet

        try:
            with self.writing() as (writer, _archive, _keys):
                with self._lock:
                    self._index = None
                for name in damaged:
                    if (self._folders.index / name).exists():
                        set_aside(self._folders.index / name)
                with IndexWriterSet.open(self._folders.index) as index:
                    count = mend_index(writer, self.reader(), index)
        except RecollectError as error:
            return f"the search index could not be mended: {error}"
        return f"a damaged part of the search index was made anew: {plural(count, 'event')}"

    def _hide_names(self) -> None:
        """Have secrets in new ids and paths shown as markers, here and by whoever opens the memory later."""
        redactor = LazyRedactor(self._folders.keys, self.config.privacy)
        note_secret_names(self.home, redactor, self.config.privacy)
        hide_secret_names(self.home)

    def _settle(self, writer: Writer) -> None:
        """What was ready and still holds is ready again. Where that fails nothing is: `_make_ready` then says why."""
        with suppress(OSError, ValueError, RecollectError, msgspec.MsgspecError):
            self._ready().settle(writer.withdrawn, writer.touched)

    def _make_ready(self, report: SyncReport) -> None:
        """Have answers for sessions that start, and take in how often such were given. Optional, so never an error."""
        from recollect.memory.context import DAMAGE, ContextFacet

        try:
            self._ready().make()
        except DAMAGE as error:
            report.notes.append(f"the context for a session's start could not be made ready: {error}")
        ContextFacet(self.home, self.env, search=None).take_spooled()

    def _ready(self) -> ReadyBlocks:
        from recollect.recall.context.ready import ReadyBlocks

        return ReadyBlocks(self.home, self.config.context, self.env)

    @abstractmethod
    def _distill(self, opened: tuple[Writer, Archive, HomeKeys], request: SyncRequest, report: SyncReport) -> None:
        """Analyse the sessions that have ended. What was taken in stays whatever comes of it; the report says so."""

    @abstractmethod
    def _retain(self, opened: tuple[Writer, Archive, HomeKeys], report: SyncReport) -> EvictReport | None:
        """Keep the memory within its bounds, when that is due. The report says what went."""

    @abstractmethod
    def _tell(self, evicted: EvictReport | None, report: SyncReport) -> None:
        """Tell whom the configuration names what should not wait. Without the ingest lock: it may take seconds."""

    def _make_vocabularies(self, report: SyncReport) -> None:
        """The first infix question after a large sync would otherwise wait for them. Optional, so never an error."""
        if report.bytes <= LARGE_SYNC_BYTES:
            return
        try:
            TextIndex.open(self._folders.index).build_vocabularies()
        except IndexUnavailable as error:
            report.notes.append(f"words for infix questions could not be listed: {error}")
