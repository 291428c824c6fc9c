"""Detects what happened to a source since the last read: nothing, an append, or a rewrite."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from recollect.capture.sources import ReadableSource

PROBE_BYTES = 4096
_STEP_BYTES = 1024 * 1024
Change = Literal["unchanged", "appended", "rewritten"]


class SourceMarks(NamedTuple):
    """How a source looked at its committed end: hashes of its first and last 4 KiB before that end."""

    committed_bytes: int
    head_sha: bytes
    tail_sha: bytes


def marks_at(source: ReadableSource, committed_bytes: int) -> SourceMarks:
    """Return the marks of the bytes before `committed_bytes`."""
    return marks_of(source.read_at, (), committed_bytes, is_whole=False)


def compare(source: ReadableSource, marks: SourceMarks, *, bytes_seen: int) -> Change:
    """Compare a source with its last known state. bytes_seen: end of all bytes read, including an open tail.

    An append leaves everything before the committed end unchanged; the head and the end are compared. An agent that
    appends never changes the middle without changing the end (its capabilities declare that). A file that became
    shorter than what was seen, or changed in head or end, is a rewrite.
    """
    now = marks_at(source, marks.committed_bytes)
    if now != marks:
        return "rewritten"
    rest = source.read_at(marks.committed_bytes, bytes_seen - marks.committed_bytes + 1)
    if len(rest) < bytes_seen - marks.committed_bytes:
        return "rewritten"
    return "appended" if len(rest) > bytes_seen - marks.committed_bytes else "unchanged"


def whole_marks(source: ReadableSource, limit: int | None = None) -> SourceMarks:
    """Return the marks of a source that is rewritten as a whole: its size and a hash of all its bytes.

    limit: of its first so many bytes only.
    """
    sha = hashlib.sha256()
    size = 0
    while step := source.read_at(size, _STEP_BYTES if limit is None else min(_STEP_BYTES, limit - size)):
        sha.update(step)
        size += len(step)
    digest = sha.digest()[:16]
    return SourceMarks(size, digest, digest)


def marks_of(
    read_range: Callable[[int, int], bytes], pieces: Iterable[bytes], committed_bytes: int, *, is_whole: bool
) -> SourceMarks:
    """Return the marks of archived bytes, the same as of the file they came from.

    read_range: (offset, length) of the revision; pieces: all of it, read only for a whole-file source.
    """
    if is_whole:
        sha = hashlib.sha256()
        size = 0
        for piece in pieces:
            sha.update(piece)
            size += len(piece)
        return SourceMarks(size, sha.digest()[:16], sha.digest()[:16])
    probe = min(PROBE_BYTES, committed_bytes)
    head = read_range(0, probe)
    tail = head if committed_bytes <= PROBE_BYTES else read_range(committed_bytes - probe, probe)
    return SourceMarks(committed_bytes, _sha(head), _sha(tail))


def _sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]
