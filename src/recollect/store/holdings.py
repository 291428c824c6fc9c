"""What the raw bytes of each session take, and what of a session decides whether they may go. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Holding(NamedTuple):
    """One session. Times in UTC microseconds.

    is_covered: there is a digest that takes account of its last record. last_at: when it was last active, by its own
    last event; of one whose events have no time, when it was first seen. taken_at: when it was last taken in. is_gone:
    the agent has deleted what it was read from. archive_bytes: stored bytes of the chunks that only it has. text_bytes:
    what its events say, as stored, without what was kept when it was evicted. shared: chunks that others have too.
    large_bytes: about how much of `archive_bytes` large results and images are, 0 where that was not asked for.
    """

    session_uid: str
    agent: str
    repo: str
    analyzed_at: int | None
    evicted_at: int | None
    last_at: int
    taken_at: int
    is_covered: bool
    is_gone: bool
    is_pinned: bool
    archive_bytes: int
    text_bytes: int
    shared: tuple[int, ...] = ()
    large_bytes: int = 0
    event_count: int = 0


class SharedChunk(NamedTuple):
    """A chunk that several have: its stored bytes, and how many have it, sessions and other sources."""

    stored_bytes: int
    holders: int


class Holdings(NamedTuple):
    """Everything that eviction can free. shared: by the numbers in `Holding.shared`."""

    sessions: Sequence[Holding]
    shared: Mapping[int, SharedChunk]

    @property
    def raw_bytes(self) -> int:
        """What the caps count: bytes that go when every session is evicted."""
        own = sum(held.archive_bytes + held.text_bytes for held in self.sessions)
        return own + sum(chunk.stored_bytes for chunk in self.shared.values())
