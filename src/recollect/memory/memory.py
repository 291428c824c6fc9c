"""`class Memory`: open a home, keep it fresh, ask it. Synchronous and safe from many threads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, tzinfo
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from recollect.agent_names import OWN
from recollect.clock import now_us
from recollect.config import Config, load_config
from recollect.errors import ConfigError, IndexUnavailable, StoreLocked, UnknownName
from recollect.index.text.shards import TextIndex
from recollect.memory.holdings import HoldsLearned
from recollect.memory.names import hide_secret_names
from recollect.paths import (
    DATABASE_NAME,
    HOME_VARIABLE,
    RESTORE_FOLDER,
    RESTORE_READY,
    STORE_VARIABLE,
    config_file,
    home_dir,
    home_of_store,
)
from recollect.recall.answers import SearchAnswer, SessionPage, Stats, StorageStats, Timeline
from recollect.recall.coverage import partly, unsearched
from recollect.recall.meaning import VectorSearch
from recollect.recall.search import Searcher
from recollect.store.home import LazyArchive, LazyRedactor, make_home
from recollect.store.reader import Reader, open_reader
from recollect.store.rows import EventFilter
from recollect.visible import as_stored

# A search must start quickly: what only taking in, upkeep and reading from the archive need is imported there.
if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.erasure.reports import EvictReport
    from recollect.index.vectors.vector_index import EntryVectorIndex, VectorIndex
    from recollect.ingest.report import SyncReport
    from recollect.memory.embedding import EmbeddingFacet
    from recollect.memory.known_names import KnownNames
    from recollect.memory.live import LiveFacet
    from recollect.memory.maintenance.facet import UpkeepFacet
    from recollect.memory.recall import RecallFacet
    from recollect.memory.setup import SetupFacet
    from recollect.memory.spool import SpoolFacet
    from recollect.memory.usage import UsageFacet
    from recollect.model.events import Event
    from recollect.model.sessions import Session
    from recollect.recall.context.builder import ContextBlock
    from recollect.recall.context.sources import ContextEvent
    from recollect.store.feed import TextFeed
    from recollect.store.writer import Writer


class Memory(HoldsLearned):
    """The memory of one home. Use `Memory.open`; close it, or use it as a context manager."""

    def __init__(self, home: Path, config: Config, env: Mapping[str, str]) -> None:
        super().__init__(home, config, env)
        self._reader: Reader | None = None
        self._reader_archive: LazyArchive | None = None
        self._spool: SpoolFacet | None = None
        self._embedding: EmbeddingFacet | None = None

    @classmethod
    def open(
        cls,
        home: str | Path | None = None,
        *,
        config: Config | None = None,
        env: Mapping[str, str] | None = None,
        zone: tzinfo = UTC,
    ) -> Memory:
        """Open the memory of a home folder; without one, that of `RECOLLECT_HOME` or the platform's default.

        Nothing is read or written before it is needed. env stands for the process environment (agents' own variables,
        the user's home). zone: in which days of queries and notes begin and end. Raises ConfigError for a configuration
        that cannot be used.
        """
        values = os.environ if env is None else env
        if home is None:
            _check_store(values)
        folder = home_dir(values) if home is None else Path(home)
        read_from = None
        if config is None:
            own = folder / "config.toml"
            is_named = home is not None or folder == Path(home_of_store(values) or os.devnull)
            read_from = own if is_named and own.exists() else config_file(values)
            config = load_config(read_from)
        if not config.agents.keys() <= OWN.keys() or config.formats():
            from recollect.agents.registry import define, with_slugs

            define(config.formats())
            config = with_slugs(config)
        memory = cls(folder.absolute(), config, values)
        memory.config_path = read_from
        memory.zone = zone
        return memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close files and connections. Opening again is done by itself."""
        with self._lock:
            if self._embedding is not None:
                self._embedding.close()
            self._close_distilled()
            if self._reader is not None:
                self._reader.close()
            if self._reader_archive is not None:
                self._reader_archive.close()
            self._reader = self._reader_archive = self._index = None

    # Asking

    def search(
        self, query: str, *, limit: int | None = None, sync: bool = True, folders: Sequence[str] | None = None
    ) -> SearchAnswer:
        """Answer a query (see docs/query-language.md). Any text is a valid query.

        sync: take in what has changed first. folders: where who asks works, by default where this process does: its
        repository may be new. An index that cannot be read gives an answer without hits whose notes say so, and so do
        those of an answer to a query that names an agent, a repository or the like that nobody knows.
        """
        notes = self.refresh() if sync else ()
        wanted = limit if limit is not None else self.config.search.limit
        answer = self._ask(query, wanted, folders)
        if sync and self._index is not None and self._index.damaged:
            notes = (*notes, self._mend(self._index.damaged))
            answer = self._ask(query, wanted, folders)
        answer = partly(answer, self.stale)
        return msgspec.structs.replace(answer, notes=tuple(dict.fromkeys((*answer.notes, *notes))))

    def sessions(
        self, *, where: EventFilter | None = None, after: int | None = None, before: int | None = None,
        limit: int = 20, offset: int = 0, sync: bool = True, folders: Sequence[str] | None = None,
    ) -> SessionPage:  # fmt: skip
        """Return sessions, newest first. after/before: UTC microseconds, [after, before). folders: as in `search`.

        Raises UnknownName for any name in the filter.
        """
        notes = self.refresh() if sync else ()
        known = self.known_names(folders).filter(where or EventFilter())
        page, total = self.reader().sessions(known, after=after, before=before, limit=limit, offset=offset)
        return SessionPage(page, total, notes)

    def session(self, uid: str) -> Session:
        """Return a session by uid, by a unique prefix of it, or by a citation `uid#seq`. Raises UnknownName."""
        reader = self.reader()
        wanted = as_stored(uid.partition("#")[0])
        found = reader.session(wanted)
        if found is None:
            near = self.reader().nearest_sessions(wanted)
            raise UnknownName("session", wanted, nearest=near, hint="`recollect sessions` lists them")
        return found

    def events(self, uid: str, *, first_seq: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield a session's events in order of seq, with whole, redacted payloads. Raises UnknownName."""
        return self.reader().events(self.session(uid).session_uid, first_seq=first_seq, limit=limit)

    def timeline(
        self, *, session: str | None = None, agents: Sequence[str] = (), repo: str | None = None,
        after: int | None = None, before: int | None = None, limit: int = 100, sync: bool = True,
    ) -> Timeline:  # fmt: skip
        """Return what happened: in one session in order of seq, else over sessions in order of time.

        Raises UnknownName for a session, an agent or a repository.
        """
        notes = self.refresh() if sync else ()
        where = EventFilter(
            agents=tuple(agents),
            sessions=(self.session(session).session_uid,) if session else (),
            repos=(repo,) if repo else (),
        )
        known = self.known_names().filter(where)
        entries, total = self.reader().timeline(known, after=after, before=before, limit=limit)
        return Timeline(entries, total, notes)

    def stats(self) -> Stats:
        """Return what is in the memory and what it takes on disk."""
        s = self.reader().stats()
        return Stats(
            home=str(self.home),
            agents=s.agents,
            sessions=sum(a.sessions for a in s.agents),
            events=sum(a.events for a in s.agents),
            kind_counts=s.kind_counts,
            source_bytes=sum(a.source_bytes for a in s.agents),
            storage=StorageStats(s.database_bytes, self._folders.archive_bytes(), self._folders.index_bytes()),
            defects=s.defects,
            redactions=s.redactions,
            first_event=s.first_event,
            last_event=s.last_event,
            vectors=self.embedding.stats(),
            entries=self.reader().entries.counts(),
        )

    def parse(self, path: Path, *, agent: str | None = None) -> Iterator[Event]:
        """Yield the redacted events of one file; nothing is stored."""
        from recollect.ingest.parse import parse_file

        return parse_file(path, agent=agent, formats=self.config.formats(), privacy=self.config.privacy)

    def context(
        self, *, cwd: str = "", event: ContextEvent = "start", session: str = "", prompt: str = "",
        budget: int | None = None, sync: bool = False,
    ) -> ContextBlock:  # fmt: skip
        """Return what an agent is given at a session's start, after a compaction or before a prompt.

        cwd: where the agent works. session: the uid of the present session. prompt: what was said, for that event,
        which is answered only where the configuration turns it on. budget: LLM tokens, by default the configuration's.
        sync: take in what has changed first. Never fails for what is stored: the block is then empty and has a note.
        """
        from recollect.memory.context import ContextFacet

        if sync:
            self.refresh()
        limit = self.config.context.budget_tokens if budget is None else budget
        return ContextFacet.of(self).block(cwd=cwd, event=event, session=session, prompt=prompt, budget=limit)

    @property
    def usage(self) -> UsageFacet:
        """Tokens and cost."""
        from recollect.memory.usage import UsageFacet

        return UsageFacet(self.reader, lambda where: self.known_names().filter(where))

    @property
    def embedding(self) -> EmbeddingFacet:
        """Vectors of what is stored: make them, ask how much is covered. One object a memory."""
        from recollect.memory.embedding import EmbeddingFacet

        with self._lock:
            if self._embedding is None:
                self._embedding = EmbeddingFacet(self._folders, self.config, self.env, open_feed=self._open_feed)
            return self._embedding

    @property
    def spool(self) -> SpoolFacet:
        """What agents send, kept until the next sync takes it in. One object a process: it keeps writers apart."""
        from recollect.memory.spool import SpoolFacet

        with self._lock:
            if self._spool is None:
                make_home(self.home)
                self._spool = SpoolFacet(self._folders.spool, now_us)
            return self._spool

    @property
    def recall(self) -> RecallFacet:
        """What an agent's questions need besides a search."""
        from recollect.memory.recall import RecallFacet

        return RecallFacet(self, now_us())

    @property
    def setup(self) -> SetupFacet:
        """Set agents up to use this memory, and take that out again."""
        from recollect.memory.setup import SetupFacet

        return SetupFacet(
            self.home, self.env, self.config, config_path=self.config_path, make_home=partial(make_home, self.home)
        )

    @property
    def live(self) -> LiveFacet:
        """Keep this memory fresh as its daemon, or ask the one that does."""
        from recollect.memory.live import LiveFacet

        return LiveFacet(self, now_us=now_us)

    @property
    def upkeep(self) -> UpkeepFacet:
        """Verify, doctor, export, rebuild."""
        from recollect.memory.maintenance.facet import UpkeepFacet

        return UpkeepFacet(self)

    # Inside

    def reader(self) -> Reader:
        """Return the shared reader of the store; an empty memory is made where there is none."""
        with self._lock:
            if self._reader is None:
                self._finish_restore()
                if not (self.home / DATABASE_NAME).exists():
                    from recollect.store.writer import open_writer

                    make_home(self.home)
                    open_writer(self.home).close()
                self._reader_archive = LazyArchive(self._folders)
                redactor = LazyRedactor(self._folders.keys, self.config.privacy)
                self._reader = open_reader(self.home, self._reader_archive, redactor)
                hide_secret_names(self.home)
            return self._reader

    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames:
        """Return what says which agents, repositories and the like there are. folders: as in `search`."""
        from recollect.memory.known_names import KnownNames

        def here() -> Iterator[str]:
            with suppress(OSError):  # the folder of this process was removed
                for folder in (os.getcwd(),) if folders is None else folders:
                    yield from self.recall.repositories(folder)

        return KnownNames(self.reader, self._slug, here)

    def _slug(self, agent: str) -> str:
        return self.agents.slug(agent)  # made here: who names no agent loads no list of them

    def _finish_restore(self) -> None:
        """Finish a restore that was killed while it swapped folders: until then, key and archive need not fit."""
        if not (self.home / RESTORE_FOLDER / RESTORE_READY).exists():
            return
        from recollect.maintenance.backup.staging import finish_restore

        with suppress(StoreLocked, OSError):  # another process is at it, or the home is read-only
            finish_restore(self.home)

    def _retain(self, opened: tuple[Writer, Archive, HomeKeys], report: SyncReport) -> EvictReport | None:
        from recollect.erasure.schedule import is_due, observe

        observe(self.home, now_us=now_us())
        if report.state == "interrupted" or not is_due(self.home, self.config.retention.cadence, now_us=now_us()):
            return None
        from recollect.memory.maintenance.retention import retain_after

        return retain_after(self, opened, report)

    def _tell(self, evicted: EvictReport | None, report: SyncReport) -> None:
        if evicted is None:
            return
        from recollect.memory.maintenance.retention import RetentionFacet

        known = len(evicted.notes)
        RetentionFacet(self).tell(evicted)
        report.notes += evicted.notes[known:]

    def _open_feed(self) -> TextFeed:
        from recollect.store.feed import TextFeed

        self.reader()
        return TextFeed(self.home, self._reader_archive, LazyRedactor(self._folders.keys, self.config.privacy))

    @contextmanager
    def archive(self) -> Iterator[Archive]:
        """Open the archive for reading. Raises KeyUnavailable when its key is gone."""
        from recollect.archive.archive import Archive
        from recollect.archive.keys import load_keys

        self._finish_restore()
        archive = Archive.open(self._folders.archive, load_keys(self._folders.keys), read_only=True)
        try:
            yield archive
        finally:
            archive.close()

    def _ask(self, query: str, limit: int, folders: Sequence[str] | None) -> SearchAnswer:
        known = cache(partial(self.known_names, folders))  # made where a query has a name in it

        def name_of(field: str, name: str) -> str:
            return known()(field, name)

        try:
            return self._searcher().search(query, limit=limit, now_us=now_us(), zone=self.zone, names=name_of)
        except IndexUnavailable as error:
            note = f"the search index cannot be read, so nothing was searched ({error}); run `recollect doctor --fix`"
            return SearchAnswer(query, (), 0, "none", 0, (note,), False, 0.0)

    def _searcher(self) -> Searcher:
        with self._lock:
            if self._index is None:
                self._index = TextIndex.open(self._folders.index)
            reader = self.reader()
            return Searcher(
                self._index,
                reader,
                meaning=VectorSearch(self._vectors, self._entry_vectors),
                contextual=self.embedding.contextual(),
                glossary=reader.entries.glossary,
                unsearched=partial(unsearched, reader),
            )

    def _vectors(self) -> VectorIndex | None:
        return self.embedding.index()

    def _entry_vectors(self) -> EntryVectorIndex | None:
        return self.embedding.entries()


def _check_store(env: Mapping[str, str]) -> None:
    """Refuse a `HELIX_STORE_DB` that names no memory: an empty one would be asked instead, and find nothing."""
    named = env.get(STORE_VARIABLE, "")
    if not named or env.get(HOME_VARIABLE):
        return
    from recollect.store.home import Home

    store = Home(Path(home_of_store(env) or os.devnull))
    if not (store.database.exists() or store.archive.is_dir()):
        raise ConfigError(
            f"{STORE_VARIABLE} names no memory: {named}", key=STORE_VARIABLE,
            hint=f"name an existing {DATABASE_NAME} by its absolute path, or unset the variable",
        )  # fmt: skip
