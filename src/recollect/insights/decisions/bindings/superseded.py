"""How far a decision reaches in its session: until a later one on the same subject."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

from recollect.insights.stream import SessionEvents


class Reach:
    """Says what stands between what was said at a place and what follows. Of a session without what was undone."""

    def __init__(self, session: SessionEvents) -> None:
        self._compactions = [i for i, event in enumerate(session.events) if event.kind == "compaction"]

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
