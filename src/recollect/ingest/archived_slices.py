"""Reads a revision from the archive as slices, as a sync would have made them, without its holes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.registry import adapters, for_role
from recollect.archive.archive import Archive
from recollect.archive.journal import MARK_BYTES, ArchivedRevision, Removal
from recollect.archive.packs import ChunkPlace, Hole, SealedChunk
from recollect.capture.changes import marks_of
from recollect.capture.containers.jsonl import Line
from recollect.capture.replay import ReplayBatch, is_appended, is_rows, replay
from recollect.erasure.records import pieces_and_gaps
from recollect.erasure.tombstones import NOTHING as NOTHING_FORGOTTEN
from recollect.erasure.tombstones import Forgotten
from recollect.errors import ArchiveCorrupt
from recollect.ingest.worker.derive import Derived, Deriver, Resume, decode_state, encode_state, hashes_of
from recollect.ingest.worker.trail import Trail, trail_of
from recollect.model.records import SourceInfo
from recollect.privacy.redact import Redactor
from recollect.store.rows import SliceResult, SourceRow

Slice = tuple[SliceResult, list[ChunkPlace]]


class Revision(msgspec.Struct):
    """One archived revision: its source, its chunks, where the whole records that were taken end, and its holes.

    observations: up to which byte it was seen when, from the journal. marks: how its source looked at its committed
    end. kept: what the bytes no longer tell, of one with holes. cuts: bytes at which a slice ends. known_bytes: how far
    the database was with it; from there on everything is new, also behind a hole.
    """

    row: SourceRow
    chunks: list[tuple[ChunkPlace, bool]]
    committed_bytes: int
    observations: list[tuple[int, int]] = []
    marks: bytes = b""
    kept: Removal | None = None
    cuts: list[int] = []
    known_bytes: int | None = None

    @property
    def holes(self) -> Sequence[Hole]:
        """Its deleted parts, in order."""
        return self.kept.holes if self.kept is not None else ()

    @classmethod
    def of(cls, archived: ArchivedRevision) -> Revision:
        """Return a revision as the journal tells of it."""
        row = msgspec.convert(archived.entry, SourceRow, from_attributes=True)  # what both tell of a source
        seen = archived.observations
        return cls(row, archived.chunks, archived.committed_bytes, seen, archived.marks, archived.removal)


def slices_of(
    archive: Archive, redactor: Redactor, revision: Revision, *, forgotten: Forgotten = NOTHING_FORGOTTEN,
    lost: list[str] | None = None,
) -> Iterator[Slice]:  # fmt: skip
    """Yield a revision as slices, one for every batch of records; the first one carries its chunks and holes, the last
    one how far it was seen and its marks: a crash in between leaves no record whose bytes the database cannot find.

    After a deleted part the parser continues with its state of that place, if that was kept. forgotten: what must not
    be derived, even if its bytes still exist. lost: gets a line about a revision with damaged bytes, which then ends
    before them; None: ArchiveCorrupt is raised.
    """
    walk = _Walk(archive, redactor, revision, forgotten)
    try:
        yield from walk.slices()
        closing = walk.closing()
    except ArchiveCorrupt as error:
        if lost is None:
            raise
        lost.append(f"{revision.row.path} is damaged in the archive: {error}")
        closing = walk.closing(is_damaged=True)
    yield closing


class _Walk:
    """One revision while it is derived."""

    def __init__(self, archive: Archive, redactor: Redactor, revision: Revision, forgotten: Forgotten) -> None:
        self._archive = archive
        self._redactor = redactor
        self._forgotten = forgotten
        self._revision = revision
        self._row = msgspec.structs.replace(revision.row)
        self._adapter: Adapter = for_role(adapters()[self._row.agent], self._row.role)
        self._info = SourceInfo.of(self._row.agent, self._row.role, self._row.relative, self._row.session)
        self._state: Any = self._adapter.begin(self._info)
        self._trail: Trail | None = trail_of(self._adapter, self._row)
        self._places = [place for place, _ in revision.chunks]
        self._is_begun = False
        self._turn = self._index = self._committed = 0
        self._has_records = self._is_partial = False
        kept = revision.kept
        self._kept = kept if kept is not None and kept.is_newest else None

    def slices(self) -> Iterator[Slice]:
        """Yield a slice for every existing batch of records."""
        pieces = pieces_and_gaps(self._archive, lambda: self._places, self._revision.holes)
        for batch, is_last in _with_last(_cut(replay(pieces, self._row.container), sorted(self._revision.cuts))):
            if batch.gap is not None:
                self._index += batch.gap.records
                self._turn = max(self._turn, batch.gap.turn)
                self._committed = batch.base + batch.gap.length
                self._is_partial = True
                self._resume(self._committed)
                continue
            before, behind = self._parted(batch)
            if before is not None:
                yield self._slice(before, is_last=is_last and behind is None)
            if behind is not None:
                self._resume(self._kept.committed_bytes if self._kept is not None else 0)
                yield self._slice(behind, is_last=is_last)

    def _parted(self, batch: ReplayBatch) -> tuple[ReplayBatch | None, ReplayBatch | None]:
        """Split a batch at the place of the parser's kept state."""
        if self._kept is None:
            return batch, None
        if batch.giant is not None:
            return (batch, None) if batch.giant.start < self._kept.committed_bytes else (None, batch)
        end = self._kept.committed_bytes - batch.base
        before: list[Line] = [line for line in batch.lines if line.start < end]
        if len(before) == len(batch.lines):
            return batch, None
        behind = batch._replace(lines=batch.lines[len(before) :])
        return (batch._replace(lines=before) if before else None), behind

    def _resume(self, committed: int) -> None:
        """Use the parser's kept state once its place is reached.

        A state of an older parser only if nothing else can tell: no record before it is left.
        """
        kept = self._kept
        if kept is None or committed < kept.committed_bytes:
            return
        self._kept = None
        if kept.parser_version != self._adapter.facts.derived_version and self._has_records:
            return
        state = decode_state(self._adapter, kept.state, self._archive.sealer)
        if state is not None:
            self._state = state
            self._is_partial = kept.parser_version != self._adapter.facts.derived_version
            self._turn, self._index = kept.turn_index, kept.records
            self._row.trail = kept.trail
            self._trail = trail_of(self._adapter, self._row)

    def _slice(self, batch: ReplayBatch, *, is_last: bool) -> Slice:
        resume = Resume(self._state, self._turn, self._trail, self._forgotten)
        deriver = Deriver(self._adapter, self._info, self._redactor, resume)
        if batch.giant is not None:
            giant = batch.giant
            deriver.add_giant(
                giant.head, offset=giant.start, length=giant.end - giant.start, index=self._index, sha256=giant.sha256
            )
            end = giant.end
        else:
            deriver.add_lines(
                batch.lines, hashes_of(batch.lines), base=batch.base, first_index=self._index, data=batch.data
            )
            end = batch.base + batch.lines[-1].end
        if is_last:
            deriver.end_revision()
        derived = deriver.finish()
        self._state, self._turn = derived.state, derived.turn
        self._index += len(derived.records)
        self._has_records = True
        self._row = self._stated(trail=deriver.trail, committed_bytes=end)
        result = self._begun(self._result(derived, end))
        self._committed = end
        return result

    def _begun(self, result: SliceResult) -> Slice:
        """Return a slice with the chunks and holes of the revision if it is the first one; the others keep them."""
        chunks = self._revision.chunks
        if self._is_begun:
            result.keep_chunks = len(chunks)
            return result, []
        self._is_begun = True
        result.chunks = [SealedChunk(place.name, b"", place.plain, is_open) for place, is_open in chunks]
        result.holes = list(self._revision.holes)
        return result, self._places

    def _stated(self, *, trail: bytes, committed_bytes: int) -> SourceRow:
        return msgspec.structs.replace(
            self._row, records=self._index, committed_bytes=committed_bytes, turn_index=self._turn,
            state=encode_state(self._adapter, self._state, self._archive.sealer),
            parser_version=self._adapter.facts.derived_version, trail=trail,
        )  # fmt: skip

    def _result(self, derived: Derived, end: int) -> SliceResult:
        known = self._revision.known_bytes
        return SliceResult(
            source=self._row, from_bytes=self._committed, to_bytes=end,
            bytes_seen=0,  # the last slice says it: after a crash before that, the journal tells of more
            records=derived.records, sessions=derived.sessions, defects=derived.defects, blobs=derived.blobs,
            chunks=[], keep_chunks=0,
            unknown_count=derived.unknown_count, redactions=derived.redactions, drift=derived.drift,
            is_new_revision=self._committed == 0, is_last=False, observations=[],
            left_out=derived.left_out, is_partial=self._is_partial and (known is None or self._committed < known),
        )  # fmt: skip

    def closing(self, *, is_damaged: bool = False) -> Slice:
        """Return the last slice: no records, but what holds of the revision as a whole.

        is_damaged: not all of it could be read; without marks its source is read again, if it is still there.
        """
        revision, archive, places = self._revision, self._archive, self._places
        # The committed end as the ingester saw it: after the last line's end, not only after its record.
        committed = max(self._committed, revision.committed_bytes)
        if is_damaged:
            row, committed, head_sha, tail_sha = self._row, self._committed, b"", b""
        elif revision.holes:
            trail = self._row.trail if self._kept is None else self._kept.trail
            if not self._has_records and revision.kept is not None and not revision.kept.is_newest:
                trail = self._trail.of_nothing() if self._trail is not None else trail
            row = self._stated(trail=trail, committed_bytes=committed)
            head_sha, tail_sha = revision.marks[:MARK_BYTES], revision.marks[MARK_BYTES:]
        else:
            row = self._row
            if not self._index and self._trail is not None:
                row.trail = self._trail.of_nothing()
            marks = marks_of(
                partial(archive.read_range, places), archive.iter_bytes(places), committed,
                is_whole=not is_appended(row.container),
            )  # fmt: skip
            head_sha, tail_sha = marks.head_sha, marks.tail_sha
        tail_sha = b"" if is_rows(row.container) else tail_sha  # a document's mark is not archived
        row = msgspec.structs.replace(row, committed_bytes=committed, head_sha=head_sha, tail_sha=tail_sha)
        if revision.observations:
            row.observed_at = revision.observations[-1][1]  # the ledger has the time of the last look
        return self._begun(
            SliceResult(
                source=row, from_bytes=committed, to_bytes=committed, bytes_seen=sum(p.plain for p in places),
                records=[], sessions=[], defects=[], blobs=[], chunks=[], keep_chunks=0,
                is_new_revision=committed == 0 and not self._index, observations=revision.observations,
            )
        )  # fmt: skip


def _cut(batches: Iterator[ReplayBatch], cuts: Sequence[int]) -> Iterator[ReplayBatch]:
    """Part batches so that none has records from before and behind a cut. cuts: in order."""
    for whole in batches:
        batch = whole
        for cut in cuts if batch.lines else ():
            count = sum(1 for line in batch.lines if batch.base + line.start < cut)
            if 0 < count < len(batch.lines):
                yield batch._replace(lines=batch.lines[:count])
                batch = batch._replace(lines=batch.lines[count:])
        yield batch


def _with_last(batches: Iterator[ReplayBatch]) -> Iterator[tuple[ReplayBatch, bool]]:
    """Yield each batch and whether it is the last one that has records."""
    waiting: list[ReplayBatch] = []
    for batch in batches:
        if batch.gap is None:
            yield from ((one, False) for one in waiting)
            waiting = []
        waiting.append(batch)
    yield from ((one, one.gap is None) for one in waiting)
