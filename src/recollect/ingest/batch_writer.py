"""Writes what workers prepared: archive, then database, then index. One ingester per home.

Finished slices are gathered and written in groups: chunks and journal are made durable first, then one short
transaction takes the rows, then the index takes the documents. A crash between any two of these loses nothing:
the chunks are found again, the journal entry is repeated, and the change log tells the index what it missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from recollect.archive.archive import Archive
from recollect.archive.journal import MARK_BYTES, JournalEntry, moving
from recollect.archive.packs import ChunkPlace
from recollect.clock import now_us as clock_now_us
from recollect.erasure.exclusion import KeepingOut
from recollect.erasure.tombstones import NOTHING as NOTHING_FORGOTTEN
from recollect.erasure.tombstones import Forgotten
from recollect.errors import IndexUnavailable
from recollect.index.text.engine import give_back_memory
from recollect.index.text.refresh import INDEX, add_events
from recollect.index.text.writer import IndexWriterSet
from recollect.ingest.report import AgentSync, Skipped, SyncReport
from recollect.ingest.worker.slices import StageTimer, TaskAnswer
from recollect.store.reader import Reader
from recollect.store.rows import ChangeRange, IndexDoc, SliceResult
from recollect.store.writer import Writer

BATCH_BYTES = 8 * 1024 * 1024
"""Source bytes written in one transaction: about 50 ms of writing, so that readers' snapshots stay fresh."""
BATCH_SLICES = 500
"""Slices written in one transaction: of small files, 8 MiB would be 9,000 slices, some 8 KB each while they wait."""
INDEX_COMMIT_BYTES = 256 * 1024 * 1024


class Sinks(NamedTuple):
    """Where slices go, in this order. Without an index (it cannot be written) search is mended by a later sync."""

    writer: Writer
    archive: Archive
    documents: IndexWriterSet | None
    stored: Reader | None = None
    """Gives the events of sessions that were kept out of the index until now; without it a later sync adds them."""


