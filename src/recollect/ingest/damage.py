"""Finds damaged archive chunks in bounded scans, remembers them, and repairs them.

A damaged chunk is remembered in the archive's condition (`archive.packs`) and counts as missing from then on: it
is archived again as soon as its bytes are found, in an agent's file, in a backup, or elsewhere in the packs. Nothing
of it is removed: a pack that comes back heals it too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.journal import moving
from recollect.archive.packs import JOURNAL, ChunkPlace, SealedChunk, pack_numbers, pack_path, scan
from recollect.capture.replay import is_rows
from recollect.capture.sources import ReadableSource, open_source
from recollect.erasure.forget import Opened
from recollect.errors import ArchiveCorrupt, ArchiveError, KeyUnavailable, SourceError
from recollect.ingest.report import SyncReport
from recollect.store.rows import LedgerRow, SourceRow
from recollect.store.snapshots import Holder, chunks_after, chunks_of_packs, holders, pack_ends, still_there
from recollect.store.writer import Writer
from recollect.units import plural, size

Progress = Callable[[int, int], None]
"""(bytes read, bytes to read)"""
SAMPLE_BYTES = 1 << 20
"""What a sync opens of the archive each time, besides packs that somebody else changed: about 5 ms."""
DOCTOR_BYTES = 32 << 20
_SAMPLE_CHUNKS = 512


class Damage(msgspec.Struct, frozen=True):
    """What is known not to open: chunks, their bytes before they were compressed, and the sources that need them."""

    chunks: int = 0
    bytes: int = 0
    sources: tuple[Holder, ...] = ()

    def told(self, *, shown: int = 3) -> str:
        """Return a line for people, "" without damage."""
        if not self.chunks:
            return ""
        named = ", ".join(source.path for source in self.sources[:shown])
        more = f" and {len(self.sources) - shown:,} more" if len(self.sources) > shown else ""
        return f"{plural(self.chunks, 'chunk')} of the archive ({size(self.bytes)}) cannot be read: {named}{more}"


def known_damage(home: Path, archive: Archive) -> Damage:
    """Return the remembered damage that still exists. Raises StoreError and its subclasses."""
    places = standing(home, archive)
    return Damage(len(places), sum(place.plain for place in places), tuple(holders(home, places)))


def standing(home: Path, archive: Archive) -> set[ChunkPlace]:
    """Return the remembered chunks that the database still looks for; what it does not need any more is let go of."""
    known = archive.condition.damaged
    if not known:
        return set()
    needed = still_there(home, known)
    if needed != known:
        archive.condition.set_damaged(remove=known - needed)
    return needed


def look(home: Path, archive: Archive, *, budget: int, all_changed: bool) -> set[ChunkPlace]:
    """Examine a part of the archive and return all damage known then.

    It checks: whether packs are as long as their chunks need; packs that somebody else changed (all_changed: whole,
    else within the budget); earlier damage; and the next chunks in turn, continuing where the last look ended. budget:
    in bytes on disk. Raises KeyUnavailable if the keys do not fit the archive; StoreError, ArchiveError.
    """
    condition = archive.condition
    changed = [number for number in condition.changed_packs() if number != JOURNAL]
    wanted: list[ChunkPlace] = []
    is_all = True
    if changed or not condition.knows_packs:
        sizes = {n: pack_path(archive.packs_folder, n).stat().st_size for n in pack_numbers(archive.packs_folder)}
        short = {pack for pack, end in pack_ends(home).items() if sizes.get(pack, 0) < end}
        wanted = chunks_of_packs(home, sorted({*changed, *short}))
        is_all = all_changed or sum(place.length for place in wanted) <= budget
        if not is_all:
            wanted = [place for place in wanted if place.offset + place.length > sizes.get(place.pack, 0)]
    spent = sum(place.length for place in wanted)
    position = condition.position
    turn = chunks_after(home, position, _SAMPLE_CHUNKS) if budget else []
    for number, place in turn:
        if spent >= budget:
            break
        wanted.append(place)
        spent += place.length
        position = number
    else:
        position = 0 if budget and len(turn) < _SAMPLE_CHUNKS else position
    damaged = check(archive, {*wanted, *standing(home, archive)})
    condition.remember(position=position)
    if is_all or not condition.knows_packs:
        condition.leave_packs({*pack_numbers(archive.packs_folder), *changed})
    return damaged


def check(archive: Archive, places: Iterable[ChunkPlace], *, progress: Progress | None = None) -> set[ChunkPlace]:
    """Open chunks, remember damaged and repaired ones; return the damaged ones.

    Raises KeyUnavailable if none opens because the keys do not fit the archive; ArchiveError.
    """
    wanted = sorted(places, key=lambda place: (place.pack, place.offset))
    total, done = sum(place.length for place in wanted), 0
    damaged: set[ChunkPlace] = set()
    for place in wanted:
        if not opens(archive, place):
            damaged.add(place)
        done += place.length
        if progress is not None:
            progress(done, total)
    if damaged and len(damaged) == len(wanted) and archive.journal.is_of_other_keys():
        raise KeyUnavailable(
            "the keys of this home are not those of its archive", hint="restore the keys folder from a backup"
        )
    archive.condition.set_damaged(add=damaged, remove=set(wanted) - damaged)
    return damaged


def opens(archive: Archive, place: ChunkPlace) -> bool:
    """Whether a chunk exists and holds what its name says.

    Raises ArchiveError if the system cannot read it: that says nothing about the chunk.
    """
    try:
        for _ in archive.iter_bytes((place,)):
            pass
    except ArchiveCorrupt:
        return False
    return True


def heal(archive: Archive, writer: Writer, found: Sequence[tuple[ChunkPlace, SealedChunk]]) -> None:
    """Archive damaged chunks again, for every revision that has them: pack, journal, database, then the note.

    found: the place of each, and its bytes sealed again under the same name. Raises DiskFull, ArchiveError, StoreError.
    """
    if not found:
        return
    places = archive.write([chunk for _, chunk in found])
    archive.record([moving(places)])
    archive.flush()
    with writer.transaction():
        writer.removing.holes.move((old, new) for (old, _), new in zip(found, places, strict=True))
    archive.condition.set_damaged(remove=[old for old, _ in found])


def begin_again(archive: Archive, writer: Writer, rows: Iterable[SourceRow]) -> None:
    """Have those sources derived again that were derived up to a damaged chunk, if all of their chunks open by now.

    The next pass does it, from the archive. Such a source has no mark of its beginning.
    """
    damaged = archive.condition.damaged
    for row in rows:
        places = [] if row.head_sha else [place for place, _ in writer.open_chunks(row.source_id, row.revision)]
        if sum(place.plain for place in places) > row.committed_bytes and damaged.isdisjoint(places):
            with writer.transaction():
                writer.rewind(row.source_id)


def elsewhere(archive: Archive, other: Archive, damaged: Iterable[ChunkPlace]) -> list[tuple[ChunkPlace, SealedChunk]]:
    """Return the damaged chunks that open at another place, in the same packs or in those of another archive."""
    wanted = {place.name: place for place in damaged}
    found: dict[bytes, tuple[ChunkPlace, SealedChunk]] = {}
    for number in pack_numbers(other.packs_folder) if wanted else ():
        with suppress(ArchiveError):
            for place in scan(pack_path(other.packs_folder, number)):
                if place.name in found or wanted.get(place.name) in (None, place if other is archive else None):
                    continue
                with suppress(ArchiveCorrupt):
                    sealed = archive.sealer.seal(b"".join(other.iter_bytes((place,))))
                    found[place.name] = (wanted[place.name], sealed)
    return list(found.values())


def in_source(
    archive: Archive, source: ReadableSource, places: Sequence[ChunkPlace], damaged: Collection[ChunkPlace]
) -> list[tuple[ChunkPlace, SealedChunk]]:
    """Return the damaged chunks of a revision whose bytes its source still has at their place.

    places: the chunks of the revision, in order. Bytes are recognised by their name, so that nothing else is used.
    Raises SourceError.
    """
    found = []
    start = 0
    for place in places:
        if place in damaged:
            sealed = archive.sealer.seal(source.read_at(start, place.plain))
            if sealed.name == place.name:
                found.append((place, sealed))
        start += place.plain
    return found


Told = Mapping[str, Mapping[int, int]]
"""The bytes that the journal tells of, by source and revision: `Archive.sizes`."""


def untold(told: Told, rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """Return the revisions of which the journal has less than was ingested.

    Read the rows before: the journal is always written first, so it never lags behind them.
    """
    return [row for row in rows if told.get(row.source_id, {}).get(row.revision, -1) < row.bytes_seen]


def behind(told: Told, rows: Iterable[LedgerRow]) -> int:
    """Return of how many revisions the database has less than the journal tells.

    While something is ingested the journal is ahead for a moment.
    """
    known = {(row.source_id, row.revision): row.bytes_seen for row in rows}
    return sum(known.get((source, n), -1) < size for source, sizes in told.items() for n, size in sizes.items())


Opens = Callable[[], AbstractContextManager[ReadableSource]]


class Healing:
    """Archives damaged chunks again while sources are planned. Made where the ingest lock is held."""

    def __init__(self, opened: Opened, report: SyncReport, *, is_bounded: bool) -> None:
        """Look at a part of the archive. is_bounded: a refresh on read, which reads nothing for that and tells nothing.

        Raises KeyUnavailable, StoreError, ArchiveError.
        """
        self._opened = opened
        self._report = report
        self._is_bounded = is_bounded
        home, archive = opened.home.folder, opened.archive
        self._damaged: set[ChunkPlace] = look(
            home, archive, budget=0 if is_bounded else SAMPLE_BYTES, all_changed=not is_bounded
        )
        self._sources = {one.source_id for one in known_damage(home, archive).sources} if self._damaged else set()
        self._healed = 0

    def take(self, row: SourceRow, opens: Opens) -> None:
        """Archive again what a source still has of its damaged chunks, in all of its revisions.

        Cheap where the source has none. A source that cannot be read now is looked at by the next pass again.
        """
        if row.source_id not in self._sources:
            return
        found: dict[ChunkPlace, SealedChunk] = {}
        writer, archive = self._opened.writer, self._opened.archive
        try:
            with opens() as source:
                for number in range(row.revision, 0, -1):
                    places = [place for place, _ in writer.open_chunks(row.source_id, number)]
                    found.update(in_source(archive, source, places, self._damaged - found.keys()))
        except SourceError:
            return
        heal(archive, writer, list(found.items()))
        self._damaged -= found.keys()
        self._healed += len(found)

    def _take_imported(self) -> None:
        """Look at imported files, which no pass discovers: they may still be where they were."""
        rows = [row for row in self._opened.reader.sources() if row.source_id in self._sources] if self._damaged else []
        rows = [row for row in rows if not is_rows(row.container) and os.path.isfile(row.path)]
        for row in rows:
            self.take(row, partial(open_source, row.path, is_compressed=row.path.endswith(".zst")))
        begin_again(self._opened.archive, self._opened.writer, rows)

    def tell(self) -> None:
        """Report what was repaired, and what is still damaged."""
        if not self._is_bounded:
            self._take_imported()
        if self._healed:
            healed = plural(self._healed, "damaged chunk was", "damaged chunks were")
            self._report.notes.append(f"{healed} archived again from the agents' files")
        if not self._damaged or self._is_bounded:
            return
        left = known_damage(self._opened.home.folder, self._opened.archive)
        if left.chunks:
            self._report.degrade(f"{left.told()}; run `recollect repair`")
