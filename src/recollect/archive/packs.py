"""Pack files: sealed chunks one after the other, appended and never changed.

    packs/000001.pack = magic (8) · entry …     entry = header (32) · blob · footer (8)
    header = magic (4) · name (16) · plain length (4) · blob length (4) · crc32 of these (4)
    footer = magic (4) · length of the whole entry (4)

The header lets a scan list a pack without the database; the footer tells at one look whether the last entry is
whole. A crash may leave a torn entry at the end of a pack. A writer leaves it where it is and starts the next pack.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from recollect.archive.chunks import ChunkPlace, SealedChunk
from recollect.archive.files import AppendFile, magic_places, open_for_reading, read_errors
from recollect.errors import ArchiveCorrupt, ArchiveError

ROLL_OVER_BYTES = 256 << 20
_PACK_MAGIC = b"RCLPACK1"
_ENTRY_MAGIC = b"\xabRCE"
_FOOTER_MAGIC = b"RCF\xba"
_FIELDS = struct.Struct("<4s16sII")
_CRC = struct.Struct("<I")
_FOOTER = struct.Struct("<4sI")
_HEADER_BYTES = _FIELDS.size + _CRC.size
_OPEN_FILES = 8


def pack_path(folder: Path, number: int) -> Path:
    """Return the path of pack `number` in the folder."""
    return folder / f"{number:06d}.pack"


def pack_numbers(folder: Path) -> list[int]:
    """Return the numbers of the packs in a folder, ascending; none without a folder."""
    return sorted(int(path.stem) for path in folder.glob("*.pack") if path.stem.isdecimal())


class PackWriter:
    """Appends chunks to the newest pack of a folder. One writer at a time; not thread safe."""

    def __init__(self, folder: Path, *, roll_over_bytes: int = ROLL_OVER_BYTES) -> None:
        self._folder = folder
        self._roll_over_bytes = roll_over_bytes
        self._file: AppendFile | None = None
        self._number = 0
        self.highest = 0
        """The highest number that was ever used, as far as the caller knows: a pack that is missing may come back."""

    def append(self, chunks: Sequence[SealedChunk]) -> list[ChunkPlace]:
        """Append chunks in one write and return their places, in order. Durable only after `flush`.

        Raises:
            DiskFull: no room; nothing of the batch is kept.
            ArchiveError: any other failure of the system.
        """
        if not chunks:
            return []
        file = self._current_file()
        pieces = [] if file.size_bytes else [_PACK_MAGIC]
        for chunk in chunks:
            pieces += _entry(chunk)
        offset = file.append(b"".join(pieces)) or len(_PACK_MAGIC)  # a new pack's first entry follows the magic
        places = []
        for chunk in chunks:
            offset += _HEADER_BYTES
            places.append(ChunkPlace(chunk.name, self._number, offset, len(chunk.blob), chunk.plain))
            offset += len(chunk.blob) + _FOOTER.size
        return places

    def begin(self) -> None:
        """Begin a pack with an unused number, even if the newest one has room."""
        self.close()
        self._open(max(*pack_numbers(self._folder), self.highest, 0) + 1, is_new=True)

    def flush(self) -> None:
        """Make everything appended durable."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Flush and close the pack; the next append examines it again."""
        if self._file is not None:
            file, self._file = self._file, None
            file.finish()

    def _current_file(self) -> AppendFile:
        """Return the pack to append to: the newest one if it has room and ends in a whole entry, else a new one."""
        if self._file is not None and not self._file.is_torn and self._file.size_bytes < self._roll_over_bytes:
            return self._file
        self.close()
        newest = max(*pack_numbers(self._folder), self.highest, 0)
        can_continue = newest > 0 and self._can_continue(pack_path(self._folder, newest))
        return self._open(newest if can_continue else newest + 1, is_new=not can_continue)

    def _open(self, number: int, *, is_new: bool) -> AppendFile:
        self._file, self._number = AppendFile(pack_path(self._folder, number), is_new=is_new), number
        return self._file

    def _can_continue(self, path: Path) -> bool:
        """Whether a pack that an earlier writer left can be appended to."""
        with suppress(FileNotFoundError), read_errors(path):
            file = _PackFile(open_for_reading(path))
            size = file.size_bytes()
            return size < self._roll_over_bytes and _ends_whole(file, size)
        return False


