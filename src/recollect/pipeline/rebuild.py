"""Derives everything anew from the archive alone: the journal says what was seen, the chunks hold it.

The new database and index are built beside the old ones and take their place only when they are complete; a
crash leaves the old ones. Slices come in the order of the journal, so events keep the seq they had.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from recollect.agents.registry import adapters, for_role
from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace, SealedChunk
from recollect.archive.journal import JournalEntry
from recollect.archive.keys import HomeKeys
from recollect.capture.changes import marks_of
from recollect.capture.records import is_appended, is_rows
from recollect.capture.replay import Batch, replay
from recollect.config import Config
from recollect.errors import StoreError
from recollect.index.writer import IndexWriterSet
from recollect.model.records import SourceInfo
from recollect.pipeline.home import Home
from recollect.pipeline.ingest import Ingester, Sinks
from recollect.pipeline.mend import rebuild_index
from recollect.pipeline.report import AgentSync, SyncReport
from recollect.pipeline.work.derive import Deriver, Resume, encode_state, hashes_of
from recollect.pipeline.work.stages import StageTimer
from recollect.pipeline.work.trail import next_revision, same_revision, trail_of
from recollect.privacy.redact import Redactor
from recollect.store.ports import Reader, SliceResult, SourceRow, Writer
from recollect.store.sqlite import IngestLock, open_writer
from recollect.store.sqlite.firings import copy_authored

Progress = Callable[[int, int], None]
READY = "READY"
"""Stands in the rebuild folder once it is complete: from then on the swap is finished, not begun again."""
_RevisionKey = tuple[str, int]


class _Revision(msgspec.Struct):
    """One archived revision: its source, its chunks, and where the whole records that were taken end."""

    row: SourceRow
    chunks: list[tuple[ChunkPlace, bool]]
    committed_bytes: int
    observations: list[tuple[int, int]] = []
    """Up to which byte it was seen when, from the journal."""

    def observe(self, entry: JournalEntry) -> None:
        """Take an entry's time. An entry that begins again where another one did stands in its place (a crash)."""
        kept = [seen for seen in self.observations if seen[0] <= entry.from_bytes]
        self.observations = [*kept, (entry.to_bytes, entry.observed_at)]


def rebuild_all(
    home: Home, keys: HomeKeys, config: Config, *, now_us: Callable[[], int], progress: Progress | None = None
) -> None:
    """Derive database and index anew beside the old ones, then let them take their place.

    Needs the archive and its key only; the old database may be damaged or gone.
    Raises StoreLocked, StoreError, ArchiveError, IndexUnavailable; the old ones then stay.
    """
    lock = IngestLock(home.folder)
    try:
        _finish_swap(home)
        shutil.rmtree(home.rebuild, ignore_errors=True)
        new = Home(home.rebuild)
        report = SyncReport(agents={s: AgentSync(agent=s) for s in adapters()}, seconds=0, bytes=0, stored_bytes=0)
        archive = Archive.open(home.archive, keys, read_only=True)
        writer = open_writer(new.folder, domains=config.repos.domains, own_folder=home.folder)
        index = IndexWriterSet.open(new.index)
        try:
            ingester = Ingester(
                Sinks(writer, archive, index), report, now_us=now_us, timer=StageTimer(), record_journal=False
            )
            rederive(archive, Redactor(keys.marker_key), ingester, progress)
            ingester.commit_index()
            index.close()
        finally:
            writer.close()
            archive.close()
        _keep_authored(home, new)
        (new.folder / READY).touch()
        _finish_swap(home)
    finally:
        lock.release()


def _keep_authored(home: Home, new: Home) -> None:
    """Take over what exists in the old database alone. One that is too damaged to be read is why people rebuild."""
    try:
        copy_authored(home.folder, new.folder)
    except StoreError:
        shutil.copy2(home.database, home.database.with_suffix(".damaged.db"))


def rebuild_index_of(home: Home, writer: Writer, reader: Reader) -> int:
    """Make the index anew from the store. The caller holds the ingest lock."""
    shutil.rmtree(home.index, ignore_errors=True)
    with IndexWriterSet.open(home.index) as index:
        return rebuild_index(writer, reader, index)


def finish_swap(home: Home) -> None:
    """Finish a swap that a crash interrupted. Raises StoreLocked while another process works."""
    if (home.rebuild / READY).exists():
        lock = IngestLock(home.folder)
        try:
            _finish_swap(home)
        finally:
            lock.release()


def _finish_swap(home: Home) -> None:
    """Put what was rebuilt in place; every step can be repeated. The marker goes last."""
    if not (home.rebuild / READY).exists():
        return
    new = Home(home.rebuild)
    if new.index.exists():
        shutil.rmtree(home.index, ignore_errors=True)
        home.index.parent.mkdir(parents=True, exist_ok=True)
        os.replace(new.index, home.index)
    if new.database.exists():
        for suffix in ("-wal", "-shm"):
            home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)
        os.replace(new.database, home.database)
    (home.rebuild / READY).unlink()
    shutil.rmtree(home.rebuild, ignore_errors=True)


def revisions_of(archive: Archive) -> list[_Revision]:
    """Fold the journal: every revision of every source with its chunks, in the order of first sight."""
    found: dict[_RevisionKey, _Revision] = {}
    for entry in archive.entries(skip_damaged=True):
        key = (entry.source_id, entry.revision)
        known = found.get(key)
        if known is None:
            found[key] = _Revision(_row(entry), list(entry.chunks), entry.to_bytes)
        else:
            known.chunks = known.chunks[: entry.keep_chunks] + list(entry.chunks)
            known.committed_bytes = entry.to_bytes
            known.row.path, known.row.relative = entry.path, entry.relative
        found[key].observe(entry)
    return list(found.values())


