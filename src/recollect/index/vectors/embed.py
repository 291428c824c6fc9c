"""Makes missing vectors: first for everything stored, then for what the change log names.

Never part of ingesting. Interruptible anywhere: a commit every few seconds says how far it came, and the next run goes
on there. Memory is bounded by a batch of texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import msgspec

from recollect.errors import EmbeddingUnavailable, StoreLocked
from recollect.index.vectors.files import SCANNED, VectorCommit
from recollect.index.vectors.texts import KINDS, chunks_of, chunks_of_part
from recollect.index.vectors.vector_index import MAX_KEY, ranges_of
from recollect.store.change_feed import FeedEvent, TextFeed
from recollect.store.entries import EntryReader, EntryTexts, key_of_entry, keys_of_entry
from recollect.store.row_keys import merged
from recollect.store.rows import ChangeRange

if TYPE_CHECKING:
    from recollect.index.vectors.vector_index import Embedder
    from recollect.index.vectors.writer import VectorWriter


CONSUMER = "vectors"
LOCK_NAME = "embed.lock"
STOP_NAME = "stop"
"""A file of this name in the folder of vectors asks whoever makes them to end after the batch under way."""
BATCH_EVENTS = 512
BATCH_CHARS = 200_000
COMMIT_EVERY_S = 2.0
GROUP_EVENTS = 2_000
"""Changes are ingested groups of about this many events, each with a commit of its own."""

EmbedState = Literal["done", "interrupted", "busy", "off", "removed"]
EmbedProgress = Callable[[int, int], None]
"""Called with (events done, events there were to do)."""


class EmbedReport(msgspec.Struct):
    """The result of a run.

    state: done; interrupted (time or a signal; the next run continues); busy (another process does it); off (by
    configuration); removed (on request). events, entries (learnings, notes and documents): examined; chunks, chars:
    embedded, all in this run. covered, total: events with vectors now, and all that should have them; entries_covered,
    entries_total: the same for entries. passages: read by the contextual model in this run; passages_total: those with
    its vectors now.
    """

    state: EmbedState
    embedder: str = ""
    events: int = 0
    chunks: int = 0
    chars: int = 0
    seconds: float = 0.0
    covered: int = 0
    total: int = 0
    entries: int = 0
    entries_covered: int = 0
    entries_total: int = 0
    passages: int = 0
    passages_total: int = 0
    was_begun_anew: bool = False
    notes: list[str] = []


class EventEmbedding:
    """One run over a home's texts. The caller holds the lock and closes the writer."""

    def __init__(
        self, feed: TextFeed, writer: VectorWriter, embedder: Embedder, report: EmbedReport, *,
        should_stop: Callable[[], bool], progress: EmbedProgress | None = None,
    ) -> None:  # fmt: skip
        """report: what is done is added to."""
        self._feed = feed
        self._writer = writer
        self._embedder = embedder
        self._should_stop = should_stop
        self._progress = progress
        self._derivation_id = feed.derivation_id()
        self._waiting: list[tuple[int, list[str]]] = []
        self._chars = 0
        self._to_do = 0
        self._committed_at = time.monotonic()
        self.report = report

    def run(self) -> bool:
        """Embed until nothing is missing; False when told to stop earlier.

        Raises EmbeddingUnavailable, IndexUnavailable, StoreError; what was committed by then stays.
        """
        is_whole = self._scan() and self._follow()
        if is_whole:
            self._writer.compact()
        return is_whole

    def _scan(self) -> bool:
        """Go over the whole store, from where the last run stopped; False when it should stop."""
        commit = self._writer.last
        if commit.next_key == SCANNED:
            return True
        if commit.next_key == 0:
            # What changes from here on is in the log, which keeps it once it knows that somebody waits for it.
            commit = self._writer.commit(position=self._feed.last_change(), next_key=1)
            self._acknowledge(commit)
        ranges = [(commit.next_key, MAX_KEY)]
        self._to_do = self._feed.count_of_kinds(KINDS, ranges)
        done_to = commit.next_key - 1
        try:
            for done_to in self._embed(self._feed.events_of_kinds(KINDS, ranges)):
                if self._is_due():
                    self._commit(position=commit.position, next_key=done_to + 1)
                if self._should_stop():
                    break
            else:
                self._commit(position=commit.position, next_key=SCANNED)
                return True
        except EmbeddingUnavailable:
            self._commit(position=commit.position, next_key=done_to + 1)  # what a server was paid for is kept
            raise
        self._commit(position=commit.position, next_key=done_to + 1)
        return False

    def _follow(self) -> bool:
        """Take what changed since, in groups; False when it should stop."""
        while changes := self._feed.changes_since(self._writer.last.position):
            for group in _groups(changes):
                ranges = merged(ranges_of(group))
                self._writer.retire(ranges)
                self._to_do = self.report.events + self._feed.count_of_kinds(KINDS, ranges)
                for _ in self._embed(self._feed.events_of_kinds(KINDS, ranges)):
                    if self._should_stop():
                        return False  # the group begins again next time: what it wrote is not committed
                self._acknowledge(self._commit(position=group[-1].id, next_key=SCANNED))
            if self._should_stop():
                return False
        return True

    def _embed(self, events: Iterable[FeedEvent]) -> Iterator[int]:
        """Write the vectors of events in batches; yield the key of the last event that is in."""
        key = -1
        for event in events:
            key = event.key
            self.report.events += 1
            pieces = chunks_of(event.payload)
            if pieces:
                self._waiting.append((key, pieces))
                self._chars += sum(map(len, pieces))
            if self._chars >= BATCH_CHARS or len(self._waiting) >= BATCH_EVENTS:
                self._write()
                yield key
        self._write()
        if key >= 0:
            yield key

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        keys = [key for key, pieces in waiting for _ in pieces]
        texts = [text for _, pieces in waiting for text in pieces]
        if texts:
            self._writer.add(keys, self._embedder.embed(texts))
        self.report.chunks += len(texts)
        self.report.chars += self._chars
        self._chars = 0
        if self._progress is not None:
            self._progress(self.report.events, max(self._to_do, self.report.events))

    def _is_due(self) -> bool:
        return time.monotonic() - self._committed_at >= COMMIT_EVERY_S

    def _commit(self, *, position: int, next_key: int) -> VectorCommit:
        commit = self._writer.commit(position=position, next_key=next_key)
        self._committed_at = time.monotonic()
        return commit

    def _acknowledge(self, commit: VectorCommit) -> None:
        """Let the change log drop what is embedded. A database replaced meanwhile concerns another run; a busy one
        is informed at the next commit: the position that counts is in our own files.
        """
        with suppress(StoreLocked):
            self._feed.acknowledge(CONSUMER, commit.position, derivation_id=self._derivation_id)


