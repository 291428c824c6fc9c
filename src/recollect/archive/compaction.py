"""Frees disk space: rewrites packs and journal without what no revision needs.

    new packs, flushed → journal.log.new, flushed → compaction.plan, flushed → journal.log.new becomes journal.log
    → (by the caller) the database learns where chunks went → the old packs go → compaction.plan goes

Before the plan is there nothing has changed; from then on everything can be finished, by repeating it: every step
after it is repeating it is harmless. Numbers of packs are never used again, so that who still knows an old place
finds no pack there instead of something else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.archive.chunks import ChunkPlace, SealedChunk
from recollect.archive.files import write_errors
from recollect.archive.journal import Journal, JournalEntry, JournalTombstone, burying
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import PackReader, PackWriter, entry_bytes, pack_numbers, pack_path
from recollect.archive.revisions import ArchivedRevision, fold
from recollect.errors import ArchiveError, BrokenInvariant, RecollectError
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
