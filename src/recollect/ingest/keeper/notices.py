"""Changes that wait for ingest: paths, or everything. Any thread adds; one thread takes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from recollect.ingest.report import SyncReport
    from recollect.store.rows import LedgerRow


MOST_LATEST = 128
"""Files and folders that changed last; a look at all of them costs a fraction of a millisecond."""
MOST_PATHS = 2_000
"""More changed paths than this are looked at as everything."""


class Noticed(NamedTuple):
    """What one pass ingests. since: when the first of it was noticed, on the clock of `time.monotonic`."""

    paths: frozenset[str]
    is_everything: bool
    since: float


class Notices:
    """Collects what changed while a pass is at work."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paths: set[str] = set()
        self._is_everything = False
        self._since = 0.0
        self._held_until = 0.0
        self._taken_since: float | None = None
        """When the oldest change that is being ingested was noticed; None while none is."""
        self._is_ending = False

    def add(self, paths: Collection[str]) -> None:
        """Take note of changed paths."""
        with self._changed:
            self._begin()
            if len(self._paths) + len(paths) > MOST_PATHS:
                self._is_everything = True
            else:
                self._paths.update(paths)
            self._changed.notify_all()

    def add_everything(self) -> None:
        """Take note that anything may have changed."""
        with self._changed:
            self._begin()
            self._is_everything = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait until there is something to take, or so long, or until the end."""
        ends = time.monotonic() + seconds
        with self._changed:
            while not self._is_ending:
                now = time.monotonic()
                if now >= ends or (self._has_any() and now >= self._held_until):
                    return
                self._changed.wait((min(ends, self._held_until) if self._has_any() else ends) - now)

    def take(self) -> Noticed | None:
        """Return what waits, None for nothing (yet). It counts as waiting until `taken` or `put_back`."""
        with self._changed:
            if not self._has_any() or time.monotonic() < self._held_until:
                return None
            found = Noticed(frozenset(self._paths), self._is_everything, self._since)
            self._paths, self._is_everything = set(), False
            self._taken_since = self._since
            return found

    def taken(self) -> None:
        """Record that the taken changes are searchable."""
        with self._changed:
            self._taken_since = None
            self._changed.notify_all()

    def put_back(self, noticed: Noticed, *, seconds: float) -> None:
        """Return what could not be ingested; nothing is taken again for this long."""
        with self._changed:
            self._paths |= noticed.paths
            self._is_everything = self._is_everything or noticed.is_everything
            self._since = noticed.since
            self._held_until = time.monotonic() + seconds
            self._taken_since = None
            self._changed.notify_all()

    def is_waiting(self) -> bool:
        """Return whether something could be taken now."""
        with self._changed:
            return self._has_any() and time.monotonic() >= self._held_until

    def count(self) -> int:
        """Return how many paths wait."""
        with self._changed:
            return len(self._paths)

    def settle(self, seconds: float) -> bool:
        """Wait until every change is ingested; return False once the oldest was noticed that many seconds ago.

        So only what has just changed is waited for: a pass that takes long keeps nobody waiting.
        """
        with self._changed:
            while not self._is_ending and (self._has_any() or self._taken_since is not None):
                since = self._since if self._taken_since is None else self._taken_since
                left = since + seconds - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def end(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()

    def _begin(self) -> None:
        if not self._has_any():
            self._since = time.monotonic()

    def _has_any(self) -> bool:
        return bool(self._paths) or self._is_everything


class LatestPaths:
    """The most recently changed paths and their state. Any thread reads, one adds.

    The system reports a change after about 50 ms. A reader in that time examines these paths itself, because new text
    usually goes to a file that was written before, or beside one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, int] | None] = {}

    def note(self, paths: Iterable[str]) -> None:
        """Take note of how these and their folders are, before they are read."""
        found = {one: _state(one) for path in list(paths)[:MOST_LATEST] for one in (path, os.path.dirname(path))}
        with self._lock:
            for path, state in found.items():
                self._seen.pop(path, None)
                self._seen[path] = state
            for path in list(self._seen)[:-MOST_LATEST]:
                del self._seen[path]

    def know(self, sources: Iterable[LedgerRow]) -> None:
        """Remember sources that nothing was noted of yet, as far as they were read: more text is a change.

        sources: oldest first.
        """
        found: dict[str, tuple[int, int] | None] = {}
        for row in sources:
            state = _state(row.path)
            if state is not None:
                found[row.path] = (row.bytes_seen, state[1])
                folder = os.path.dirname(row.path)
                found[folder] = _state(folder)
        with self._lock:
            kept = {path: state for path, state in found.items() if path not in self._seen}
            self._seen = dict([*kept.items(), *self._seen.items()][-MOST_LATEST:])

    def changed(self) -> list[str]:
        """Return those that are not as they were."""
        with self._lock:
            seen = list(self._seen.items())
        return [path for path, state in seen if _state(path) != state]


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


FIRST_S = 1.0
MOST_LOOKS = 5
_MOST_PATHS = 1_000
"""More than these wait for the pass over everything."""


class SecondLooks:
    """A new folder may be filled before the system watches it; a source may change while it is read."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[float, int]] = {}
        self._looks: dict[str, int] = {}

    def after(self, paths: Iterable[str], report: SyncReport) -> None:
        """Record a pass over some paths and its result."""
        troubled = {one.path for line in report.agents.values() for one in line.skipped}
        now = time.monotonic()
        for path in paths:
            looks = self._looks.pop(path, 0)
            is_troubled = any(one == path or one.startswith((path + os.sep, path + "#")) for one in troubled)
            most = MOST_LOOKS if is_troubled else 1
            if looks < most and len(self._waiting) < _MOST_PATHS and (is_troubled or os.path.isdir(path)):
                self._waiting[path] = (now + FIRST_S * 2**looks, looks + 1)

    def due(self) -> set[str]:
        """Return the paths whose time has come."""
        now = time.monotonic()
        found = {path for path, (at, _) in self._waiting.items() if at <= now}
        for path in found:
            self._looks[path] = self._waiting.pop(path)[1]
        return found

    def next_at(self) -> float:
        """Return when the next is due, on the clock of `time.monotonic`."""
        return min((at for at, _ in self._waiting.values()), default=float("inf"))
