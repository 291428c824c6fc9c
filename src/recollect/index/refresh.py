"""Brings the search index in step with the store: what a crash left out, and shards that were lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recollect.index.documents import DocumentBuilder
from recollect.index.entries import add_all_entries
from recollect.index.writer import IndexWriterSet
from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.text import searchable
from recollect.store.entries import ENTRY_SHARDS
from recollect.store.reader import Reader
from recollect.store.rows import IndexEvent
from recollect.store.slices import IndexDoc
from recollect.store.writer import Writer

INDEX = "index"
_BATCH_EVENTS = 2000


def mend_index(writer: Writer, reader: Reader, index: IndexWriterSet) -> int:
    """Add what the index is missing; return how many events and entries that were. Safe to repeat after any crash.

    First the shards that should exist and don't (deleted, damaged and set aside), as a whole; then the
    entries of the change log that were never acknowledged.
    Raises IndexUnavailable, StoreError.
    """
    last = reader.last_change()
    mended = 0
    lost = set(index.damaged) | set(index.missing((*reader.shards(), *reader.entries.shards())))
    with index.making(lost):
        mended += add_all_entries(reader.entries, index, lost.intersection(ENTRY_SHARDS))
        if lost.difference(ENTRY_SHARDS):
            events = (e for e in reader.events_for_index() if e.shard in lost)
            mended += add_events(index, events, is_empty=True)
        index.make(lost)
    changes = reader.changes_after(INDEX, limit=1_000_000)
    if changes:
        mended += add_events(index, (e for e in reader.events_for_index(changes) if e.shard not in lost))
    if lost or changes:
        index.commit()
        with writer.transaction():
            writer.acknowledge(INDEX, last)
    return mended


def rebuild_index(writer: Writer, reader: Reader, index: IndexWriterSet) -> int:
    """Add every event and entry of the store to an empty index; return how many those were."""
    last = reader.last_change()
    with index.making((*reader.shards(), *ENTRY_SHARDS)):
        count = add_events(index, reader.events_for_index(), is_empty=True)
        count += add_all_entries(reader.entries, index, ENTRY_SHARDS)
    with writer.transaction():
        writer.acknowledge(INDEX, last)
    return count


def add_events(index: IndexWriterSet, events: Iterable[IndexEvent], *, is_empty: bool = False) -> int:
    """Bring the documents of stored events in step; return how many events those were. Raises IndexUnavailable.

    is_empty: their shards hold nothing, and each event comes once. To look for what may be there already would open
    every shard again for every batch.
    """
    count = 0
    for batch in _batches(events):
        hidden = [e.key for e in batch if e.is_hidden]
        if hidden and not is_empty:
            index.delete(hidden)
        index.add(documents_of(e for e in batch if not e.is_hidden), fresh=is_empty)
        count += len(batch)
    return count


def _batches(events: Iterable[IndexEvent]) -> Iterator[list[IndexEvent]]:
    batch: list[IndexEvent] = []
    for event in events:
        batch.append(event)
        if len(batch) >= _BATCH_EVENTS:
            yield batch
            batch = []
    if batch:
        yield batch


def documents_of(events: Iterable[IndexEvent]) -> list[IndexDoc]:
    """Return the documents of stored events, the same that a worker makes of fresh ones."""
    builder = DocumentBuilder()
    taken: list[IndexEvent] = []
    for item in events:
        payload = item.event.payload
        text_class, text, paths = searchable(payload)
        tool = payload.name if isinstance(payload, ToolCall | ToolResult) else ""
        builder.add(text_class, text, paths, kind=item.event.kind, tool=tool, ts=item.event.ts)
        taken.append(item)
    return [
        IndexDoc(item.key, item.session, item.shard, json)
        for item, documents in zip(taken, builder.finish(), strict=True)
        for json in documents
    ]
