"""Tells whether anything changed: the state of files beside that of the last full look, which costs far more."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.agents.registry import adapters_with
from recollect.capture.watch import Watched, WatchPlan
from recollect.ingest.sources import repositories_of
from recollect.store.documents import DocumentStore

if TYPE_CHECKING:
    from recollect.ingest.home import OpenHome

EVERYTHING_EVERY_S = 60.0
"""Everything is looked at this often all the same: a file may lie behind a link that is not followed here."""
_State = tuple[int, int, int]
_States = dict[str, _State | None]


class QuickLook:
    """The files and folders of agents, and the memory's own, as they were. Make it before a look at everything; say
    `done` when that has ended well."""

    def __init__(self, home: OpenHome) -> None:
        known = [a for slug, a in adapters_with(home.config.formats()).items() if home.config.agent(slug).enabled]
        plan = WatchPlan(known, home.config, home.env, repositories=repositories_of(home.reader()), home=str(home.home))
        self._home = home
        self._sources = _states(plan.folders)
        self._own: _States = {}
        self._made_at = time.monotonic()

    def done(self) -> None:
        """Take note of the memory's own files, which that look has written."""
        home, folders = str(self._home.home), self._home.folders
        kept = [folders.archive, folders.archive / "packs", folders.index, *folders.index.glob("*/")]
        own = {path: state for path, state in _states([Watched(home, False)]).items() if not path.endswith("-shm")}
        self._own = own | {str(path): _state(str(path)) for path in kept}

    def is_same(self) -> bool:
        """Tell whether everything is as it was, as far as files tell."""
        if time.monotonic() - self._made_at > EVERYTHING_EVERY_S:
            return False
        return all(_state(path) == state for states in (self._sources, self._own) for path, state in states.items())


def quick_look(home: OpenHome) -> QuickLook | None:
    """Return how everything is now; None where files do not tell: folders of documents have rules of their own."""
    with DocumentStore(home.home, "read") as store:
        return None if any(one.folder for one in store.collections()) else QuickLook(home)


def _states(folders: Sequence[Watched]) -> _States:
    """Return the state of all that is in some folders, and of the folders: what comes or goes changes these."""
    found: _States = {}
    for watched in folders:
        stack = [watched.folder]
        while stack:
            folder = stack.pop()
            found[folder] = _state(folder)
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        found[entry.path] = _state(entry.path)
                    elif watched.is_deep:
                        stack.append(entry.path)
    return found


def _state(path: str) -> _State | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino
