"""Folds the journal: the present state of every revision of every source, with chunks and holes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from recollect.archive.chunks import ChunkPlace
from recollect.archive.journal import JournalEntry, Removal

_RevisionKey = tuple[str, int]


class ArchivedRevision(msgspec.Struct):
    """One revision of one source. entry: its first observation, with the path and place of the last one.

    committed_bytes: where the whole records that were taken end; bytes_seen: where the open tail ends. marks: head and
    tail hash of the source at its committed end, b"" where they were not kept. observations: up to which byte it was
    seen when (UTC microseconds).
    """

    entry: JournalEntry
    chunks: list[tuple[ChunkPlace, bool]]
    committed_bytes: int
    bytes_seen: int
    observations: list[tuple[int, int]]
    marks: bytes = b""
    removal: Removal | None = None

    def take(self, entry: JournalEntry) -> None:
        """Take a later entry of this revision."""
        self.chunks = self.chunks[: entry.keep_chunks] + list(entry.chunks)
        self.committed_bytes, self.bytes_seen = entry.to_bytes, entry.bytes_seen
        self.marks = entry.marks
        self.entry = msgspec.structs.replace(self.entry, path=entry.path, relative=entry.relative)
        if entry.removal is not None:
            self.removal = entry.removal
        else:
            self.observe(entry)

    def observe(self, entry: JournalEntry) -> None:
        """Record an entry's time. An entry that begins where another one did replaces it (a crash)."""
        kept = [seen for seen in self.observations if seen[0] <= entry.from_bytes]
        self.observations = [*kept, (entry.to_bytes, entry.observed_at)]

    def entries(self) -> Iterator[JournalEntry]:
        """Yield the fewest entries that fold to this revision."""
        start = 0
        seen = self.observations or [(self.committed_bytes, self.entry.observed_at)]
        for number, (to_bytes, observed_at) in enumerate(seen, 1):
            is_last = number == len(seen)
            yield msgspec.structs.replace(
                self.entry, observed_at=observed_at, from_bytes=start, to_bytes=to_bytes, keep_chunks=0,
                bytes_seen=self.bytes_seen if is_last else to_bytes, chunks=self.chunks if is_last else [],
                marks=self.marks if is_last else b"", removal=None,
            )  # fmt: skip
            start = to_bytes
        if self.removal is not None:
            yield cutting(self, keep=len(self.chunks), chunks=[], removal=self.removal)


def cutting(
    revision: ArchivedRevision, *, keep: int, chunks: list[tuple[ChunkPlace, bool]], removal: Removal
) -> JournalEntry:
    """Return the entry that tells of holes: the revision has its first `keep` chunks, then `chunks`."""
    return msgspec.structs.replace(
        revision.entry, from_bytes=revision.committed_bytes, to_bytes=revision.committed_bytes,
        bytes_seen=revision.bytes_seen, keep_chunks=keep, chunks=chunks, marks=revision.marks, removal=removal,
        holes=[(hole.offset, hole.length) for hole in removal.holes],
    )  # fmt: skip


def fold(entries: Iterable[JournalEntry]) -> list[ArchivedRevision]:
    """Return every revision of every source that is not forgotten, in the order of first sight."""
    found: dict[_RevisionKey, ArchivedRevision] = {}
    moved: dict[bytes, ChunkPlace] = {}
    for entry in entries:
        if not entry.source_id:  # tombstones, or chunks that lie elsewhere now
            moved.update((place.name, place) for place, _ in entry.chunks)
            continue
        if entry.is_dropped:
            for key in [key for key in found if key[0] == entry.source_id]:
                del found[key]
            continue
        key = (entry.source_id, entry.revision)
        known = found.get(key)
        if known is not None:
            known.take(entry)
            continue
        revision = ArchivedRevision(entry, list(entry.chunks), entry.to_bytes, entry.bytes_seen, [], entry.marks)
        if entry.removal is None:
            revision.observe(entry)
        else:
            revision.removal = entry.removal
        found[key] = revision
    for revision in found.values() if moved else ():
        revision.chunks = [(moved.get(place.name, place), is_open) for place, is_open in revision.chunks]
    return list(found.values())


def fold_sizes(entries: Iterable[JournalEntry]) -> dict[str, dict[int, int]]:
    """Return, by source and revision, up to which byte each one that is not forgotten was seen (`bytes_seen`).

    What `fold` says of it, without chunks: for histories of very many sources.
    """
    found: dict[str, dict[int, int]] = {}
    for entry in entries:
        if entry.is_dropped:
            found.pop(entry.source_id, None)
        elif entry.source_id:
            found.setdefault(entry.source_id, {})[entry.revision] = entry.bytes_seen
    return found
