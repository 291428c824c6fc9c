"""Follows growing transcripts by polling. Needs no memory; writes only to a sink."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from recollect.config import Config
from recollect.errors import SourceError
from recollect.ingest.open_home import OpenHome
from recollect.insights.preparation import default_stages
from recollect.insights.stages import Stages
from recollect.memory.transcripts import Growing, Meaning, Reading, growing, mean, read_path
from recollect.model.events import Event
from recollect.model.insights.nodes import Node
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.store.change_feed import ChangeFollower, SessionNews
from recollect.store.insights import NodeFilter
from recollect.store.sinks import Given, Group, Item, Retracted, Sink, encode_item, fingerprint, group_of_id, id_of_item

EVERY_S = 0.25
_MANY = 100_000
SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "__pycache__"))


class Wanted(NamedTuple):
    """What a watcher delivers."""

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
        """Whether it needs more than events."""
        return bool(self.groups)


class Followed(NamedTuple):
    """Files and folders, their agent if their content does not tell, and the configuration to read them with."""

    paths: tuple[Path, ...]
    agent: str | None = None
    config: Config | None = None


class Pace(NamedTuple):
    """idle_s: how long a file must be quiet before its analysis. from_start False: skip existing content."""

    idle_s: float = 2.0
    from_start: bool = True


class Batch(NamedTuple):
    """The result of one look at one file. size: how far it was read."""

    path: str
    size: int
    items: list[Item]


class Watcher:
    """Polls files and folders of transcripts; delivers what is new since the last look.

    Delivers events as soon as their record is complete. Nodes, signals and digests wait until a file was quiet for
    `Pace.idle_s`, or until the end; later changes are delivered again, and what no longer holds is retracted.
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
        """Yield what is new in every changed file; with is_end also what waits for a quiet moment."""
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


class Changes:
    """Remembers what was delivered, and reports what is new, changed or retracted."""

    def __init__(self, given: Mapping[str, Given] | None = None, *, groups: Collection[Group]) -> None:
        """given: what a sink holds from before, see `Sink.given`. groups: what `take` is given; what the sink holds of
        others is left alone."""
        held = (given or {}).items()
        self._given: dict[str, Given] = {name: of for name, of in held if group_of_id(name, of[0]) in groups}

    def take(self, items: Sequence[Item], sessions: Iterable[str]) -> list[Item]:
        """Return what to deliver for all present items of some sessions: new and changed ones, then retracted ones."""
        given: list[Item] = []
        now: dict[str, Given] = {}
        for item in items:
            name = id_of_item(item)
            now[name] = (item.session_uid, fingerprint(encode_item(item)))
            if self._given.get(name) != now[name]:
                given.append(item)
        asked = {*sessions, *(uid for uid, _ in now.values())}
        gone = [(name, uid) for name, (uid, _) in self._given.items() if uid in asked and name not in now]
        for name, uid in gone:
            del self._given[name]
            given.append(Retracted(name, uid))
        self._given.update(now)
        return given


def groups_of(*, nodes: bool = True, signals: bool = False, digests: bool = False) -> frozenset[Group]:
    """Return the requested groups."""
    asked: dict[Group, bool] = {"nodes": nodes, "signals": signals, "digests": digests}
    return frozenset(group for group, is_wanted in asked.items() if is_wanted)


def items_of(meaning: Meaning, *, nodes: bool = True, signals: bool = False, digests: bool = False) -> list[Item]:
    """Return the requested items of an analysis: each session's signals, nodes and digest; then what spans sessions."""
    found: list[Item] = []
    for analysis in meaning.analyses:
        found += analysis.signals if signals else []
        found += analysis.nodes if nodes else []
        found += [analysis.digest] if digests else []
    across: Sequence[Node] = meaning.across if nodes else ()
    return [*found, *across]


def play(
    sessions: Mapping[str, Sequence[Event]], *, steps: int = 10, stages: Stages | None = None,
    signals: bool = False, digests: bool = False, given: Mapping[str, Given] | None = None,
) -> Iterator[list[Item]]:  # fmt: skip
    """Yield what is new, changed or retracted at each of at most `steps` moments.

    The moments follow whole turns and are spread evenly over all sessions, in the transcript's order. Together they
    give what one pass over the whole gives. given: what a sink already holds.
    """
    stages = stages or default_stages()
    order = [event for events in sessions.values() for event in events]
    changes = Changes(given, groups=groups_of(signals=signals, digests=digests))
    for end in _moments(order, steps):
        so_far: dict[str, list[Event]] = {}
        for event in order[:end]:
            so_far.setdefault(event.session_uid, []).append(event)
        yield changes.take(items_of(mean(so_far, stages=stages), signals=signals, digests=digests), so_far)


