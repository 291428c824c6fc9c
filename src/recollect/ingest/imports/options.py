"""What a person wants of a bulk import."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import NamedTuple


class ImportWish(NamedTuple):
    """Empty: everything that was found.

    since_us: only sessions whose last message is of this time or later (UTC microseconds). least_messages: sessions
    with fewer are archived and stored, but not indexed; 0: all are; None: as the configuration says. session: only
    this one, by its uid or the unique beginning of it; it is indexed whatever it holds. zone: in which times are told.
    """

    since_us: int | None = None
    least_messages: int | None = 0
    session: str = ""
    zone: tzinfo = UTC

    def least(self, usual: int) -> int:
        """Return how many messages it takes to be indexed. usual: as the configuration says."""
        if self.session:
            return 0
        return usual if self.least_messages is None else self.least_messages

    @property
    def chooses(self) -> bool:
        """Whether sources must be read to tell which of them are wanted."""
        return bool(self.session) or self.since_us is not None
