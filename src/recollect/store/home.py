"""The folders of a memory; its database, archive and redactor, loaded on first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from recollect.errors import StoreError
from recollect.paths import DATABASE_NAME, SPOOL_FOLDER
from recollect.store.connection import ReadPool
from recollect.store.rows import ChunkReader, TextRedactor
from recollect.wire import IMPORT_FOLDER

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.packs import ChunkPlace
    from recollect.config import PrivacyConfig
    from recollect.privacy.redact import Redactor
    from recollect.store.change_feed import TextFeed
    from recollect.store.reader import Reader
    from recollect.store.writer import Writer


class Home:
    """Where the parts of a memory are (design, section 7)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / DATABASE_NAME
        self.archive = folder / "archive"
        self.index = folder / "index" / "text"
        self.vectors = folder / "index" / "vectors"
        self.logs = folder / "logs"
        self.keys = folder / "keys"
        self.rebuild = folder / "rebuild"
        self.spool = folder / SPOOL_FOLDER
        self.unpacking = self.spool / IMPORT_FOLDER

    def archive_bytes(self) -> int:
        """Return the bytes of the archive on disk."""
        return _tree_bytes(self.archive)

    def index_bytes(self) -> int:
        """Return the bytes of the index on disk."""
        return _tree_bytes(self.folder / "index")

    def vectors_bytes(self) -> int:
        """Return the bytes of the vectors on disk; they are part of the index."""
        return _tree_bytes(self.vectors)

    def database_bytes(self) -> int:
        """Return the bytes of the database on disk, with its log."""
        return sum(_file_bytes(self.folder / f"{DATABASE_NAME}{suffix}") for suffix in ("", "-wal"))

    def size_bytes(self) -> int:
        """Return the bytes on disk of database, archive and index."""
        return self.archive_bytes() + self.index_bytes() + self.database_bytes()


def make_home(folder: Path) -> None:
    """Make a home folder, private to its owner. Raises StoreError when that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"cannot make the memory's folder {folder}: {error.strerror}", hint="set RECOLLECT_HOME to another place"
        ) from error


def _tree_bytes(folder: Path) -> int:
    total, folders = 0, [os.fspath(folder)]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:  # it is gone, or was never there
            continue
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    total += entry.stat().st_size
    return total


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class LazyArchive:
    """The archive of a home for reading. Safe from many threads."""

    def __init__(self, folders: Home) -> None:
        self._folders = folders
        self._lock = threading.Lock()
        self._archive: Archive | None = None

    def read_range(self, places: Sequence[ChunkPlace], offset: int, length: int) -> bytes:
        """Return bytes of a revision, see `Archive.read_range`.

        Raises ArchiveError, KeyUnavailable without the archive's key: everything else that is stored can still be read.
        """
        return self._opened().read_range(places, offset, length)

    def is_chunk(self, place: ChunkPlace, plain: bytes) -> bool:
        """Return whether these are the plain bytes of a chunk, see `Archive.is_chunk`. Raises KeyUnavailable."""
        return self._opened().is_chunk(place, plain)

    def close(self) -> None:
        """Close the archive if it was opened; reading opens it again."""
        with self._lock:
            if self._archive is not None:
                self._archive.close()
                self._archive = None

    def _opened(self) -> Archive:
        from recollect.archive.archive import Archive
        from recollect.archive.keys import load_keys

        with self._lock:
            if self._archive is None:
                keys = load_keys(self._folders.keys)
                self._archive = Archive.open(self._folders.archive, keys, read_only=True, cache_bytes=16 << 20)
            return self._archive


LONG_CHARS = 2048
"""A text of so many characters that has no secret is known again by its hash: to look for secrets takes ten times as
long."""
_KEPT_HASHES = 20_000


class LazyRedactor:
    """Redacts text read from the archive. Its detectors are loaded at the first text."""

    def __init__(self, keys_folder: Path, privacy: PrivacyConfig) -> None:
        self._keys_folder = keys_folder
        self._privacy = privacy
        self._lock = threading.Lock()
        self._redactor: Redactor | None = None
        self._harmless: set[bytes] = set()
        """Hashes of long texts without secrets: searches read the same ones again and again."""

    def redact_text(self, text: str) -> tuple[str, Sequence[object]]:
        """Return the text without secrets, and what was found. Raises KeyUnavailable without the key."""
        if len(text) < LONG_CHARS:
            return self._made().redact_text(text)
        from hashlib import blake2b  # brings OpenSSL, which most searches do without

        name = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if name in self._harmless:
            return text, ()
        redacted, found = self._made().redact_text(text)
        if redacted == text:
            if len(self._harmless) >= _KEPT_HASHES:
                self._harmless.clear()
            self._harmless.add(name)
        return redacted, found

    def redact_value(self, value: Any) -> tuple[Any, Sequence[object]]:
        """Return decoded JSON without secrets, and what was found. Raises KeyUnavailable without the key."""
        return self._made().redact_value(value)

    def _made(self) -> Redactor:
        with self._lock:
            if self._redactor is None:
                from recollect.archive.keys import load_keys
                from recollect.privacy.redact import redactor_of
                from recollect.store.meta import use_kept_patterns

                use_kept_patterns(self._keys_folder.parent)
                self._redactor = redactor_of(load_keys(self._keys_folder).marker_key, self._privacy)
            return self._redactor


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
        from recollect.store.change_feed import TextFeed

        return TextFeed(self._pool, self._archive, self._redactor)

    def writer(
        self, *, domains: Mapping[str, str] | None = None, own_folder: Path | None = None,
        numbers_of: Path | None = None,
    ) -> Writer:  # fmt: skip
        """Return the one writer, with the ingest lock held, see `store.writer.open_writer`; close it."""
        from recollect.store.writer import open_writer

        return open_writer(self.home, domains=domains, own_folder=own_folder, numbers_of=numbers_of)
