"""What the ingester sends to a worker and receives from it: bounded slices, plain data."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import msgspec

from recollect.archive.packs import ChunkPlace, Hole
from recollect.capture.sources import DocumentPlace
from recollect.store.rows import SliceResult, SourceRow

SLICE_BYTES = 4 * 1024 * 1024
"""Bytes of one slice. Memory is bounded by this and by the longest record that is decoded (16 MiB)."""


class Giant(msgspec.Struct):
    """A record too large to decode, on its way into the archive piece by piece."""

    start: int
    end: int
    sha256: bytes


class SourceTask(msgspec.Struct):
    """One slice of one source to ingest.

    source: its known state; `committed_bytes` is where parsing continues. seen_bytes: where reading continues (an open
    tail is between). closed_bytes/closed_chunks: the revision's closed chunks so far; open_chunks: plain lengths of the
    deltas behind them. refold: chunks of the revision to rebuild a missing parser state from; holes: its deleted parts.
    document: the source's place, if it is not a file. large_state: a parser's state for the next slice that is too
    large to be stored. There is one task for every new file before any is read, so unused fields cost nothing.
    """

    source: SourceRow
    path: str
    relative: str
    is_compressed: bool = False
    is_new_revision: bool = False
    is_first_sight: bool = False
    seen_bytes: int = 0
    closed_bytes: int = 0
    closed_chunks: int = 0
    open_chunks: Sequence[int] = ()
    giant: Giant | None = None
    refold: Sequence[ChunkPlace] = ()
    holes: Sequence[Hole] = ()
    document: DocumentPlace | None = None
    large_state: bytes = b""
    slice_bytes: int = SLICE_BYTES


class SliceDone(msgspec.Struct):
    """One finished slice. `next` continues the same source; without it the source is read to its end."""

    slice: SliceResult
    next: SourceTask | None = None


class SliceFailed(msgspec.Struct):
    """A source that could not be read now; what is stored of it stays. is_failure False: an agent was writing it."""

    source: SourceRow
    reason: str
    is_failure: bool


class TaskAnswer(msgspec.Struct):
    """The answer to a group of tasks, in their order."""

    done: list[SliceDone]
    failed: list[SliceFailed]


_LENGTH_BYTES = 8


def send(stream: IO[bytes], message: bytes) -> None:
    """Write one message."""
    stream.write(len(message).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read one message, None at the end of the stream."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    message = stream.read(size)
    return message if len(message) == size else None


class StageTimer:
    """Adds up CPU seconds of this thread by stage. A measurement only: no decision depends on it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside the block for a stage."""
        started = time.thread_time()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.thread_time() - started

    def merge(self, other: dict[str, float]) -> None:
        """Add the times of another timer."""
        for name, seconds in other.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds


_SELDOM = 100_000
"""New containers between two looks for cycles while slices are written; Python's own measure is 700."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Have cycles looked for seldom inside the block: a slice brings many objects and no cycles, and each look goes
    through all that the process holds."""
    before = gc.get_threshold()
    gc.set_threshold(_SELDOM if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class OtherThreads:
    """CPU seconds of this process that its other threads used since this was made: mostly the index engine's."""

    def __init__(self) -> None:
        self._process = time.process_time()
        self._thread = time.thread_time()

    def seconds(self) -> float:
        """Return the seconds so far."""
        return max(0.0, (time.process_time() - self._process) - (time.thread_time() - self._thread))
