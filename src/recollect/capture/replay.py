"""Turns archived bytes back into records, in bounded memory, for `verify` and `rebuild`."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from recollect.capture.containers.jsonl import Line, SplitRecords, split_lines
from recollect.capture.containers.patchlog import PatchFold
from recollect.capture.containers.snapshot import split_snapshot, split_text
from recollect.capture.decode import MAX_RECORD_BYTES, UNREADABLE_TEXT_BYTES
from recollect.model.rows import decode_row

_ROWS = frozenset(("sqlite", "directory", "export", "otlp"))
_APPENDED = frozenset(("jsonl", "patchlog"))


def is_rows(container: str) -> bool:
    """Return True for sources whose bytes are made here, of rows or small files; they are compared as a whole."""
    return container in _ROWS


def is_appended(container: str) -> bool:
    """Return True for files that are appended to, whose records never change once they are written."""
    return container in _APPENDED


def is_whole(container: str) -> bool:
    """Return True for files that are read in one piece, because a rewrite may change any part of them."""
    return container not in _ROWS and container not in _APPENDED


def split_of(container: str) -> tuple[str, ...]:
    """Return the arrays that a stored container name says are split: `snapshot:messages,journal.entries`."""
    return tuple(filter(None, container.partition(":")[2].split(",")))


class LineReader:
    """Gives lines their meaning, in order from the first one of a revision. jsonl lines stay as they are."""

    def __init__(self, container: str) -> None:
        self._is_rows = is_rows(container)
        self._fold = PatchFold() if container == "patchlog" else None

    @property
    def needs_history(self) -> bool:
        """True where a line means something only after all lines before it."""
        return self._fold is not None

    def take(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Return the lines with what they mean: a row's table and columns, a patch's changed elements."""
        if self._is_rows:
            return [_as_row(line) for line in lines]
        if self._fold is not None:
            fold = self._fold
            return [
                msgspec.structs.replace(line, changed=fold.take(line.decoded.value)) if line.decoded.is_json else line
                for line in lines
            ]
        return lines


def _as_row(line: Line) -> Line:
    row = decode_row(line.decoded.value) if line.decoded.is_json else None
    if row is None:
        return line
    decoded = msgspec.structs.replace(line.decoded, value=row.value, code=line.decoded.code or row.defect)
    return msgspec.structs.replace(line, decoded=decoded, at=row.at)


_FILL_BYTES = 1 << 20


class GiantRecord(NamedTuple):
    """A record that is too large to decode."""

    start: int
    end: int
    sha256: bytes
    head: bytes


class ReplayGap(NamedTuple):
    """Missing bytes of a revision: a number of whole records, with what is between them.

    turn: how many human turns the source had before their end.
    """

    length: int
    records: int
    turn: int = 0


class ReplayBatch(NamedTuple):
    """Some records of a revision. base: offset of `data`, which holds the lines; giant, gap: instead of lines.

    base is the gap's offset for a gap.
    """

    base: int
    data: bytes
    lines: Sequence[Line]
    giant: GiantRecord | None = None
    gap: ReplayGap | None = None


def replay(pieces: Iterable[bytes | ReplayGap], container: str) -> Iterator[ReplayBatch]:
    """Yield the records of a revision, given its bytes in pieces; the same records that a sync took.

    What is left at the end without being a whole record is the open tail and is not yielded. Gaps come in their place;
    the records around one are the same as if it were none.
    """
    if not is_whole(container):
        reader = LineReader(container)
        for batch in _replay_lines(pieces):
            yield batch._replace(lines=reader.take(batch.lines)) if batch.lines else batch
        return
    gaps: list[tuple[int, ReplayGap]] = []
    data = _joined(_filled(pieces, gaps))
    if isinstance(data, GiantRecord) and not gaps:
        yield ReplayBatch(0, b"", [], data)
        return
    if isinstance(data, GiantRecord) or sum(gap.length for _, gap in gaps) == len(data):
        data = b""
    lines = split_whole(data, container).lines
    start = 0
    for offset, gap in gaps:
        stop = start + sum(1 for line in lines[start:] if line.start < offset)
        if stop > start:
            yield ReplayBatch(0, data, lines[start:stop])
        yield ReplayBatch(offset, b"", [], gap=gap)
        start = stop
    if start < len(lines):  # `[]` has none
        yield ReplayBatch(0, data, lines[start:])


def _filled(pieces: Iterable[bytes | ReplayGap], gaps: list[tuple[int, ReplayGap]]) -> Iterator[bytes]:
    """Yield the pieces of a document with blanks for what is gone: between elements and members they mean nothing."""
    position = 0
    for piece in pieces:
        if isinstance(piece, ReplayGap):
            gaps.append((position, piece))
            position += piece.length
            for at in range(0, piece.length, _FILL_BYTES):
                yield b" " * min(_FILL_BYTES, piece.length - at)
        else:
            position += len(piece)
            yield piece


def split_whole(data: bytes, container: str) -> SplitRecords:
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


def _replay_lines(pieces: Iterable[bytes | ReplayGap]) -> Iterator[ReplayBatch]:
    """Yield the records between two gaps as those of a file of their own: a gap ends a line."""
    stream = _Pushback(pieces)
    base = 0
    while True:
        end = yield from _replay_run(stream, base)
        if stream.gap is None:
            return
        gap, stream.gap = stream.gap, None
        base = end
        yield ReplayBatch(base, b"", [], gap=gap)
        base += gap.length


def _replay_run(stream: _Pushback, base: int) -> Generator[ReplayBatch, None, int]:
    """Yield the records up to the next gap or the end; return where that is."""
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
            yield ReplayBatch(base, pending, lines)
        base += consumed
        pending = pending[consumed:]
        if too_long is not None or len(pending) > MAX_RECORD_BYTES:
            giant, rest, end = _giant(base, pending, stream)
            if giant is None:
                return end
            yield ReplayBatch(base, b"", [], giant)
            base = giant.end
            stream.push(rest)
            pending = b""
    is_cut = stream.gap is not None
    found = split_lines(pending + b"\n" if is_cut else pending, is_end=True, is_start=base == 0)
    if found.lines:
        yield ReplayBatch(base, pending, found.lines)
    return base + len(pending)


class _Pushback:
    """An iterator over the pieces before the next gap, which takes one piece back. gap: where it stopped for one."""

    def __init__(self, pieces: Iterable[bytes | ReplayGap]) -> None:
        self._pieces = iter(pieces)
        self._pushed: list[bytes] = []
        self.gap: ReplayGap | None = None

    def __iter__(self) -> _Pushback:
        return self

    def __next__(self) -> bytes:
        if self._pushed:
            return self._pushed.pop()
        if self.gap is not None:
            raise StopIteration
        piece = next(self._pieces)
        if isinstance(piece, ReplayGap):
            self.gap = piece
            raise StopIteration
        return piece

    def push(self, piece: bytes) -> None:
        if piece:
            self._pushed.append(piece)


def _giant(start: int, pending: bytes, stream: _Pushback) -> tuple[GiantRecord | None, bytes, int]:
    """Follow a giant record to its end; None when it is only an open tail. What follows it, and where the bytes end."""
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
            end = start + size
            return GiantRecord(start, end, sha.digest(), head), piece[newline:], end
        following = next(stream, None)
        if following is None:
            is_closed = stream.gap is not None or last in (b"}", b"]")
            end = start + size
            return (GiantRecord(start, end, sha.digest(), head) if is_closed else None), b"", end
        piece = following
