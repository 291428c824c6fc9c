"""Keeps the index in step with entries: what was learned, noted and documented.

Whoever writes an entry notes it in the log of changes; whoever holds the ingest lock takes that log into the index, and
drops it once the index is committed. Killed anywhere, the same changes are taken again, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recollect.index.documents import DocumentBuilder
from recollect.index.schema import EntryClass
from recollect.index.writer import IndexWriterSet
from recollect.model.learnings.entries import FORMER_STATES
from recollect.store.entries import (
    ENTRY_SHARDS,
    EntryReader,
    EntryTexts,
    StoredEntry,
    key_of_entry,
    shard_of_entry,
    told_text,
)
from recollect.store.keys import ENTRY_BASE
from recollect.store.reader import Reader
from recollect.store.slices import IndexDoc
from recollect.store.writer import Writer

_BATCH = 500


def index_entries(writer: Writer, reader: Reader, index: IndexWriterSet) -> int:
    """Take what changed of entries into the index; return how many entries that were. One look where nothing did.

    The caller holds the ingest lock. Raises IndexUnavailable, StoreError: what was not taken is taken the next time.
    """
    entries = reader.entries
    if not entries.has_changes():
        return 0
    lost = [shard for shard in entries.shards() if not index.is_whole(shard)]
    with index.making(lost):
        count = add_all_entries(entries, index, lost)
    while changes := entries.changes():
        numbers = {change.number for change in changes}
        found = entries.by_number(numbers)
        for shard in ENTRY_SHARDS:
            index.delete_all_of(shard, [ENTRY_BASE + number for number in numbers])
        index.add(entry_documents(found.values()))
        index.commit()
        with writer.transaction():
            writer.entries.acknowledge(changes[-1].id)
        count += len(numbers)
    return count


def add_all_entries(entries: EntryReader, index: IndexWriterSet, shards: Iterable[str]) -> int:
    """Add every entry of parts of the index that hold none; return how many. The caller commits."""
    count = 0
    for shard in shards:
        for batch in in_batches(entries.of_shard(shard)):
            index.add(entry_documents(batch))
            count += len(batch)
    return count


def entry_documents(entries: Iterable[EntryTexts]) -> list[IndexDoc]:
    """Return the index documents of entries, one a part; a part without text and path has none."""
    builder = DocumentBuilder()
    taken: list[tuple[StoredEntry, int]] = []
    for entry, parts in entries:
        paths = (entry.path,) if entry.path else ()
        for part in parts:
            builder.add(_class_of(entry), told_text(entry, part), paths, kind=entry.kind, tool="", ts=entry.ts)
            taken.append((entry, part.part))
    return [
        IndexDoc(key_of_entry(entry.number, part), ENTRY_BASE + entry.number, shard_of_entry(entry.kind), json)
        for (entry, part), documents in zip(taken, builder.finish(), strict=True)
        for json in documents
    ]


def _class_of(entry: StoredEntry) -> EntryClass:
    if entry.state in FORMER_STATES:
        return "former"
    return "document" if entry.kind == "document" else "note"


def in_batches(entries: Iterable[EntryTexts]) -> Iterator[list[EntryTexts]]:
    """Yield entries a few hundred at a time."""
    batch: list[EntryTexts] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
