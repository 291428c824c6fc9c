"""Ranked sessions: what a search found, gathered by the session it stands in. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.model.learnings.entries import ENTRY_KINDS
from recollect.recall.answers import Hit

DECAY = 0.5
"""What each further hit of a session counts, against the one before it: a session that is all about the question comes
before one that mentions it once a little better, and length alone wins nothing."""
COUNTED = 8
"""Hits of a session that count; beyond this the shares are too small to matter."""


class Conversation(msgspec.Struct, frozen=True):
    """One session that answers, with its best event. hits: how many of its events were found."""

    best: Hit
    hits: int
    score: float

    @property
    def session_uid(self) -> str:
        """The session."""
        return self.best.session_uid


def conversations(hits: Sequence[Hit]) -> tuple[Conversation, ...]:
    """Return the sessions of hits, best first; equal ones in the order of their best hit.

    hits: as a search gives them, best first.
    """
    of_session: dict[str, list[Hit]] = {}
    for hit in hits:
        if hit.kind in ENTRY_KINDS:
            continue  # a document is no session
        of_session.setdefault(hit.session_uid, []).append(hit)
    found = [
        Conversation(
            best=own[0],
            hits=len(own) + max(hit.more_in_session for hit in own),
            score=sum(hit.score * DECAY**place for place, hit in enumerate(own[:COUNTED])),
        )
        for own in of_session.values()
    ]
    return tuple(sorted(found, key=lambda c: -c.score))
