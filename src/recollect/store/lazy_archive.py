"""What a reader needs only for texts that lie in the archive: opened, with its imports, when the first is read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import PrivacyConfig
from recollect.store.home import Home
from recollect.store.ports import TextRedactor

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.chunks import ChunkPlace


class LazyArchive:
    """The archive of a home for reading. Safe from many threads."""

    def __init__(self, folders: Home) -> None:
        self._folders = folders
        self._lock = threading.Lock()
        self._archive: Archive | None = None

    def read_range(self, places: Sequence[ChunkPlace], offset: int, length: int) -> bytes:
        """Return bytes of a revision, see `Archive.read_range`.

        Raises ArchiveError, KeyUnavailable when the archive's key is gone: what is stored besides can still be read.
        """
        return self._opened().read_range(places, offset, length)

    def is_chunk(self, place: ChunkPlace, plain: bytes) -> bool:
        """Tell whether these are the plain bytes of a chunk, see `Archive.is_chunk`. Raises KeyUnavailable."""
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
                self._archive = Archive.open(self._folders.archive, keys, read_only=True)
            return self._archive


class LazyRedactor:
    """Redacts text read from the archive. Its detectors are loaded at the first text."""

    def __init__(self, keys_folder: Path, privacy: PrivacyConfig) -> None:
        self._keys_folder = keys_folder
        self._privacy = privacy
        self._lock = threading.Lock()
        self._redactor: TextRedactor | None = None

    def redact_text(self, text: str) -> tuple[str, Sequence[object]]:
        """Return the text without secrets, and what was found. Raises KeyUnavailable when the key is gone."""
        with self._lock:
            if self._redactor is None:
                from recollect.archive.keys import load_keys
                from recollect.privacy.redact import redactor_of

                self._redactor = redactor_of(load_keys(self._keys_folder).marker_key, self._privacy)
            return self._redactor.redact_text(text)
