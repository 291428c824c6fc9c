"""The text index against the store: every document has its event, every event its documents, and words are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from recollect.errors import IndexUnavailable
from recollect.index.contents import ShardContents, open_contents
from recollect.maintenance.deep_verify.parts import PartCheck
from recollect.store.ports import IndexDoc, IndexEvent
from recollect.units import plural

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
    """Hold one shard against what was learned, noted or documented. documents: of all entries of it, in order."""
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
        return open_contents(folder / shard)
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
