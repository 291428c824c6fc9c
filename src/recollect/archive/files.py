"""Private append-only files: mode 0600 in folders of 0700, written in batches, flushed on demand.

The one place where the system's errors on writing become ours: no room is `DiskFull`, all else `ArchiveError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from recollect.errors import ArchiveError, DiskFull, RecollectError
from recollect.files import is_no_room, sync_folder, write_all
from recollect.paths import make_private

_BINARY = getattr(os, "O_BINARY", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)


def write_error(error: OSError, path: Path) -> RecollectError:
    """Return our error for a failed write to `path`."""
    reason = error.strerror or str(error)
    if is_no_room(error):
        return DiskFull(
            f"no space to write {path.name}: {reason}",
            hint="free some space; what is stored stays, and the next sync continues",
        )
    return ArchiveError(f"cannot write {path}: {reason}")


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors into ours for failed writes to `path`."""
    try:
        yield
    except OSError as error:
        raise write_error(error, path) from error


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors into ours for failed reads of `path`, but for a missing file."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error


def make_private_folder(path: Path) -> None:
    """Create `path` (and its parents) where missing; a folder that is made here is open to its owner only."""
    with write_errors(path):
        make_private(path)


def open_for_reading(path: Path) -> int:
    """Return a descriptor for reading. Raises OSError."""
    return os.open(path, os.O_RDONLY | _BINARY | _CLOEXEC)


SEARCH_BYTES = 1 << 20


def magic_places(read: Callable[[int, int], bytes], magic: bytes, offset: int, size: int) -> Iterator[int]:
    """Yield where these bytes stand in a file, at or after `offset`. read: gives a place's bytes, at most so many."""
    while offset < size:
        window = read(offset, SEARCH_BYTES)
        found = window.find(magic)
        if found >= 0:
            yield offset + found
            offset += found + 1
        elif offset + len(window) >= size:
            return
        else:
            offset += len(window) - len(magic) + 1


class AppendFile:
    """One file that is appended to in whole batches. One writer at a time; not thread safe.

    size_bytes: its length. is_torn: a failed batch left a piece at the end that could not be taken back.
    """

    def __init__(self, path: Path, *, is_new: bool) -> None:
        """Open `path` for appending. is_new: it must not exist yet, and is created 0600.

        Raises:
            DiskFull, ArchiveError: it cannot be opened or made.
        """
        self.path = path
        self._is_name_durable = not is_new
        self.is_torn = False
        flags = os.O_WRONLY | os.O_APPEND | _BINARY | _CLOEXEC | (os.O_CREAT | os.O_EXCL if is_new else 0)
        with write_errors(path):
            self._fd = os.open(path, flags, 0o600)
            self.size_bytes = os.fstat(self._fd).st_size

    def append(self, data: bytes) -> int:
        """Append `data` whole and return the offset of its first byte.

        A batch that fails half-way is taken back: its meaning is known, and nothing refers to it yet.

        Raises:
            DiskFull: no room; retryable.
            ArchiveError: any other failure of the system.
        """
        start = self.size_bytes
        try:
            write_all(self._fd, data)
        except OSError as error:
            self._take_back(start, error)
        self.size_bytes = start + len(data)
        return start

    def truncate(self, size_bytes: int) -> None:
        """Cut the file off at `size_bytes`."""
        with write_errors(self.path):
            os.ftruncate(self._fd, size_bytes)
        self.size_bytes = size_bytes

    def flush(self) -> None:
        """Make everything appended durable, and the file's name if it is new."""
        with write_errors(self.path):
            os.fsync(self._fd)
            if not self._is_name_durable:
                sync_folder(self.path.parent)
                self._is_name_durable = True

    def finish(self) -> None:
        """Flush and close the file."""
        try:
            self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Close the file; harmless when closed already."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _take_back(self, size_bytes: int, error: OSError) -> NoReturn:
        """Undo a failed batch, then raise. If even that fails, the readers skip the torn piece."""
        try:
            os.ftruncate(self._fd, size_bytes)
        except OSError as second:
            self.is_torn = True
            error.add_note(f"and the half-written batch could not be removed: {second}")
        raise write_error(error, self.path) from error