def rederive(archive: Archive, redactor: Redactor, ingester: Ingester, progress: Progress | None) -> None:
    """Write every archived revision again through an ingester that does not write to the archive."""
    revisions = revisions_of(archive)
    known = adapters()
    total = sum(place.plain for r in revisions for place, _ in r.chunks)
    done = 0
    trails: dict[str, bytes] = {}
    for revision in revisions:
        if revision.row.agent not in known:
            continue
        source = revision.row.source_id
        revision.row.trail = next_revision(trails.get(source, b""))
        for result, places in _slices(archive, redactor, revision):
            ingester.take_archived(result, places)
            trails[source] = result.source.trail
        done += sum(place.plain for place, _ in revision.chunks)
        if progress is not None:
            progress(done, total)
    ingester.flush()


def rederive_stale(writer: Writer, reader: Reader, archive: Archive, redactor: Redactor, ingester: Ingester) -> int:
    """Derive the newest revision of every source anew that an older parser read; return how many those were.

    From the archive, never from the agent's file. Events keep their seq; what the newer parser says replaces the old.
    """
    current = {slug: adapter.facts.derived_version for slug, adapter in adapters().items()}
    stale = [s for s in reader.sources() if s.records and s.parser_version != current.get(s.agent, s.parser_version)]
    for row in stale:
        with writer.transaction():
            writer.rewind(row.source_id)
        row.trail = same_revision(row.trail)
        revision = _Revision(row, reader.chunks(row.source_id, row.revision), row.committed_bytes)
        for result, places in _slices(archive, redactor, revision):
            ingester.take_archived(result, places)
        ingester.flush()
    return len(stale)


def _slices(
    archive: Archive, redactor: Redactor, revision: _Revision
) -> Iterator[tuple[SliceResult, list[ChunkPlace]]]:
    """Yield a revision as slices, one for every batch of records; the last one carries its chunks and marks."""
    row = msgspec.structs.replace(revision.row)
    adapter = for_role(adapters()[row.agent], row.role)
    info = SourceInfo.of(row.agent, row.role, row.relative, row.session)
    state = adapter.begin(info)
    trail = trail_of(adapter, row)
    places = [place for place, _ in revision.chunks]
    turn = index = committed = 0
    seen = sum(place.plain for place in places)
    for batch, is_last in _with_last(replay(archive.iter_bytes(places), row.container)):
        deriver = Deriver(adapter, info, redactor, Resume(state, turn, trail))
        if batch.giant is not None:
            giant = batch.giant
            deriver.add_giant(
                giant.head, offset=giant.start, length=giant.end - giant.start, index=index, sha256=giant.sha256
            )
            end = giant.end
        else:
            deriver.add_lines(batch.lines, hashes_of(batch.lines), base=batch.base, first_index=index, data=batch.data)
            end = batch.base + batch.lines[-1].end
        if is_last:
            deriver.end_revision()
        derived = deriver.finish()
        state, turn = derived.state, derived.turn
        index += len(derived.records)
        row = msgspec.structs.replace(
            row, records=index, committed_bytes=end, turn_index=turn,
            state=encode_state(adapter, state, archive.sealer),
            parser_version=adapter.facts.derived_version, trail=deriver.trail,
        )  # fmt: skip
        yield (
            SliceResult(
                source=row, from_bytes=committed, to_bytes=end, bytes_seen=end, records=derived.records,
                sessions=derived.sessions, defects=derived.defects, blobs=derived.blobs, chunks=[], keep_chunks=0,
                unknown_count=derived.unknown_count, redactions=derived.redactions,
                drift=derived.drift, is_new_revision=committed == 0, is_last=False, observations=[],
            ),
            [],
        )  # fmt: skip
        committed = end
    if not index and trail is not None:
        row.trail = trail.of_nothing()
    # The committed end as the ingester saw it: after the last line's end, not only after its record.
    committed = max(committed, revision.committed_bytes)
    is_whole = not is_appended(row.container)
    marks = marks_of(partial(archive.read_range, places), archive.iter_bytes(places), committed, is_whole=is_whole)
    tail_sha = b"" if is_rows(row.container) else marks.tail_sha  # a document's mark is not archived
    row = msgspec.structs.replace(row, committed_bytes=committed, head_sha=marks.head_sha, tail_sha=tail_sha)
    chunks = [SealedChunk(place.name, b"", place.plain, is_open) for place, is_open in revision.chunks]
    yield (
        SliceResult(
            source=row, from_bytes=committed, to_bytes=committed, bytes_seen=seen, records=[], sessions=[],
            defects=[], blobs=[], chunks=chunks, keep_chunks=0, is_new_revision=committed == 0 and not index,
            observations=revision.observations,
        ),
        places,
    )  # fmt: skip


def _with_last(batches: Iterator[Batch]) -> Iterator[tuple[Batch, bool]]:
    """Yield each batch and whether it is the last one."""
    waiting = next(batches, None)
    while waiting is not None:
        following = next(batches, None)
        yield waiting, following is None
        waiting = following


def _row(entry: JournalEntry) -> SourceRow:
    return SourceRow(
        source_id=entry.source_id,
        agent=entry.agent,
        role=entry.role,
        key=entry.key,
        path=entry.path,
        container=entry.container,
        lane=entry.lane,
        session=entry.session,
        revision=entry.revision,
        relative=entry.relative,
        observed_at=entry.observed_at,
    )
