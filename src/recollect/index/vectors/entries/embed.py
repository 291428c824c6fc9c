"""Makes the vectors of entries that are missing or old, and takes away those of entries that are gone.

What is to be done is told by comparing what is kept with what is stored, so that any run goes on where the last one
stopped. An entry's rows are committed together. Memory is bounded by a batch of texts and some bytes an entry.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.errors import EmbeddingUnavailable
from recollect.index.vectors.embed import BATCH_CHARS, BATCH_EVENTS, COMMIT_EVERY_S, EmbedProgress, EmbedReport
from recollect.index.vectors.texts import chunks_of_part
from recollect.store.entries import EntryFeed, EntryTexts, key_of_entry, keys_of_entry

if TYPE_CHECKING:
    from recollect.index.vectors.embedder import Embedder
    from recollect.index.vectors.writer import VectorWriter

ENTRIES_AT_A_TIME = 100
"""So many are read together."""


class EntryEmbedding:
    """One run over a home's entries. The caller holds the lock and closes the writer."""

    def __init__(
        self, feed: EntryFeed, writer: VectorWriter, embedder: Embedder, report: EmbedReport, *,
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
        """Bring the vectors in step; False when it should stop before. Raises EmbeddingUnavailable, IndexUnavailable,
        StoreError; what was committed by then stays."""
        from recollect.index.vectors.entries.differences import differences

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
        """Write the vectors of (number, mark); False when it should stop before. Marks are older than the texts that
        are read now: what was written in between is told apart again by the next run."""
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