class BatchWriter:
    """Takes finished slices. One at a time a home: it is made by whoever holds the ingest lock."""

    def __init__(
        self,
        sinks: Sinks,
        report: SyncReport,
        *,
        now_us: Callable[[], int],
        timer: StageTimer,
        record_journal: bool = True,
        keeping_out: KeepingOut | None = None,
    ) -> None:
        """record_journal False: the slices come from the archive itself and keep the time they were observed.

        keeping_out: takes out of slices what must not be stored.
        """
        self._keeping_out = keeping_out
        self._writer, self._archive, self._index, self._stored = sinks
        self._grown: list[ChangeRange] = []
        self._report = report
        self._now_us = now_us
        self._timer = timer
        self._record_journal = record_journal
        self._waiting: list[tuple[SliceResult, list[ChunkPlace]]] = []
        self._waiting_bytes = 0
        self._uncommitted_bytes = 0
        self.done_bytes = 0
        self.lost: list[str] | None = None
        """Takes a line of text on each source that is derived again and whose bytes are damaged; None: that raises."""
        self.touched_sessions: set[str] = set()

    @classmethod
    def of_archive(
        cls, writer: Writer, archive: Archive, index: IndexWriterSet | None = None, *, stored: Reader | None = None,
        keeping_out: KeepingOut | None = None,
    ) -> BatchWriter:  # fmt: skip
        """Return one for slices that come from the archive itself: nothing of them is archived or reported."""
        from recollect.agents.registry import adapters

        counts = SyncReport(
            agents={slug: AgentSync(agent=slug) for slug in adapters()}, seconds=0, bytes=0, stored_bytes=0
        )
        sinks = Sinks(writer, archive, index, stored)
        return cls(
            sinks, counts, now_us=clock_now_us, timer=StageTimer(), record_journal=False, keeping_out=keeping_out
        )

    @property
    def forgotten(self) -> Forgotten:
        """What workers must not derive."""
        return self._keeping_out.forgotten if self._keeping_out is not None else NOTHING_FORGOTTEN

    def take_answer(self, answer: TaskAnswer) -> int:
        """Take a worker's answer; return how many sources it finished, well or not."""
        finished = 0
        for done in answer.done:
            self.take(done.slice)
            finished += done.next is None
        for failed in answer.failed:
            self._report.agents[failed.source.agent].skipped.append(
                Skipped(failed.source.path, failed.reason, failed.is_failure)
            )
            finished += 1
        return finished

    def take(self, result: SliceResult) -> None:
        """Take one slice. Its chunks go to the archive now, its rows with the group."""
        if self._keeping_out is not None:
            sieved = self._keeping_out.sieve(result)
            if sieved is None:
                self.done_bytes += sum(chunk.plain for chunk in result.chunks)
                return
            result = sieved
        with self._timer.stage("archive"):
            known = self._writer.known_chunks([chunk.name for chunk in result.chunks]) if result.chunks else {}
            damaged = self._archive.condition.damaged.intersection(known.values())
            for place in damaged:  # it does not open, so it does not count as there
                del known[place.name]
            places = self._archive.write(result.chunks, known=known)
            if damaged:
                names = {place.name for place in damaged}
                self._archive.record([moving([place for place in places if place.name in names])])
        self._note(result, places)

    def take_archived(self, result: SliceResult, places: list[ChunkPlace]) -> None:
        """Take a slice whose chunks are in the archive already (a rebuild)."""
        self._note(result, places)

    def _note(self, result: SliceResult, places: list[ChunkPlace]) -> None:
        self._waiting.append((result, places))
        self._timer.merge(result.timings)
        size = sum(chunk.plain for chunk in result.chunks) or max(0, result.to_bytes - result.from_bytes)
        self._waiting_bytes += size
        self.done_bytes += size
        if self._waiting_bytes >= BATCH_BYTES or len(self._waiting) >= BATCH_SLICES:
            self.flush()

    def flush(self) -> None:
        """Write everything taken so far. Raises StoreError or ArchiveError; earlier writes stay."""
        if not self._waiting:
            return
        group, self._waiting = self._waiting, []
        size, self._waiting_bytes = self._waiting_bytes, 0
        now = self._now_us()
        if self._record_journal:
            with self._timer.stage("archive"):
                self._archive.record([_entry(result, places, now) for result, places in group])
                self._archive.flush()
        docs: list[IndexDoc] = []
        stale: list[int] = []
        with self._timer.stage("store"), self._writer.transaction():
            for result, places in group:
                observed_at = now if self._record_journal else result.source.observed_at
                outcome = self._writer.write(result, places, observed_at=observed_at)
                if outcome.stale_keys:  # a later slice of the group may replace what an earlier one brought
                    gone = set(outcome.stale_keys)
                    docs = [doc for doc in docs if doc.key not in gone]
                docs += outcome.docs
                stale += outcome.stale_keys
                self._grown += outcome.grown
                self.touched_sessions.update(outcome.sessions)
                self._count(result, outcome.new_events, outcome.replays)
                if result.left_out and self._keeping_out is not None:
                    self._keeping_out.promise(result, at=now)
            if self._record_journal:
                self._writer.mark_journal(self._archive.journal.size_bytes())
        with self._timer.stage("index"):
            self._index_docs(docs, stale)
        self._uncommitted_bytes += size
        if self._uncommitted_bytes >= INDEX_COMMIT_BYTES:
            self.commit_index()
        if size >= BATCH_BYTES:
            give_back_memory()  # a third of the heap lies free between what stays

    def _index_docs(self, docs: list[IndexDoc], stale: list[int]) -> None:
        if self._index is None:
            return
        try:
            if stale:
                self._index.delete(stale)
            self._index.add(docs)
        except IndexUnavailable as error:
            self._index = None
            self._report.degrade(f"the search index could not be written ({error}); the next sync mends it")

    def commit_index(self) -> None:
        """Make the index durable and tell the change log how far it is."""
        self._uncommitted_bytes = 0
        if self._index is None:
            return
        last = self._writer.last_change()
        grown, self._grown = self._grown, []
        with self._timer.stage("index"):
            try:
                if grown and self._stored is not None:
                    add_events(self._index, self._stored.events_for_index(grown))
                self._index.commit()
            except IndexUnavailable as error:
                self._index = None
                self._report.degrade(f"the search index could not be written ({error}); the next sync mends it")
                return
        if grown and self._stored is None:
            return  # not acknowledged: the next sync finds them in the change log
        with self._writer.transaction():
            self._writer.acknowledge(INDEX, last)

    def _count(self, result: SliceResult, new_events: int, replays: int) -> None:
        agent: AgentSync = self._report.agents[result.source.agent]
        agent.events += new_events
        agent.replays += replays
        agent.records += len(result.records)
        agent.unknown += result.unknown_count
        agent.bytes += sum(chunk.plain for chunk in result.chunks)
        for defect in result.defects:
            agent.defects[defect.code] = agent.defects.get(defect.code, 0) + 1
        for kind, count in result.redactions.items():
            agent.redactions[kind] = agent.redactions.get(kind, 0) + count


def _entry(result: SliceResult, places: list[ChunkPlace], now: int) -> JournalEntry:
    row = result.source
    return JournalEntry(
        source_id=row.source_id,
        agent=row.agent,
        role=row.role,
        key=row.key,
        path=row.path,
        container=row.container,
        session=row.session,
        revision=row.revision,
        observed_at=now,
        from_bytes=result.from_bytes,
        to_bytes=result.to_bytes,
        bytes_seen=result.bytes_seen,
        keep_chunks=result.keep_chunks,
        chunks=[(place, chunk.is_open) for place, chunk in zip(places, result.chunks, strict=True)],
        relative=row.relative,
        lane=row.lane,
        marks=row.head_sha + row.tail_sha if len(row.head_sha) == MARK_BYTES else b"",
    )
