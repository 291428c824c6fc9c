"""Changes that the system tells of: inotify, FSEvents, ReadDirectoryChanges, through watchfiles."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence

STEP_MS = 20
"""How often what came is looked at, and how long nothing may come before it is handed on."""
MAX_STEPS_MS = 100
"""In a stream of changes without a pause it is handed on after this time."""
_WAIT_MS = 60_000

Changed = Callable[[Collection[str]], None]


class Notified:
    """Watches some folders, all deep or none. Hands changed paths on in a thread of its own until it is closed."""

    def __init__(self, folders: Sequence[str], *, is_deep: bool, changed: Changed) -> None:
        """Raises OSError or RuntimeError where the system cannot watch them all: a limit, or one that is gone."""
        from watchfiles._rust_notify import RustNotify

        self.folders = tuple(folders)
        self.trouble = ""
        """Why it ended by itself; "" while it goes on."""
        self._changed = changed
        self._real = {real: folder for folder in folders if (real := os.path.realpath(folder)) != folder}
        self._stop = threading.Event()
        self._notify = RustNotify(list(folders), False, False, 0, is_deep, True)
        self._thread = threading.Thread(target=self._run, daemon=True, name="watching")
        self._thread.start()

    def close(self) -> None:
        """End. No path is handed on after this."""
        self._stop.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                told = self._notify.watch(MAX_STEPS_MS, STEP_MS, _WAIT_MS, self._stop)
                if isinstance(told, set) and not self._stop.is_set():
                    self._changed({self._as_watched(path) for _kind, path in told})
        except (OSError, RuntimeError) as error:  # the watcher of the system broke: who made this makes another
            self.trouble = f"{type(error).__name__}: {error}"
        finally:
            self._notify.close()

    def _as_watched(self, path: str) -> str:
        """Return a path as below the watched folder: some systems tell of it by its real place."""
        if not self._real or path.startswith(tuple(f"{folder}{os.sep}" for folder in self.folders)):
            return path
        for real, folder in self._real.items():
            if path == real or path.startswith(real + os.sep):
                return folder + path[len(real) :]
        return path
