"""The worker: reads one slice, cuts, compresses and seals it, parses and redacts its records.

It never writes anything. What it returns is finished but for the numbers that only the ingester gives.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.guard import IDENTIFY_RAISED, raised_by
from recollect.agents.registry import adapters, for_role
from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import closed_boundaries
from recollect.archive.sealer import Sealer
from recollect.archive.tail import OpenTail, cut_slice
from recollect.capture.changes import marks_at, whole_marks
from recollect.capture.containers.jsonl import SplitRecords, split_lines
from recollect.capture.decode import MAX_RECORD_BYTES, UNREADABLE_TEXT_BYTES
from recollect.capture.replay import LineReader, is_whole, replay, split_whole
from recollect.capture.sources import ReadableSource, open_found
from recollect.config import PrivacyConfig
from recollect.erasure.records import pieces_and_gaps
from recollect.erasure.tombstones import NOTHING as NOTHING_FORGOTTEN
from recollect.erasure.tombstones import Forgotten
from recollect.errors import RecollectError, SourceChanged, SourceError, where_raised
from recollect.ingest.worker.derive import Deriver, Resume, decode_state, encode_state, hashes_of
from recollect.ingest.worker.slices import Giant, SliceDone, SliceFailed, SourceTask, StageTimer, TaskAnswer
from recollect.ingest.worker.trail import trail_of
from recollect.model.records import Defect, SourceInfo
from recollect.privacy.redact import Redactor, redactor_of
from recollect.store.rows import SliceResult

HEAD_BYTES = 64 * 1024
_SCAN_BYTES = 1024 * 1024


class Worker:
    """Takes slices, one at a time. Holds no state between slices but its compressors and keys."""

    def __init__(
        self, keys: HomeKeys, archive_folder: Path, privacy: PrivacyConfig, forgotten: Forgotten = NOTHING_FORGOTTEN
    ) -> None:
        self.forgotten = forgotten
        """What must not be ingested."""
        self._keys = keys
        self._sealer = Sealer(keys)
        self._redactor = redactor_of(keys.marker_key, privacy)
        self._archive_folder = archive_folder

    def run(self, tasks: list[SourceTask]) -> TaskAnswer:
        """Take one slice of every task; a source that fails never stops the others."""
        answer = TaskAnswer([], [])
        for task in tasks:
            try:
                answer.done.append(self.take(task))
            except SourceError as error:
                answer.failed.append(SliceFailed(task.source, str(error), not isinstance(error, SourceChanged)))
            except RecollectError as error:
                answer.failed.append(SliceFailed(task.source, str(error), True))
            except Exception as bug:  # noqa: BLE001 - one source must not keep all others out; it is told
                reason = f"could not be read ({where_raised(bug)}); please report this"
                answer.failed.append(SliceFailed(task.source, reason, True))
        return answer

    def take(self, task: SourceTask) -> SliceDone:
        """Take one slice of one source. Raises SourceError."""
        adapter = for_role(adapters()[task.source.agent], task.source.role)
        row = task.source
        with open_found(
            task.path, adapter.facts.places, row.role, task.document, is_compressed=task.is_compressed
        ) as source:
            return _Slice(self, adapter, task, source).take()

    @property
    def sealer(self) -> Sealer:
        """Seals chunks with the home's keys."""
        return self._sealer

    @property
    def redactor(self) -> Redactor:
        """Finds and replaces secrets."""
        return self._redactor

    def open_archive(self) -> Archive:
        """Open the archive to read what was stored before (to rebuild a parser's state)."""
        return Archive.open(self._archive_folder, self._keys, read_only=True)


class _Piece(NamedTuple):
    """The bytes of a slice: tail is what the revision's open deltas hold, data follows it and ends at seen_bytes."""

    tail: bytes
    data: bytes
    seen_bytes: int
    is_end: bool

    def cut_at(self, seen_bytes: int) -> _Piece:
        """Return the piece up to an earlier end; what is cut off is left to the next slice."""
        unread = self.seen_bytes - seen_bytes
        if not unread:
            return self
        return _Piece(self.tail, self.data[: len(self.data) - unread], seen_bytes, False)


class _Ends(NamedTuple):
    """Where records end, relative to a piece's data, and their hashes."""

    offsets: list[int]
    hashes: list[bytes]

    def last_boundary(self, piece: _Piece) -> int:
        """Where the last chunk closes in a slice that continues. The next slice gets the rest, so that no delta is
        written that it would replace at once.
        """
        size = len(piece.data)
        boundaries = closed_boundaries(size, self.offsets, self.hashes, tail_bytes=len(piece.tail))
        return boundaries[-1] if boundaries else size


class _Slice:
    """One slice while it is taken."""

    def __init__(self, worker: Worker, adapter: Adapter, task: SourceTask, source: ReadableSource) -> None:
        self._worker = worker
        self._adapter = adapter
        self._task = task
        self._file = source
        self._row = msgspec.structs.replace(task.source)
        self._timer = StageTimer()
        self._reader = LineReader(self._row.container)

    def take(self) -> SliceDone:
        task, row = self._task, self._row
        raised: list[str] = []
        if task.is_first_sight and not row.session:
            head = self._file.read_at(0, HEAD_BYTES)
            row.session = self._adapter.identify(self._info(), head)
            raised = raised_by(self._adapter)
        done = self._take()
        done.slice.defects += [Defect(IDENTIFY_RAISED, said) for said in raised]
        return done

    def _take(self) -> SliceDone:
        task, row = self._task, self._row
        if is_whole(row.container):
            return self._take_whole()
        if self._reader.needs_history and row.committed_bytes:
            self._read_history()
        if task.giant is None and task.seen_bytes - row.committed_bytes > MAX_RECORD_BYTES:
            task.giant = self._measure_giant(row.committed_bytes)
        piece = self._read()
        if task.giant is not None:
            return self._take_giant(task.giant, piece)
        with self._timer.stage("decode"):
            pending = self._file.read_at(row.committed_bytes, task.seen_bytes - row.committed_bytes)
            region = pending + piece.data if pending else piece.data
            found = split_lines(region, is_end=piece.is_end, is_start=row.committed_bytes == 0)
        too_long = next((i for i, line in enumerate(found.lines) if len(line.raw) > MAX_RECORD_BYTES), None)
        if too_long == 0 or (not found.lines and len(region) > MAX_RECORD_BYTES):
            return self._take_giant(self._measure_giant(row.committed_bytes), piece)
        found = found._replace(lines=self._reader.take(found.lines))
        if too_long is not None:  # take what stands before it; the next slice begins with the giant
            found = SplitRecords(found.lines[:too_long], found.lines[too_long].start)
            piece = piece.cut_at(row.committed_bytes + found.consumed)
        return self._finish(found, region, piece)

    def _read(self) -> _Piece:
        task = self._task
        if task.seen_bytes and not self._file.read_at(task.seen_bytes - 1, 1):
            raise SourceChanged(f"{task.path} changed while it was read: it got shorter")
        with self._timer.stage("read"):
            tail = self._file.read_at(task.closed_bytes, task.seen_bytes - task.closed_bytes)
            data = self._file.read_at(task.seen_bytes, task.slice_bytes)
        is_end = len(data) < task.slice_bytes
        if is_end and task.document is not None:
            self._file.check_unchanged()
        return _Piece(tail, data, task.seen_bytes + len(data), is_end)

    def _take_whole(self) -> SliceDone:
        """Take a whole-file source: every observation is a revision of its own, read in one piece."""
        task, row = self._task, self._row
        limit = MAX_RECORD_BYTES
        with self._timer.stage("read"):
            data = self._file.read_at(0, limit + 1)
        if len(data) > limit:
            return self._take_whole_giant()
        self._file.check_unchanged()
        with self._timer.stage("decode"):
            found = split_whole(data, row.container)
        row.committed_bytes = 0
        task.seen_bytes = task.closed_bytes = 0
        return self._finish(found, data, _Piece(b"", data, len(data), True))

    def _take_whole_giant(self) -> SliceDone:
        if self._task.giant is None:
            self._task.giant = self._measure_giant(0, until_end=True)
        piece = self._read()
        giant = self._task.giant
        return self._take_giant(giant, piece._replace(is_end=piece.seen_bytes >= giant.end))

    def _measure_giant(self, start: int, *, until_end: bool = False) -> Giant:
        """Find where a record ends that is too long to decode, and its hash, in one streaming pass.

        Without a newline it ends with the source if it looks closed; else its end is not known yet (-1).
        """
        sha = hashlib.sha256()
        last = b""
        if not until_end:  # the committed end lies before the last line's end
            blanks = self._file.read_at(start, _SCAN_BYTES)
            start += len(blanks) - len(blanks.lstrip(b" \t\r\n,"))
        position = start
        while True:
            step = self._file.read_at(position, _SCAN_BYTES)
            newline = -1 if until_end else step.find(b"\n")
            piece = step if newline < 0 else step[:newline]
            sha.update(piece)
            position += len(piece)
            last = piece[-1:] or last
            if newline >= 0 or len(step) < _SCAN_BYTES:
                is_closed = newline >= 0 or until_end or last in (b"}", b"]")
                return Giant(start, position if is_closed else -1, sha.digest())

    def _take_giant(self, giant: Giant, piece: _Piece) -> SliceDone:
        """Archive a piece of a giant record; the piece that reaches its end makes the event."""
        row = self._row
        self._task.giant = giant
        if giant.end < 0 or piece.seen_bytes < giant.end:
            return self._finish(SplitRecords([], 0), b"", piece)
        deriver = self._deriver()
        head = self._file.read_at(giant.start, UNREADABLE_TEXT_BYTES)
        length = giant.end - giant.start
        deriver.add_giant(head, offset=giant.start, length=length, index=row.records, sha256=giant.sha256)
        row.records += 1
        from_bytes, row.committed_bytes = row.committed_bytes, giant.end
        self._task.giant = None
        ends = _Ends([giant.end - self._task.seen_bytes], [giant.sha256])
        return self._close(deriver, ends, piece.cut_at(giant.end), from_bytes=from_bytes)

    def _finish(self, found: SplitRecords, region: bytes, piece: _Piece) -> SliceDone:
        """Derive the records found in `region` (which begins at the committed end) and seal the piece."""
        row = self._row
        from_bytes = row.committed_bytes
        shift = from_bytes - self._task.seen_bytes
        lines = found.lines
        with self._timer.stage("archive"):
            ends = _Ends([line.end + shift for line in lines], hashes_of(lines))
            limit = len(piece.data) if piece.is_end else ends.last_boundary(piece)
        if limit < len(piece.data):
            count = bisect_right(ends.offsets, limit)
            lines = lines[:count]
            ends = _Ends(ends.offsets[:count], ends.hashes[:count])
            piece = piece.cut_at(self._task.seen_bytes + limit)
        deriver = self._deriver()
        with self._timer.stage("parse"):
            deriver.add_lines(lines, ends.hashes, base=from_bytes, first_index=row.records, data=region)
        row.records += len(lines)
        if is_whole(row.container):
            row.committed_bytes = len(piece.data)
        elif piece.is_end:
            row.committed_bytes = from_bytes + found.consumed
        elif lines:
            row.committed_bytes = from_bytes + lines[-1].end
        return self._close(deriver, ends, piece, from_bytes=from_bytes)

    def _close(self, deriver: Deriver, ends: _Ends, piece: _Piece, *, from_bytes: int) -> SliceDone:
        task, row = self._task, self._row
        if piece.is_end:
            deriver.end_revision()
        with self._timer.stage("documents"):
            derived = deriver.finish()
        with self._timer.stage("archive"):
            cut = cut_slice(
                self._worker.sealer,
                OpenTail(piece.tail, task.open_chunks, task.closed_chunks),
                piece.data,
                ends=ends.offsets,
                hashes=ends.hashes,
            )
        row.state = encode_state(self._adapter, derived.state, self._worker.sealer)
        row.parser_version = self._adapter.facts.derived_version
        row.turn_index = derived.turn
        row.trail = deriver.trail
        self._mark(is_end=piece.is_end)
        following = SourceTask(
            source=msgspec.structs.replace(row),
            path=task.path,
            relative=task.relative,
            is_compressed=task.is_compressed,
            seen_bytes=piece.seen_bytes,
            closed_bytes=piece.seen_bytes - len(cut.open_tail),
            closed_chunks=cut.kept_chunks,
            open_chunks=list(cut.open_chunks),
            giant=task.giant,
            document=task.document,
            large_state=b"" if row.state or piece.is_end else msgspec.msgpack.encode(derived.state),
            slice_bytes=task.slice_bytes,
        )
        if not piece.is_end:
            row.size = -1  # not yet read to its end: after a crash it must not look unchanged
        result = SliceResult(
            source=row,
            from_bytes=from_bytes,
            to_bytes=row.committed_bytes,
            bytes_seen=piece.seen_bytes,
            records=derived.records,
            sessions=derived.sessions,
            defects=derived.defects,
            blobs=derived.blobs,
            chunks=cut.chunks,
            keep_chunks=cut.keep_chunks,
            unknown_count=derived.unknown_count,
            redactions=derived.redactions,
            drift=derived.drift,
            left_out=derived.left_out,
            is_new_revision=task.is_new_revision,
            is_last=piece.is_end,
            timings=self._timer.seconds,
        )
        return SliceDone(result, None if piece.is_end else following)

    def _mark(self, *, is_end: bool) -> None:
        """Remember how the source looks at its committed end, to tell an append from a rewrite later.

        Of a document: a hash of all its bytes, once they are all read, and the mark that tells that nothing changed.
        """
        row, document = self._row, self._task.document
        if document is not None:
            row.head_sha = whole_marks(self._file, row.committed_bytes).head_sha if is_end else b""
            row.tail_sha = document.mark
            return
        marks = whole_marks(self._file) if is_whole(row.container) else marks_at(self._file, row.committed_bytes)
        row.head_sha, row.tail_sha = marks.head_sha, marks.tail_sha

    def _info(self) -> SourceInfo:
        row = self._row
        return SourceInfo.of(row.agent, row.role, self._task.relative, row.session)

    def _read_history(self) -> None:
        """Let the line reader see all lines before this slice: from the archive after an append, else as just read."""
        task, end = self._task, self._row.committed_bytes
        if not task.refold or task.holes:  # what is gone from the archive stands in the file that was appended to
            pieces: Iterator[bytes] = (
                self._file.read_at(at, min(_SCAN_BYTES, end - at)) for at in range(0, end, _SCAN_BYTES)
            )
            self._skim(pieces)
            return
        archive = self._worker.open_archive()
        try:
            self._skim(archive.iter_bytes(task.refold))
        finally:
            archive.close()

    def _skim(self, pieces: Iterator[bytes]) -> None:
        left, pending, is_start = self._row.committed_bytes, b"", True
        for piece in pieces:
            pending += piece[:left]
            left -= len(piece[:left])
            found = split_lines(pending, is_end=left <= 0, is_start=is_start)
            self._reader.take(found.lines)
            pending, is_start = pending[found.consumed :], False

    def _deriver(self) -> Deriver:
        row = self._row
        # Behind a hole an older parser's state says more than the records that are left.
        is_current = row.parser_version == self._version() or bool(self._task.holes)
        state = decode_state(self._adapter, row.state, self._worker.sealer) if is_current else None
        if state is None and self._task.large_state:
            state = msgspec.msgpack.decode(self._task.large_state, type=self._adapter.state_type)
        if state is None:
            state = self._adapter.begin(self._info())
            if self._task.refold:
                state = self._refold(state)
        trail = trail_of(self._adapter, row)
        resume = Resume(state, row.turn_index, trail, self._worker.forgotten)
        return Deriver(self._adapter, self._info(), self._worker.redactor, resume)

    def _version(self) -> int:
        return self._adapter.facts.derived_version

    def _refold(self, state: Any) -> Any:
        """Rebuild the parser's state from the archive, never from the agent's file (design, section 5)."""
        deriver = Deriver(self._adapter, self._info(), self._worker.redactor, Resume(state), documents=False)
        archive = self._worker.open_archive()
        task, index = self._task, 0
        try:
            for batch in replay(pieces_and_gaps(archive, lambda: task.refold, task.holes), self._row.container):
                if batch.gap is not None:
                    index += batch.gap.records
                elif batch.giant is not None:
                    index += 1
                else:
                    lines = [line for line in batch.lines if batch.base + line.start < self._row.committed_bytes]
                    deriver.add_lines(lines, hashes_of(lines), base=batch.base, first_index=index, data=batch.data)
                    index += len(lines)
        finally:
            archive.close()
        return deriver.finish().state