def _groups(changes: list[ChangeRange]) -> Iterator[list[ChangeRange]]:
    """Yield changes in order, in groups of about GROUP_EVENTS events."""
    group: list[ChangeRange] = []
    size = 0
    for change in changes:
        group.append(change)
        size += change.last_seq - change.first_seq + 1
        if size >= GROUP_EVENTS:
            yield group
            group, size = [], 0
    if group:
        yield group


ENTRIES_AT_A_TIME = 100
"""So many are read together."""


class EntryEmbedding:
    """One run over a home's entries. The caller holds the lock and closes the writer."""

    def __init__(
        self, feed: EntryReader, writer: VectorWriter, embedder: Embedder, report: EmbedReport, *,
        should_stop: Callable[[], bool], progress: EmbedProgress | None = None,
    ) -> None:  # fmt: skip
        """report: what is done is added to."""
        self._feed = feed
        self._writer = writer
        self._embedder = embedder
        self._report = report
        self._should_stop = should_stop
        self._progress = progress
        self._waiting: list[tuple[int, int, str]] = []
        self._begun: list[int] = []
        self._chars = 0
        self._is_half = False
        self._to_do = 0
        self._committed_at = time.monotonic()

    def run(self) -> bool:
        """Bring the vectors up to date; False when told to stop earlier.

        Raises EmbeddingUnavailable, IndexUnavailable, StoreError; what was committed by then stays.
        """
        from recollect.index.vectors.rows import differences

        position = self._feed.last_change()  # before anything is read: what is written meanwhile is for the next run
        found = differences(self._writer.committed(), self._feed)
        self._writer.retire(map(keys_of_entry, found.gone.tolist()))
        self._to_do = len(found.missing)
        try:
            is_whole = self._take_all(found.missing.tolist())
        except EmbeddingUnavailable:
            self._commit()  # what a server was paid for is kept
            raise
        self._commit(position if is_whole else None)
        if is_whole:
            self._writer.compact()
        return is_whole

    def _take_all(self, missing: list[tuple[int, int]]) -> bool:
        """Write the vectors of (number, mark); False when told to stop earlier. Marks are older than the texts read
        now: the next run detects what was written in between.
        """
        for first in range(0, len(missing), ENTRIES_AT_A_TIME):
            if self._should_stop():
                return False
            some = missing[first : first + ENTRIES_AT_A_TIME]
            found = self._feed.by_number([number for number, _mark in some])
            for number, mark in some:
                if number in found and not self._take(found[number], mark):
                    return False
                self._report.entries += 1
            self._write()
            if time.monotonic() - self._committed_at >= COMMIT_EVERY_S:
                self._commit()
        return True

    def _take(self, one: EntryTexts, mark: int) -> bool:
        """Take one entry. One that is larger than a batch is written in several; False when it should stop inside."""
        is_large = sum(len(part.text) for part in one.parts) > BATCH_CHARS
        if is_large:
            self._write()
            self._commit()
        self._begun.append(one.entry.number)
        for part in one.parts:
            pieces = chunks_of_part(one.entry, part)
            self._waiting += [(key_of_entry(one.entry.number, part.part), mark, piece) for piece in pieces]
            self._chars += sum(map(len, pieces))
            if is_large and self._is_full():
                self._is_half = True
                self._write()
                if self._should_stop():
                    return False
        if is_large or self._is_full():
            self._write()
        self._is_half = False
        return True

    def _is_full(self) -> bool:
        return self._chars >= BATCH_CHARS or len(self._waiting) >= BATCH_EVENTS

    def _write(self) -> None:
        vectors = self._embedder.embed([piece for _, _, piece in self._waiting]) if self._waiting else None
        self._writer.retire(map(keys_of_entry, self._begun))
        if vectors is not None:
            self._writer.add([key for key, _, _ in self._waiting], vectors, [mark for _, mark, _ in self._waiting])
        self._report.chunks += len(self._waiting)
        self._report.chars += self._chars
        self._waiting, self._begun, self._chars = [], [], 0
        if self._progress is not None and self._to_do:
            self._progress(self._report.entries, self._to_do)

    def _commit(self, position: int | None = None) -> None:
        """Let what is written count, unless an entry is written by half. position: None: there is more to do."""
        if not self._is_half:
            self._writer.commit(position=self._writer.last.position if position is None else position)
            self._committed_at = time.monotonic()
