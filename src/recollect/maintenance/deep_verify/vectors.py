"""The vectors against the store: whose they are, whether any is missing, and whether they still mean their text; of
events and of entries."""

from __future__ import annotations

from recollect.index.vectors.entries.entry_index import EntryVectorIndex
from recollect.index.vectors.texts import KINDS, chunks_of, chunks_of_part
from recollect.index.vectors.vector_index import MAX_KEY, VectorIndex
from recollect.maintenance.deep_verify.parts import PartCheck
from recollect.store.entries import EntryFeed, EntryTexts, key_of_entry
from recollect.store.feed import TextFeed
from recollect.store.keys import ENTRY_BASE, SEQ_BITS

SAMPLE_EVERY = 50
_ENTRIES_AT_A_TIME = 200
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


def compare_entry_vectors(index: EntryVectorIndex, feed: EntryFeed, check: PartCheck, *, with_samples: bool) -> None:
    """Hold the vectors of entries against every entry that should have some, as `compare_vectors` does for events.

    What differs, and how many entries were looked at, is added to `check`.
    """
    rows = index.rows()
    if rows is None:
        if index.is_stale():
            check.notes.append("none are made of what was learned, noted and documented: `recollect embed`")
        return
    numbers, marks = rows.marks_by_session()
    kept = dict(zip(numbers.tolist(), marks.tolist(), strict=True))
    keys = set(rows.live_keys().tolist())
    is_stale = index.is_stale()
    after = looked_at = 0
    while batch := feed.marks(after=after, limit=_ENTRIES_AT_A_TIME):
        after = batch[-1][0]
        texts = feed.by_number([number for number, _mark in batch])
        for number, mark in batch:
            if number not in texts:
                continue  # gone meanwhile
            is_same = kept.pop(ENTRY_BASE + number, None) == mark
            chunks = _chunks_by_key(texts[number])
            without = chunks.keys() - keys if is_same else chunks.keys()
            if with_samples:  # what the model knows no sign of has none
                without = {key for key in without if index.asked.vector_of(chunks[key]).any()}
            elif is_same:
                without = set()
            if without and not is_stale:
                check.differs(texts[number].entry.uid, "has no vector of what it says now")
            elif chunks and is_same and with_samples and looked_at % SAMPLE_EVERY == 0:
                key = min(chunks)
                _look_at(key, chunks[key], index, check)
            looked_at += 1
    check.checked += looked_at
    if not is_stale:
        for number in kept:
            check.differs(f"entry {number - ENTRY_BASE}", "has a vector and is not stored")
    else:
        check.notes.append("some of what was learned, noted and documented are not made yet: `recollect embed`")


def _chunks_by_key(one: EntryTexts) -> dict[int, str]:
    """Return the first piece of each part that has one, by the part's key."""
    found: dict[int, str] = {}
    for part in one.parts:
        pieces = chunks_of_part(one.entry, part)
        if pieces:
            found[key_of_entry(one.entry.number, part.part)] = pieces[0]
    return found


def _look_at(key: int, chunk: str, index: VectorIndex, check: PartCheck) -> None:
    found = index.similarities(chunk, [key]).get(key)
    if found is not None and found < LEAST_SIMILARITY:
        name = f"entry {(key >> SEQ_BITS) - ENTRY_BASE}" if key >> SEQ_BITS >= ENTRY_BASE else f"event key {key}"
        check.differs(name, f"its vector is not that of its text (similarity {found:.2f})")
