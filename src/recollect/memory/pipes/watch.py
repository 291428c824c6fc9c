"""Follows transcripts as they grow, by looking at them again and again: no memory, nothing written but to a sink."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from recollect.config import Config
from recollect.errors import SourceError
from recollect.insights.stages import Stages
from recollect.memory.pipes.reader import Growing, Reading, growing, mean, read_path
from recollect.memory.pipes.replay import Changes, groups_of, items_of
from recollect.model.events import Event
from recollect.store.sinks import Group, Item, Sink

EVERY_S = 0.25
_MANY = 100_000
SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "__pycache__"))


class Wanted(NamedTuple):
    """What a watcher is given."""

    events: bool = True
    nodes: bool = False
    signals: bool = False
    digests: bool = False
    ranked: bool = False
    """Of nodes, also those that learned weights find."""

    @property
    def groups(self) -> frozenset[Group]:
        """What is wanted besides events."""
        return groups_of(nodes=self.nodes, signals=self.signals, digests=self.digests)

    @property
    def is_distilled(self) -> bool:
        """True where events alone will not do."""
        return bool(self.groups)


class Followed(NamedTuple):
    """Files and folders; whose they are, where their content does not tell; the configuration they are read with."""

    paths: tuple[Path, ...]
    agent: str | None = None
    config: Config | None = None


class Pace(NamedTuple):
    """idle_s: how long a file is quiet before it is distilled. from_start False: what is there already is not given."""

    idle_s: float = 2.0
    from_start: bool = True


class Batch(NamedTuple):
    """What one look at one file gave. size: how far it was read."""

    path: str
    size: int
    items: list[Item]


class Watcher:
    """Looks at files and folders of transcripts; gives what is new since the last look.

    Events are given as soon as their record is whole. Nodes, signals and digests wait until a file has been quiet for
    `Pace.idle_s`, or until the end; what changed since is given again, what no longer holds as retracted.
    """

    def __init__(
        self, followed: Followed, *, wanted: Wanted, stages: Stages | None = None, before: Sink | None = None,
        pace: Pace | None = None, unread: Callable[[str, str], None] | None = None,
    ) -> None:  # fmt: skip
        """before: the sink that everything goes to; what it has is not given again. unread: told once of each file
        that cannot be read."""
        pace = pace or Pace()
        self._paths = followed.paths
        self._agent = followed.agent
        self._config = followed.config or Config()
        self._wanted = wanted
        self._stages = stages
        self._idle_s = pace.idle_s
        self._unread = unread or (lambda _path, _why: None)
        self._offsets = before.offsets() if before is not None else {}
        held = before.given() if before is not None and wanted.is_distilled else None
        self._changes = Changes(held, groups=wanted.groups)
        self._files: dict[str, _File] = {}
        self._refused: dict[str, tuple[int, int]] = {}
        if not pace.from_start:
            for batch in self.look(is_end=True):
                del batch

    def look(self, *, is_end: bool = False) -> Iterator[Batch]:
        """Yield what is new in every file that changed; with is_end also what waits for a quiet moment."""
        now = time.monotonic()
        for path, info in self._present():
            key = str(path)
            state = (info.st_size, info.st_mtime_ns)
            if self._refused.get(key) == state:
                continue
            file = self._files.get(key) or _File()
            if file.state != state:
                reading = self._read(path, state, file, is_end=is_end)
                if reading is None:
                    continue
                self._files[key] = file
                file.state, file.changed_at, file.reading, file.read_to = state, now, reading, reading.bytes
                new = file.new_events(self._offsets.pop(key, 0)) if self._wanted.events else []
                if new:
                    yield Batch(key, reading.bytes, list(new))
            if file.reading is not None and (is_end or now - file.changed_at >= self._idle_s):
                items = self._distilled(file)
                if items:
                    yield Batch(key, file.read_to, items)

    def _distilled(self, file: _File) -> list[Item]:
        reading, file.reading = file.reading, None
        if reading is None or not self._wanted.is_distilled:
            return []
        meaning = mean(reading.events, stages=self._stages)
        wanted = self._wanted
        items = items_of(meaning, nodes=wanted.nodes, signals=wanted.signals, digests=wanted.digests)
        return self._changes.take(items, reading.events)

    def _read(self, path: Path, state: tuple[int, int], file: _File, *, is_end: bool) -> Reading | None:
        try:
            if file.growing is not None and not file.growing.has_grown_only(state[0]):
                file.growing = None
            if file.growing is None:
                file.growing = growing(path, agent=self._agent, config=self._config)
            if file.growing is not None:
                return file.growing.read(is_end=is_end)
            reading = read_path(path, agent=self._agent, config=self._config)
        except SourceError as error:
            self._refused[str(path)] = state
            self._unread(str(path), str(error))
            return None
        self._refused.pop(str(path), None)
        return reading

    def _present(self) -> Iterator[tuple[Path, os.stat_result]]:
        seen = 0
        for path in self._paths:
            for file in _below(path):
                try:
                    info = os.stat(file)
                except OSError:
                    continue
                if stat.S_ISREG(info.st_mode) and info.st_size:
                    seen += 1
                    if seen > _MANY:
                        return
                    yield Path(file), info


class _File:
    """What is known of one file."""

    def __init__(self) -> None:
        self.state: tuple[int, int] = (-1, 0)
        self.changed_at = 0.0
        self.read_to = 0
        self.growing: Growing | None = None
        self.reading: Reading | None = None
        self._given: dict[tuple[str, str, int], Event] = {}

    def new_events(self, offset: int) -> list[Event]:
        """Return the events that were not given yet, or whose record is another now.

        offset: what lies before it in a file of lines was given by an earlier watcher.
        """
        new = []
        start = offset if self.growing is not None else 0
        for events in self.reading.events.values() if self.reading else ():
            for event in events:
                key = (event.session_uid, event.event_id, event.part)
                before = self._given.get(key)
                if before is None or before.location.record_sha256 != event.location.record_sha256:
                    self._given[key] = event
                    if event.location.offset_bytes >= start:
                        new.append(event)
        return new


def _below(path: Path) -> Iterator[str]:
    if not path.is_dir():
        yield str(path)
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        yield from (os.path.join(folder, name) for name in sorted(files))
