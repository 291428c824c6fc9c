"""Input and output of the extractor: a session, its language, and the learnings found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from recollect.model.events import Event
from recollect.model.learnings.learnings import Learning
from recollect.model.sessions import Session

EXTRACTOR = "rules@8"
"""Name and version of these rules; raised whenever the same events would give other learnings."""

Ending = Literal["passed", "failed", "unknown"]
"""How a command ended; unknown: nobody says, a person stopped it, or its exit is not that of this command."""


class Observed(Protocol):
    """One session to learn from; `store.insight_feed.AnalysisInput` is one."""

    @property
    def session(self) -> Session:
        """What is known of it."""
        ...

    @property
    def events(self) -> Sequence[Event]:
        """Its visible events in canonical order. Long strings of tools may be "", then `load` gives them."""
        ...

    def load(self, event: Event) -> Event:
        """Return one of the events with its whole payload."""
        ...


class KeptSession:
    """A session without what rewinds left behind. Implements `Observed`."""

    def __init__(self, observed: Observed) -> None:
        self.session = observed.session
        self.events = [event for event in observed.events if not event.is_undone]
        self.load = observed.load


def kept_of(observed: Observed) -> Observed:
    """Return a session without what rewinds left behind; itself where they left nothing."""
    return KeptSession(observed) if any(event.is_undone for event in observed.events) else observed


class Extracted(NamedTuple):
    """Learnings with evidence, ids, features and confidence; without `recorded_at` and `batch`.

    Each id occurs once. Those of state "quarantined" have a feature "held back: REASON" of weight 0. looked_at: events
    that were read.
    """

    learnings: list[Learning]
    looked_at: int
