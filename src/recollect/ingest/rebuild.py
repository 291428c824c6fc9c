"""Derives everything again from the archive alone: journal and chunks.

The new database and index are built beside the old ones and take their place only when they are complete; a
crash leaves the old ones. Events keep the seq that they have in the old database. Where there is none, slices that come
in the order in which their bytes were seen give them the same.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from recollect.agents.registry import adapters
from recollect.archive.archive import Archive
from recollect.archive.files import write_error
from recollect.archive.journal import MARK_BYTES, JournalTombstone
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import ChunkPlace
from recollect.capture.replay import is_appended
from recollect.config import Config
from recollect.errors import ArchiveCorrupt, SchemaTooNew, StoreError
from recollect.files import move, write_file
from recollect.index.text.engine import give_back_memory
from recollect.index.text.refresh import mend_index, rebuild_index
from recollect.index.text.writer import IndexWriterSet
from recollect.ingest.archived_slices import Revision, Slice, slices_of
from recollect.ingest.batch_writer import BatchWriter
from recollect.ingest.damage import check, known_damage, untold
from recollect.ingest.worker.trail import next_revision, same_revision
from recollect.privacy.redact import Redactor, detectors_in_force, redactor_of
from recollect.store.connection import open_database, quick_check
from recollect.store.erasure.forget_rows import Tombstone
from recollect.store.erasure.holes import carry_over, finish_carrying
from recollect.store.home import Home
from recollect.store.lock import IngestLock
from recollect.store.reader import Reader, open_reader
from recollect.store.session_rows import ShortSession, short_sessions_of
from recollect.store.snapshots import KEPT_TABLES, copy_authored
from recollect.store.writer import Writer, open_writer

Progress = Callable[[int, int], None]
READY = "READY"
"""Stands in the rebuild folder once it is complete: from then on the swap is finished, not begun again."""


class Rebuilt(NamedTuple):
    """The result of a rebuild. lost: a line for each source that was derived only in part. notes: on unreadable data
    that only the old database had.
    """

    lost: list[str]
    notes: list[str]


@contextmanager
def _writing() -> Iterator[None]:
    """The system's errors on making, moving and removing files are ours. Raises DiskFull, ArchiveError."""
    try:
        yield
    except OSError as error:
        raise write_error(error, Path(error.filename or READY)) from error


@_writing()
def rebuild_all(
    home: Home, keys: HomeKeys, config: Config, *, progress: Progress | None = None, authored: Path | None = None,
) -> Rebuilt:  # fmt: skip
    """Derive database and index again beside the old ones, then replace these.

    Needs only the archive and its key; the old database may be damaged or gone. Sources with bytes known to be damaged
    are copied from it if it is readable. authored: a home of the same memory from which data that exists only in
    databases is copied too. Raises StoreLocked, StoreError, ArchiveError, IndexUnavailable; the old ones then stay.
    """
    done = Rebuilt([], [])
    lost = done.lost
    with IngestLock(home.folder):
        _finish_swap(home)
        shutil.rmtree(home.rebuild, ignore_errors=True)
        new = Home(home.rebuild)
        archive = Archive.open(home.archive, keys, read_only=True)
        is_all = is_all_there_is(home, archive)
        damaged = {} if is_all else {one.source_id: one for one in known_damage(home.folder, archive).sources}
        carried = carry_over(home.folder, new.folder, damaged)
        writer = open_writer(new.folder, domains=config.repos.domains, own_folder=home.folder, numbers_of=home.folder)
        index = IndexWriterSet.open(new.index)
        try:
            ingester = BatchWriter.of_archive(writer, archive, index)
            redactor = redactor_of(keys.marker_key, config.privacy)
            ingester.lost = lost
            rederive(archive, redactor, ingester, progress, kept=damaged)
            lost += [f"{one.path} stays as it was: {one.bytes:,} bytes are damaged" for one in damaged.values()]
            with writer.transaction():
                index.delete(writer.short.carry(_short_before(home)))
            ingester.commit_index()
            index.close()
            with writer.transaction():  # what is taken over below says otherwise where it was redacted by older ones
                writer.removing.redacting.set_detectors(detectors_in_force(config.privacy))
            buried = archive.tombstones()
        finally:
            writer.close()
            archive.close()
        finish_carrying(home.folder, new.folder, carried)
        done.notes.extend(_keep_authored(home, new, authored))
        _keep_forgotten(new, buried)
        _check_closed(new)
        write_file(new.folder / READY, b"", durable=True)
        archive.condition.remember(change=0)  # its change log begins again
        _finish_swap(home)
        give_back_memory()  # what two databases were read and written with is no part of what comes next
        return done


