"""Brings the search index up to date with the store: after a crash, or when shards are lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from recollect.index.text.document_builder import DocumentBuilder
from recollect.index.text.schema import EntryClass
from recollect.index.text.writer import IndexWriterSet
from recollect.model.learnings.entries import FORMER_STATES
from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.text import searchable
from recollect.store.entries import (
    ENTRY_SHARDS,
    EntryReader,
    EntryTexts,
    StoredEntry,
    key_of_entry,
    shard_of_entry,
    told_text,
)
from recollect.store.reader import Reader
from recollect.store.row_keys import ENTRY_BASE
from recollect.store.rows import IndexDoc, IndexEvent
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
    for batch in in_batches(events, _BATCH_EVENTS):
        hidden = [e.key for e in batch if e.is_hidden]
        if hidden and not is_empty:
            index.delete(hidden)
        index.add(documents_of(e for e in batch if not e.is_hidden), fresh=is_empty)
        count += len(batch)
    return count


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


_BATCH_ENTRIES = 500
T = TypeVar("T")


def index_entries(writer: Writer, reader: Reader, index: IndexWriterSet) -> int:
    """Index changed entries; return how many. One look if nothing changed.

    The caller holds the ingest lock. Raises IndexUnavailable, StoreError: the next call indexes the rest.
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
            writer.acknowledge_entries(changes[-1].id)
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


def in_batches(items: Iterable[T], size: int = _BATCH_ENTRIES) -> Iterator[list[T]]:
    """Yield items some at a time."""
    waiting = iter(items)
    while batch := list(islice(waiting, size)):
        yield batch
