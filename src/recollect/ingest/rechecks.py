"""Files that are still to be compared with the archive from their first byte, and the progress.

A file that grows every few seconds is compared by the ends of what was seen, so a change in its middle may pass at
first. Each such file is noted here and compared whole once it is left alone. What was ingested before there were these
notes is compared whole once, too. No pass reads more than `PASS_BYTES` for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from recollect.archive.packs import ChunkPlace
from recollect.capture.discover import FoundSource
from recollect.capture.sources import ReadableSource
from recollect.store.meta import read_mark, write_mark
from recollect.store.rows import SourceRow

PASS_BYTES = 64 * 1024 * 1024
"""What one pass compares: some 70 ms."""
_MARK = "rechecks"


class NamedChunks(Protocol):
    """The side of the archive that tells whether bytes are a chunk's, without reading the chunk."""

    def is_chunk(self, place: ChunkPlace, plain: bytes) -> bool: ...


class _Notes(msgspec.Struct):
    """What is stored.

    changed: by source id, up to which byte its file was compared. below: sources with a number up to this were not
    compared since these notes began; None: nobody has asked yet. at: up to which byte the next of these was compared.
    """

    changed: dict[str, int] = {}
    below: int | None = None
    at: int = 0


class Compared(NamedTuple):
    """How far a file was compared. is_same: up to there it is as archived; is_whole: there is nothing behind it."""

    is_same: bool
    end: int
    is_whole: bool = False


class Calm(NamedTuple):
    """A file that did not change since it was ingested.

    compare: from a byte on, at most so many bytes, see `compare_whole`. differs: plans a new revision of it.
    """

    row: SourceRow
    compare: Callable[[int, int], Compared]
    differs: Callable[[], None]


class Rechecks:
    """The notes of one pass. is_thorough: the pass looks at everything and has the time to compare."""

    def __init__(self, home: Path, *, is_thorough: bool, now_us: int, idle_s: int) -> None:
        self._home = home
        self.is_thorough = is_thorough
        self._idle_before_ns = (now_us - idle_s * 1_000_000) * 1000
        self._stored = ""
        self._notes: _Notes | None = None
        self._calm: list[Calm] = []

    def is_settled(self) -> bool:
        """Return whether nothing is left to compare."""
        notes = self._read()
        return notes.below == 0 and not notes.changed

    def is_over(self, item: FoundSource) -> bool:
        """Return whether a grown file is compared at once: its session has ended, so this happens once."""
        return self.is_thorough and item.mtime_ns < self._idle_before_ns

    def note(self, row: SourceRow) -> None:
        """Record that a file grew and was compared only by its ends."""
        self._read().changed[row.source_id] = 0

    def offer(self, calm: Calm) -> None:
        """Take a file that did not change; `run` may compare it."""
        if self.is_thorough:
            self._calm.append(calm)

    def run(self) -> None:
        """Compare as much as a pass may, what changed lately first."""
        if self.is_thorough:
            room = self._run_changed(PASS_BYTES)
            self._run_older(room)

    def save(self) -> None:
        """Store the notes where they changed. Raises StoreError."""
        if self._notes is not None:
            text = msgspec.json.encode(self._notes).decode()
            if text != self._stored:
                write_mark(self._home, _MARK, text)
                self._stored = text

    def _run_changed(self, room: int) -> int:
        changed = self._read().changed
        for calm in self._calm if changed else ():
            name = calm.row.source_id
            if room <= 0 or name not in changed:
                continue
            start = changed[name]
            found = calm.compare(start, room)
            room -= found.end - start
            changed[name] = found.end
            if not found.is_same:  # stays noted: its new revision is compared once more
                calm.differs()
                changed[name] = 0
            elif found.is_whole:
                del changed[name]
        return room

    def _run_older(self, room: int) -> None:
        notes = self._read()
        if notes.below is None:
            notes.below = max((calm.row.number for calm in self._calm), default=0)
        for calm in sorted(self._calm, key=lambda calm: -calm.row.number) if notes.below else ():
            if room <= 0:
                return
            if calm.row.number > notes.below or calm.row.source_id in notes.changed:
                continue
            start = notes.at if calm.row.number == notes.below else 0
            found = calm.compare(start, room)
            room -= found.end - start
            if not found.is_same:
                calm.differs()
            if not found.is_same or (found.end == start and not found.is_whole):  # or it cannot be read now
                notes.changed[calm.row.source_id] = 0
            is_partial = found.is_same and not found.is_whole and found.end > start
            notes.below, notes.at = (calm.row.number, found.end) if is_partial else (calm.row.number - 1, 0)
        if room > 0:
            notes.below = 0

    def _read(self) -> _Notes:
        if self._notes is None:
            self._stored = read_mark(self._home, _MARK)
            self._notes = msgspec.json.decode(self._stored, type=_Notes) if self._stored else _Notes()
        return self._notes


def compare_whole(
    source: ReadableSource, places: Sequence[ChunkPlace], archive: NamedChunks, *, start: int = 0,
    most: int | None = None,
) -> Compared:  # fmt: skip
    """Compare a source with its chunks in the archive, up to the end of the last one.

    Compares only names, so it reads nothing from the archive. Evicted or forgotten parts have no name and count as
    equal. start: where an earlier comparison ended. most: read no more bytes than this, except for one chunk.
    """
    at = start
    for end, place in zip(accumulate(place.plain for place in places), places, strict=True):
        if end <= start:
            continue
        if most is not None and at > start and end - start > most:
            return Compared(True, at)
        if not place.is_hole and not archive.is_chunk(place, source.read_at(end - place.plain, place.plain)):
            return Compared(False, end)
        at = end
    return Compared(True, at, is_whole=True)