def _short_before(home: Home) -> list[ShortSession]:
    """Return what an import kept out of the old index. Where the old database cannot be read all is indexed."""
    try:
        return short_sessions_of(home.folder)
    except StoreError:
        return []


def _check_closed(new: Home) -> None:
    """The new database must be all in its file: where closing it failed, a part is in its log, which stays behind.

    Raises StoreError.
    """
    log = new.database.with_name(new.database.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError("the rebuilt database could not be written whole", hint="run the same command again")


def _keep_authored(home: Home, new: Home, besides: Path | None) -> list[str]:
    """Copy what exists only in the old database; return a line on what was unreadable.

    A badly damaged database is why people rebuild. besides: another home that has it too.
    """
    if besides is not None:
        open_database(besides, "write").close()  # of the same schema
        copy_authored(besides, new.folder, [table for table in KEPT_TABLES if table != "meta"])
    try:
        damaged = copy_authored(home.folder, new.folder)
    except StoreError:
        aside = home.database.with_suffix(".damaged.db")
        shutil.copy2(home.database, aside)
        return [f"notes, facts, diaries and pins cannot be read in the damaged database, which is kept as {aside.name}"]
    return [f"the damaged database has only a part of: {', '.join(damaged)}"] if damaged else []


def _keep_forgotten(new: Home, buried: Sequence[JournalTombstone]) -> None:
    """Take over what must not come back. Where a crash came before its bytes were gone, the next pass forgets again."""
    if not buried:
        return
    with open_writer(new.folder) as writer, writer.transaction():
        writer.removing.forgetting.add_tombstones(Tombstone(*stone) for stone in buried)
        writer.removing.forgetting.begin(())


@_writing()
def rebuild_index_of(home: Home, writer: Writer, reader: Reader) -> int:
    """Rebuild the index from the store. The caller holds the ingest lock."""
    shutil.rmtree(home.index, ignore_errors=True)
    with IndexWriterSet.open(home.index) as index:
        return rebuild_index(writer, reader, index)


def complete_index_of(home: Home, writer: Writer, reader: Reader) -> int:
    """Add to a rebuilt index what was copied from the old database. The caller holds the ingest lock."""
    with IndexWriterSet.open(home.index) as index:
        return mend_index(writer, reader, index)


@_writing()
def finish_swap(home: Home) -> None:
    """Finish a swap that a crash interrupted. Raises StoreLocked while another process works."""
    if (home.rebuild / READY).exists():
        with IngestLock(home.folder):
            _finish_swap(home)


def _finish_swap(home: Home) -> None:
    """Put the rebuilt files in place; every step can be repeated. The marker goes last."""
    if not (home.rebuild / READY).exists():
        return
    new = Home(home.rebuild)
    if new.index.exists():
        shutil.rmtree(home.index, ignore_errors=True)
        home.index.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        move(new.index, home.index, durable=True)
    if new.database.exists():
        for suffix in ("-wal", "-shm"):
            home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)
        move(new.database, home.database, durable=True)
    (home.rebuild / READY).unlink()
    shutil.rmtree(home.rebuild, ignore_errors=True)


def revisions_of(archive: Archive) -> list[Revision]:
    """Return every revision of every source with its chunks, in the order of first sight."""
    return [Revision.of(archived) for archived in archive.revisions()]


