"""How far a decision reaches in its session: until a later one on the same subject, or until it was rewound."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

from recollect.insights.stream import SessionEvents
from recollect.model.payloads import Rewind, UserMessage


class Dropped(NamedTuple):
    """Places that a rewind left behind: start to end, half-open; it happened at `end`."""

    start: int
    end: int


def dropped(session: SessionEvents) -> list[Dropped]:
    """Return what the rewinds of a session left behind, in order. A rewind to nowhere known leaves nothing."""
    if not session.of(Rewind):
        return []
    found: list[Dropped] = []
    records: dict[str, int] = {}
    turns: list[int] = []
    for position, event in enumerate(session.events):
        payload = event.payload
        if isinstance(payload, Rewind):
            start = records.get(payload.to_event, -1) if payload.to_event else -1
            if start < 0 and payload.turns_dropped and len(turns) >= payload.turns_dropped > 0:
                start = turns[-payload.turns_dropped] - 1
            if 0 <= start + 1 < position and (start >= 0 or payload.turns_dropped):
                found.append(Dropped(start + 1, position))
                del turns[bisect_right(turns, start) :]
        elif isinstance(payload, UserMessage) and payload.origin in ("human", "queued", "command"):
            turns.append(position)
        records[event.event_id] = position
    return found


class Reach:
    """Says up to where what was said at a place governs what follows."""

    def __init__(self, session: SessionEvents) -> None:
        self._dropped = dropped(session)
        self._compactions = [i for i, event in enumerate(session.events) if event.kind == "compaction"]
        self._end = len(session.events)

    def rewound_at(self, position: int) -> int:
        """Return the place of the rewind that left a place behind, the end of the session where none did."""
        return min((range_.end for range_ in self._dropped if range_.start <= position < range_.end), default=self._end)

    def is_compacted(self, position: int, later: int) -> bool:
        """Say whether the context was compacted between two places."""
        return bisect_right(self._compactions, later) > bisect_right(self._compactions, position)


class Place(NamedTuple):
    """Where a subject stands, the keys that it says, and those that end its reach where a later one says them."""

    position: int
    said: Collection[Hashable]
    ended_by: Collection[Hashable]


def taken_over(subjects: Sequence[Place], end: int) -> list[int]:
    """Return for each subject (in order of place) where a later one stands that says what ends it, `end` where none
    does. Those of the same place don't take over from each other. Linear in the number of keys."""
    found = [end] * len(subjects)
    following: dict[Hashable, tuple[int, int]] = {}
    for i in range(len(subjects) - 1, -1, -1):
        place = subjects[i].position
        for key in subjects[i].ended_by:
            first, beyond = following.get(key, (end, end))
            found[i] = min(found[i], first if first > place else beyond)
        for key in subjects[i].said:
            first, beyond = following.get(key, (end, end))
            if first != place:
                following[key] = (place, first)
    return found
