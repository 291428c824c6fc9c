"""An open home: its place, its configuration and the connections that everything shares."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.config import Config
from recollect.errors import AmbiguousName, RecollectError, StoreLocked, UnknownName
from recollect.ingest.quick_look import LookContext, take_away
from recollect.ingest.secret_names import hide_secret_names, note_secret_names
from recollect.paths import DATABASE_NAME, HOME_VARIABLE, RESTORE_FOLDER, RESTORE_READY
from recollect.store.connection import has_archive, has_database, reading_by_one_connection
from recollect.store.home import Home, LazyArchive, LazyRedactor, make_home
from recollect.store.reader import Reader, open_reader
from recollect.visible import as_stored

# A search must start quickly: what only ingesting, maintenance and reading from the archive need is imported there.
if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.archive.archive import Archive
    from recollect.erasure.forget import Opened
    from recollect.index.text.shards import TextIndex
    from recollect.ingest.background_embedding import EmbeddingFacet
    from recollect.ingest.known_names import KnownNames
    from recollect.ingest.quick_look import LookedPlaces, QuickLook, Quiet
    from recollect.ingest.report import SyncReport
    from recollect.model.sessions import Session
    from recollect.recall.context.prepare_blocks import ReadyBlocks
    from recollect.store.change_feed import TextFeed
    from recollect.store.insights import InsightReader
    from recollect.store.writer import Writer

BESIDE_DAEMON_S = 5.0
"""A command that writes beside a daemon waits so long for it to be done with what it is at."""
ASK_AGAIN_S = 0.02


class OpenHome:
    """One open home. Everything is opened when first used; safe from many threads."""

    def __init__(
        self, home: Path, config: Config, env: Mapping[str, str], *, config_path: Path | None = None, zone: tzinfo = UTC
    ) -> None:
        """config_path: the file that the configuration was looked for in; None where it was handed over.

        zone: in which dates of questions and of what is noted count.
        """
        self.home = home
        self.folders = Home(home)
        self.config = config
        self.env: Mapping[str, str] = {**env, HOME_VARIABLE: str(home)}
        self.config_path = config_path
        self.zone = zone
        self.last_sync: SyncReport | None = None
        """What the last refresh on read of this process found."""
        self.stale: tuple[str, ...] = ()
        """What that could not ingest: until it can, no answer claims that something does not exist."""
        self.keeper: Callable[[], tuple[str, ...]] | None = None
        """In the daemon's own process: how a read waits for what was noticed; None elsewhere."""
        self.searches_in_turn = False
        """Whether a search looks at one part of the index after the other, as where other processes answer too."""
        self.index: TextIndex | None = None
        """The text index, once a search opened it."""
        self._lock = threading.RLock()
        self._reader: Reader | None = None
        self._reader_archive: LazyArchive | None = None
        self._distilled: InsightReader | None = None
        self._embedding: EmbeddingFacet | None = None
        self._left: QuickLook | None = None
        self._looked_places: dict[tuple[str, ...], LookedPlaces] = {}
        self._looks: dict[str, QuickLook] = {}
        self._redactor = LazyRedactor(self.folders.keys, config.privacy)

    def close(self) -> None:
        """Close files and connections. Opening again is done by itself."""
        with self._lock:
            for one in (self._embedding, self._distilled, self._reader, self._reader_archive):
                if one is not None:
                    one.close()
            self._distilled = self._reader = self._reader_archive = self.index = None
            self._redactor = LazyRedactor(self.folders.keys, self.config.privacy)
            if self._left is not None:
                self._left.finish()
                self._left = None

    def look_context(self) -> LookContext:
        """Return what determines the places that are examined."""
        return LookContext(self.folders, self.config, self.env, self._looked_places, self._looks)

    def leave(self, look: QuickLook, quiet: Quiet | None = None) -> None:
        """Leave a look at everything for the next process, with the ingest lock held; see `QuickLook.keep`."""
        from recollect.ingest.sources import repositories_of

        if repositories_of(self.reader()) == look.repositories:  # else nobody looked into the new ones
            look.keep(quiet, last_change=self.reader().last_change())
            self._left = look

    def is_there(self) -> bool:
        """Return whether anything was ever stored."""
        return has_database(self.home)

    # Reading

    def reader(self) -> Reader:
        """Return the shared reader of the store; creates an empty memory if there is none."""
        with self._lock:
            if self._reader is None:
                self._finish_restore()
                if not (self.home / DATABASE_NAME).exists():
                    from recollect.store.writer import open_writer

                    make_home(self.home)
                    open_writer(self.home).close()
                self._reader_archive = LazyArchive(self.folders)
                redactor = LazyRedactor(self.folders.keys, self.config.privacy)
                self._reader = open_reader(self.home, self._reader_archive, redactor)
                hide_secret_names(self.home)
            return self._reader

    def distilled(self) -> InsightReader:
        """Return the shared reader of insights; creates an empty memory if there is none."""
        from recollect.store.insights import InsightReader

        self.reader()
        with self._lock:
            if self._distilled is None:
                self._distilled = InsightReader(self.home)
            return self._distilled

    def text_index(self) -> TextIndex:
        """Return the shared text index. Raises IndexUnavailable."""
        from recollect.index.text.shards import TextIndex

        with self._lock:
            if self.index is None:
                self.index = TextIndex.open(self.folders.index)
            return self.index

    @property
    def embedding(self) -> EmbeddingFacet:
        """Vectors of what is stored: make them, ask how much is covered. One object a home."""
        from recollect.ingest.background_embedding import EmbeddingFacet

        with self._lock:
            if self._embedding is None:
                self._embedding = EmbeddingFacet(self.folders, self.config, self.env, open_feed=self._open_feed)
            return self._embedding

    @contextmanager
    def archive(self) -> Iterator[Archive]:
        """Open the archive for reading. Raises KeyUnavailable when its key is gone."""
        from recollect.archive.archive import Archive
        from recollect.archive.keys import load_keys

        self._finish_restore()
        with Archive.open(self.folders.archive, load_keys(self.folders.keys), read_only=True) as archive:
            yield archive

    def session(self, uid: str) -> Session:
        """Return a session by uid, by a unique prefix of it, or by a citation `uid#seq`. Raises UnknownName."""
        reader = self.reader()
        wanted = as_stored(uid.partition("#")[0])
        found = reader.session(wanted)
        if found is None:
            near = reader.nearest_sessions(wanted)
            begun = [uid for uid in near if wanted in (uid[: len(wanted)], uid.partition(":")[2][: len(wanted)])]
            if wanted and len(begun) > 1:
                raise AmbiguousName("session", wanted, nearest=near)
            raise UnknownName("session", wanted, nearest=near, hint="`recollect sessions` lists them")
        return found

    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames:
        """Return what says which agents, repositories and the like there are.

        folders: where who asks works, by default where this process does: its repository may be new.
        """
        from recollect.ingest.known_names import KnownNames, repository_names

        def here() -> Iterator[str]:
            with suppress(OSError):  # the folder of this process was removed
                for folder in (os.getcwd(),) if folders is None else folders:
                    yield from repository_names(folder, self.env)

        return KnownNames(self.reader, self.slug, here)

    def slug(self, agent: str) -> str:
        """Return the slug of an agent by any of its names. Raises UnknownName, which names the nearest.

        What is stored of an agent whose package is gone is found by its slug, a person's diary by the person's name.
        """
        from recollect.agents.registry import adapters_with, slug_of
        from recollect.insights.notes.diary import diary_agent

        formats = self.config.formats()
        known = adapters_with(formats) if formats else None
        try:
            return slug_of(agent, known, stored=lambda: self.reader().names("agent"))
        except UnknownName:
            if diary_agent(agent) in self.reader().entries.agents():
                return diary_agent(agent)
            raise

    def ready(self) -> ReadyBlocks:
        """Return the answers for sessions that start, see `recollect.ready_blocks`."""
        from recollect.recall.context.prepare_blocks import ReadyBlocks

        return ReadyBlocks(self.home, self.config.context, self.env, self.text_index)

    # Writing

    @contextmanager
    def writing(self, *, patience_s: float = BESIDE_DAEMON_S) -> Iterator[Opened]:
        """Hold the ingest lock with everything that writing needs open. Raises StoreLocked, StoreError.

        patience_s: how long to wait for a daemon, which holds the lock for moments only; nobody else is waited for.
        """
        from recollect.archive.archive import Archive
        from recollect.archive.keys import load_keys, load_or_create_keys
        from recollect.erasure.cuts import settle
        from recollect.erasure.forget import Opened
        from recollect.ingest.restore_swap import finish_restore
        from recollect.store.meta import use_kept_patterns

        make_home(self.home)
        finish_restore(self.home)
        if self.folders.rebuild.exists():
            from recollect.ingest.rebuild import finish_swap

            finish_swap(self.folders)
        with self._open_writer(patience_s) as writer:
            use_kept_patterns(self.home)
            take_away(self.home)
            keys = (load_keys if has_archive(self.home) else load_or_create_keys)(self.folders.keys)
            with Archive.open(self.folders.archive, keys) as archive:
                settle(archive, writer)
                with reading_by_one_connection(self.home):
                    yield Opened(self.folders, writer, self.reader(), archive, keys)
                    with suppress(OSError, ValueError, RecollectError, msgspec.MsgspecError):  # making ready says why
                        self.ready().settle(writer.withdrawn, writer.touched)
                    redactor = LazyRedactor(self.folders.keys, self.config.privacy)
                    note_secret_names(self.home, redactor, self.config.privacy)
                    hide_secret_names(self.home)

    def make_keys(self) -> None:
        """Have keys in a memory in which nothing was ever ingested. Raises StoreLocked, StoreError."""
        if not self.folders.keys.exists():
            with self.writing():
                pass

    def redacted(self, text: str) -> str:
        """Return a text without its secrets. Raises KeyUnavailable."""
        if not text:
            return ""
        self.make_keys()
        return self._redactor.redact_text(text)[0]

    def redacted_value(self, value: Any) -> Any:
        """Return decoded JSON without its secrets. Raises KeyUnavailable."""
        return self._redactor.redact_value(value)[0]

    def _open_writer(self, patience_s: float) -> Writer:
        from recollect.store.writer import open_writer

        ends = time.monotonic() + patience_s
        while True:
            try:
                return open_writer(self.home, domains=self.config.repos.domains)
            except StoreLocked:
                from recollect.ingest.daemon_status import is_alive

                if self.keeper is not None or time.monotonic() >= ends or not is_alive(self.home):
                    raise
                time.sleep(ASK_AGAIN_S)

    def _open_feed(self) -> TextFeed:
        from recollect.store.change_feed import TextFeed

        self.reader()
        return TextFeed(self.home, self._reader_archive, LazyRedactor(self.folders.keys, self.config.privacy))

    def _finish_restore(self) -> None:
        """Finish a restore that was killed while it swapped folders: until then, key and archive need not fit."""
        if not (self.home / RESTORE_FOLDER / RESTORE_READY).exists():
            return
        from recollect.ingest.restore_swap import finish_restore

        with suppress(StoreLocked, OSError):  # another process is at it, or the home is read-only
            finish_restore(self.home)
