"""The exact copy of all transcripts: sealed chunks in packs, and the journal that describes them.

Order of writing: chunks, flush of the packs, journal, flush of the journal, then (by the caller) the database. So
nothing ever refers to bytes that a crash could delete; at worst a pack holds chunks that nobody knows of.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Self

from recollect.archive.chunks import ChunkPlace, SealedChunk
from recollect.archive.compaction import CompactionPlan, PackCompaction, Progress, sorted_out
from recollect.archive.condition import JOURNAL, Condition
from recollect.archive.files import make_private_folder
from recollect.archive.journal import Journal, JournalEntry, JournalTombstone
from recollect.archive.keys import HomeKeys, Sealer
from recollect.archive.packs import PackReader, PackWriter, pack_numbers, pack_path
from recollect.archive.revisions import ArchivedRevision, fold, fold_sizes
from recollect.errors import ArchiveCorrupt, ArchiveError, RawGone

CACHE_BYTES = 4 << 20
"""Who reads one session after the other needs no more. Questions do, which come back to the same ones."""


class Archive:
    """One archive folder. Writing: one process and thread at a time. Reading: from any thread, also beside a writer."""

    def __init__(self, folder: Path, keys: HomeKeys, *, read_only: bool, cache_bytes: int) -> None:
        self.packs_folder = folder / "packs"
        self._read_only = read_only
        self._sealer = Sealer(keys)
        self._reader = PackReader(self.packs_folder)
        self._writer = PackWriter(self.packs_folder)
        self.journal = Journal(folder / "journal.log", keys)
        self._compaction = PackCompaction(folder, keys)
        self.condition = Condition(folder)
        """What is known of damage in this archive."""
        self._written: set[int] = set()
        self._changed_by_others: frozenset[int] | None = None
        self._pending: list[JournalEntry] = []
        self._cache = _ChunkCache(cache_bytes)

    @classmethod
    def open(cls, folder: Path, keys: HomeKeys, *, read_only: bool = False, cache_bytes: int = CACHE_BYTES) -> Archive:
        """Open the archive in `folder`, made private (0700, files 0600) on first use unless read_only.

        Cheap: no file is opened before it is needed.

        Raises:
            DiskFull, ArchiveError: the folder cannot be made.
        """
        if not read_only:
            make_private_folder(folder)
            make_private_folder(folder / "packs")
        return cls(folder, keys, read_only=read_only, cache_bytes=cache_bytes)

    @property
    def sealer(self) -> Sealer:
        """Seals with the keys of this archive's home."""
        return self._sealer

    def write(
        self, chunks: Sequence[SealedChunk], *, known: Mapping[bytes, ChunkPlace] | None = None
    ) -> list[ChunkPlace]:
        """Append chunks and return the place of each, in order. Durable only after `flush`.

        Args:
            known: places of chunks that the archive holds already, by name (as many of these as the caller knows):
                they are not written again. Neither is a chunk that occurs twice in `chunks`.
        Raises:
            DiskFull: no room; none of these chunks is kept.
            ArchiveError: any other failure, or the archive is open read-only.
        """
        self._check_writable()
        places = dict(known or {})
        fresh = list({chunk.name: chunk for chunk in chunks if chunk.name not in places}.values())
        self._look_at_changes()
        for place in self._writer.append(fresh):
            places[place.name] = place
            self._written.add(place.pack)
        return [places[chunk.name] for chunk in chunks]

    def record(self, entries: Sequence[JournalEntry]) -> None:
        """Take entries for the journal. They are written by the next `flush`, after the chunks they name."""
        self._check_writable()
        self._look_at_changes()
        self._written.add(JOURNAL)
        self._pending += entries

    def flush(self) -> None:
        """Make chunks durable, then write the recorded entries and make these durable.

        Raises:
            DiskFull: no room; the entries stay recorded, and the next `flush` tries again.
            ArchiveError: any other failure of the system.
        """
        if self._read_only:
            return
        self._writer.flush()
        if self._pending:
            self.journal.append(self._pending)
            self._pending = []
        self.journal.flush()

    def entries(self, *, skip_damaged: bool = False) -> Iterator[JournalEntry]:
        """Yield the journal's entries in the order of writing, see `Journal.entries`."""
        return self.journal.entries(skip_damaged=skip_damaged)

    def revisions(self) -> list[ArchivedRevision]:
        """Return every revision of every source that the journal tells of, in the order of first sight.

        Damaged entries are skipped, counted in `journal.damaged`. Raises ArchiveError.
        """
        return fold(self.entries(skip_damaged=True))

    def sizes(self) -> dict[str, dict[int, int]]:
        """Return the bytes that the journal tells of, by source and revision; as `revisions`, in far less memory."""
        return fold_sizes(self.entries(skip_damaged=True))

    def tombstones(self) -> list[JournalTombstone]:
        """Return what the journal says must not come back, each once. Raises ArchiveError."""
        found = {t.id: t for entry in self.entries(skip_damaged=True) for t in entry.tombstones}
        return list(found.values())

    def rewrite_journal(self, revisions: Sequence[ArchivedRevision], others: Sequence[JournalEntry]) -> None:
        """Replace the journal with one of these observations.

        Nothing may wait to be recorded. Raises DiskFull, ArchiveError: the present one then stays.
        """
        self._check_writable()
        self.journal.close()
        self._compaction.write_journal(list(revisions), others, {})
        self._compaction.put_journal()
        self.condition.leave_packs({JOURNAL})

    def read_chunk(self, place: ChunkPlace) -> bytes:
        """Return the plain bytes of a chunk; the last 16 MiB read are kept in memory.

        Raises:
            ArchiveCorrupt: it is missing, does not unseal, or has another length.
            ArchiveError: the system cannot read it.
        """
        plain = self._cache.get(place.name)
        if plain is None:
            plain = self._open_chunk(place, is_named_again=False)
            self._cache.put(place.name, plain)
        return plain

    def is_chunk(self, place: ChunkPlace, plain: bytes) -> bool:
        """Return whether these are the plain bytes of a chunk, by its name alone, without reading. False for a hole."""
        return not place.is_hole and len(plain) == place.plain and self._sealer.name(plain) == place.name

    def read_range(self, places: Sequence[ChunkPlace], offset: int, length: int) -> bytes:
        """Return exactly `length` bytes at `offset` of a revision.

        Args:
            places: the chunks of the revision, all of them, in order.
        Raises:
            ArchiveCorrupt: a chunk that the range touches is missing or damaged.
            RawGone: the range touches a hole.
            ArchiveError: the range is not inside the revision, or the system cannot read.
        Cost: opens only the chunks that the range touches.
        """
        ends = list(accumulate(place.plain for place in places))
        stop = offset + length
        total = ends[-1] if ends else 0
        if offset < 0 or length < 0 or stop > total:
            raise ArchiveError(f"bytes {offset} to {stop} are outside of the {total} bytes archived")
        first = bisect_right(ends, offset)
        last = bisect_left(ends, stop, first)
        if not length:
            return b""
        start = ends[first] - places[first].plain
        if first == last:
            return self.read_chunk(places[first])[offset - start : stop - start]
        plain = b"".join(map(self.read_chunk, places[first : last + 1]))
        return plain[offset - start : stop - start]

    def iter_bytes(self, places: Sequence[ChunkPlace]) -> Iterator[bytes]:
        """Yield a revision chunk by chunk; joined they are all bytes seen. Does not fill the cache.

        Raises:
            ArchiveCorrupt, ArchiveError: as `read_chunk`, when that chunk is reached.
        """
        for place in places:
            yield self._open_chunk(place)

    def size_bytes(self) -> int:
        """Return what the archive takes on disk."""
        packs = (pack_path(self.packs_folder, number) for number in pack_numbers(self.packs_folder))
        return sum(path.stat().st_size for path in packs) + self.journal.size_bytes()

    def dead_bytes(self, live: Sequence[ChunkPlace]) -> dict[int, int]:
        """Return how many bytes of each pack are in no place of `live`, by the pack's number."""
        return {use.number: use.dead_bytes for use in self._compaction.usage(live)}

    def compact(
        self, live: Sequence[ChunkPlace], *, least_dead_share: float = 0.0, progress: Progress | None = None
    ) -> CompactionPlan | None:
        """Write the packs again that have dead bytes, at least this share of theirs, and the journal; None: there are
        none, and nothing is forgotten.

        The caller then tells the database where chunks went and calls `end_compaction`. Until then the old packs stay.

        Args:
            live: the place of every chunk that the database still needs; what the journal needs is known here.
        Raises:
            DiskFull, ArchiveError: nothing has changed. ArchiveCorrupt: the journal is damaged and stays as it is.
        """
        self._check_writable()
        self.flush()
        revisions, others, has_dropped = sorted_out(self.entries())
        needed = [*live, *(place for r in revisions for place, _ in r.chunks if not place.is_hole)]
        unique = list({(place.pack, place.offset): place for place in needed}.values())
        packs = [
            use.number
            for use in self._compaction.usage(unique)
            if use.is_whole and use.dead_bytes and use.dead_bytes >= least_dead_share * use.bytes
        ]
        if not packs and not has_dropped:
            return None
        self._close_files()
        plan = self._compaction.begin(revisions, others, packs, live=unique, progress=progress)
        self._compaction.put_journal()
        return plan

    def unfinished_compaction(self) -> CompactionPlan | None:
        """Return what a compaction that a crash interrupted left to be done; None where there is nothing."""
        plan = self._compaction.plan()
        if plan is not None:
            self._check_writable()
            self._close_files()
            self._compaction.put_journal()
        return plan

    def end_compaction(self, plan: CompactionPlan) -> int:
        """Remove the rewritten packs once the database knows the new places; return how many."""
        gone = self._compaction.end(plan)
        moved = dict(plan.moves)
        damaged = [place for place in self.condition.damaged if place in moved]
        self.condition.set_damaged(add=[moved[place] for place in damaged], remove=damaged)
        self.condition.leave_packs({JOURNAL, *plan.packs, *(new.pack for _, new in plan.moves)})
        return gone

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Flush and close every file."""
        try:
            self.flush()
        finally:
            self._close_files()
        if self._written:
            self.condition.leave_packs(self._written - (self._changed_by_others or frozenset()))
            self._written = set()

    def _close_files(self) -> None:
        """Close what is open; it is opened again when it is needed."""
        self._reader.close()
        self._writer.close()
        self.journal.close()

    def _look_at_changes(self) -> None:
        """Before anything is written: what others changed is not taken for ours."""
        if self._changed_by_others is None:
            self._changed_by_others = frozenset(self.condition.changed_packs())
            self._writer.highest = self.condition.highest_pack

    def _check_writable(self) -> None:
        if self._read_only:
            raise ArchiveError("the archive is open for reading only")

    def _open_chunk(self, place: ChunkPlace, *, is_named_again: bool = True) -> bytes:
        if place.is_hole:
            raise RawGone(f"{place.plain:,} bytes were deleted (evicted or forgotten)")
        plain = self._sealer.open(place.name, self._reader.read(place), is_named_again=is_named_again)
        if len(plain) != place.plain:
            name = place.name.hex()
            raise ArchiveCorrupt(f"chunk {name} has {len(plain)} bytes, not {place.plain}", chunk=name)
        return plain


class _ChunkCache:
    """The chunks read last, bounded by their bytes. Thread safe."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._chunks: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: bytes) -> bytes | None:
        with self._lock:
            plain = self._chunks.get(name)
            if plain is not None:
                self._chunks.move_to_end(name)
            return plain

    def put(self, name: bytes, plain: bytes) -> None:
        with self._lock:
            if name in self._chunks:
                return
            self._chunks[name] = plain
            self._bytes += len(plain)
            while self._bytes > self._limit_bytes:
                self._bytes -= len(self._chunks.popitem(last=False)[1])
