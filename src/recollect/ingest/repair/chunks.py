"""What a pass does about damage: looks at a part of the archive, archives again what sources still have, and tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from recollect.archive.chunks import ChunkPlace, SealedChunk
from recollect.archive.condition import JOURNAL
from recollect.capture.replay import is_rows
from recollect.capture.sources import ReadableSource, open_source
from recollect.config import PrivacyConfig
from recollect.erasure.forget import Opened
from recollect.errors import SourceError, StoreError
from recollect.ingest.damage import SAMPLE_BYTES, begin_again, heal, in_source, known_damage, look
from recollect.ingest.report import SyncReport
from recollect.store.slices import SourceRow
from recollect.units import plural

SHORT_JOURNAL_BYTES = 4 << 20
"""As much of a journal is compared with the database while somebody waits for an answer."""
Opens = Callable[[], AbstractContextManager[ReadableSource]]


def bring_together(opened: Opened, privacy: PrivacyConfig, *, at: int, is_bounded: bool) -> list[str]:
    """Bring archive and database in step where they may differ; return a line on each thing done. at: UTC microseconds.

    The length of the journal at the last commit is written down in the database, and how the journal looked in the
    archive. As long as both are the same nothing has to be read. Else a crash came between the two, or one of them was
    damaged, removed or replaced by an older copy. is_bounded: a refresh on read, which leaves a long comparison to
    `sync`. Raises KeyUnavailable, StoreError, ArchiveError, IndexUnavailable.
    """
    writer, archive = opened.writer, opened.archive
    is_older = writer.last_change() < archive.condition.change
    is_same = writer.journal_mark == archive.journal.size_bytes() and JOURNAL not in archive.condition.changed_packs()
    if is_same and not is_older:
        return []
    if is_bounded and archive.journal.size_bytes() > SHORT_JOURNAL_BYTES:
        raise StoreError("archive and database are to be compared first; run `recollect sync`")
    from recollect.ingest.repair.reconciliation import bring_in_step, drop_what_is_ahead

    notes = drop_what_is_ahead(opened) if is_older else []
    return notes + bring_in_step(opened, privacy, at=at)


class Healing:
    """Archives damaged chunks again while sources are planned. Made where the ingest lock is held."""

    def __init__(self, opened: Opened, report: SyncReport, *, is_bounded: bool) -> None:
        """Look at a part of the archive. is_bounded: a refresh on read, which reads nothing for that and tells nothing.

        Raises KeyUnavailable, StoreError, ArchiveError.
        """
        self._opened = opened
        self._report = report
        self._is_bounded = is_bounded
        home, archive = opened.home.folder, opened.archive
        self._damaged: set[ChunkPlace] = look(
            home, archive, budget=0 if is_bounded else SAMPLE_BYTES, all_changed=not is_bounded
        )
        self._sources = {one.source_id for one in known_damage(home, archive).sources} if self._damaged else set()
        self._healed = 0

    def take(self, row: SourceRow, opens: Opens) -> None:
        """Archive again what a source still has of its damaged chunks, in all of its revisions.

        Cheap where the source has none. A source that cannot be read now is looked at by the next pass again.
        """
        if row.source_id not in self._sources:
            return
        found: dict[ChunkPlace, SealedChunk] = {}
        writer, archive = self._opened.writer, self._opened.archive
        try:
            with opens() as source:
                for number in range(row.revision, 0, -1):
                    places = [place for place, _ in writer.open_chunks(row.source_id, number)]
                    found.update(in_source(archive, source, places, self._damaged - found.keys()))
        except SourceError:
            return
        heal(archive, writer, list(found.items()))
        self._damaged -= found.keys()
        self._healed += len(found)

    def _take_imported(self) -> None:
        """Look at files that no pass discovers, because they were imported: they may still lie where they lay."""
        rows = [row for row in self._opened.reader.sources() if row.source_id in self._sources] if self._damaged else []
        rows = [row for row in rows if not is_rows(row.container) and os.path.isfile(row.path)]
        for row in rows:
            self.take(row, partial(open_source, row.path, is_compressed=row.path.endswith(".zst")))
        begin_again(self._opened.archive, self._opened.writer, rows)

    def tell(self) -> None:
        """Say what was put right, and what still stands."""
        if not self._is_bounded:
            self._take_imported()
        if self._healed:
            healed = plural(self._healed, "damaged chunk was", "damaged chunks were")
            self._report.notes.append(f"{healed} archived again from the agents' files")
        if not self._damaged or self._is_bounded:
            return
        left = known_damage(self._opened.home.folder, self._opened.archive)
        if left.chunks:
            self._report.state = "degraded"
            self._report.notes.append(f"{left.told()}; run `recollect repair`")
