"""The worker: reads one slice of a source, cuts, compresses and seals it, parses and redacts its records.

It never writes anything. What it returns is finished but for the numbers that only the ingester gives.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from pathlib import Path
from typing import Any

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.registry import adapters
from recollect.archive.archive import Archive
from recollect.archive.chunking import closed_boundaries
from recollect.archive.keys import HomeKeys
from recollect.archive.sealing import Sealer
from recollect.archive.tail import cut_slice
from recollect.capture.changes import marks_at, whole_marks
from recollect.capture.containers.jsonl import Lines, split_lines
from recollect.capture.containers.snapshot import split_snapshot
from recollect.capture.containers.text import split_text
from recollect.capture.decode import MAX_RECORD_BYTES, UNREADABLE_TEXT_BYTES
from recollect.capture.files import SourceFile, open_source
from recollect.errors import SourceError
from recollect.model.records import SourceInfo
from recollect.pipeline.derive import Derived, Deriver, decode_state, encode_state, hashes_of
from recollect.pipeline.stages import StageTimer
from recollect.pipeline.tasks import Giant, SliceDone, SliceFailed, SourceTask, TaskAnswer
from recollect.privacy.redact import Redactor
from recollect.store.ports import SliceResult

HEAD_BYTES = 64 * 1024
_SCAN_BYTES = 1024 * 1024


class Worker:
    """Takes slices, one at a time. Holds no state between slices but its compressors and keys."""

    def __init__(self, keys: HomeKeys, archive_folder: Path) -> None:
        self._keys = keys
        self._sealer = Sealer(keys)
        self._redactor = Redactor(keys.marker_key)
        self._archive_folder = archive_folder

    def run(self, tasks: list[SourceTask]) -> TaskAnswer:
        """Take one slice of every task; a source that fails never stops the others."""
        answer = TaskAnswer([], [])
        for task in tasks:
            try:
                answer.done.append(self.take(task))
            except SourceError as error:
                answer.failed.append(SliceFailed(task.source, str(error), error.retryable))
        return answer

    def take(self, task: SourceTask) -> SliceDone:
        """Take one slice of one source. Raises SourceError."""
        adapter = adapters()[task.source.agent]
        with open_source(task.path, is_compressed=task.is_compressed) as source:
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
        """Open the archive to read what was stored before (refolding a parser's state)."""
        return Archive.open(self._archive_folder, self._keys, read_only=True)


class _Slice:
    """One slice while it is taken."""

    def __init__(self, worker: Worker, adapter: Adapter, task: SourceTask, source: SourceFile) -> None:
        self._worker = worker
        self._adapter = adapter
        self._task = task
        self._file = source
        self._row = msgspec.structs.replace(task.source)
        self._timer = StageTimer()

    def take(self) -> SliceDone:
        task, row = self._task, self._row
        if task.is_first_sight and not row.session:
            head = self._file.read_at(0, HEAD_BYTES)
            row.session = self._adapter.identify(self._info(), head)
        if row.container != "jsonl":
            return self._take_whole()
        if task.giant is None and task.seen_bytes - row.committed_bytes > MAX_RECORD_BYTES:
            task.giant = self._measure_giant(row.committed_bytes)
        with self._timer.stage("read"):
            tail = self._file.read_at(task.closed_bytes, task.seen_bytes - task.closed_bytes)
            data = self._file.read_at(task.seen_bytes, task.slice_bytes)
            is_end = len(data) < task.slice_bytes
            seen = task.seen_bytes + len(data)
        if task.giant is not None:
            return self._take_giant(task.giant, tail, data, seen, is_end=is_end)
        with self._timer.stage("decode"):
            pending = self._file.read_at(row.committed_bytes, task.seen_bytes - row.committed_bytes)
            region = pending + data if pending else data
            found = split_lines(region, is_end=is_end, is_start=row.committed_bytes == 0)
        too_long = next((i for i, line in enumerate(found.lines) if len(line.raw) > MAX_RECORD_BYTES), None)
        if too_long == 0 or (not found.lines and len(region) > MAX_RECORD_BYTES):
            giant = self._measure_giant(row.committed_bytes)
            return self._take_giant(giant, tail, data, seen, is_end=is_end)
        if too_long is not None:  # take what stands before it; the next slice begins with the giant
            found = Lines(found.lines[:too_long], found.lines[too_long].start)
            unread = seen - (row.committed_bytes + found.consumed)
            data, seen, is_end = data[: len(data) - unread], seen - unread, False
        return self._finish(found, region, tail, data, seen, is_end=is_end)

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
            found = split_text(data) if row.container == "text" else split_snapshot(data)
        row.committed_bytes = 0
        task.seen_bytes = task.closed_bytes = 0
        return self._finish(found, data, b"", data, len(data), is_end=True)

    def _take_whole_giant(self) -> SliceDone:
        task = self._task
        if task.giant is None:
            task.giant = self._measure_giant(0, until_end=True)
        tail = self._file.read_at(task.closed_bytes, task.seen_bytes - task.closed_bytes)
        data = self._file.read_at(task.seen_bytes, task.slice_bytes)
        seen = task.seen_bytes + len(data)
        return self._take_giant(task.giant, tail, data, seen, is_end=seen >= task.giant.end)

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

    def _take_giant(self, giant: Giant, tail: bytes, data: bytes, seen: int, *, is_end: bool) -> SliceDone:
        """Archive a piece of a giant record; the piece that reaches its end makes the event."""
        row = self._row
        self._task.giant = giant
        if giant.end < 0 or seen < giant.end:
            return self._finish(Lines([], 0), b"", tail, data, seen, is_end=is_end)
        deriver = self._deriver()
        head = self._file.read_at(giant.start, UNREADABLE_TEXT_BYTES)
        deriver.add_giant(
            head, offset=giant.start, length=giant.end - giant.start, index=row.records, sha256=giant.sha256
        )
        row.records += 1
        row.committed_bytes = giant.end
        self._task.giant = None
        overhang = seen - giant.end
        data, seen = data[: len(data) - overhang], giant.end
        return self._close(deriver, [giant.end - self._task.seen_bytes], [giant.sha256], tail, data, seen,
                           from_bytes=giant.start, is_end=is_end and not overhang)  # fmt: skip

    def _finish(self, found: Lines, region: bytes, tail: bytes, data: bytes, seen: int, *, is_end: bool) -> SliceDone:
        """Derive the records found in `region` (which begins at the committed end) and seal `data`."""
        row = self._row
        from_bytes = row.committed_bytes
        shift = from_bytes - self._task.seen_bytes
        with self._timer.stage("archive"):
            hashes = hashes_of(found.lines)
            ends = [line.end + shift for line in found.lines]
            limit = len(data) if is_end else _last_boundary(len(data), ends, hashes, tail_bytes=len(tail))
        lines = found.lines
        if limit < len(data):
            count = bisect_right(ends, limit)
            lines, ends, hashes = lines[:count], ends[:count], hashes[:count]
            data, seen = data[:limit], seen - (len(data) - limit)
        deriver = self._deriver()
        with self._timer.stage("parse"):
            deriver.add_lines(lines, hashes, base=from_bytes, first_index=row.records, data=region)
        row.records += len(lines)
        if row.container != "jsonl":
            row.committed_bytes = len(data)
        elif is_end:
            row.committed_bytes = from_bytes + found.consumed
        elif lines:
            row.committed_bytes = from_bytes + lines[-1].end
        return self._close(deriver, ends, hashes, tail, data, seen, from_bytes=from_bytes, is_end=is_end)

    def _close(
        self,
        deriver: Deriver,
        ends: list[int],
        hashes: list[bytes],
        tail: bytes,
        data: bytes,
        seen: int,
        *,
        from_bytes: int,
        is_end: bool,
    ) -> SliceDone:
        task, row = self._task, self._row
        with self._timer.stage("documents"):
            derived = deriver.finish()
        with self._timer.stage("archive"):
            cut = cut_slice(
                self._worker.sealer,
                open_tail=tail,
                open_chunks=task.open_chunks,
                kept_chunks=task.closed_chunks,
                data=data,
                ends=ends,
                hashes=hashes,
            )
        row.state = encode_state(derived.state)
        row.parser_version = self._adapter.facts.parser_version
        row.turn_index = derived.turn
        self._mark(is_end=is_end)
        result = self._result(derived, cut.chunks, cut.keep_chunks, from_bytes, seen, is_end=is_end)
        if is_end:
            return SliceDone(result)
        following = SourceTask(
            source=row,
            path=task.path,
            relative=task.relative,
            is_compressed=task.is_compressed,
            seen_bytes=seen,
            closed_bytes=seen - len(cut.open_tail),
            closed_chunks=cut.kept_chunks,
            open_chunks=list(cut.open_chunks),
            giant=task.giant,
            slice_bytes=task.slice_bytes,
        )
        return SliceDone(result, following)

    def _mark(self, *, is_end: bool) -> None:
        """Remember how the source looks at its committed end, to tell an append from a rewrite later."""
        row = self._row
        if not is_end:
            return
        is_whole = row.container != "jsonl"
        marks = whole_marks(self._file) if is_whole else marks_at(self._file, row.committed_bytes)
        row.head_sha, row.tail_sha = marks.head_sha, marks.tail_sha

    def _result(
        self, derived: Derived, chunks: list[Any], keep_chunks: int, from_bytes: int, seen: int, *, is_end: bool
    ) -> SliceResult:
        return SliceResult(
            source=self._row,
            from_bytes=from_bytes,
            to_bytes=self._row.committed_bytes,
            bytes_seen=seen,
            records=derived.records,
            sessions=derived.sessions,
            defects=derived.defects,
            blobs=derived.blobs,
            chunks=chunks,
            keep_chunks=keep_chunks,
            unknown_count=derived.unknown_count,
            redactions=derived.redactions,
            is_new_revision=self._task.is_new_revision,
            is_last=is_end,
            timings=self._timer.seconds,
        )

    def _info(self) -> SourceInfo:
        row = self._row
        return SourceInfo(row.agent, row.role, self._task.relative, row.session)

    def _deriver(self) -> Deriver:
        row = self._row
        state = decode_state(self._adapter, row.state) if row.parser_version == self._version() else None
        if state is None:
            state = self._adapter.begin(self._info())
            if self._task.refold:
                state = self._refold(state)
        return Deriver(self._adapter, self._info(), self._worker.redactor, state=state, turn=row.turn_index)

    def _version(self) -> int:
        return self._adapter.facts.parser_version

    def _refold(self, state: Any) -> Any:
        """Rebuild the parser's state from the archive, never from the agent's file (design, section 5)."""
        deriver = Deriver(self._adapter, self._info(), self._worker.redactor, state=state, turn=0, documents=False)
        archive = self._worker.open_archive()
        try:
            pending = b""
            base = index = 0
            for piece in archive.iter_bytes(self._task.refold):
                pending += piece
                found = split_lines(pending, is_end=False, is_start=base == 0)
                deriver.add_lines(found.lines, hashes_of(found.lines), base=base, first_index=index, data=pending)
                index += len(found.lines)
                base += found.consumed
                pending = pending[found.consumed :]
        finally:
            archive.close()
        return deriver.finish().state


def _last_boundary(size: int, ends: list[int], hashes: list[bytes], *, tail_bytes: int) -> int:
    """Where the last chunk closes in a slice that goes on. What follows is left to the next slice, so that no delta
    is written that the next slice would replace at once."""
    boundaries = closed_boundaries(size, ends, hashes, tail_bytes=tail_bytes)
    return boundaries[-1] if boundaries else size
