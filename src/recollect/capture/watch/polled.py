"""Changes that nobody tells of: folders are listed again and again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress

from recollect.capture.watch.plan import Watched

EVERY_S = 2.0
_SHARE = 20
"""Looking takes at most one part in so many of the time: a large tree is looked at less often."""
MAX_FILES = 200_000
"""Of one folder. What lies beyond is found by the pass over everything."""
_State = tuple[int, int, int]


class Polled:
    """Looks at folders in a thread of its own until it is closed. What is there at first is not told."""

    def __init__(self, folders: Collection[Watched], changed: Callable[[Collection[str]], None]) -> None:
        self.folders = tuple(folders)
        self._changed = changed
        self._stop = threading.Event()
        self._states = {watched.folder: _listed(watched) for watched in folders}
        self._thread = threading.Thread(target=self._run, daemon=True, name="polling")
        self._thread.start()

    def close(self) -> None:
        """End. No path is handed on after this."""
        self._stop.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        pause = EVERY_S
        while not self._stop.wait(pause):
            began = time.monotonic()
            found = self._look()
            pause = max(EVERY_S, _SHARE * (time.monotonic() - began))
            if found and not self._stop.is_set():
                self._changed(found)

    def _look(self) -> set[str]:
        found: set[str] = set()
        for watched in self.folders:
            if self._stop.is_set():
                break
            if not os.path.exists(watched.folder):
                continue  # not there now: what was in it is neither changed nor deleted
            before, now = self._states[watched.folder], _listed(watched)
            found.update(path for path, state in now.items() if before.get(path) != state)
            found.update(before.keys() - now.keys())
            self._states[watched.folder] = now
        return found


def _listed(watched: Watched) -> dict[str, _State]:
    """Return the files of a folder with their size, time and number. What cannot be listed is left out."""
    found: dict[str, _State] = {}
    if os.path.isfile(watched.folder):  # users may name a file
        with suppress(OSError):
            info = os.stat(watched.folder)
            found[watched.folder] = (info.st_size, info.st_mtime_ns, info.st_ino)
        return found
    stack = [watched.folder]
    while stack and len(found) < MAX_FILES:
        with suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if watched.is_deep:
                            stack.append(entry.path)
                        continue
                    info = entry.stat()
                    found[entry.path] = (info.st_size, info.st_mtime_ns, info.st_ino)
    return found
