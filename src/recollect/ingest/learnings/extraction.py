"""The result of extracting from one session, in whichever process it ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from recollect.model.learnings.learnings import Learning

if TYPE_CHECKING:
    from recollect.store.insight_feed import AnalysisInput


class Extractor(Protocol):
    """Finds learnings in a session, and whether it tells that something pending was done. Pure."""

    @property
    def version(self) -> str:
        """Name and version. Where it changes, sessions are learned from again."""
        ...

    def extract(self, of_session: AnalysisInput) -> Sequence[Learning]:
        """Return what a session gives, with evidence; `recorded_at` is not set."""
        ...

    def closed(self, of_session: AnalysisInput, pending: Iterable[Learning]) -> Sequence[Learning]:
        """Return those of the pending actions that the session shows to be done, with `done_at`."""
        ...


class Extraction(msgspec.Struct, frozen=True):
    """What rules learned from a session of so many events. learnings: with `recorded_at`."""

    learnings: tuple[Learning, ...]
    event_count: int


def extraction_of(source: AnalysisInput, extractor: Extractor) -> Extraction:
    """Return what an extractor learns from a session. Raises StoreCorrupt, ArchiveError."""
    if not source.events:
        return Extraction((), 0)
    return Extraction(recorded(extractor.extract(source), source), len(source.events))


def recorded(learnings: Sequence[Learning], source: AnalysisInput) -> tuple[Learning, ...]:
    """Return learnings of a session with when the last of the evidence that it has was first seen."""
    if not learnings:
        return ()
    locations = {(event.event_id, event.part): event.location for event in source.events}

    def seen_at(learning: Learning) -> int:
        return source.observed_at(
            {locations[key] for e in learning.evidence if (key := (e.event_id, e.part)) in locations}
        )

    return tuple(msgspec.structs.replace(one, recorded_at=seen_at(one)) for one in learnings)
