"""The folders of one memory."""

from __future__ import annotations

import os
from pathlib import Path

from recollect.errors import StoreError
from recollect.paths import DATABASE_NAME, SPOOL_FOLDER
from recollect.wire import IMPORT_FOLDER


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

    def size_bytes(self) -> int:
        """Return the bytes on disk of database, archive and index."""
        database = (self.folder / f"{DATABASE_NAME}{suffix}" for suffix in ("", "-wal"))
        return self.archive_bytes() + self.index_bytes() + sum(_file_bytes(p) for p in database)


def make_home(folder: Path) -> None:
    """Make a home folder, private to its owner. Raises StoreError when that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"cannot make the memory's folder {folder}: {error.strerror}", hint="set RECOLLECT_HOME to another place"
        ) from error


def _tree_bytes(folder: Path) -> int:
    return sum(_file_bytes(Path(root, name)) for root, _, files in os.walk(folder) for name in files)


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
