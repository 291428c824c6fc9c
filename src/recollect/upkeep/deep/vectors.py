"""The vectors against the store: whose they are, whether any is missing, and whether they still mean their text."""

from __future__ import annotations

from recollect.index.vectors.texts import KINDS, chunks_of
from recollect.index.vectors.vector_index import MAX_KEY, VectorIndex
from recollect.store.feed import TextFeed
from recollect.upkeep.deep.parts import PartCheck

SAMPLE_EVERY = 50
LEAST_SIMILARITY = 0.97
"""A vector is kept in eight bits a dimension: its likeness to the one that is made anew stays above this."""


def compare_vectors(index: VectorIndex, feed: TextFeed, *, with_samples: bool) -> PartCheck:
    """Hold the vectors against every text that should have some.

    with_samples: some texts are embedded again (not where that costs money). Raises IndexUnavailable, StoreError.
    """
    check = PartCheck("vectors")
    rows = index.rows()
    if rows is None:
        check.notes.append("none are made")
        return check
    covered = set(rows.live_keys().tolist())
    is_stale = index.coverage().is_stale
    for event in feed.events_of_kinds(KINDS, [(1, MAX_KEY)]):
        chunks = chunks_of(event.payload)
        if not chunks:
            continue
        if event.key not in covered:
            if not is_stale:
                check.differs(f"event key {event.key}", "has no vector")
            continue
        covered.remove(event.key)
        if with_samples and check.checked % SAMPLE_EVERY == 0:
            _look_at(event.key, chunks[0], index, check)
        check.checked += 1
    for key in covered:
        check.differs(f"event key {key}", "has a vector and is no text that a search may find")
    if is_stale:
        check.notes.append("some are not made yet: `recollect embed`")
    return check


def _look_at(key: int, chunk: str, index: VectorIndex, check: PartCheck) -> None:
    found = index.similarities(chunk, [key]).get(key)
    if found is not None and found < LEAST_SIMILARITY:
        check.differs(f"event key {key}", f"its vector is not that of its text (similarity {found:.2f})")