def rederive(
    archive: Archive, redactor: Redactor, ingester: BatchWriter, progress: Progress | None, *,
    kept: Collection[str] = (),
) -> None:  # fmt: skip
    """Write every archived revision again through an ingester that does not write to the archive.

    kept: ids of sources that were copied as they were.
    """
    known = adapters()
    revisions = [r for r in revisions_of(archive) if r.row.agent in known and r.row.source_id not in kept]
    total = sum(place.plain for r in revisions for place, _ in r.chunks)
    done = 0
    trails: dict[str, bytes] = {}

    def slices(revision: Revision) -> Iterator[Slice]:
        revision.row.trail = next_revision(trails.get(revision.row.source_id, b""))
        return slices_of(archive, redactor, revision, forgotten=ingester.forgotten, lost=ingester.lost)

    for revision, (result, places) in in_turns(revisions, slices):
        ingester.take_archived(result, places)
        trails[revision.row.source_id] = result.source.trail
        done += result.to_bytes - result.from_bytes
        if progress is not None:
            progress(done, total)
    ingester.flush()
    if progress is not None:
        progress(total, total)


def rederive_stale(
    writer: Writer, reader: Reader, archive: Archive, redactor: Redactor, ingester: BatchWriter, *,
    progress: Progress | None = None,
) -> int:  # fmt: skip
    """Derive the newest revision of every source that an older parser read again; return how many.

    From the archive, never from the agent's file. Events keep their seq; what the newer parser says replaces the old.
    Deleted parts stay as the older parser read them. An interrupted derivation starts again. A source with damaged
    bytes stays as it is if `ingester.lost` accepts a line on it; else it raises.
    """
    current = {slug: adapter.facts.derived_version for slug, adapter in adapters().items()}
    rewound = writer.rewound()
    stale = [
        s
        for s in reader.sources()
        if s.agent in current and (s.source_id in rewound or (s.records and s.parser_version != current[s.agent]))
    ]
    holed = {(ledger.source_id, ledger.revision) for ledger in reader.ledgers() if ledger.holes}
    has_more = any(row.source_id in rewound or (row.source_id, row.revision) in holed for row in stale)
    archived = {(r.row.source_id, r.row.revision): r for r in revisions_of(archive)} if has_more else {}
    done, total = 0, sum(row.committed_bytes for row in stale)
    count = len(stale)
    for row in stale:
        chunks = reader.chunks(row.source_id, row.revision)
        if ingester.lost is not None and (damage := damage_of(archive, [place for place, _ in chunks])):
            ingester.lost.append(f"{row.path} cannot be rebuilt: {damage}")
            count -= 1
            continue
        marks = row.head_sha + row.tail_sha if len(row.head_sha) == MARK_BYTES else b""
        revision = Revision(row, chunks, row.committed_bytes, marks=marks)
        known = archived.get((row.source_id, row.revision))
        if known is not None:
            revision.kept = known.kept
            if row.source_id in rewound:  # its cursor and marks are those of a derivation that came to nothing
                revision.committed_bytes, revision.marks = known.committed_bytes, known.marks
                if _length(known.chunks) > _length(chunks):  # the database was catching up with its archive
                    revision.chunks = known.chunks
        with writer.transaction():
            writer.rewind(row.source_id)
        row.trail = same_revision(row.trail)
        done += row.committed_bytes
        for result, places in slices_of(archive, redactor, revision, forgotten=ingester.forgotten):
            ingester.take_archived(result, places)
        ingester.flush()
        if progress is not None:
            progress(done, total)
    return count


def _length(chunks: Sequence[tuple[ChunkPlace, bool]]) -> int:
    return sum(place.plain for place, _ in chunks)


