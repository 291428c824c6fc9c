"""Reads one document: its bytes as they were at one moment, and the text that they are. Read-only, never blocking."""

from __future__ import annotations

import codecs
import os
import stat
from typing import NamedTuple

from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_MARKED = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class DocumentBytes(NamedTuple):
    """A document's bytes, and what the file was when they were read: size in bytes, times in nanoseconds."""

    data: bytes
    size: int
    mtime_ns: int
    ctime_ns: int


def read_document(folder: str, relative: str, *, max_bytes: int) -> DocumentBytes:
    """Return a document's bytes; all of them were there at one time.

    Raises:
        SourceUnavailable: it is gone, or may not be read.
        SourceChanged: it was written, replaced or removed while it was read; the next pass takes it.
        SourceRefused: it is no regular file, lies outside of the folder, or is larger than `max_bytes`.
    """
    path = os.path.join(folder, *relative.split("/"))
    _must_be_inside(folder, path)
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise SourceUnavailable(f"cannot be opened: {error.strerror}") from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise SourceRefused("is no regular file", reason="not a file")
        if before.st_size > max_bytes:
            raise SourceRefused(f"is larger than {max_bytes:,} bytes", reason="too large")
        try:
            data = _read_whole(file.fileno(), before.st_size)
        except OSError as error:
            raise SourceUnavailable(f"cannot be read: {error.strerror}") from error
        after = os.fstat(file.fileno())
    if _state(before) != _state(after) or len(data) != before.st_size or not _is_still(path, before):
        raise SourceChanged("changed while it was read")
    return DocumentBytes(data, before.st_size, before.st_mtime_ns, before.st_ctime_ns)


def text_of(data: bytes) -> str:
    """Return the text that a document's bytes are: UTF-8, or UTF-16 where they begin with its mark.

    Raises SourceRefused for what is no text: bytes that are not UTF-8, or NUL characters.
    """
    encoding = "utf-8"
    for mark, marked in _MARKED:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], marked
            break
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceRefused("is no UTF-8 text", reason="binary") from error
    if "\0" in text:
        raise SourceRefused("is binary", reason="binary")
    return text


def _read_whole(descriptor: int, size: int) -> bytes:
    """Return up to one byte more than expected: a file that grows is not read to an end that never comes."""
    pieces: list[bytes] = []
    left = size + 1
    while left > 0 and (piece := os.read(descriptor, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _must_be_inside(folder: str, path: str) -> None:
    """A folder on the way may have become a link since it was listed."""
    real, top = os.path.realpath(os.path.dirname(path)), os.path.realpath(folder)
    if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
        raise SourceRefused("lies behind a link that leaves the folder", reason="not allowed")


def _state(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_size, info.st_mtime_ns, info.st_ino


def _is_still(path: str, before: os.stat_result) -> bool:
    try:
        now = os.lstat(path)
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino)
