"""A source of lines that grows, is cut and compacted, in a real archive and database; and what must hold of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from recollect.archive.archive import Archive
from recollect.archive.keys import home_keys
from recollect.archive.packs import ChunkPlace
from recollect.archive.tail import OpenTail, cut_slice
from recollect.capture.containers.jsonl import split_lines
from recollect.erasure.cuts import compact, make_promised, settle, waiting_cuts
from recollect.errors import RawGone
from recollect.ingest.batch_writer import BatchWriter, Sinks
from recollect.ingest.report import AgentSync, SyncReport
from recollect.ingest.worker.slices import StageTimer
from recollect.store.rows import RecordPlace, SliceResult, SourceRow
from recollect.store.writer import Writer, open_writer

KEYS = home_keys(b"not a secret: the tests' data ke")
Range = tuple[int, int]


def cut(
    archive: Archive, writer: Writer, source_id: str, revision: int, ranges: Iterable[Range], *, at: int,
    reason: str = "evicted",
) -> int:  # fmt: skip
    """Take ranges of a revision away, as forgetting and retention do; return how many bytes went."""
    with writer.transaction():
        writer.removing.holes.wait(waiting_cuts(source_id, revision, ranges, reason, at))
    return make_promised(archive, writer)


class GrowingSource:
    """Lines of one file, taken in as a sync takes them: the open tail comes from the file, never from the archive."""

    def __init__(self, home: Path, source_id: str = "lines") -> None:
        self.home = home
        self.source_id = source_id
        self.content = b""
        self.records: list[Range] = []
        self.cut_ranges: list[Range] = []
        self.open()

    def open(self) -> None:
        """Open the home for writing, as `Memory.writing` does."""
        self.archive = Archive.open(self.home / "archive", KEYS)
        self.writer: Writer = open_writer(self.home)
        settle(self.archive, self.writer)

    def close(self) -> None:
        self.archive.close()
        self.writer.close()

    def append(self, data: bytes) -> None:
        """Append to the file and take it in."""
        places = self.writer.open_chunks(self.source_id, 1)
        committed = self.records[-1][1] + 1 if self.records else 0
        closed = [place.plain for place, is_open in places if not is_open]
        seen = sum(place.plain for place, _ in places)
        self.content += data
        found = split_lines(self.content[committed:], is_end=False, is_start=not committed)
        hashes = [sha256(line.raw).digest() for line in found.lines]
        ends = [committed + line.end - seen for line in found.lines]
        tail = OpenTail(
            self.content[sum(closed) : seen], [place.plain for place, is_open in places if is_open], len(closed)
        )
        piece = cut_slice(self.archive.sealer, tail, self.content[seen:], ends=ends, hashes=hashes)
        taken = [(committed + line.start, committed + line.end) for line in found.lines]
        records = [
            RecordPlace(len(self.records) + i, start, stop - start, hashes[i]) for i, (start, stop) in enumerate(taken)
        ]
        self.records += taken
        row = SourceRow(
            source_id=self.source_id, agent="claude", role="r", key=self.source_id, path="/a", container="jsonl",
            session="s", revision=1, records=len(self.records), head_sha=bytes(16), tail_sha=bytes(16),
        )  # fmt: skip
        report = SyncReport(agents={"claude": AgentSync(agent="claude")}, seconds=0, bytes=0, stored_bytes=0)
        ingester = BatchWriter(Sinks(self.writer, self.archive, None), report, now_us=lambda: 7, timer=StageTimer())
        ingester.take(
            SliceResult(
                source=row, from_bytes=committed, to_bytes=committed + found.consumed, bytes_seen=len(self.content),
                records=records, sessions=[], defects=[], blobs=[], chunks=piece.chunks, keep_chunks=piece.keep_chunks,
            )
        )  # fmt: skip
        ingester.flush()

    @property
    def committed(self) -> int:
        return self.content.rfind(b"\n") + 1

    def cut(self, ranges: list[Range]) -> int:
        self.cut_ranges += [(a, min(b, self.committed)) for a, b in ranges]
        return cut(self.archive, self.writer, self.source_id, 1, ranges, at=5)

    def compact(self, least_dead_share: float = 0.0) -> None:
        compact(self.archive, self.writer, least_dead_share=least_dead_share)

    def places(self) -> list[ChunkPlace]:
        return [place for place, _ in self.writer.open_chunks(self.source_id, 1)]

    def holes(self) -> list[Range]:
        found, offset = [], 0
        for place in self.places():
            if place.is_hole:
                found.append((offset, offset + place.plain))
            offset += place.plain
        return found

    def check(self) -> None:
        """Say whether every promise of a cut is kept."""
        places, holes = self.places(), self.holes()
        assert sum(place.plain for place in places) == len(self.content)
        offset = 0
        for place in places:
            if not place.is_hole:
                assert self.archive.read_chunk(place) == self.content[offset : offset + place.plain]
            offset += place.plain
        for start, stop in self.records:
            is_gone = any(a < stop and start < b for a, b in holes)
            assert is_gone == any(a < stop and start < b for a, b in self.cut_ranges if a < b)
            assert not is_gone or any(a <= start and stop <= b for a, b in holes)
            self._read(places, start, stop, is_gone=is_gone)
        self._compare_with_journal(places)
        known = self.writer.removing.holes.revision(self.source_id, 1)
        stored = known.holes if known is not None else ()
        assert [(hole.offset, hole.offset + hole.length) for hole in stored] == holes
        for hole in stored:
            inside = [r for r in self.records if hole.offset <= r[0] and r[1] <= hole.offset + hole.length]
            assert hole.records == len(inside)

    def _read(self, places: list[ChunkPlace], start: int, stop: int, *, is_gone: bool) -> None:
        try:
            assert self.archive.read_range(places, start, stop - start) == self.content[start:stop]
            assert not is_gone
        except RawGone:
            assert is_gone

    def _compare_with_journal(self, places: list[ChunkPlace]) -> None:
        folded = [r for r in self.archive.revisions() if r.entry.source_id == self.source_id]
        assert len(folded) == bool(places)
        for revision in folded:
            assert [place for place, _ in revision.chunks] == places
            assert [flag for _, flag in revision.chunks] == [f for _, f in self.writer.open_chunks(self.source_id, 1)]
            assert revision.bytes_seen == len(self.content)
            assert revision.committed_bytes == self.committed
            told = [(h.offset, h.offset + h.length) for h in revision.removal.holes] if revision.removal else []
            assert told == self.holes()


def line(number: int, size: int) -> bytes:
    """Return a record of about `size` bytes that compresses badly, with its newline."""
    noise = sha256(str(number).encode()).hexdigest() * (size // 64 + 1)
    return json.dumps({"n": number, "text": noise[:size]}).encode() + b"\n"
