"""Watches folders of project documents and finds the collections of changed paths.

Folders are watched one by one, and only those that a walk enters: what is ignored (packages, output of builds) changes
all the time and has more folders than a system watches. They have a watcher of their own, so that too many of them
never make watching agents' folders worse.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.capture.document_folders import is_document_name, walk, walk_rules
from recollect.capture.gitignore import IGNORE_NAMES
from recollect.capture.watch import FolderWatcher, Watched
from recollect.ingest.daemon_status import WatchedPlace
from recollect.paths import DATABASE_NAME
from recollect.store.documents import DocumentStore

if TYPE_CHECKING:
    from recollect.config import Config

MOST_FOLDERS = 4_000
"""So many folders are watched; changes in others are found by the pass over everything. Small systems allow 8,192."""
_LEAST_PAUSE_S = 2.0
_SHARE = 20
"""Thinking over what to watch takes at most one part in so many of the time."""


class DocumentWatch:
    """Belongs to the thread of the loop, but `folders`, which any may ask."""

    def __init__(
        self, home: Path, config: Config, changed: Callable[[Collection[str]], None], *, is_polling: bool
    ) -> None:
        """changed: takes changed paths, from threads of the watcher."""
        self._home = home
        self._rules = walk_rules(config.documents, never=(str(home),))
        self._watcher = FolderWatcher(changed, is_polling=is_polling)
        self._collections: dict[str, str] = {}
        self._watched: frozenset[str] = frozenset()
        self._is_stale = True
        self._next_at = 0.0
        self._are_too_many = False

    def look(self) -> None:
        """See which collections have come or gone, and what of them is to be watched. Cheap; call it often.

        Raises StoreError.
        """
        now = self._read()
        if now != self._collections:
            self._collections, self._is_stale, self._next_at = now, True, 0.0
        if self._is_stale and time.monotonic() >= self._next_at:
            self._plan()
        else:
            self._watcher.look()

    def changed(self, paths: Collection[str]) -> dict[str, set[str]]:
        """Return, by collection, which paths below its folder are to be looked at after these changed."""
        found: dict[str, set[str]] = {}
        for name, folder in self._collections.items():
            start = folder.rstrip(os.sep) + os.sep
            for path in paths:
                if path == folder or path.startswith(start):
                    found.setdefault(name, set()).update(self._looked_at(path, start))
        return {name: relative for name, relative in found.items() if relative}

    def places(self) -> list[WatchedPlace]:
        """Return every collection's folder, and how it and those below it are watched."""
        told = self._watcher.folders()
        found: list[WatchedPlace] = []
        for folder in list(self._collections.values()):
            start = folder.rstrip(os.sep) + os.sep
            below = [one for one in told if one.folder == folder or one.folder.startswith(start)]
            there = [one for one in below if one.how != "absent"]
            if there:
                worst = next((one for one in there if one.how == "polled"), there[0])
                reason = worst.reason or (f"only the first {MOST_FOLDERS:,} folders" if self._are_too_many else "")
                found.append(WatchedPlace(folder, (), worst.how, reason))
        return found

    def close(self) -> None:
        """Watch nothing any more."""
        self._watcher.close()

    def _looked_at(self, path: str, start: str) -> set[str]:
        """Return what to look at for one path: nothing, where it can be no document and no folder with some."""
        if path == start.rstrip(os.sep):
            self._is_stale = self._is_stale or not os.path.isdir(path)
            return {""}
        relative = path[len(start) :].replace(os.sep, "/")
        if os.path.basename(path) in IGNORE_NAMES:
            self._is_stale = True
            return {relative.rpartition("/")[0]}
        if os.path.isdir(path) and not os.path.islink(path):
            # One that is watched is told of when it has just become so: it may have been filled before.
            self._is_stale = self._is_stale or path not in self._watched
            return {relative}
        if path in self._watched:  # it was a folder
            self._is_stale = True
            return {relative}
        is_document = is_document_name(os.path.basename(path)) or self._rules.include.says(relative, is_folder=False)
        return {relative} if is_document else set()

    def _read(self) -> dict[str, str]:
        if not (self._home / DATABASE_NAME).exists():
            return {}
        with DocumentStore(self._home, "read") as store:
            return {one.name: one.folder for one in store.collections() if one.folder}

    def _plan(self) -> None:
        began = time.monotonic()
        found: list[str] = []
        self._are_too_many = False
        for folder in self._collections.values():
            found.append(folder)
            if os.path.isdir(folder):
                found += self._below(folder, MOST_FOLDERS - len(found))
        self._watcher.watch([Watched(folder, False) for folder in found])
        self._watched = frozenset(found)
        self._is_stale = False
        self._next_at = time.monotonic() + max(_LEAST_PAUSE_S, _SHARE * (time.monotonic() - began))

    def _below(self, folder: str, most: int) -> list[str]:
        """Return the folders below one that a walk enters, as many as may be watched."""
        found: list[str] = []
        for one in walk(folder, self._rules):
            if one.kind == "folder" and one.path:
                if len(found) >= most:
                    self._are_too_many = True
                    break
                found.append(os.path.join(folder, *one.path.split("/")))
        return found
