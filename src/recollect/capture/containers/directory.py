"""Reads a folder of small JSON files as one document; each file is a record."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import BinaryIO, NamedTuple

import msgspec

from recollect.capture.containers.sqlite_cells import INLINE_BYTES, PIECE_BYTES
from recollect.errors import SourceChanged
from recollect.late import late_pattern
from recollect.model.capabilities import Member
from recollect.model.rows import LargeCell, encode_file, encode_large_file

DOCUMENT = "document"
_NAME = late_pattern(r"\{([a-z_]+)\}")
_NUMBER = late_pattern(r"[0-9]+")
_MARK_BYTES = 16


class DirectoryFile(msgspec.Struct, frozen=True, array_like=True):
    """A file of a document: its table, its path below the root and its absolute path, its size and time."""

    table: str
    relative: str
    path: str
    size: int
    mtime_ns: int


_Order = tuple[int, tuple[tuple[bool, int, str], ...]]
"""Where a file stands: behind those whose first name was bound earlier, then by its names."""


class DirectoryDocument(NamedTuple):
    """A document: its name, its files in order, and a mark that changes when any of them does."""

    name: str
    files: list[DirectoryFile]
    mark: bytes


def glob_of(pattern: str) -> str:
    """Return a member's pattern as a glob."""
    return _NAME.sub("*", pattern)


def documents_of(members: Sequence[Member], files: Iterable[tuple[str, str, int, int]]) -> list[DirectoryDocument]:
    """Group files (relative path, absolute path, size, mtime_ns) into documents; omits files of no document.

    Members are processed in order of declaration, so that a name is bound before another member joins by it.
    """
    waiting = sorted(files)
    found: dict[str, list[tuple[_Order, DirectoryFile]]] = {}
    owners: dict[tuple[str, str], str] = {}
    binders: dict[str, int] = {}
    for number, member in enumerate(members):
        regex = _regex(member.pattern)
        named = [name for name in regex.groupindex if name != DOCUMENT]
        for name in named:
            binders.setdefault(name, number)
        binder = binders[named[0]] if named else number
        bound: dict[tuple[str, str], str] = {}
        left: list[tuple[str, str, int, int]] = []
        for item in waiting:
            relative, path, size, mtime_ns = item
            match = regex.fullmatch(relative)
            document = _owner(match.groupdict(), owners) if match else None
            if match is None or document is None:
                left.append(item)
                continue
            names = {name: match[name] for name in named}
            for named_value in names.items():
                bound.setdefault(named_value, document)
            file = DirectoryFile(member.table, relative, path, size, mtime_ns)
            found.setdefault(document, []).append(((binder, _in_order(names.values())), file))
        waiting = left
        owners = {**bound, **owners}
    return [_document(name, found[name]) for name in sorted(found)]


def lines_of(files: Sequence[DirectoryFile]) -> Iterator[bytes]:
    """Yield each file as one line, with its end; a large one in pieces.

    Raises SourceChanged: a file is gone, or not what it was when it was found.
    """
    for file in files:
        if file.size > INLINE_BYTES:
            content = LargeCell(partial(_pieces, file), is_text=True, is_json=True)
            yield from encode_large_file(file.table, file.relative, content)
            yield b"\n"
        else:
            yield encode_file(file.table, file.relative, b"".join(_pieces(file))) + b"\n"


def _pieces(file: DirectoryFile) -> Iterator[bytes]:
    size = 0
    try:
        with open(file.path, "rb") as handle:
            _check(file, handle, size=file.size)
            while piece := handle.read(PIECE_BYTES):
                size += len(piece)
                yield piece
            _check(file, handle, size=size)
    except OSError as error:
        raise SourceChanged(f"{file.path} vanished while it was read") from error


def _check(file: DirectoryFile, handle: BinaryIO, *, size: int) -> None:
    info = os.fstat(handle.fileno())
    if (info.st_size, info.st_mtime_ns, size) != (file.size, file.mtime_ns, file.size):
        raise SourceChanged(f"{file.path} changed while it was read")


def _document(name: str, files: list[tuple[_Order, DirectoryFile]]) -> DirectoryDocument:
    ordered = [file for _, file in sorted(files, key=lambda item: (item[0], item[1].relative))]
    mark = hashlib.blake2b(digest_size=_MARK_BYTES)
    for file in ordered:
        mark.update(f"{file.relative}\0{file.size}\0{file.mtime_ns}\0".encode("utf-8", "surrogatepass"))
    return DirectoryDocument(name, ordered, mark.digest())


def _in_order(names: Iterable[str]) -> tuple[tuple[bool, int, str], ...]:
    """Order names as texts, but those that are numbers by their value and first: 2 before 10, before a."""
    return tuple((False, int(name), name) if _NUMBER.fullmatch(name) else (True, 0, name) for name in names)


def _owner(names: dict[str, str], owners: dict[tuple[str, str], str]) -> str | None:
    if DOCUMENT in names:
        return names[DOCUMENT]
    return next((owners[item] for item in names.items() if item in owners), None)


def _regex(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    at = 0
    for match in _NAME.finditer(pattern):
        parts.append(_literal(pattern[at : match.start()]))
        parts.append(f"(?P<{match[1]}>[^/]+)")
        at = match.end()
    parts.append(_literal(pattern[at:]))
    return re.compile("".join(parts))


def _literal(text: str) -> str:
    return "[^/]*".join(re.escape(piece) for piece in text.split("*"))
