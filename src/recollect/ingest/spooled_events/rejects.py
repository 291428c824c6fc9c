"""Where drops go that cannot be taken: into `bad/`, by reason, counted, and never read again."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

import msgspec

from recollect.capture.hook_spool import COUNTS, is_older, put_aside
from recollect.files import move, write_file
from recollect.wire import BAD_FOLDER, PARTIAL_FOLDER

MAX_BAD_BYTES = 64 * 1024 * 1024
"""Of what is put aside, the oldest goes first."""
_TORN_US = 3600 * 1_000_000
"""A drop that was not renamed for so long never will be: its hook was killed."""
_EMPTY = frozenset(("lost", "empty", "torn"))
"""Reasons for which nothing is worth keeping."""


def take_torn(spool: str, aside: Aside, *, now_us: int) -> None:
    """Count the drops of hooks that were killed, and delete what there is of them."""
    folder = os.path.join(spool, PARTIAL_FOLDER)
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode) and is_older(info, _TORN_US, now_us=now_us):
                aside.take(entry.path, "torn")


class Aside:
    """Where drops go that cannot be taken."""

    def __init__(self, spool: str, *, now_us: int) -> None:
        self._now_us = now_us
        self._folder = os.path.join(spool, BAD_FOLDER)
        self._counts = put_aside(spool)
        self._is_changed = False

    def take(self, path: str, reason: str, *, is_file: bool = True) -> None:
        """Put a file aside, or delete what holds nothing. What is no file stays where it is, and is never opened."""
        if not is_file:
            return
        if reason in _EMPTY:
            os.unlink(path)
            self._count(reason)
            return
        folder = os.path.join(self._folder, reason)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        kept = os.path.join(folder, os.path.basename(path))
        move(path, kept, durable=False)
        os.utime(kept, ns=(self._now_us * 1000, self._now_us * 1000))  # from here on it has seven days
        self._count(reason)

    def _count(self, reason: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        self._is_changed = True

    def close(self) -> None:
        """Write the counts down and keep what was put aside within its bounds."""
        if not self._is_changed:
            return
        with suppress(OSError):  # a full disk: the drops themselves are told of again
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            path = os.path.join(self._folder, COUNTS)
            write_file(path, msgspec.json.encode(self._counts), durable=True)
            self._bound()

    def _bound(self) -> None:
        files = []
        for folder in os.scandir(self._folder):
            if folder.is_dir(follow_symlinks=False):
                files += [(entry.stat(follow_symlinks=False), entry.path) for entry in os.scandir(folder.path)]
        files.sort(key=lambda file: file[0].st_mtime_ns)
        total = sum(info.st_size for info, _ in files)
        for info, path in files:
            if total <= MAX_BAD_BYTES:
                return
            os.unlink(path)
            total -= info.st_size
