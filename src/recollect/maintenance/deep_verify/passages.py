"""The vectors of the contextual model against the store: whether every passage of the sessions that it has read has the
vector of what it says now."""

from __future__ import annotations

from collections.abc import Callable

from recollect.index.passages.build import STAGES, PassageModel, coverage_of, range_of, texts_of
from recollect.index.passages.codes import cosines
from recollect.maintenance.deep_verify.parts import PartCheck
from recollect.maintenance.deep_verify.vectors import LEAST_SIMILARITY, SAMPLE_EVERY
from recollect.store.feed import TextFeed
from recollect.store.passages import PassageStore, hash_of


def compare_passages(store: PassageStore, feed: TextFeed, model: Callable[[], PassageModel], check: PartCheck) -> None:
    """Hold the vectors of passages against the texts of the sessions that were read to their end.

    model: gives the model, which is asked for samples. What differs, and how many events were looked at, is added to
    `check`. Raises IndexUnavailable, StoreError, EmbeddingUnavailable.
    """
    coverage = coverage_of(feed, store)
    if coverage.is_stale:
        check.notes.append(f"the contextual model has read {coverage.covered} of {coverage.total} sessions")
    if store.position is None or feed.changes_since(store.position, limit=1):
        return
    looked_at = 0
    kinds = [kind for of_stage in STAGES for kind in of_stage]
    for number, stage in store.stages().items():
        for event in feed.events_of_kinds(kinds, [range_of(number)] if stage >= len(STAGES) else []):
            texts = texts_of(event.payload)[1]
            if not texts:
                continue
            hashes = tuple(hash_of(text) for text in texts)
            codes = store.codes(hashes)
            if store.hashes([event.key]).get(event.key) != hashes or codes.keys() != set(hashes):
                check.differs(f"event key {event.key}", "its passages have not the vectors of what it says now")
            elif looked_at % SAMPLE_EVERY == 0:
                (found,) = cosines(model().embed(texts[:1])[0], [codes[hashes[0]]])
                if found < LEAST_SIMILARITY:
                    check.differs(f"event key {event.key}", f"a passage's vector is not of its text ({found:.2f})")
            looked_at += 1
    check.checked += looked_at
