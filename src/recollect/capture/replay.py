"""Splits archived bytes into records again: for `verify` and for a rebuild, in bounded memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from recollect.capture.containers.jsonl import Line, Lines, split_lines
from recollect.capture.containers.snapshot import split_snapshot
from recollect.capture.containers.text import split_text
from recollect.capture.decode import MAX_RECORD_BYTES, UNREADABLE_TEXT_BYTES
from recollect.capture.records import LineReader, is_whole, split_of


class GiantRecord(NamedTuple):
    """A record that is too large to decode."""

    start: int
    end: int
    sha256: bytes
    head: bytes


class Batch(NamedTuple):
    """Some records of a revision. base: offset of `data`, in which the lines lie; giant: instead of lines."""

    base: int
    data: bytes
    lines: Sequence[Line]
    giant: GiantRecord | None = None


def replay(pieces: Iterable[bytes], container: str) -> Iterator[Batch]:
    """Yield the records of a revision, given its bytes in pieces; the same records that a sync took.

    What is left at the end without being a whole record is the open tail and is not yielded.
    """
    if not is_whole(container):
        reader = LineReader(container)
        for batch in _replay_lines(pieces):
            yield batch._replace(lines=reader.take(batch.lines))
        return
    data = _joined(pieces)
    if isinstance(data, GiantRecord):
        yield Batch(0, b"", [], data)
    elif lines := split_whole(data, container).lines:  # `[]` has none
        yield Batch(0, data, lines)


def split_whole(data: bytes, container: str) -> Lines:
    """Return the records of a file that is read in one piece."""
    return split_text(data) if container == "text" else split_snapshot(data, split_of(container))


def _joined(pieces: Iterable[bytes]) -> bytes | GiantRecord:
    stream = iter(pieces)
    data = b""
    for piece in stream:
        data += piece
        if len(data) > MAX_RECORD_BYTES:
            sha = hashlib.sha256(data)
            size = len(data)
            for more in stream:
                sha.update(more)
                size += len(more)
            return GiantRecord(0, size, sha.digest(), data[:UNREADABLE_TEXT_BYTES])
    return data


def _replay_lines(pieces: Iterable[bytes]) -> Iterator[Batch]:
    stream = _Pushback(pieces)
    base = 0
    pending = b""
    for piece in stream:
        pending += piece
        found = split_lines(pending, is_end=False, is_start=base == 0)
        lines = found.lines
        consumed = found.consumed
        too_long = next((i for i, line in enumerate(lines) if len(line.raw) > MAX_RECORD_BYTES), None)
        if too_long is not None:
            consumed = lines[too_long].start
            lines = lines[:too_long]
        if lines:
            yield Batch(base, pending, lines)
        base += consumed
        pending = pending[consumed:]
        if too_long is not None or len(pending) > MAX_RECORD_BYTES:
            giant, rest = _giant(base, pending, stream)
            if giant is None:
                return
            yield Batch(base, b"", [], giant)
            base = giant.end
            stream.push(rest)
            pending = b""
    found = split_lines(pending, is_end=True, is_start=base == 0)
    if found.lines:
        yield Batch(base, pending, found.lines)


class _Pushback:
    """An iterator that takes one piece back."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._pushed: list[bytes] = []

    def __iter__(self) -> _Pushback:
        return self

    def __next__(self) -> bytes:
        return self._pushed.pop() if self._pushed else next(self._pieces)

    def push(self, piece: bytes) -> None:
        if piece:
            self._pushed.append(piece)


def _giant(start: int, pending: bytes, stream: _Pushback) -> tuple[GiantRecord | None, bytes]:
    """Follow a giant record to its end; None when it is only an open tail."""
    sha = hashlib.sha256()
    head = pending[:UNREADABLE_TEXT_BYTES]
    size, last, piece = 0, b"", pending
    while True:
        newline = piece.find(b"\n")
        taken = piece if newline < 0 else piece[:newline]
        sha.update(taken)
        size += len(taken)
        last = taken[-1:] or last
        if newline >= 0:
            return GiantRecord(start, start + size, sha.digest(), head), piece[newline:]
        following = next(stream, None)
        if following is None:
            is_closed = last in (b"}", b"]")
            return (GiantRecord(start, start + size, sha.digest(), head) if is_closed else None), b""
        piece = following
