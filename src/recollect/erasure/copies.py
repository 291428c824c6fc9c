"""Erases copies of what was forgotten: spool lines, index entries, vectors, generated files."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.erasure.records import says
from recollect.errors import IndexUnavailable, StoreLocked
from recollect.files import move, remove_folder
from recollect.index.text.engine import dead_share, shard_names
from recollect.index.text.refresh import add_all_entries, add_events, mend_index
from recollect.index.text.writer import IndexWriterSet
from recollect.ready_blocks import FOLDER as READY_FOLDER
from recollect.store.entries import ENTRY_SHARDS
from recollect.store.erasure.select_rows import SelectionReader
from recollect.store.home import Home
from recollect.store.lock import IngestLock
from recollect.store.reader import Reader
from recollect.store.row_keys import SEQ_MASK
from recollect.store.rows import ChangeRange
from recollect.store.writer import Writer
from recollect.wire import IMPORT_FOLDER


class SpoolSelection(NamedTuple):
    """What to forget in a spool: ids of whole sessions, as their agent writes them; texts."""

    native_ids: Collection[str] = ()
    pattern: re.Pattern[str] | None = None
    paths: Collection[str] = ()
    """Files that were ingested wholly and go wholly."""
    records: Mapping[str, Collection[tuple[int, int]]] = MappingProxyType({})
    """(offset, length) of single records, by the path of their file."""


def clear_spooled(spool: Path, meant: SpoolSelection) -> int:
    """Blank or remove the selection; return the number of lines and files. Raises OSError."""
    count = 0
    needles = [msgspec.json.encode(native).strip(b'"') for native in meant.native_ids]
    for root, folders, names in os.walk(spool):
        if Path(root) == spool and IMPORT_FOLDER in folders:
            folders.remove(IMPORT_FOLDER)
        for name in names:
            path = Path(root, name)
            if path.is_symlink() or not path.is_file():
                continue
            if str(path) in meant.paths:
                path.unlink(missing_ok=True)
                count += 1
                continue
            with suppress(FileNotFoundError):  # ingested, or cleared, meanwhile
                count += _clear(path, needles, meant.pattern, set(meant.records.get(str(path), ())))
    return count


def _clear(path: Path, needles: list[bytes], pattern: re.Pattern[str] | None, records: set[tuple[int, int]]) -> int:
    """Blank the lines of a file that are meant. A file of anything but lines, such as a drop, goes as a whole."""
    count = at = 0
    with path.open("r+b") as file:
        for line in iter(file.readline, b""):
            start, at = at, at + len(line)
            body = line.rstrip(b"\n")
            if not body.strip():
                continue
            is_record = (start, len(body)) in records
            if is_record or any(needle in body for needle in needles) or (pattern is not None and says(pattern, body)):
                file.seek(start)
                file.write(b" " * len(body))
                file.seek(at)
                count += 1
        if count:
            file.flush()
            os.fsync(file.fileno())
    if count and not path.name.endswith(".jsonl"):
        path.unlink(missing_ok=True)
    return count


WORN_SHARE = 0.3
"""A shard of the index is made again when at least so much of its documents was deleted."""
EMBEDDING_WAIT_S = 120.0
"""How long whoever makes vectors is waited for; it is asked to end after the batch that it is at."""
_ASK_AGAIN_S = 0.1
_NEW = "text.new"


def remake_shards(home: Home, reader: Reader, shards: Collection[str], sessions: Collection[int]) -> int:
    """Rebuild shards from the store beside the old ones, and replace these; return how many events.

    The caller holds the ingest lock and has no index open for writing. Killed anywhere, the old shard stays, or is
    missing and made by the next sync. What was set aside as damaged goes too, because it may hold anything. sessions:
    numbers of all sessions of these shards. Raises IndexUnavailable, StoreError.
    """
    new = home.index.with_name(_NEW)
    try:
        remove_folder(new, ignore_errors=True)
        count = 0
        ranges = [ChangeRange(0, number, 0, SEQ_MASK) for number in sessions]
        with IndexWriterSet.open(new) as index:
            count += add_events(index, reader.events_for_index(ranges), is_empty=True)
            count += add_all_entries(reader.entries, index, sorted(set(shards).intersection(ENTRY_SHARDS)))
        made = set(shard_names(new))
        for name in sorted(shards):
            _put(new / name if name in made else None, home.index / name)
        for path in home.index.glob("*.damaged"):
            remove_folder(path)
        remove_folder(new)
    except OSError as error:
        raise IndexUnavailable(
            f"parts of the search index cannot be replaced: {error.strerror or error}",
            hint="end other programs that use this memory and run the command again",
        ) from error
    return count


def _put(new: Path | None, place: Path) -> None:
    if place.exists():
        remove_folder(place)
    if new is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        move(new, place, durable=False)


def renew_index(home: Home, writer: Writer, reader: Reader) -> list[str]:
    """Remove deleted entries from the search index, add what remained of them, and free its space; return notes."""
    try:
        with IndexWriterSet.open(home.index) as index:
            mend_index(writer, reader, index)
        worn = [name for name in shard_names(home.index) if dead_share(home.index / name) >= WORN_SHARE]
        if worn:
            with SelectionReader(home.folder) as stored:
                remake_shards(home, reader, worn, stored.sessions_in(worn))
    except IndexUnavailable as error:
        return [f"the search index could not be updated ({error}); the next sync tries again"]
    return []


def clear_vectors(home: Home, stored: SelectionReader) -> None:
    """Remove the vectors of what is no longer stored from their files."""
    if not home.vectors.exists():
        return
    from recollect.index.vectors.writer import keep_only, keep_only_entries
    from recollect.store.passages import keep_only_passages

    with vectors_held(home):
        keep_only(home.vectors, stored.existing)
        keep_only_passages(home.vectors, stored.existing)
        keep_only_entries(home.vectors, stored.entry_marks)


@contextmanager
def vectors_held(home: Home) -> Iterator[None]:
    """Hold the lock of who makes vectors; one at work is asked to end. Raises StoreLocked when it does not."""
    from recollect.index.vectors.embed import LOCK_NAME, STOP_NAME

    stop = home.vectors / STOP_NAME
    ends_at = time.monotonic() + EMBEDDING_WAIT_S
    try:
        while True:
            try:
                stop.touch(mode=0o600)  # again and again: a run that begins takes an old one away
                lock = IngestLock(home.vectors, name=LOCK_NAME, work="making vectors for")
                break
            except StoreLocked:
                if time.monotonic() > ends_at:
                    raise
                time.sleep(_ASK_AGAIN_S)
    finally:
        stop.unlink(missing_ok=True)
    with lock:
        yield


def clear_derived(home: Home) -> None:
    """Delete what is made of everything and made again: ready blocks, a damaged database that was set aside."""
    for path in (home.folder / READY_FOLDER).glob("*.json"):
        path.unlink(missing_ok=True)
    for path in home.folder.glob(f"{home.database.stem}.damaged.db*"):
        path.unlink(missing_ok=True)
    if home.rebuild.exists():  # whoever opened the memory for writing has finished one that was complete
        remove_folder(home.rebuild, ignore_errors=True)
