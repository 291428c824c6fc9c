"""Makes shards of the search index anew: the engine keeps the words of what was deleted until a merge drops them."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from recollect.errors import IndexUnavailable
from recollect.files import move
from recollect.index.engine import shard_names
from recollect.index.entries import add_all_entries
from recollect.index.refresh import documents_of
from recollect.index.writer import IndexWriterSet
from recollect.store.entries import ENTRY_SHARDS
from recollect.store.home import Home
from recollect.store.keys import SEQ_BITS
from recollect.store.reader import Reader
from recollect.store.rows import ChangeRange, IndexEvent

_NEW = "text.new"
_BATCH_EVENTS = 2_000
_LAST_SEQ = (1 << SEQ_BITS) - 1


def remake_shards(home: Home, reader: Reader, shards: Collection[str], sessions: Collection[int]) -> int:
    """Make shards anew from the store, beside the old ones, and put them in their place; return how many events.

    The caller holds the ingest lock and has no index open for writing. Killed anywhere, the old shard stays, or is
    missing and made by the next sync. What was set aside as damaged goes too: it may hold anything.

    sessions: numbers of all sessions of these shards.
    Raises IndexUnavailable, StoreError.
    """
    new = home.index.with_name(_NEW)
    try:
        shutil.rmtree(new, ignore_errors=True)
        count = 0
        ranges = [ChangeRange(0, number, 0, _LAST_SEQ) for number in sessions]
        with IndexWriterSet.open(new) as index:
            for batch in _batches(reader, ranges):
                index.add(documents_of(event for event in batch if not event.is_hidden))
                count += len(batch)
            count += add_all_entries(reader.entries, index, sorted(set(shards).intersection(ENTRY_SHARDS)))
        made = set(shard_names(new))
        for name in sorted(shards):
            _put(new / name if name in made else None, home.index / name)
        for path in home.index.glob("*.damaged"):
            shutil.rmtree(path)
        shutil.rmtree(new)
    except OSError as error:
        raise IndexUnavailable(
            f"parts of the search index cannot be replaced: {error.strerror or error}",
            hint="end other programs that use this memory and run the command again",
        ) from error
    return count


def _put(new: Path | None, place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
    if new is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        move(new, place, durable=False)


def _batches(reader: Reader, ranges: list[ChangeRange]) -> Iterator[list[IndexEvent]]:
    batch: list[IndexEvent] = []
    for event in reader.events_for_index(ranges):
        batch.append(event)
        if len(batch) >= _BATCH_EVENTS:
            yield batch
            batch = []
    if batch:
        yield batch
