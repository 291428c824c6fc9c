"""The moment that a backup shows: a snapshot of the database, and how far journal and packs reached then."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from recollect.archive.packs import pack_numbers, pack_path
from recollect.errors import StoreError, StoreLocked
from recollect.files import DRAFT_SUFFIX
from recollect.paths import SPOOL_FOLDER
from recollect.store.sqlite import IngestLock
from recollect.store.sqlite.snapshots.snapshot import Snapshot, take_snapshot
from recollect.wire import IMPORT_FOLDER

LOCK_WAIT_S = 3.0
"""A backup waits so long for the ingester to pause; then it goes on beside it."""
_LOCK_POLL_S = 0.02


class Original(NamedTuple):
    """A file of the home and how much of it belongs to the moment."""

    place: str
    path: Path
    bytes: int
    mtime_ns: int
    inode: int

    @property
    def is_pack(self) -> bool:
        """Whether it only ever grows."""
        return self.place.endswith(".pack")


class Moment(NamedTuple):
    """What is to be copied. in_step: nothing was being taken in when it was looked at."""

    snapshot: Snapshot
    originals: tuple[Original, ...]
    in_step: bool


@contextmanager
def present_moment(home: Path) -> Iterator[Moment]:
    """Hold the present moment of a home: all that its database names lies in the files named here.

    The ingest lock is held only for the look. Where a long sync keeps it, the database is looked at first: what the
    journal and the packs have besides is the same that a crash leaves, and is known to be harmless.

    Raises StoreError and its kinds.
    """
    lock = _lock(home, LOCK_WAIT_S)
    try:
        snapshot = take_snapshot(home)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    with snapshot:
        try:
            originals = tuple(_originals(home))
        finally:
            if lock is not None:
                lock.release()
        yield Moment(snapshot, originals, lock is not None)


def _lock(home: Path, wait_s: float) -> IngestLock | None:
    until = time.monotonic() + wait_s
    while True:
        try:
            return IngestLock(home)
        except StoreLocked:
            if time.monotonic() >= until:
                return None
            time.sleep(_LOCK_POLL_S)
        except StoreError:
            if os.access(home, os.W_OK):
                raise
            return None  # nothing can be written there, not even a lock


def _originals(home: Path) -> Iterator[Original]:
    """Yield files in the order in which they must be looked at: the journal names chunks of packs, never beyond."""
    archive = home / "archive"
    yield from _original(home, archive / "journal.log")
    for number in pack_numbers(archive / "packs"):
        yield from _original(home, pack_path(archive / "packs", number))
    for name in ("setup.json", "config.toml"):
        yield from _original(home, home / name)
    for name in ("keys", SPOOL_FOLDER):
        for root, folders, names in os.walk(home / name):
            if Path(root) == home / SPOOL_FOLDER:
                folders[:] = [folder for folder in folders if folder != IMPORT_FOLDER]
            for file in sorted(names):
                if not file.endswith((DRAFT_SUFFIX, ".tmp", ".lock", ".new")):
                    yield from _original(home, Path(root, file))


def _original(home: Path, path: Path) -> Iterator[Original]:
    try:
        found = path.lstat()
    except FileNotFoundError:  # a drop of a hook that was taken in meanwhile
        return
    if path.is_file() and not path.is_symlink():
        yield Original(
            path.relative_to(home).as_posix(), path, found.st_size, found.st_mtime_ns, found.st_ino
        )  # fmt: skip
