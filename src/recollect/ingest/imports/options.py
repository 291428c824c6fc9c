"""What a person wants of a bulk import."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import NamedTuple

LEAST_MESSAGES = 3


class ImportWish(NamedTuple):
    """Empty: everything that was found.

    since_us: only sessions whose last message is of this time or later (UTC microseconds). least_messages: sessions
    with fewer are archived and stored, but not indexed; 0: all are; None: 3 of an agent's sessions, and 0 of what only
    ever comes as an export, where a question and its answer are a conversation. session: only this one, by its uid or
    the unique beginning of it; it is indexed whatever it holds. zone: in which times are told.
    """

    since_us: int | None = None
    least_messages: int | None = 0
    session: str = ""
    zone: tzinfo = UTC

    def least(self, *, is_export: bool) -> int:
        """Return how many messages it takes to be indexed."""
        if self.session:
            return 0
        if self.least_messages is None:
            return 0 if is_export else LEAST_MESSAGES
        return self.least_messages

    @property
    def chooses(self) -> bool:
        """Whether sources must be read to tell which of them are wanted."""
        return bool(self.session) or self.since_us is not None
