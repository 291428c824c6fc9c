"""`verify --deep` for index and vectors: every stored text has its documents and vectors, and nothing else has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from recollect.errors import IndexUnavailable
from recollect.index.text.shards import ShardContents
from recollect.index.vectors.contextual import ContextualModel
from recollect.index.vectors.passages import STAGES, coverage_of, texts_of
from recollect.index.vectors.talk import cosines
from recollect.index.vectors.texts import KINDS, chunks_of, chunks_of_part
from recollect.index.vectors.vector_index import MAX_KEY, EntryVectorIndex, VectorIndex
from recollect.maintenance.reports import DeepDifference, DeepPart
from recollect.store.entries import EntryReader, EntryTexts, key_of_entry
from recollect.store.feed import TextFeed
from recollect.store.keys import ENTRY_BASE, SEQ_BITS, span_of
from recollect.store.passages import PassageStore, hash_of
from recollect.store.rows import IndexEvent
from recollect.store.slices import IndexDoc
from recollect.units import plural

MAX_DIFFERENCES = 200
"""Told one by one of each part; the rest is counted."""


class PartCheck:
    """Gathers what one part finds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.checked = 0
        self.skipped = 0
        """What was deleted on purpose, and so has nothing to be held against."""
        self.count = 0
        self.notes: list[str] = []
        self._told: list[DeepDifference] = []

    def differs(self, what: str, detail: str) -> None:
        """Take note of a difference. what: the name of the thing: a uid, a citation, a shard."""
        self.count += 1
        if len(self._told) < MAX_DIFFERENCES:
            self._told.append(DeepDifference(what, detail))

    def part(self) -> DeepPart:
        """Return the part as it is in the report."""
        return DeepPart(
            name=self.name, ok=not self.count, checked=self.checked, skipped=self.skipped, count=self.count,
            differences=tuple(self._told), notes=tuple(self.notes),
        )  # fmt: skip


SAMPLE_EVERY = 50
"""Of so many events with documents one has its words looked up."""
_WORDS = 8
_BATCH = 500
DocumentsOf = Callable[[Iterable[IndexEvent]], list[IndexDoc]]


def compare_index(folder: Path, events: Iterable[IndexEvent], documents_of: DocumentsOf) -> PartCheck:
    """Hold the shards below a folder against every event of the store, in order of key.

    documents_of: makes the documents of events as the ingester does. Raises StoreError.
    """
    check = PartCheck("index")
    shards: dict[str, ShardContents | None] = {}
    seen: dict[str, int] = Counter()
    for (shard, session), of_session in groupby(events, key=lambda event: (event.shard, event.session)):
        if shard not in shards:
            shards[shard] = _open(folder, shard, check)
        contents = shards[shard]
        if contents is not None:
            seen[shard] += _Session(contents, session, check).compare(_documents(of_session, documents_of))
    for name, contents in shards.items():
        if contents is not None and contents.documents != seen[name]:
            check.differs(name, f"{_documents_are(contents.documents - seen[name])} of sessions that are not stored")
    return check


def compare_entries(check: PartCheck, folder: Path, shard: str, documents: Iterable[IndexDoc]) -> None:
    """Compare one shard with learnings, notes and documents. documents: of all entries of it, in order."""
    contents = _open(folder, shard, check)
    if contents is None:
        return
    seen = sum(
        _Session(contents, number, check).compare(of_entry)
        for number, of_entry in groupby(documents, key=lambda document: document.session)
    )
    if contents.documents != seen:
        check.differs(shard, f"{_documents_are(contents.documents - seen)} of entries that are not stored")


def _documents_are(number: int) -> str:
    return plural(number, "document is", "documents are")


def _open(folder: Path, shard: str, check: PartCheck) -> ShardContents | None:
    try:
        return ShardContents(folder / shard)
    except IndexUnavailable as error:
        check.differs(shard, str(error))
        return None


def _documents(events: Iterable[IndexEvent], documents_of: DocumentsOf) -> Iterator[IndexDoc]:
    batch: list[IndexEvent] = []
    for event in events:
        if event.is_hidden:
            continue
        batch.append(event)
        if len(batch) >= _BATCH:
            yield from documents_of(batch)
            batch = []
    yield from documents_of(batch)


class _Session:
    """One session in its shard."""

    def __init__(self, contents: ShardContents, number: int, check: PartCheck) -> None:
        self._contents = contents
        self._number = number
        self._check = check

    def compare(self, documents: Iterable[IndexDoc]) -> int:
        """Return how many documents the shard has of the session."""
        present = self._contents.keys_of(self._number)
        expected: Counter[int] = Counter()
        for document in documents:
            if document.key not in expected and len(expected) % SAMPLE_EVERY == 0 and document.key in present:
                self._look_up(document)
            expected[document.key] += 1
        self._check.checked += sum(expected.values())
        self._tell(expected - present, "documents of event key {key} are missing")
        self._tell(present - expected, "documents of event key {key} should not be there")
        return sum(present.values())

    def _tell(self, wrong: Mapping[int, int], text: str) -> None:
        for key in wrong:
            self._check.differs(f"{self._contents.name}, session {self._number}", text.format(key=key))

    def _look_up(self, document: IndexDoc) -> None:
        fields: dict[str, Any] = msgspec.json.decode("{" + document.json)
        for field, words in self._contents.words(fields, limit=_WORDS):
            lost = [word for word in words if not self._contents.has(document.key, field, word)]
            if lost:
                self._check.differs(f"{self._contents.name}, session {self._number}", f"words not found: {len(lost)}")


_ENTRIES_AT_A_TIME = 200
LEAST_SIMILARITY = 0.97
"""A vector is kept in eight bits a dimension: its likeness to the one that is made again stays above this."""


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


def compare_entry_vectors(index: EntryVectorIndex, feed: EntryReader, check: PartCheck, *, with_samples: bool) -> None:
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


def compare_passages(
    store: PassageStore, feed: TextFeed, model: Callable[[], ContextualModel], check: PartCheck
) -> None:
    """Compare the vectors of passages with the texts of the sessions that were read completely.

    model: returns the model, for samples. Adds differences and the number of examined events to `check`. Raises
    IndexUnavailable, StoreError, EmbeddingUnavailable.
    """
    coverage = coverage_of(feed, store)
    if coverage.is_stale:
        check.notes.append(f"the contextual model has read {coverage.covered} of {coverage.total} sessions")
    if store.position is None or feed.changes_since(store.position, limit=1):
        return
    looked_at = 0
    kinds = [kind for of_stage in STAGES for kind in of_stage]
    for number, stage in store.stages().items():
        for event in feed.events_of_kinds(kinds, [span_of(number)] if stage >= len(STAGES) else []):
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