def in_turns(
    revisions: Iterable[Revision], slices: Callable[[Revision], Iterator[Slice]]
) -> Iterator[tuple[Revision, Slice]]:
    """Yield the slices of revisions, session by session, those of one session in the order in which they were seen.

    revisions: in the order of first sight. Those of one source come one after the other, whatever the clock said.
    slices: called for each revision when its first turn comes.
    """
    for group in _by_session(revisions):
        begun: dict[int, _SliceTurns] = {}
        for revision, to_bytes in _turns(group):
            if id(revision) not in begun:
                begun[id(revision)] = _SliceTurns(slices(revision))
            for one in begun[id(revision)].up_to(to_bytes):
                yield revision, one


def _by_session(revisions: Iterable[Revision]) -> list[list[Revision]]:
    """Return the revisions that have to do with one session together."""
    groups: dict[tuple[str, str, str], list[Revision]] = {}
    for revision in revisions:
        row = revision.row
        groups.setdefault((row.agent, row.session, "" if row.session else row.source_id), []).append(revision)
    return list(groups.values())


def _turns(revisions: Sequence[Revision]) -> list[tuple[Revision, int | None]]:
    """Return revisions as they grew, each with the byte up to which it was seen then; None: with all that is left.

    A revision that grew by turns with others gets its `cuts`.
    """
    if len(revisions) == 1:
        return [(revisions[0], None)]
    sights: list[tuple[int, int, int]] = []
    latest: dict[str, int] = {}
    for place, revision in enumerate(revisions):
        source = revision.row.source_id
        known = revision.observations or [(revision.committed_bytes, revision.row.observed_at)]
        is_cut = is_appended(revision.row.container) and not revision.holes
        for to_bytes, at in known if is_cut else known[:1]:
            latest[source] = max(at, latest.get(source, at))
            sights.append((latest[source], place, to_bytes))
    sights.sort(key=itemgetter(0, 1))
    turns = [(place, max(to for _at, _place, to in run)) for place, run in groupby(sights, key=itemgetter(1))]
    last = {place: number for number, (place, _to) in enumerate(turns)}
    found: list[tuple[Revision, int | None]] = []
    for number, (place, to_bytes) in enumerate(turns):
        revision = revisions[place]
        if number == last[place]:
            found.append((revision, None))
        else:
            revision.cuts.append(to_bytes)
            found.append((revision, to_bytes))
    return found


class _SliceTurns:
    """The slices of one revision, ingested turns."""

    def __init__(self, slices: Iterator[Slice]) -> None:
        self._slices = slices
        self._next: Slice | None = None

    def up_to(self, to_bytes: int | None) -> Iterator[Slice]:
        """Yield the slices whose records begin before a byte; None: all that are left."""
        while (one := self._next or next(self._slices, None)) is not None:
            records = one[0].records
            if to_bytes is not None and (not records or records[0].offset >= to_bytes):
                self._next = one
                return
            self._next = None
            yield one


def damage_of(archive: Archive, places: Sequence[ChunkPlace]) -> str:
    """Return why bytes of a revision cannot be read, "" if all existing ones can."""
    there = {place for place in places if not place.is_hole}
    damaged = archive.condition.damaged & there or check(archive, there)
    return f"{sum(place.plain for place in damaged):,} bytes are damaged in the archive" if damaged else ""


def is_all_there_is(home: Home, archive: Archive) -> bool:
    """Return whether only the archive is left: the old database is gone or damaged.

    Raises ArchiveCorrupt if the database is intact and has what the journal lacks; SchemaTooNew.
    """
    if not home.database.exists():
        return True
    try:
        if quick_check(home.folder, limit=1):
            return True
        with open_reader(home.folder, None, None) as reader:
            rows = list(reader.ledgers())
    except SchemaTooNew:
        raise
    except StoreError:
        return True
    missing = untold(archive.sizes(), rows)
    if missing:
        raise ArchiveCorrupt(
            f"the archive's journal does not tell of {len(missing):,} of {len(rows):,} revisions that the database "
            "has; nothing was rebuilt",
            hint="restore a backup, or move memory.db away (keep it) to rebuild what the journal tells of",
        )
    return False