def _moments(order: Sequence[Event], steps: int) -> list[int]:
    """Return ends of turns, at most `steps`, the last one the end of everything."""
    ends = [
        i
        for i in range(1, len(order))
        if (order[i].session_uid, order[i].turn_index) != (order[i - 1].session_uid, order[i - 1].turn_index)
    ]
    ends.append(len(order))
    if len(ends) <= steps:
        return ends
    return sorted({ends[(i + 1) * len(ends) // steps - 1] for i in range(steps)})


POSITION = "memory"
"""The name under which a sink keeps up to when sessions that are not named there were passed over."""
_OVERLAP_US = 5_000_000
"""What reaches over sessions is stored a moment after they are analysed: they are looked at again for so long."""


class Following:
    """What is new in a memory since the last look. For one thread."""

    def __init__(self, home: OpenHome, *, wanted: Wanted, since: int | None = None, before: Sink | None = None) -> None:
        """since: begin with what happened from then on, UTC microseconds; None: with what comes from now on.

        before: the sink that everything goes to: what it has is not given again, and it continues where it was. Raises
        StoreError.
        """
        home.reader()  # an empty memory is made if there is none
        self._home = home
        self._wanted = wanted
        self._since = since
        self._store = ChangeFollower(home.home)
        held = before.given() if before is not None and wanted.is_distilled else None
        self._changes = Changes(held, groups=wanted.groups)
        self._version = -1
        self._at = 0
        self._began_at = 0
        self._next: dict[str, int] = {}
        self._analyzed: dict[str, int] = {}
        self._known_before: dict[str, int] = {}
        """Sessions whose meaning was there before the first look, and when they were analysed: it is not given."""
        self._begin(before.offsets() if before is not None else {})

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def look(self) -> Iterator[Batch]:
        """Yield what is new, session by session, in order of arrival.

        A batch's path is the session's uid, its size the number of events delivered or skipped; a sink stores
        `offsets_of` with it.
        """
        version = self._store.version()
        if version == self._version:
            return
        news = self._store.sessions_since(self._at - _OVERLAP_US)
        for session in news:
            self._at = max(self._at, session.ingested_at, session.analyzed_at)
            items: list[Item] = []
            if self._wanted.events:
                items += self._events(session)
            if self._wanted.is_distilled and self._is_due(session):
                items += self._meaning(session.uid)
            if items:
                yield Batch(session.uid, self._next.get(session.uid, session.next_seq), items)
        self._version = version

    def offsets_of(self, batch: Batch) -> Mapping[str, int]:
        """Return what a sink must store with a batch, so that a later follower continues after it."""
        return {batch.path: batch.size, POSITION: self._began_at}

    def _begin(self, offsets: Mapping[str, int]) -> None:
        position = offsets.get(POSITION)
        for session in self._store.sessions_since(0):
            if session.uid in offsets:
                self._next[session.uid] = offsets[session.uid]
            elif position is not None:
                if session.ingested_at <= position:
                    self._next[session.uid] = session.next_seq
            elif self._since is None:  # else everything of it is looked at, and left out by its time
                self._next[session.uid] = session.next_seq
                self._analyzed[session.uid] = session.analyzed_at
                if session.analyzed_at:
                    self._known_before[session.uid] = session.analyzed_at
            self._began_at = max(self._began_at, session.ingested_at, session.analyzed_at)
        if position is not None:
            self._began_at = position
        elif self._since is None:
            self._at = self._began_at

    def _events(self, session: SessionNews) -> list[Event]:
        first = self._next.get(session.uid, 0)
        if first >= session.next_seq:
            return []
        self._next[session.uid] = session.next_seq
        found = self._home.reader().events(session.uid, first_seq=first, limit=None)
        since = self._since
        return [e for e in found if e.seq < session.next_seq and (since is None or e.ts is None or e.ts >= since)]

    def _is_due(self, session: SessionNews) -> bool:
        """Return whether a session was analysed again, or so lately that what reaches over it may be new."""
        before = self._analyzed.get(session.uid, 0)
        self._analyzed[session.uid] = session.analyzed_at
        if not session.analyzed_at or (self._since is not None and session.analyzed_at < self._since and not before):
            return False
        return session.analyzed_at != before or session.analyzed_at >= self._at - _OVERLAP_US

    def _meaning(self, uid: str) -> list[Item]:
        distilled, wanted = self._home.distilled(), self._wanted
        only = NodeFilter(sessions=(uid,))
        items: list[Item] = []
        known: set[str] = set()
        if wanted.signals:
            items += [signal for kept in distilled.signals(SIGNAL_KINDS, only) for signal in kept.signals]
        if wanted.nodes:
            before = self._known_before.pop(uid, 0)
            for kept in distilled.nodes(only):
                if kept.node.status == "ranked" and not wanted.ranked:
                    continue
                items.append(kept.node)
                if kept.recorded_at < before:
                    known.add(id_of_item(kept.node))
        if wanted.digests:
            items += list(distilled.digests((uid,)))
        return [item for item in self._changes.take(items, (uid,)) if id_of_item(item) not in known]
