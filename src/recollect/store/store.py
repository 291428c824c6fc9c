"""The database of a home: readers with shared connections, and the one writer."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from recollect.store.connection import ReadPool
from recollect.store.home import Home, LazyArchive, LazyRedactor
from recollect.store.rows import ChunkReader, TextRedactor

if TYPE_CHECKING:
    from recollect.config import PrivacyConfig
    from recollect.store.feed import TextFeed
    from recollect.store.reader import Reader
    from recollect.store.writer import Writer


class Store:
    """The database of a home. Everything is loaded and opened on first use, and closed once.

    Reading is safe from many threads. Every method raises SchemaTooNew, StoreCorrupt, StoreLocked and StoreError;
    creates an empty memory if there is none.
    """

    def __init__(self, home: Path, archive: ChunkReader | None = None, redactor: TextRedactor | None = None) -> None:
        """archive: gives long strings of payloads; None: each becomes a line that says so. redactor: redacts what comes
        from the archive; None: nothing that comes from there is shown."""
        self.home = home
        self._archive = archive
        self._redactor = redactor
        self._lock = threading.Lock()
        self._opened: ReadPool | None = None

    @classmethod
    def open(cls, home: Path, privacy: PrivacyConfig, *, texts_of: Home | None = None) -> Self:
        """Return the store of a home with the texts of its archive, or of the archive of another home, redacted."""
        folders = texts_of or Home(home)
        return cls(home, LazyArchive(folders), LazyRedactor(folders.keys, privacy))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection of the readers, and the archive if this store opened it. Repeating it is harmless."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            if isinstance(self._archive, LazyArchive):
                self._archive.close()

    @property
    def _pool(self) -> ReadPool:
        with self._lock:
            if self._opened is None:
                self._opened = ReadPool(self.home)
            return self._opened

    @cached_property
    def reader(self) -> Reader:
        """Sources, sessions, events, timelines, usage."""
        from recollect.store.reader import Reader

        return Reader(self._pool, self._archive, self._redactor)

    @cached_property
    def feed(self) -> TextFeed:
        """Every text, for consumers of the change log."""
        from recollect.store.feed import TextFeed

        return TextFeed(self._pool, self._archive, self._redactor)

    def writer(
        self, *, domains: Mapping[str, str] | None = None, own_folder: Path | None = None,
        numbers_of: Path | None = None,
    ) -> Writer:  # fmt: skip
        """Return the one writer, with the ingest lock held, see `store.writer.open_writer`; close it."""
        from recollect.store.writer import open_writer

        return open_writer(self.home, domains=domains, own_folder=own_folder, numbers_of=numbers_of)
