"""The completeness ledger, checked: every byte and record that came in can be given out again."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterable

from recollect.archive.archive import Archive
from recollect.capture.replay import replay
from recollect.errors import ArchiveError
from recollect.model.distilled.nodes import Node
from recollect.store.ports import EventPlace, LedgerRow, Reader, SourceRow
from recollect.upkeep.provenance import ProvenanceCheck
from recollect.upkeep.reports import LedgerDefect, SourceLedger, VerifyReport

Progress = Callable[[int, int], None]
"""(bytes done, bytes in all)"""
_MAX_DEFECTS = 2000


def verify(
    reader: Reader, archive: Archive, *, nodes: Iterable[Node] = (), progress: Progress | None = None
) -> VerifyReport:
    """Read everything back, recompute every hash, and compare with what the ingester counted.

    Chunks are unsealed (which proves them against their keyed names), each revision is put together and split
    into records again; the number of bytes and records must be what came in, and the bytes of every stored
    event's record must have the hash that was stored with it. Every location that one of `nodes` names must lead to the
    bytes that its hash names. ok means: nothing that was stored is missing or damaged.
    """
    started = time.perf_counter()
    rows = list(reader.ledgers())
    total = sum(row.bytes_seen for row in rows)
    by_source: dict[str, list[LedgerRow]] = defaultdict(list)
    for row in rows:
        by_source[row.source_id].append(row)
    sources = {s.source_id: s for s in reader.sources()}
    defects: list[LedgerDefect] = _journal_defects(archive)
    ledgers: list[SourceLedger] = []
    done = chunks = 0
    for source_id, revisions in by_source.items():
        check = _SourceCheck(reader, archive, sources.get(source_id), revisions)
        ledgers.append(check.run())
        defects += check.defects
        chunks += check.chunks
        done += sum(r.bytes_seen for r in revisions)
        if progress is not None:
            progress(done, total)
    provenance = ProvenanceCheck(reader, archive)
    provenance.take(nodes)
    defects += provenance.defects
    for row_ in reader.defects(limit=_MAX_DEFECTS):
        defects.append(
            LedgerDefect(
                code=row_.code,
                detail=row_.detail,
                source_id=row_.source_id,
                path=row_.path,
                revision=row_.revision,
                record_index=row_.record_index,
                offset_bytes=row_.offset_bytes,
            )
        )
    return VerifyReport(
        ok=not any(d.is_loss for d in defects),
        sources=len(ledgers),
        revisions=len(rows),
        records=sum(x.records_out for x in ledgers),
        events=sum(x.events for x in ledgers),
        unknown=sum(x.unknown for x in ledgers),
        bytes=sum(x.bytes_out for x in ledgers),
        chunks=chunks,
        nodes=provenance.nodes,
        defects=tuple(defects),
        ledgers=tuple(ledgers),
        seconds=time.perf_counter() - started,
    )


def _journal_defects(archive: Archive) -> list[LedgerDefect]:
    try:
        count = sum(1 for _ in archive.entries(skip_damaged=True))
    except ArchiveError as error:
        return [LedgerDefect("journal_unreadable", str(error), is_loss=True)]
    if archive.damaged_entries:
        detail = f"{archive.damaged_entries} of {count + archive.damaged_entries} entries of the journal are damaged"
        return [LedgerDefect("journal_damaged", detail, is_loss=True)]
    return []


class _SourceCheck:
    """Checks all revisions of one source."""

    def __init__(self, reader: Reader, archive: Archive, source: SourceRow | None, revisions: list[LedgerRow]) -> None:
        self._reader = reader
        self._archive = archive
        self._source = source
        self._revisions = revisions
        self.defects: list[LedgerDefect] = []
        self.chunks = 0

    def run(self) -> SourceLedger:
        first = self._revisions[0]
        places: dict[int, dict[int, EventPlace]] = defaultdict(dict)
        for place in self._reader.event_places(first.source_id):
            places[place.revision][place.record_index] = place
        bytes_out = records_out = 0
        for row in self._revisions:
            size, records = self._revision(row, places.get(row.revision, {}))
            bytes_out += size
            records_out += records
        newest = self._revisions[-1]
        return SourceLedger(
            source_id=first.source_id,
            agent=first.agent,
            path=newest.path,
            session_uid=first.session_uid,
            revisions=len(self._revisions),
            bytes_in=sum(r.bytes_seen for r in self._revisions),
            bytes_out=bytes_out,
            records_in=sum(r.records for r in self._revisions),
            records_out=records_out,
            events=sum(r.events for r in self._revisions),
            unknown=sum(r.unknown for r in self._revisions),
            replays=sum(r.replays for r in self._revisions),
            defects=sum(r.defects for r in self._revisions),
            open_tail_bytes=newest.bytes_seen - newest.committed_bytes,
            is_ok=not self.defects,
        )

    def _revision(self, row: LedgerRow, places: dict[int, EventPlace]) -> tuple[int, int]:
        chunks = [place for place, _ in self._reader.chunks(row.source_id, row.revision)]
        self.chunks += len(chunks)
        size = sum(c.plain for c in chunks)
        container = self._source.container if self._source else "jsonl"
        records = 0
        try:
            for batch in replay(self._archive.iter_bytes(chunks), container):
                if batch.giant is not None:
                    giant = batch.giant
                    self._compare(row, places.pop(records, None), giant.start, giant.end - giant.start, giant.sha256)
                    records += 1
                for line in batch.lines:
                    place = places.pop(records, None)
                    if place is not None:
                        self._compare(row, place, batch.base + line.start, len(line.raw), _sha256(line.raw))
                    records += 1
        except ArchiveError as error:
            self._loss("chunk_unreadable", str(error), row)
            return 0, records
        if size != row.bytes_seen:
            self._loss("bytes_missing", f"{row.bytes_seen} bytes came in, {size} can be given out", row)
        if records != row.records:
            self._loss("records_missing", f"{row.records} records came in, {records} can be given out", row)
        for index, place in places.items():
            self._loss("record_missing", "an event's record is not in the archive", row, index, place.offset_bytes)
        return size, records

    def _compare(self, row: LedgerRow, place: EventPlace | None, offset: int, length: int, sha256: bytes) -> None:
        if place is None:
            return
        is_same = (place.offset_bytes, place.length_bytes) == (offset, length) and sha256.startswith(place.sha256)
        if not is_same:
            self._loss("record_differs", "an event's record is not the bytes it was", row, place.record_index, offset)

    def _loss(self, code: str, detail: str, row: LedgerRow, record_index: int = -1, offset: int = -1) -> None:
        if len(self.defects) < _MAX_DEFECTS:
            self.defects.append(
                LedgerDefect(code, detail, row.source_id, row.path, row.revision, record_index, offset, is_loss=True)
            )


def _sha256(data: bytes) -> bytes:

    return hashlib.sha256(data).digest()
