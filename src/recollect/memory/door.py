"""`class Memory`: open a home, keep it fresh, ask it. Synchronous and safe from many threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import msgspec

from recollect.config import Config, load_config
from recollect.errors import IndexUnavailable, RecollectError, SourceUnavailable, StoreLocked, UnknownName
from recollect.index.text_index import TextIndex
from recollect.memory.lazily import LazyArchive, LazyRedactor
from recollect.paths import HOME_VARIABLE, config_file, home_dir
from recollect.pipeline.home import Home
from recollect.recall.answers import AgentStats, SearchAnswer, SessionPage, Stats, StorageStats, Timeline, TimelineEntry
from recollect.recall.search import Searcher
from recollect.store.ports import EventFilter, Reader
from recollect.store.sqlite import SqliteWriter, open_reader, open_writer

# A search must start quickly: what only taking in, upkeep and reading from the archive need is imported there.
if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.memory.agents import AgentsFacet
    from recollect.memory.spool import SpoolFacet
    from recollect.memory.upkeep import Progress, UpkeepFacet
    from recollect.memory.usage import UsageFacet
    from recollect.model.events import Event
    from recollect.model.sessions import Session
    from recollect.pipeline.report import ProgressCallback, SyncReport
    from recollect.pipeline.sync import SyncRequest

REFRESH_EVERY_S = 2.0
"""A process looks for new bytes at most this often when it reads (design, section 11)."""
REFRESH_BYTES = 64_000_000
"""A refresh on read takes in at most this much, the newest first; the rest waits for `sync`."""
LARGE_SYNC_BYTES = 64_000_000
"""After a sync of more than this the vocabularies for infix questions are made at once, not at the first of them."""


class Memory:
    """The memory of one home. Use `Memory.open`; close it, or use it as a context manager."""

    def __init__(self, home: Path, config: Config, env: Mapping[str, str]) -> None:
        self.home = home
        self.config = config
        self.env: Mapping[str, str] = {**env, HOME_VARIABLE: str(home)}
        self.notes: list[str] = []
        self._folders = Home(home)
        self._lock = threading.RLock()
        self._refreshing = threading.Lock()
        self._refreshed_at = -REFRESH_EVERY_S
        self._reader: Reader | None = None
        self._reader_archive: LazyArchive | None = None
        self._index: TextIndex | None = None
        self._spool: SpoolFacet | None = None

    @classmethod
    def open(
        cls, home: str | Path | None = None, *, config: Config | None = None, env: Mapping[str, str] | None = None
    ) -> Memory:
        """Open the memory of a home folder; without one, that of `RECOLLECT_HOME` or the platform's default.

        Nothing is read or written before it is needed. env stands for the process environment (agents'
        own variables, the user's home). Raises ConfigError for a configuration that cannot be used.
        """
        values = os.environ if env is None else env
        folder = home_dir(values) if home is None else Path(home)
        if config is None:
            own = folder / "config.toml"
            config = load_config(own if home is not None and own.exists() else config_file(values))
        formats = config.formats()
        if formats:
            from recollect.agents.registry import define

            define(formats)
        return cls(folder.absolute(), config, values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close files and connections. Opening again is done by itself."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
            if self._reader_archive is not None:
                self._reader_archive.close()
            self._reader = self._reader_archive = self._index = None

    # Taking in

    def sync(
        self, *, agents: Sequence[str] = (), force: bool = False, progress: ProgressCallback | None = None
    ) -> SyncReport:
        """Take in everything new or changed. force: derive what is stored anew from the archive first.

        When another process is ingesting, returns at once with state "busy".
        Raises UnknownName for an agent that does not exist, StoreError or ArchiveError when the home
        cannot be written.
        """
        from recollect.pipeline.report import SyncReport
        from recollect.pipeline.sync import SyncRequest, sync

        request = SyncRequest(self.config, agents=agents, env=self.env, progress=progress, now_us=_now_us)
        try:
            if force and (self.home / "memory.db").exists():
                return self.rebuild("all", request=request)
            with self._writing() as (writer, archive, keys):
                report = sync(self._folders, writer, self.reader(), archive, keys, request)
                self._make_vocabularies(report)
                return report
        except StoreLocked as error:
            return SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0, state="busy", notes=[str(error)])

    def take_in(
        self, paths: Sequence[Path], *, agents: Sequence[str] = (), progress: ProgressCallback | None = None
    ) -> SyncReport:
        """Take in files and folders that the user names: transcripts in any layout, exports of conversations.

        A zip archive is unpacked for the time. agents: whose the files are, where their content does not tell.
        Raises SourceError for a path that is not there or an archive that cannot be unpacked, before anything is taken
        in; else as `sync`.
        """
        from recollect.capture.unpack import is_zip, unpacked
        from recollect.pipeline.find import Named
        from recollect.pipeline.report import SyncReport
        from recollect.pipeline.sync import SyncRequest, sync

        for path in paths:
            if not path.exists():
                raise SourceUnavailable(f"{path} is not there")
        try:
            archives = [path for path in paths if is_zip(path)]
            plain = [str(path.absolute()) for path in paths if path not in archives]
            request = SyncRequest(self.config, agents=agents, env=self.env, progress=progress, now_us=_now_us)
            with (
                self._writing() as (writer, archive, keys),
                unpacked(archives, self._folders.unpacking) as shown_as,
            ):
                request.imports = Named((*plain, *shown_as), is_all=True, shown_as=shown_as)
                report = sync(self._folders, writer, self.reader(), archive, keys, request)
                self._make_vocabularies(report)
                return report
        except StoreLocked as error:
            return SyncReport(agents={}, seconds=0.0, bytes=0, stored_bytes=0, state="busy", notes=[str(error)])

    def refresh(self) -> tuple[str, ...]:
        """Take in what has changed, at most every 2 seconds; return notes on what could not be done.

        Never raises for a home that is busy, full or read-only: what is stored is read on.
        """
        if not self._refreshing.acquire(blocking=False):
            return ()
        try:
            from recollect.pipeline.sync import SyncRequest, sync

            now = time.monotonic()
            if now - self._refreshed_at < REFRESH_EVERY_S:
                return ()
            request = SyncRequest(self.config, env=self.env, max_bytes=REFRESH_BYTES, now_us=_now_us)
            try:
                with self._writing() as (writer, archive, keys):
                    report = sync(self._folders, writer, self.reader(), archive, keys, request)
            except StoreLocked:
                return ("catching up: another process is ingesting, this is what is stored so far",)
            except RecollectError as error:
                return (f"not refreshed: {error}",)
            finally:
                self._refreshed_at = time.monotonic()
            return tuple(report.notes)
        finally:
            self._refreshing.release()

    def rebuild(
        self, what: Literal["index", "all"], *, progress: Progress | None = None, request: SyncRequest | None = None
    ) -> SyncReport:
        """Derive the index, or everything, anew; then take in what is new. Raises StoreLocked."""
        from recollect.archive.keys import load_keys
        from recollect.pipeline.rebuild import rebuild_all, rebuild_index_of
        from recollect.pipeline.sync import SyncRequest, sync

        request = request or SyncRequest(self.config, env=self.env, now_us=_now_us)
        if what == "all":
            keys = load_keys(self._folders.keys)
            self.close()
            rebuild_all(self._folders, keys, self.config, now_us=_now_us, progress=progress)
            self.close()
        with self._writing() as (writer, archive, keys):
            if what == "index":
                rebuild_index_of(self._folders, writer, self.reader())
            report = sync(self._folders, writer, self.reader(), archive, keys, request)
            self._make_vocabularies(report)
            return report

    @contextmanager
    def _writing(self) -> Iterator[tuple[SqliteWriter, Archive, HomeKeys]]:
        """Hold the ingest lock with everything that writing needs open."""
        from recollect.archive.archive import Archive
        from recollect.archive.keys import load_keys, load_or_create_keys
        from recollect.pipeline.rebuild import finish_swap

        make_home(self.home)
        finish_swap(self._folders)
        writer = open_writer(self.home, domains=self.config.repos.domains)
        try:
            has_archive = (self._folders.archive / "journal.log").exists()
            keys = load_keys(self._folders.keys) if has_archive else load_or_create_keys(self._folders.keys)
            archive = Archive.open(self._folders.archive, keys)
            try:
                yield writer, archive, keys
            finally:
                archive.close()
        finally:
            writer.close()

    # Asking

    def search(self, query: str, *, limit: int | None = None, sync: bool = True) -> SearchAnswer:
        """Answer a query (see docs/query-language.md). Any text is a valid query.

        sync: take in what has changed first. An index that cannot be read gives an answer without hits whose
        notes say so.
        """
        notes = self.refresh() if sync else ()
        wanted = limit if limit is not None else self.config.search.limit
        answer = self._ask(query, wanted)
        if sync and self._index is not None and self._index.damaged:
            notes = (*notes, self._mend(self._index.damaged))
            answer = self._ask(query, wanted)
        return msgspec.structs.replace(answer, notes=(*answer.notes, *notes)) if notes else answer

    def sessions(
        self, *, where: EventFilter | None = None, after: int | None = None, before: int | None = None,
        limit: int = 20, offset: int = 0, sync: bool = True,
    ) -> SessionPage:  # fmt: skip
        """Return sessions, newest first. after/before: UTC microseconds, [after, before)."""
        notes = self.refresh() if sync else ()
        page, total = self.reader().sessions(
            where or EventFilter(), after=after, before=before, limit=limit, offset=offset
        )
        return SessionPage(page, total, notes)

    def session(self, uid: str) -> Session:
        """Return a session by uid, by a unique prefix of it, or by a citation `uid#seq`. Raises UnknownName."""
        wanted = uid.partition("#")[0]
        found = self.reader().session(wanted)
        if found is None:
            near = self.reader().nearest_sessions(wanted)
            raise UnknownName("session", wanted, nearest=near, hint="`recollect sessions` lists them")
        return found

    def events(self, uid: str, *, first_seq: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield a session's events in order of seq, with whole, redacted payloads. Raises UnknownName."""
        return self.reader().events(self.session(uid).session_uid, first_seq=first_seq, limit=limit)

    def timeline(
        self, *, session: str | None = None, repo: str | None = None, after: int | None = None,
        before: int | None = None, limit: int = 100, sync: bool = True,
    ) -> Timeline:  # fmt: skip
        """Return what happened: in one session in order of seq, else over sessions in order of time."""
        notes = self.refresh() if sync else ()
        where = EventFilter(
            sessions=(self.session(session).session_uid,) if session else (), repos=(repo,) if repo else ()
        )
        rows, total = self.reader().timeline(where, after=after, before=before, limit=limit)
        entries = tuple(
            TimelineEntry(r.ts, r.session_uid, r.seq, r.agent, r.kind, r.role, r.turn_index, r.summary, r.repo)
            for r in rows
        )
        return Timeline(entries, total, notes)

    def stats(self) -> Stats:
        """Return what is in the memory and what it takes on disk."""
        s = self.reader().stats()
        agents = tuple(
            AgentStats(a.agent, a.sessions, a.subagent_sessions, a.events, a.sources, a.source_bytes) for a in s.agents
        )
        return Stats(
            home=str(self.home),
            agents=agents,
            sessions=sum(a.sessions for a in agents),
            events=sum(a.events for a in agents),
            kind_counts=s.kind_counts,
            source_bytes=sum(a.source_bytes for a in agents),
            storage=StorageStats(s.database_bytes, self._folders.archive_bytes(), self._folders.index_bytes()),
            defects=s.defects,
            redactions=s.redactions,
            first_event=s.first_event,
            last_event=s.last_event,
        )

    def parse(self, path: Path, *, agent: str | None = None) -> Iterator[Event]:
        """Yield the redacted events of one file; nothing is stored."""
        from recollect.pipeline.parse import parse_file

        return parse_file(path, agent=agent, formats=self.config.formats())

    @property
    def usage(self) -> UsageFacet:
        """Tokens and cost."""
        from recollect.memory.usage import UsageFacet

        return UsageFacet(self.reader)

    @property
    def agents(self) -> AgentsFacet:
        """The agents this version knows."""
        from recollect.memory.agents import AgentsFacet

        return AgentsFacet(self.reader, self.config, self.env)

    @property
    def spool(self) -> SpoolFacet:
        """What agents send, kept until the next sync takes it in. One object a process: it keeps writers apart."""
        from recollect.memory.spool import SpoolFacet

        with self._lock:
            if self._spool is None:
                make_home(self.home)
                self._spool = SpoolFacet(self._folders.spool, _now_us)
            return self._spool

    @property
    def upkeep(self) -> UpkeepFacet:
        """Verify, doctor, export, rebuild."""
        from recollect.memory.upkeep import UpkeepFacet

        return UpkeepFacet(self)

    # Inside

    def reader(self) -> Reader:
        """Return the shared reader of the store; an empty memory is made where there is none."""
        with self._lock:
            if self._reader is None:
                if not (self.home / "memory.db").exists():
                    make_home(self.home)
                    open_writer(self.home).close()
                self._reader_archive = LazyArchive(self._folders)
                redactor = LazyRedactor(self._folders.keys)
                self._reader = open_reader(self.home, self._reader_archive, redactor)
            return self._reader

    @contextmanager
    def archive(self) -> Iterator[Archive]:
        """Open the archive for reading. Raises KeyUnavailable when its key is gone."""
        from recollect.archive.archive import Archive
        from recollect.archive.keys import load_keys

        archive = Archive.open(self._folders.archive, load_keys(self._folders.keys), read_only=True)
        try:
            yield archive
        finally:
            archive.close()

    def _ask(self, query: str, limit: int) -> SearchAnswer:
        try:
            return self._searcher().search(query, limit=limit, now_us=_now_us())
        except IndexUnavailable as error:
            note = f"the search index cannot be read ({error}); run `recollect rebuild index`"
            return SearchAnswer(query, (), 0, "none", 0, (note,), False, 0.0)

    def _mend(self, damaged: Sequence[str]) -> str:
        """Make shards anew that cannot be read; return a note on how that went. Never raises for a home in use."""
        from recollect.index.engine import set_aside
        from recollect.index.writer import IndexWriterSet
        from recollect.pipeline.mend import mend_index

        try:
            with self._writing() as (writer, _archive, _keys):
                with self._lock:
                    self._index = None
                for name in damaged:
                    if (self._folders.index / name).exists():
                        set_aside(self._folders.index / name)
                with IndexWriterSet.open(self._folders.index) as index:
                    count = mend_index(writer, self.reader(), index)
        except RecollectError as error:
            return f"the search index could not be mended: {error}"
        return f"a damaged part of the search index was made anew: {count:,} events"

    def _make_vocabularies(self, report: SyncReport) -> None:
        """The first infix question after a large sync would otherwise wait for them. Optional, so never an error."""
        if report.bytes <= LARGE_SYNC_BYTES:
            return
        try:
            TextIndex.open(self._folders.index).build_vocabularies()
        except IndexUnavailable as error:
            report.notes.append(f"words for infix questions could not be listed: {error}")

    def _searcher(self) -> Searcher:
        with self._lock:
            if self._index is None:
                self._index = TextIndex.open(self._folders.index)
            return Searcher(self._index, self.reader())


def make_home(folder: Path) -> None:
    """Make a home folder, private to its owner. Raises StoreError when that cannot be done."""
    from recollect.errors import StoreError

    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"cannot make the memory's folder {folder}: {error.strerror}", hint="set RECOLLECT_HOME to another place"
        ) from error


def _now_us() -> int:
    return time.time_ns() // 1000
