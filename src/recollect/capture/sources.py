"""Reads sources: files at any offset, and documents assembled from rows or small files. Read-only.

Compressed files are read as the bytes that they stand for. A document's bytes are made again whenever they are read
from the start; while they stay below a limit they are kept, so that going back costs nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import BinaryIO, Protocol

import msgspec
import zstandard

from recollect import units
from recollect.capture.containers.directory import DirectoryFile, lines_of
from recollect.capture.containers.export import Element, lines_of_element
from recollect.capture.containers.otlp import lines_of_requests
from recollect.capture.containers.sqlite import rows_of
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from recollect.model.capabilities import Place
from recollect.model.records import ZSTD_SUFFIXES

MAX_DECOMPRESSED_BYTES = 8 * 1024**3
"""A zstd source that gives more is a bomb, not a transcript: the longest real rollouts are about 1 GB."""
_MAX_WINDOW_BYTES = 128 * 1024 * 1024
_STEP_BYTES = 1024 * 1024


class ReadableSource(Protocol):
    """What the pass reads: a file, or a document that is made of rows or small files."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to length bytes from offset; fewer only at the end of the source. Raises SourceError."""
        ...

    def check_unchanged(self) -> None:
        """Raise SourceChanged if the source was written, replaced or removed since it was opened."""
        ...


class SourceFile:
    """An open source. `size` is the number of readable (decompressed) bytes when it was opened, -1 if unknown yet."""

    def __init__(self, handle: BinaryIO, path: str, *, is_compressed: bool) -> None:
        self._handle = handle
        self._path = path
        self._is_compressed = is_compressed
        self._stream: BinaryIO | None = None
        self._stream_at = 0
        self._opened = os.fstat(handle.fileno())

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to length bytes from offset; fewer only at the end of the source.

        Raises SourceUnavailable when reading fails and SourceRefused for a compressed source that never ends.
        """
        try:
            if self._is_compressed:
                return self._read_decompressed(offset, length)
            self._handle.seek(offset)
            return self._handle.read(length)
        except OSError as error:
            raise SourceUnavailable(f"cannot read {self._path}: {error.strerror}") from error
        except zstandard.ZstdError as error:
            raise SourceUnavailable(f"cannot decompress {self._path}: {error}") from error

    def _read_decompressed(self, offset: int, length: int) -> bytes:
        if offset + length > MAX_DECOMPRESSED_BYTES:
            limit = units.size(MAX_DECOMPRESSED_BYTES, binary=True)
            raise SourceRefused(f"{self._path} decompresses to more than {limit}", reason="too large")
        if self._stream is None or offset < self._stream_at:
            self._handle.seek(0)
            reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
            self._stream = reader.stream_reader(self._handle, read_across_frames=True, closefd=False)
            self._stream_at = 0
        while self._stream_at < offset:
            step = self._stream.read(min(_STEP_BYTES, offset - self._stream_at))
            if not step:
                return b""
            self._stream_at += len(step)
        pieces: list[bytes] = []
        wanted = length
        while wanted:
            step = self._stream.read(min(_STEP_BYTES, wanted))
            if not step:
                break
            pieces.append(step)
            wanted -= len(step)
        self._stream_at += length - wanted
        return b"".join(pieces)

    def check_unchanged(self) -> None:
        """Raise SourceChanged if the file was written, replaced or removed since it was opened."""
        try:
            now = os.stat(self._path)
        except OSError as error:
            raise SourceChanged(f"{self._path} vanished while it was read") from error
        was = self._opened
        if (now.st_ino, now.st_size, now.st_mtime_ns) != (was.st_ino, was.st_size, was.st_mtime_ns):
            raise SourceChanged(f"{self._path} changed while it was read")


@contextmanager
def open_source(path: str, *, is_compressed: bool = False) -> Iterator[SourceFile]:
    """Open a source for reading.

    Raises SourceUnavailable (permission, vanished) or SourceRefused (no regular file). Never blocks on a pipe.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise SourceRefused(f"{path} is not a regular file", reason="not a file") from error
        raise SourceUnavailable(f"cannot open {path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceRefused(f"{path} is not a regular file", reason="not a file")
    with os.fdopen(descriptor, "rb", buffering=0) as handle:
        yield SourceFile(handle, path, is_compressed=is_compressed)


def read_head(path: str, length: int = 64 * 1024) -> bytes:
    """Return the first bytes of a source, decompressed where its name ends in `.zst`. Raises OSError."""
    try:
        with open_source(path, is_compressed=path.endswith(ZSTD_SUFFIXES)) as source:
            return source.read_at(0, length)
    except (SourceUnavailable, SourceRefused) as error:
        raise OSError(errno.EIO, str(error)) from error


KEEP_BYTES = 32 * 1024 * 1024


class DocumentPlace(msgspec.Struct, frozen=True):
    """Place of a document that is not a file: in a database, or in files of a folder. mark: from its discovery."""

    path: str
    document: str
    mark: bytes
    files: list[DirectoryFile] = []
    element: Element | None = None
    """Of a conversation in an export: where it is in the file."""


class DocumentSource:
    """Reads a document at any offset. `lines` gives its lines from the start each time it is called."""

    def __init__(self, lines: Callable[[], Iterator[bytes]]) -> None:
        self._lines = lines
        self._stream: Iterator[bytes] | None = None
        self._kept = bytearray()
        self._kept_from = 0
        self._is_over = False

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to length bytes from offset; fewer only at the end. Raises SourceError."""
        if self._stream is None or offset < self._kept_from:
            self.close()
            self._stream = self._lines()
            self._kept = bytearray()
            self._kept_from = 0
            self._is_over = False
        end = offset + length
        while not self._is_over and self._kept_from + len(self._kept) < end:
            self._more(offset)
        start = offset - self._kept_from
        return bytes(self._kept[start : start + length]) if start < len(self._kept) else b""

    def check_unchanged(self) -> None:
        """Read the rest, to detect a change meanwhile. Raises SourceChanged."""
        if self._stream is not None and not self._is_over:
            for _ in self._stream:
                raise SourceChanged("the document goes on behind what was read")

    def close(self) -> None:
        """End a read under way, so that nothing of the agent's stays open."""
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()

    def _more(self, wanted_from: int) -> None:
        line = next(self._stream, None) if self._stream is not None else None
        if line is None:
            self._is_over = True
            return
        self._kept += line
        if len(self._kept) > KEEP_BYTES:
            spare = min(wanted_from - self._kept_from, len(self._kept) - len(line))
            if spare > 0:
                del self._kept[:spare]
                self._kept_from += spare


@contextmanager
def open_found(
    path: str, places: tuple[Place, ...], role: str, where: DocumentPlace | None, *, is_compressed: bool
) -> Iterator[ReadableSource]:
    """Open a source that was found, a file or a document of the given role's place. Raises SourceError."""
    if where is None:
        with open_source(path, is_compressed=is_compressed) as source:
            yield source
        return
    if where.element is not None:
        lines: Callable[[], Iterator[bytes]] = partial(lines_of_element, where.path, where.element)
    elif where.files:
        lines = partial(lines_of, where.files)
    elif any(p.container == "otlp" for p in places if p.role == role):
        lines = partial(lines_of_requests, where.path, where.mark)
    else:
        tables = next(p.tables for p in places if p.role == role and p.tables)
        lines = rows_of(where.path, tables, where.document, where.mark)
    with closing(DocumentSource(lines)) as document:
        yield document
