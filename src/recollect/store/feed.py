"""What a consumer of the change log reads that keeps something of its own for each text: vectors, later learnings.

Apart from `store.ports.Reader`: it serves one process in the background, not questions. Implemented by each backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from recollect.model.payloads import Payload
from recollect.store.entries import EntryFeed
from recollect.store.ports import ChangeRange

KeyRange = tuple[int, int]
"""The first and the last event key that are meant."""


class FeedEvent(NamedTuple):
    """One event that a search may find, with its whole, redacted payload."""

    key: int
    payload: Payload


class TextFeed(Protocol):
    """Reads events by kind and range of keys. Never blocked by the writer; safe from many threads.

    entries: the same for what was learned, noted and documented.
    """

    @property
    def entries(self) -> EntryFeed: ...

    def derivation_id(self) -> str:
        """Return the random id of what is derived, 32 hexadecimal digits. A database that was derived anew has another
        one: keys that were read before mean nothing in it."""
        ...

    def last_change(self) -> int:
        """Return the newest id of the change log, 0 when there is none."""
        ...

    def changes_since(self, position: int, *, limit: int = 10_000) -> list[ChangeRange]:
        """Return the entries of the change log after a position, oldest first."""
        ...

    def sessions_newest_first(self) -> list[int]:
        """Return the numbers of all sessions, those that ended last first."""
        ...

    def count_of_kinds(self, kinds: Iterable[str], ranges: Iterable[KeyRange]) -> int:
        """Return how many events of these kinds that a search may find have a key in the ranges."""
        ...

    def events_of_kinds(self, kinds: Iterable[str], ranges: Iterable[KeyRange]) -> Iterator[FeedEvent]:
        """Yield those events, in the order of the ranges, by key. No transaction stays open between batches."""
        ...

    def acknowledge(self, consumer: str, position: int, *, derivation_id: str) -> bool:
        """Record how far a consumer is, so that the change log keeps what it has not taken; False where the database
        is another by now. Waits for the ingester up to the busy timeout, then raises StoreLocked."""
        ...

    def leave(self, consumer: str) -> None:
        """Forget a consumer, so that the change log keeps nothing for it any more."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...
