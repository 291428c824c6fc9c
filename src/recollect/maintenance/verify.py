"""Verifies that every byte and record that came in can be returned, and that every node cites such bytes."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from operator import attrgetter

from recollect.archive.archive import Archive
from recollect.archive.packs import ChunkPlace
from recollect.capture.replay import ReplayBatch, replay
from recollect.erasure.records import holes_of, pieces_and_gaps
from recollect.errors import ArchiveError, RawGone
from recollect.ingest.damage import check, untold
from recollect.maintenance.reports import SourceLedger, VerifyReport
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Decision, Node, locations_of
from recollect.model.records import LedgerDefect
from recollect.store.reader import Reader
from recollect.store.rows import EventPlace, LedgerRow

Progress = Callable[[int, int], None]
"""(bytes done, bytes in all)"""
MAX_DEFECTS = 2000


def verify(
    reader: Reader, archive: Archive, *, nodes: Iterable[Node] = (), progress: Progress | None = None
) -> VerifyReport:
    """Read everything back, recompute every hash, and compare with the ingester's counts.

    Chunks are unsealed (which proves them against their keyed names), each revision is assembled and split into records
    again; the number of bytes and records must match the ledger, and the bytes of every stored event's record must have
    the stored hash. Every location that one of `nodes` names must lead to the bytes that its hash names. Evicted and
    forgotten data is counted as such. ok means: nothing stored is missing or damaged.
    """
    started = time.perf_counter()
    containers = {s.source_id: s.container for s in reader.sources()}
    rows = list(reader.ledgers())
    total = sum(row.bytes_seen for row in rows)
    check(archive, archive.condition.damaged)  # what came back counts as sound again
    defects: list[LedgerDefect] = _journal_defects(archive, rows)
    ledgers: list[SourceLedger] = []
    taken: Counter[str] = Counter()
    done = chunks = 0
    for source_id, of_source in groupby(rows, key=attrgetter("source_id")):
        revisions = list(of_source)
        checked = _checked(reader, archive, containers.get(source_id, "jsonl"), revisions)
        ledgers.append(checked.ledger)
        taken.update(checked.taken)
        defects += checked.defects
        chunks += checked.chunks
        done += sum(r.bytes_seen for r in revisions)
        if progress is not None:
            progress(done, total)
    provenance = ProvenanceCheck(reader, archive)
    provenance.take(nodes)
    defects += provenance.defects
    defects += reader.defects(limit=MAX_DEFECTS)
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
        nodes_without_raw=provenance.nodes_without_raw,
        evicted_bytes=taken["evicted"],
        forgotten_bytes=taken["forgotten"],
        lost_bytes=taken["data_loss"],
        defects=tuple(defects),
        ledgers=tuple(ledgers),
        seconds=time.perf_counter() - started,
    )


def _journal_defects(archive: Archive, rows: list[LedgerRow]) -> list[LedgerDefect]:
    try:
        count = sum(1 for _ in archive.entries(skip_damaged=True))
        missing = untold(archive.sizes(), rows)
    except ArchiveError as error:
        return [LedgerDefect("journal_unreadable", str(error), is_loss=True)]
    detail = "the journal does not contain all of it: a rebuild would not restore it"
    defects = [
        LedgerDefect("journal_incomplete", detail, row.source_id, row.path, row.revision, is_loss=True)
        for row in missing[:MAX_DEFECTS]
    ]
    if archive.journal.damaged:
        detail = f"{archive.journal.damaged} of {count + archive.journal.damaged} entries of the journal are damaged"
        defects.append(LedgerDefect("journal_damaged", detail, is_loss=True))
    return defects


def _checked(reader: Reader, archive: Archive, container: str, revisions: list[LedgerRow]) -> _SourceCheck:
    """Return the finished check of a source. One whose bytes were deleted meanwhile is checked once more."""
    found = _SourceCheck(reader, archive, container, revisions)
    found.run()
    if found.ledger.is_ok:
        return found
    source_id = revisions[0].source_id
    now = list(reader.ledgers(source_id))
    if not now or [row.holes for row in now] == [row.holes for row in revisions]:
        return found
    found = _SourceCheck(reader, archive, container, now)
    found.run()
    return found


class _SourceCheck:
    """Checks all revisions of one source."""

    def __init__(self, reader: Reader, archive: Archive, container: str, revisions: list[LedgerRow]) -> None:
        self._reader = reader
        self._archive = archive
        self._container = container
        self._revisions = revisions
        self.defects: list[LedgerDefect] = []
        self.chunks = 0
        self.taken: Counter[str] = Counter()
        """Bytes that were deleted on purpose, by the reason."""
        self.ledger: SourceLedger

    def run(self) -> None:
        """Check every revision; `ledger` holds the result."""
        first = self._revisions[0]
        places: dict[int, dict[int, EventPlace]] = defaultdict(dict)
        for place in self._reader.event_places(first.source_id):
            places[place.revision][place.record_index] = place
        bytes_out = records_out = records_in = 0
        for row in self._revisions:
            size, records = self._revision(row, places.get(row.revision, {}))
            bytes_out += size
            records_out += records
            records_in += max(row.records, records) if row.is_unfinished else row.records
        newest = self._revisions[-1]
        self.ledger = SourceLedger(
            source_id=first.source_id,
            agent=first.agent,
            path=newest.path,
            session_uid=first.session_uid,
            revisions=len(self._revisions),
            bytes_in=sum(r.bytes_seen for r in self._revisions),
            bytes_out=bytes_out,
            records_in=records_in,
            records_out=records_out,
            events=sum(r.events for r in self._revisions),
            unknown=sum(r.unknown for r in self._revisions),
            replays=sum(r.replays for r in self._revisions),
            defects=sum(r.defects for r in self._revisions),
            open_tail_bytes=newest.bytes_seen - newest.committed_bytes,
            is_ok=not self.defects,
            hole_bytes=self.taken.total(),
        )

    def _revision(self, row: LedgerRow, places: dict[int, EventPlace]) -> tuple[int, int]:
        """Check one revision; return how many bytes and records can be given out or were deleted on purpose."""
        chunks = self._places(row)
        self.chunks += sum(not c.is_hole for c in chunks)
        size = sum(c.plain for c in chunks)
        records = 0
        self._holes(row, chunks)
        pieces = pieces_and_gaps(self._archive, partial(self._places, row), row.holes)
        try:
            for batch in replay(pieces, self._container):
                if batch.gap is not None:
                    self._gap(row, places, records, batch)
                    records += batch.gap.records
                if batch.giant is not None:
                    giant = batch.giant
                    self._compare(row, places.pop(records, None), giant.start, giant.end - giant.start, giant.sha256)
                    records += 1
                for line in batch.lines:
                    place = places.pop(records, None)
                    if place is not None:
                        self._compare(
                            row, place, batch.base + line.start, len(line.raw), hashlib.sha256(line.raw).digest()
                        )
                    records += 1
        except ArchiveError as error:
            damaged = check(self._archive, {place for place in chunks if not place.is_hole})
            size = sum(place.plain for place in damaged)
            self._loss("chunk_unreadable", f"{size:,} of its bytes are damaged: {error}" if size else str(error), row)
            return 0, records
        if size < row.bytes_seen or (size > row.bytes_seen and not row.is_unfinished):
            self._loss("bytes_missing", f"{row.bytes_seen} bytes were ingested, {size} can be given back", row)
        if records < row.records or (records > row.records and not row.is_unfinished):
            self._loss("records_missing", f"{row.records} records were ingested, {records} can be given back", row)
        for index, place in places.items():
            self._loss("record_missing", "an event's record is not in the archive", row, index, place.offset_bytes)
        return size - sum(hole.length for hole in row.holes), records

    def _places(self, row: LedgerRow) -> list[ChunkPlace]:
        return [place for place, _ in self._reader.chunks(row.source_id, row.revision)]

    def _holes(self, row: LedgerRow, chunks: list[ChunkPlace]) -> None:
        """Compare missing bytes with recorded deletions; nothing else may be missing."""
        said = {(hole.offset, hole.length): hole.reason for hole in row.holes}
        for offset, length in holes_of(chunks):
            reason = said.pop((offset, length), "")
            if reason:
                self.taken[reason] += length
            else:
                self._loss("bytes_missing", f"no deletion is recorded for these {length} bytes", row, offset=offset)
        for offset, length in said:
            detail = f"{length} bytes are recorded as deleted but still exist"
            self._loss("hole_differs", detail, row, offset=offset)

    def _gap(self, row: LedgerRow, places: dict[int, EventPlace], first: int, batch: ReplayBatch) -> None:
        """Events may rest on deleted records; these are in the hole."""
        gap = batch.gap
        if gap is None:
            return
        for index in range(first, first + gap.records) if gap.records < len(places) else sorted(places):
            place = places.get(index)
            if place is None or not first <= index < first + gap.records:
                continue
            del places[index]
            if not batch.base <= place.offset_bytes < batch.base + gap.length:
                self._loss("record_differs", "an event's record is in another place", row, index, place.offset_bytes)

    def _compare(self, row: LedgerRow, place: EventPlace | None, offset: int, length: int, sha256: bytes) -> None:
        if place is None:
            return
        is_same = (place.offset_bytes, place.length_bytes) == (offset, length) and sha256.startswith(place.sha256)
        if not is_same:
            self._loss("record_differs", "an event's record has changed", row, place.record_index, offset)

    def _loss(self, code: str, detail: str, row: LedgerRow, record_index: int = -1, offset: int = -1) -> None:
        if len(self.defects) < MAX_DEFECTS:
            self.defects.append(
                LedgerDefect(code, detail, row.source_id, row.path, row.revision, record_index, offset, is_loss=True)
            )


_KEPT = 64
_GONE = "its record was taken away on purpose"
_SHORT_HEX = 16
"""Digits of the beginning of a hash; less proves nothing."""


class ProvenanceCheck:
    """Checks nodes one after the other; those of a session together are the cheapest."""

    def __init__(self, reader: Reader, archive: Archive) -> None:
        self._reader = reader
        self._archive = archive
        self._places: dict[tuple[str, int], list[ChunkPlace]] = {}
        self._known: tuple[str, dict[SourceLocation, str]] = ("", {})
        self.nodes = 0
        self.nodes_without_raw = 0
        """Nodes of whose evidence some was evicted or forgotten: what they say stays."""
        self.defects: list[LedgerDefect] = []

    def take(self, nodes: Iterable[Node]) -> None:
        """Check nodes; what does not resolve is in `defects`."""
        for node in nodes:
            self.nodes += 1
            if self._known[0] != node.session_uid:
                self._known = (node.session_uid, {})
            found = [(location, self._why_not(node, location)) for location in dict.fromkeys(locations_of(node))]
            self.nodes_without_raw += any(why == _GONE for _, why in found)
            for location, why in found:
                if why and why != _GONE and len(self.defects) < MAX_DEFECTS:
                    self.defects.append(
                        LedgerDefect(
                            "node_without_evidence", f"{node.id}: {why}", location.source_id, "", location.revision,
                            location.record_index, location.offset_bytes, is_loss=True,
                        )
                    )  # fmt: skip

    def _why_not(self, node: Node, at: SourceLocation) -> str:
        """Return why a location does not resolve to the bytes that its hash names; "" where it does."""
        if isinstance(node, Decision) and node.origin == "added" and at == node.location:
            written = node.statement.encode("utf-8", "replace")
            return "" if hashlib.sha256(written).hexdigest() == at.record_sha256 else "its statement is another one"
        known = self._known[1].get(at)
        if known is None:
            known = self._known[1][at] = self._resolve(at)
        return known

    def _resolve(self, at: SourceLocation) -> str:
        try:
            record = self._read(at)
        except RawGone:
            return _GONE
        except ArchiveError as error:
            return f"its record cannot be read: {error}"
        if len(at.record_sha256) < _SHORT_HEX or not hashlib.sha256(record).hexdigest().startswith(at.record_sha256):
            return "its record is not the bytes it was"
        return ""

    def _read(self, at: SourceLocation) -> bytes:
        places = self._chunks(at)
        try:
            return self._archive.read_range(places, at.offset_bytes, at.length_bytes)
        except ArchiveError:
            self._places.pop((at.source_id, at.revision), None)
            if self._chunks(at) == places:
                raise
            return self._archive.read_range(self._chunks(at), at.offset_bytes, at.length_bytes)  # it was moved

    def _chunks(self, at: SourceLocation) -> list[ChunkPlace]:
        key = (at.source_id, at.revision)
        found = self._places.get(key)
        if found is None:
            if len(self._places) >= _KEPT:
                self._places.clear()
            found = self._places[key] = [place for place, _ in self._reader.chunks(*key)]
        return found
