"""Sources that are no files: documents made of rows or of small files, read as if they were one.

The bytes are made anew whenever they are read from the start; while they stay below a limit they are kept, so that
going back costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

import msgspec

from recollect.capture.containers.directory import DirectoryFile, lines_of
from recollect.capture.containers.export import Element, lines_of_element
from recollect.capture.containers.otlp import lines_of_requests
from recollect.capture.containers.sqlite import rows_of
from recollect.capture.files import ReadableSource, open_source
from recollect.errors import SourceChanged
from recollect.model.capabilities import Place

KEEP_BYTES = 32 * 1024 * 1024


class DocumentPlace(msgspec.Struct, frozen=True):
    """Where a document is that is no file: in a database, or in files of a folder. mark: as when it was found."""

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
            self._restart()
        end = offset + length
        while not self._is_over and self._kept_from + len(self._kept) < end:
            self._more(offset)
        start = offset - self._kept_from
        return bytes(self._kept[start : start + length]) if start < len(self._kept) else b""

    def check_unchanged(self) -> None:
        """Read what is left, so that a change meanwhile is noticed. Raises SourceChanged."""
        if self._stream is not None and not self._is_over:
            for _ in self._stream:
                raise SourceChanged("the document goes on behind what was read")

    def close(self) -> None:
        """End a read under way, so that nothing of the agent's stays open."""
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()

    def _restart(self) -> None:
        self.close()
        self._stream = self._lines()
        self._kept = bytearray()
        self._kept_from = 0
        self._is_over = False

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
