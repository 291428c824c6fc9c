"""Follows a memory: gives the events that come, or what they mean once they are analysed. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recollect.memory.pipes.replay import Changes
from recollect.memory.pipes.watch import Batch, Wanted
from recollect.model.events import Event
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.store.feed import ChangeFollower, SessionNews
from recollect.store.insights import NodeFilter
from recollect.store.sinks import id_of_item

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.store.insights import InsightReader
    from recollect.store.reader import Reader
    from recollect.store.sinks import Item, Sink

POSITION = "memory"
"""The name under which a sink keeps up to when sessions that are not named there were passed over."""
_OVERLAP_US = 5_000_000
"""What reaches over sessions is stored a moment after they are analysed: they are looked at again for so long."""


class FollowedMemory(Protocol):
    """What is needed of an open memory."""

    home: Path

    def reader(self) -> Reader: ...
    def distilled(self) -> InsightReader: ...


class Following:
    """What is new in a memory since the last look. One thread."""

    def __init__(
        self, memory: FollowedMemory, *, wanted: Wanted, since: int | None = None, before: Sink | None = None
    ) -> None:
        """since: begin with what happened from then on, UTC microseconds; None: with what comes from now on.

        before: the sink that everything goes to: what it has is not given again, and it goes on where it was. Raises
        StoreError.
        """
        memory.reader()  # an empty memory is made where there is none
        self._memory = memory
        self._wanted = wanted
        self._since = since
        self._store = ChangeFollower(memory.home)
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
        """Yield what is new, session by session, in the order in which it came.

        A batch's path is the session's uid, its size how many events of the session were given or passed over; a sink
        takes `offsets_of` with it.
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
        """Return what a sink is to remember with a batch, so that a later follower goes on behind it."""
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
        found = self._memory.reader().events(session.uid, first_seq=first, limit=None)
        since = self._since
        return [e for e in found if e.seq < session.next_seq and (since is None or e.ts is None or e.ts >= since)]

    def _is_due(self, session: SessionNews) -> bool:
        """Tell whether a session was analysed again, or so lately that what reaches over it may be new."""
        before = self._analyzed.get(session.uid, 0)
        self._analyzed[session.uid] = session.analyzed_at
        if not session.analyzed_at or (self._since is not None and session.analyzed_at < self._since and not before):
            return False
        return session.analyzed_at != before or session.analyzed_at >= self._at - _OVERLAP_US

    def _meaning(self, uid: str) -> list[Item]:
        distilled, wanted = self._memory.distilled(), self._wanted
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
