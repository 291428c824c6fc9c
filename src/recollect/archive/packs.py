"""Pack files: sealed chunks one after the other, appended and never changed.

    packs/000001.pack = magic (8) · entry …     entry = header (32) · blob · footer (8)
    header = magic (4) · name (16) · plain length (4) · blob length (4) · crc32 of these (4)
    footer = magic (4) · length of the whole entry (4)

The header lets a scan list a pack without the database; the footer tells at one look whether the last entry is
whole. A crash may leave a torn entry at the end of a pack. A writer leaves it where it is and starts the next pack.

Beside them `condition.json` keeps which chunks are damaged, how the packs last looked, and the progress of sampling: a
note and no truth. Where it is lost or damaged, all that it says is found out again. A damaged chunk is remembered by
its name and its place: the same name at another place is another copy of it.

A chunk starts at a boundary (the start of the revision, or the end of the chunk before) and closes at the first
record end that is

- at least MIN_BYTES from the boundary, and its hash is chosen (1 in 128; from AIM_BYTES on 1 in 16), or
- at least FORCE_BYTES from the boundary, whatever its hash;

and exactly HARD_BYTES from the boundary where no record end closed it before. The mean is about 512 KiB.
FORCE_BYTES lies so far below 1 MiB that a chunk is cut hard only if a record of over 256 KiB crosses that.
Chunks of half the length take 3 % more room at the same processor time; to read one record of one takes half as long
(.4 ms).

Each decision looks at one record end, its hash and its distance from the boundary, never at what follows. So it is
final when the record is known, and the boundaries are the same however the stream was split into feeds: nothing has
to be remembered between two feeds but how long the open tail is. Equal content finds equal boundaries again after a
change, which is what lets revisions and forks share their chunks.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.archive.files import AppendFile, magic_places, open_for_reading, read_errors
from recollect.errors import ArchiveCorrupt, ArchiveError
from recollect.files import write_file


class SealedChunk(NamedTuple):
    """A compressed and sealed piece of a revision. `name` is a keyed hash of the plain bytes; plain: their number.

    is_open: a delta of the open tail, folded when its chunk closes.
    """

    name: bytes
    blob: bytes
    plain: int
    is_open: bool


HOLE_PACK = 0
"""The pack number of a hole; packs are numbered from 1."""


class ChunkPlace(NamedTuple):
    """Place of a sealed chunk: pack number, offset and length of the blob in it.

    A hole replaces deleted bytes (evicted, forgotten): it has their number and no blob.
    """

    name: bytes
    pack: int
    offset: int
    length: int
    plain: int

    @property
    def is_hole(self) -> bool:
        """True: these bytes of the revision are not in the archive any more."""
        return self.pack == HOLE_PACK


def hole(plain: int) -> ChunkPlace:
    """Return the place that replaces `plain` deleted bytes. Equal lengths have equal places."""
    return ChunkPlace(b"hole" + plain.to_bytes(12, "big"), HOLE_PACK, 0, 0, plain)


class Hole(NamedTuple):
    """Deleted bytes between two offsets of a revision: how many records, how many human turns the source had before
    its end, why (evicted, forgotten, data_loss), and when (UTC microseconds).
    """

    offset: int
    length: int
    records: int
    turn: int
    reason: str
    removed_at: int


MIN_BYTES = 256 << 10
AIM_BYTES = 512 << 10
FORCE_BYTES = 768 << 10
HARD_BYTES = 1 << 20
_EARLY_MASK = 0x7F
_LATE_MASK = 0x0F


def closed_boundaries(
    length_bytes: int, ends: Sequence[int], hashes: Sequence[bytes], *, tail_bytes: int = 0
) -> list[int]:
    """Return the ends of the chunks that close within the next `length_bytes` of a revision, ascending.

    Args:
        length_bytes: how many bytes follow the open tail; the last of them may belong to an unfinished record.
        ends: where records end that were not known before, ascending, at most length_bytes. An end known only from
            what follows it (a newline) may lie in the open tail, at 0 or below.
        hashes: the hash of each of these records, at least one byte; uniformly distributed (sha256).
        tail_bytes: length of the open tail before them: seen since the last boundary, less than HARD_BYTES.
    Returns:
        Offsets relative to the end of the open tail, above -tail_bytes and at most length_bytes.
    Cost: a bisection per chunk and a comparison for each record between a chunk's minimum and its end.
    """
    boundaries: list[int] = []
    start = -tail_bytes
    while True:
        boundary = _next_boundary(start, ends, hashes)
        if boundary is None:
            boundary = start + HARD_BYTES
            if boundary > length_bytes:
                return boundaries
        boundaries.append(boundary)
        start = boundary


def _next_boundary(start: int, ends: Sequence[int], hashes: Sequence[bytes]) -> int | None:
    """Return the record end that closes the chunk at `start`, None if none does within HARD_BYTES."""
    first = bisect_left(ends, start + MIN_BYTES)
    aim = bisect_left(ends, start + AIM_BYTES, first)
    for i in range(first, aim):
        if not hashes[i][0] & _EARLY_MASK:
            return ends[i]
    force = bisect_left(ends, start + FORCE_BYTES, aim)
    for i in range(aim, force):
        if not hashes[i][0] & _LATE_MASK:
            return ends[i]
    if force < len(ends) and ends[force] <= start + HARD_BYTES:
        return ends[force]
    return None


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


NAME = "condition.json"
JOURNAL = 0
"""The journal among packs, which are numbered from 1."""
FORMAT = 1


class _Note(msgspec.Struct):
    """The file. damaged: name in hex, pack, offset, length, plain. packs: number to size and time of its last change;
    the journal is number 0.

    position: the number of the chunk that a sample looked at last. change: how far the change log of the database was.
    highest: the highest number that a pack ever had.
    """

    format: int = FORMAT
    damaged: list[tuple[str, int, int, int, int]] = []
    packs: dict[int, tuple[int, int]] = {}
    position: int = 0
    change: int = 0
    highest: int = 0


class Condition:
    """The note of one archive. Reading it never fails. Writing is left out where the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._packs = folder / "packs"
        self._stamp: tuple[int, int, int] | None = None
        self._note = _Note()

    @property
    def damaged(self) -> frozenset[ChunkPlace]:
        """Chunks that did not open, with their place at that time."""
        return frozenset(
            ChunkPlace(bytes.fromhex(name), pack, offset, length, plain)
            for name, pack, offset, length, plain in self._read().damaged
        )

    @property
    def position(self) -> int:
        """Where the next sample begins."""
        return self._read().position

    def set_damaged(self, *, add: Iterable[ChunkPlace] = (), remove: Iterable[ChunkPlace] = ()) -> None:
        """Remember chunks as damaged, or as sound again."""
        before = self.damaged
        after = (before | set(add)) - set(remove)
        if after != before:
            named = sorted((p.name.hex(), p.pack, p.offset, p.length, p.plain) for p in after)
            self._write(msgspec.structs.replace(self._read(), damaged=named))

    @property
    def change(self) -> int:
        """How far the database's change log was when a sync ended: one that is not so far is an older copy."""
        return self._read().change

    def remember(self, **changes: int) -> None:
        """Remember the `position` that a sample came to, or the `change` that the database's log is at."""
        note = msgspec.structs.replace(self._read(), **changes)
        if note != self._read():
            self._write(note, is_durable=False)

    def changed_packs(self) -> list[int]:
        """Return the packs (and JOURNAL) that somebody else changed, put back or removed since we left them."""
        now = self._packs_now()
        return sorted(number for number, state in self._read().packs.items() if now.get(number) != state)

    @property
    def highest_pack(self) -> int:
        """The highest number that a pack is known to have had: one that is missing may come back."""
        note = self._read()
        return max(note.highest, *note.packs, 0)

    @property
    def knows_packs(self) -> bool:
        """Whether it was ever remembered how packs looked."""
        return bool(self._read().packs)

    def leave_packs(self, numbers: Collection[int] | None = None) -> None:
        """Remember how packs look now, by default all: they were looked at, or it was we who changed them."""
        now, known = self._packs_now(), self._read().packs
        wanted = dict(now)
        if numbers is not None:
            wanted = {n: state for n, state in known.items() if n not in numbers}
            wanted |= {n: now[n] for n in numbers if n in now}
        if wanted != known:
            note = msgspec.structs.replace(self._read(), packs=wanted, highest=max(self.highest_pack, *wanted, 0))
            self._write(note, is_durable=False)

    def _packs_now(self) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]] = {}
        paths = {number: pack_path(self._packs, number) for number in pack_numbers(self._packs)}
        for number, path in {JOURNAL: self._path.with_name("journal.log"), **paths}.items():
            with suppress(FileNotFoundError):
                state = path.stat()
                found[number] = (state.st_size, state.st_mtime_ns)
        return found

    def _read(self) -> _Note:
        try:
            state = self._path.stat()
            stamp = (state.st_size, state.st_mtime_ns, state.st_ino)
            if stamp != self._stamp:
                self._note = msgspec.json.decode(self._path.read_bytes(), type=_Note)
                [bytes.fromhex(name) for name, *_ in self._note.damaged]
                self._stamp = stamp
        except (OSError, ValueError):
            self._note, self._stamp = _Note(), None
        return self._note

    def _write(self, note: _Note, *, is_durable: bool = True) -> None:
        with suppress(OSError):
            write_file(self._path, msgspec.json.encode(note), durable=is_durable)