class PackReader:
    """Reads sealed chunks back. Thread safe; keeps a few packs open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: OrderedDict[int, _PackFile] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, place: ChunkPlace) -> bytes:
        """Return the sealed bytes at a place, unopened.

        Raises:
            ArchiveCorrupt: the pack is missing or shorter than the place says.
            ArchiveError: the system cannot read it.
        """
        try:
            blob = self._file(place.pack).read(place.offset, place.length)
        except FileNotFoundError as error:
            raise ArchiveCorrupt(f"pack {place.pack:06d} is missing", chunk=place.name.hex()) from error
        except OSError as error:
            raise ArchiveError(f"cannot read pack {place.pack:06d}: {error.strerror or error}") from error
        if len(blob) != place.length:
            raise ArchiveCorrupt(f"pack {place.pack:06d} ends before offset {place.offset}", chunk=place.name.hex())
        return blob

    def close(self) -> None:
        """Close every pack; a read afterwards opens it again."""
        with self._lock:
            self._files.clear()

    def _file(self, number: int) -> _PackFile:
        with self._lock:
            file = self._files.get(number)
            if file is None:
                self._let_go()
                file = self._files[number] = _PackFile(open_for_reading(pack_path(self._folder, number)))
            self._files.move_to_end(number)
            if len(self._files) > _OPEN_FILES:
                self._files.popitem(last=False)
            return file

    def _let_go(self) -> None:
        """Close packs that were removed: an open file keeps its disk space."""
        for number in [number for number, file in self._files.items() if file.is_removed()]:
            del self._files[number]


def scan(path: Path) -> Iterator[ChunkPlace]:
    """Yield the place of every whole entry of a pack, in order, without any key or database.

    A torn tail is skipped, and so is a damaged stretch in the middle: the search continues at the next header that
    matches its checksum. Blobs are not opened.

    Raises:
        ArchiveError: the pack cannot be read.
    """
    number = int(path.stem)
    try:
        file = _PackFile(open_for_reading(path))
        size = file.size_bytes()
        offset = len(_PACK_MAGIC)
        while offset < size:
            header = _parse_header(file.read(offset, _HEADER_BYTES))
            if header is None or offset + entry_bytes(header[2]) > size:
                offset = next(magic_places(file.read, _ENTRY_MAGIC, offset + 1, size), size)
                continue
            name, plain, length = header
            yield ChunkPlace(name, number, offset + _HEADER_BYTES, length, plain)
            offset += entry_bytes(length)
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error


class _PackFile:
    """One open pack. Closed when the last reader lets go of it, so that no thread reads a closed descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def __del__(self) -> None:
        os.close(self._fd)

    def size_bytes(self) -> int:
        return os.fstat(self._fd).st_size

    def is_removed(self) -> bool:
        return os.fstat(self._fd).st_nlink == 0

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at `offset`; fewer at the end of the file."""
        if hasattr(os, "pread"):
            return os.pread(self._fd, length, offset)
        with self._lock:  # Windows: one file position for all threads
            os.lseek(self._fd, offset, os.SEEK_SET)
            return os.read(self._fd, length)


def entry_bytes(blob_bytes: int) -> int:
    """Return what a blob of so many bytes takes of a pack."""
    return _HEADER_BYTES + blob_bytes + _FOOTER.size


def _entry(chunk: SealedChunk) -> tuple[bytes, bytes, bytes, bytes]:
    fields = _FIELDS.pack(_ENTRY_MAGIC, chunk.name, chunk.plain, len(chunk.blob))
    footer = _FOOTER.pack(_FOOTER_MAGIC, entry_bytes(len(chunk.blob)))
    return fields, _CRC.pack(zlib.crc32(fields)), chunk.blob, footer


def _parse_header(header: bytes) -> tuple[bytes, int, int] | None:
    """Return name, plain length and blob length; None if this is not a header."""
    if len(header) != _HEADER_BYTES:
        return None
    fields = header[: _FIELDS.size]
    magic, name, plain, length = _FIELDS.unpack(fields)
    if magic != _ENTRY_MAGIC or _CRC.unpack_from(header, _FIELDS.size)[0] != zlib.crc32(fields):
        return None
    return name, plain, length


def _ends_whole(file: _PackFile, size: int) -> bool:
    """Whether a pack is empty or ends where an entry ends."""
    if not size:
        return True
    if file.read(0, len(_PACK_MAGIC)) != _PACK_MAGIC or size < len(_PACK_MAGIC) + entry_bytes(0):
        return False
    magic, whole_bytes = _FOOTER.unpack(file.read(size - _FOOTER.size, _FOOTER.size))
    start = size - whole_bytes
    if magic != _FOOTER_MAGIC or start < len(_PACK_MAGIC):
        return False
    header = _parse_header(file.read(start, _HEADER_BYTES))
    return header is not None and entry_bytes(header[2]) == whole_bytes
