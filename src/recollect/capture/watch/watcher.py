"""Keeps every folder of a plan watched, by the means that its file system allows, as folders come and go."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import msgspec

from recollect.capture.watch.filesystems import FileSystems
from recollect.capture.watch.notified import Notified
from recollect.capture.watch.plan import Watched
from recollect.capture.watch.polled import Polled

How = Literal["notified", "polled", "absent"]
_Identity = tuple[int, int]


class WatchedFolder(msgspec.Struct, frozen=True):
    """A folder and how its changes are noticed. reason: why it is polled, "" elsewhere."""

    folder: str
    agents: tuple[str, ...]
    how: How
    reason: str = ""


class Watcher:
    """Hands changed paths on, from threads of its own. A folder stands for all that may have changed in it.

    `watch` and `look` belong to one thread; `folders` may be asked from any.
    """

    def __init__(
        self, changed: Callable[[Collection[str]], None], *, is_polling: bool = False,
        file_systems: Callable[[], FileSystems] = FileSystems,
    ) -> None:  # fmt: skip
        """is_polling: ask the system for no notifications."""
        self._changed = changed
        self._is_polling = is_polling
        self._file_systems = file_systems
        self._wanted: tuple[Watched, ...] = ()
        self._seen: dict[str, _Identity] = {}
        self._groups: dict[bool, Notified] = {}
        self._refused: dict[bool, str] = {}
        self._polled: Polled | None = None
        self._lock = threading.Lock()
        self._told: tuple[WatchedFolder, ...] = ()

    def watch(self, folders: Sequence[Watched]) -> None:
        """Watch these from now on, in place of those before. What changes while this works is told too.

        What the system refused before is tried again.
        """
        is_new = tuple(folders) != self._wanted
        self._wanted = tuple(folders)
        self._look(is_anew=is_new or bool(self._refused))

    def look(self) -> None:
        """See which folders have come, gone or been replaced, and watch what is there. Cheap; call it often."""
        self._look(is_anew=False)

    def _look(self, *, is_anew: bool) -> None:
        seen = {w.folder: found for w in self._wanted if (found := _identity(w.folder)) is not None}
        broken = [group for group in self._groups.values() if group.trouble]
        if seen == self._seen and not broken and not is_anew:
            return
        fresh = {folder for folder, identity in seen.items() if self._seen.get(folder) != identity}
        for group in broken:
            fresh.update(group.folders)
        file_systems = self._file_systems()
        remote = {w.folder for w in self._wanted if w.folder in seen and file_systems.is_remote(w.folder)}
        self._seen = seen
        to_poll = [w for w in self._wanted if w.folder in seen and (self._is_polling or w.folder in remote)]
        for is_deep in (True, False):
            to_notify = [
                w.folder for w in self._wanted if w.is_deep == is_deep and w.folder in seen and w not in to_poll
            ]
            if not self._notify(is_deep, to_notify, anew=bool(fresh.intersection(to_notify))):
                to_poll += [w for w in self._wanted if w.folder in to_notify]
        self._poll(to_poll)
        self._tell(remote)
        if fresh:
            self._changed(fresh)

    def folders(self) -> tuple[WatchedFolder, ...]:
        """Return every folder of the plan and how it is watched."""
        with self._lock:
            return self._told

    def close(self) -> None:
        """Watch nothing any more."""
        for group in self._groups.values():
            group.close()
        self._groups = {}
        self._poll([])
        self._seen = {}

    def _notify(self, is_deep: bool, folders: Sequence[str], *, anew: bool) -> bool:
        """Have a group told of by the system; False where it cannot be. The old one ends when the new one is there."""
        before = self._groups.get(is_deep)
        if before is not None and not before.trouble and not anew and before.folders == tuple(folders):
            return True
        made: Notified | None = None
        self._refused.pop(is_deep, None)
        try:
            made = Notified(folders, is_deep=is_deep, changed=self._changed) if folders else None
        except FileNotFoundError:
            self._seen = {}  # one is gone since it was seen: the next look finds it absent
        except (OSError, RuntimeError, ImportError) as error:
            self._refused[is_deep] = f"{type(error).__name__}: {error}"
        if before is not None:
            self._groups.pop(is_deep).close()
        if made is not None:
            self._groups[is_deep] = made
        return made is not None or not folders

    def _poll(self, folders: list[Watched]) -> None:
        before = self._polled
        if before is not None and before.folders == tuple(folders):
            return
        self._polled = Polled(folders, self._changed) if folders else None
        if before is not None:
            before.close()

    def _tell(self, remote: Collection[str]) -> None:
        polled = {w.folder for w in self._polled.folders} if self._polled is not None else set()
        told = []
        for w in self._wanted:
            if w.folder not in self._seen:
                told.append(WatchedFolder(w.folder, w.agents, "absent"))
            elif w.folder not in polled:
                told.append(WatchedFolder(w.folder, w.agents, "notified"))
            else:
                reason = "a file system that others may change" if w.folder in remote else "by configuration"
                told.append(WatchedFolder(w.folder, w.agents, "polled", self._refused.get(w.is_deep) or reason))
        with self._lock:
            self._told = tuple(told)


def _identity(folder: str) -> _Identity | None:
    """Return what tells a folder from another of the same name, None where there is none."""
    try:
        info = os.stat(folder)
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino)
