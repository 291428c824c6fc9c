"""The exact copy of all transcripts: sealed chunks in packs, and the journal that describes them.

Order of writing: chunks, flush of the packs, journal, flush of the journal, then (by the caller) the database. So
nothing ever refers to bytes that a crash could delete; at worst a pack holds chunks that nobody knows of.

Compacting frees disk space: it rewrites packs and journal without what no revision needs.

    new packs, flushed → journal.log.new, flushed → compaction.plan, flushed → journal.log.new becomes journal.log
    → (by the caller) the database learns where chunks went → the old packs go → compaction.plan goes

Before the plan is there nothing has changed; from then on everything can be finished, by repeating it: every step
after it is repeating it is harmless. Numbers of packs are never used again, so that who still knows an old place
finds no pack there instead of something else.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from recollect.archive.files import make_private_folder, write_errors
from recollect.archive.journal import (
    ArchivedRevision,
    Journal,
    JournalEntry,
    JournalTombstone,
    burying,
    fold,
    fold_sizes,
)
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import (
    JOURNAL,
    ChunkPlace,
    Condition,
    PackReader,
    PackWriter,
    SealedChunk,
    entry_bytes,
    pack_numbers,
    pack_path,
)
from recollect.archive.sealer import Sealer
from recollect.errors import ArchiveCorrupt, ArchiveError, BrokenInvariant, RawGone, RecollectError
from recollect.files import move, sync_folder, write_file

PLAN = "compaction.plan"
NEW_JOURNAL = "journal.log.new"
_COPY_BYTES = 8 << 20
_PACK_START = 8
"""Bytes of a pack before its first entry."""
_ENTRIES_AT_ONCE = 256

Progress = Callable[[int, int], None]
"""(bytes copied, bytes to copy)"""


class CompactionPlan(msgspec.Struct, frozen=True, array_like=True):
    """What remains to be done: chunks that moved, from where to where, and the packs that go; bytes_freed by that."""

    moves: list[tuple[ChunkPlace, ChunkPlace]]
    packs: list[int]
    bytes_freed: int


class PackUse(NamedTuple):
    """How much of a pack is on disk, and how much of that no revision has any more."""

    number: int
    bytes: int
    dead_bytes: int
    is_whole: bool
    """False: the pack is shorter than the places in it say; it is left as it is."""


class PackCompaction:
    """Rewrites packs. One at a time, by the holder of the ingest lock; nobody appends meanwhile."""

    def __init__(self, folder: Path, keys: HomeKeys) -> None:
        self._folder = folder
        self._packs = folder / "packs"
        self._keys = keys

    def usage(self, live: Iterable[ChunkPlace]) -> list[PackUse]:
        """Return every pack and how much of it is in no place of `live`."""
        needed: dict[int, int] = {}
        ends: dict[int, int] = {}
        for place in live:
            needed[place.pack] = needed.get(place.pack, 0) + entry_bytes(place.length)
            ends[place.pack] = max(ends.get(place.pack, 0), place.offset + place.length)
        uses = []
        for number in pack_numbers(self._packs):
            size = pack_path(self._packs, number).stat().st_size
            dead = max(0, size - _PACK_START - needed.get(number, 0))
            uses.append(PackUse(number, size, dead, ends.get(number, 0) <= size))
        return uses

    def begin(
        self, revisions: list[ArchivedRevision], entries: Collection[JournalEntry], packs: Collection[int], *,
        live: Collection[ChunkPlace], progress: Progress | None = None,
    ) -> CompactionPlan:  # fmt: skip
        """Copy the live chunks of `packs`, rewrite the journal, and store durably what remains to be done.

        Args:
            revisions: the journal's, folded. entries: those without a revision that stay (tombstones).
            live: every place that a revision has, in the database or the journal.
        Raises:
            DiskFull, ArchiveError: nothing has changed then except bytes that the next compaction deletes.
        """
        if (self._folder / PLAN).exists():
            raise BrokenInvariant("a compaction that was interrupted is finished before the next one")
        self.clear()
        before = sum(pack_path(self._packs, number).stat().st_size for number in packs)
        moving = sorted(
            {(p.pack, p.offset): p for p in live if p.pack in set(packs)}.values(), key=attrgetter("pack", "offset")
        )
        newest = max(pack_numbers(self._packs), default=0)
        try:
            moves = dict(zip(moving, self._copy(moving, packs, progress), strict=True))
        except RecollectError:
            self._unlink(number for number in pack_numbers(self._packs) if number > newest)
            raise
        self.write_journal(revisions, entries, moves)
        freed = before - sum(entry_bytes(place.length) for place in moving)
        freed += (self._folder / "journal.log").stat().st_size - (self._folder / NEW_JOURNAL).stat().st_size
        plan = CompactionPlan(list(moves.items()), sorted(packs), freed)
        with write_errors(self._folder / PLAN):
            write_file(self._folder / PLAN, msgspec.msgpack.encode(plan), durable=True)
        return plan

    def plan(self) -> CompactionPlan | None:
        """Return the unfinished part of a compaction, None without one. Raises ArchiveError.

        A damaged plan is dropped: while a plan exists, every chunk is still where the database looks for it.
        """
        try:
            return msgspec.msgpack.decode((self._folder / PLAN).read_bytes(), type=CompactionPlan)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ArchiveError(f"cannot read {PLAN}: {error.strerror or error}") from error
        except ValueError:
            (self._folder / PLAN).unlink(missing_ok=True)
            return None

    def put_journal(self) -> None:
        """Let the new journal take the old one's place, where that is still to be done. After `begin`."""
        new = self._folder / NEW_JOURNAL
        if not new.exists():
            return
        with write_errors(new):
            move(new, self._folder / "journal.log", durable=True)

    def end(self, plan: CompactionPlan) -> int:
        """Remove the old packs, then the plan; return how many are gone. Once no database names them any more.

        A pack that the system does not let go yet (Windows, while somebody reads it) keeps the plan; the next time goes
        on.
        """
        gone = self._unlink(plan.packs)
        with write_errors(self._folder / PLAN):
            sync_folder(self._packs)
            if gone == len(plan.packs):
                (self._folder / PLAN).unlink(missing_ok=True)
                sync_folder(self._folder)
        return gone

    def clear(self) -> None:
        """Remove what a compaction left that came to nothing. Not while there is a plan."""
        with write_errors(self._folder / NEW_JOURNAL):
            (self._folder / NEW_JOURNAL).unlink(missing_ok=True)

    def _unlink(self, numbers: Iterable[int]) -> int:
        """Remove packs; return how many are gone. One that somebody reads stays on Windows for the time."""
        gone = 0
        for number in numbers:
            with suppress(OSError):
                pack_path(self._packs, number).unlink(missing_ok=True)
                gone += 1
        return gone

    def _copy(self, moving: list[ChunkPlace], packs: Collection[int], progress: Progress | None) -> list[ChunkPlace]:
        """Copy sealed chunks, unopened, into new packs; return their new places once they are durable."""
        reader, writer = PackReader(self._packs), PackWriter(self._packs)
        total = sum(place.length for place in moving)
        found: list[ChunkPlace] = []
        batch: list[SealedChunk] = []
        done = size = 0
        try:
            if packs:
                writer.begin()
            for number, place in enumerate(moving, 1):
                batch.append(SealedChunk(place.name, reader.read(place), place.plain, False))
                size += place.length
                if size < _COPY_BYTES and number < len(moving):
                    continue
                found += writer.append(batch)
                done += size
                batch, size = [], 0
                if progress is not None:
                    progress(done, total)
            writer.flush()
        finally:
            writer.close()
            reader.close()
        return found

    def write_journal(
        self, revisions: list[ArchivedRevision], entries: Collection[JournalEntry],
        moves: dict[ChunkPlace, ChunkPlace],
    ) -> None:  # fmt: skip
        """Write a journal beside the present one, for `put_journal`. moves: new places of moved chunks."""
        with suppress(FileNotFoundError):  # of a try that did not end
            (self._folder / NEW_JOURNAL).unlink()
        journal = Journal(self._folder / NEW_JOURNAL, self._keys)
        waiting = list(entries)
        try:
            for revision in revisions:
                moved = [(moves.get(place, place), is_open) for place, is_open in revision.chunks]
                waiting += msgspec.structs.replace(revision, chunks=moved).entries()
                if len(waiting) >= _ENTRIES_AT_ONCE:
                    journal.append(waiting)
                    waiting = []
            journal.append(waiting)
            journal.flush()
        finally:
            journal.close()
        if not journal.size_bytes():  # everything is forgotten
            write_file(self._folder / NEW_JOURNAL, b"", durable=True)


def sorted_out(entries: Iterable[JournalEntry]) -> tuple[list[ArchivedRevision], list[JournalEntry], bool]:
    """Return the revisions that a journal tells of, the entries of none that stay, and whether it tells of any that is
    forgotten."""
    tombstones: dict[bytes, JournalTombstone] = {}
    has_dropped = False

    def of_revisions() -> Iterator[JournalEntry]:
        nonlocal has_dropped
        for entry in entries:
            has_dropped |= entry.is_dropped
            tombstones.update((tombstone.id, tombstone) for tombstone in entry.tombstones)
            yield entry

    revisions = fold(of_revisions())
    return revisions, [burying(list(tombstones.values()))] if tombstones else [], has_dropped


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
