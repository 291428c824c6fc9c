"""The sealed, append-only journal of every source version seen. With the packs it rebuilds all else: `fold` gives the
present state of every revision of every source, with chunks and holes.

    journal.log = magic (8) · key check (16) · frame …
    frame       = magic (4) · length of sealed (4) · number (8) · crc32 of these (4) · sealed · length of frame (4)
    sealed      = nonce (12) · AES-256-GCM(entry as msgpack) · tag (16)

The frame's header is associated data, so frames cannot be moved, repeated or reordered unnoticed. A frame adds 52
bytes to its entry. The length at the end finds the last frame at one look.
"""

from __future__ import annotations

import hmac
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from recollect.archive.files import SEARCH_BYTES, AppendFile, magic_places, read_errors
from recollect.archive.keys import HomeKeys
from recollect.archive.packs import ChunkPlace, Hole
from recollect.errors import ArchiveCorrupt, KeyUnavailable, RecollectError

_FILE_MAGIC = b"RCLJRNL1"
_KEY_CHECK_BYTES = 16
_FILE_HEADER_BYTES = len(_FILE_MAGIC) + _KEY_CHECK_BYTES
_FRAME_MAGIC = b"\xabRCJ"
_FIELDS = struct.Struct("<4sIQ")
_CRC = struct.Struct("<I")
_LENGTH = struct.Struct("<I")
_HEADER_BYTES = _FIELDS.size + _CRC.size
_NONCE_BYTES = 12
_TAG_BYTES = 16
MARK_BYTES = 16
"""Of the two hashes of a source's ends, the first one."""


class Removal(msgspec.Struct, frozen=True, array_like=True):
    """The facts that a revision with holes can no longer give, as of its last hole.

    holes: all of them, in order. committed_bytes, records: of the revision. is_newest: the source was at this revision,
    so the other fields are the source's: its parser's state (sealed if it may hold text), the parser's version, its
    human turns and its trail.
    """

    holes: list[Hole]
    committed_bytes: int
    records: int
    is_newest: bool = False
    state: bytes = b""
    parser_version: int = 0
    turn_index: int = 0
    trail: bytes = b""


class JournalTombstone(NamedTuple):
    """What must not come back: a keyed hash that tells nothing of it, its kind, and when it was forgotten."""

    id: bytes
    kind: str
    forgotten_at: int


class JournalEntry(msgspec.Struct, frozen=True, array_like=True):
    """One observation of a source: which bytes of which revision were taken, and the chunks that hold them.

    Encoded by position: fields are only ever added at the end, with a default.

    observed_at: UTC microseconds. from_bytes..to_bytes: whole records committed by this observation. bytes_seen:
    end of all bytes seen, with an unfinished record. keep_chunks: how many chunks of the revision stay before
    `chunks`; the rest was the open tail and is replaced. chunks: place and whether it is a delta of the open tail.
    holes: (offset, length) of bytes of the revision that the archive does not have. relative, lane: the path below the
    agent's root and the declared lane, so that the adapter can be asked again without the agent's file. marks: head and
    tail hash of the source at to_bytes, which a hole may delete.

    Four entries are no observations: with `removal` it tells that bytes were deleted, and its chunks are those of
    the revision from keep_chunks on; is_dropped: everything of the source is forgotten; tombstones: what must not come
    back, of no source; chunks of no source: these lie elsewhere now, in whatever revision they are.
    """

    source_id: str
    agent: str
    role: str
    key: str
    path: str
    container: str
    session: str
    revision: int
    observed_at: int
    from_bytes: int
    to_bytes: int
    bytes_seen: int
    keep_chunks: int
    chunks: list[tuple[ChunkPlace, bool]]
    holes: list[tuple[int, int]] = []
    relative: str = ""
    lane: int = 0
    marks: bytes = b""
    removal: Removal | None = None
    is_dropped: bool = False
    tombstones: list[JournalTombstone] = []

    @property
    def is_observation(self) -> bool:
        """True: something of a source was seen and taken."""
        return bool(self.source_id) and self.removal is None and not self.is_dropped


def burying(tombstones: Sequence[JournalTombstone]) -> JournalEntry:
    """Return the entry that keeps tombstones."""
    return JournalEntry(
        source_id="", agent="", role="", key="", path="", container="", session="", revision=0, observed_at=0,
        from_bytes=0, to_bytes=0, bytes_seen=0, keep_chunks=0, chunks=[], tombstones=list(tombstones),
    )  # fmt: skip


def dropping(source_id: str, at: int) -> JournalEntry:
    """Return the entry that says that everything of a source is forgotten. at: UTC microseconds."""
    return msgspec.structs.replace(burying(()), source_id=source_id, observed_at=at, is_dropped=True)


def moving(places: Sequence[ChunkPlace]) -> JournalEntry:
    """Return the entry that says where chunks lie from now on."""
    return msgspec.structs.replace(burying(()), chunks=[(place, False) for place in places])


_ALWAYS_WRITTEN = JournalEntry.__struct_fields__.index("lane") + 1


class _Frame(NamedTuple):
    """A frame header that matches its checksum, and its place."""

    offset: int
    number: int
    sealed_bytes: int
    header: bytes

    @property
    def end(self) -> int:
        return self.offset + _HEADER_BYTES + self.sealed_bytes + _LENGTH.size


class Journal:
    """The journal of one archive. One writer at a time; not thread safe. Reading needs no writer."""

    def __init__(self, path: Path, keys: HomeKeys) -> None:
        self._path = path
        self._file_header = _FILE_MAGIC + blake2b(_FILE_MAGIC, digest_size=_KEY_CHECK_BYTES, key=keys.name_key).digest()
        self._aead = AESGCM(keys.journal_key)
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(JournalEntry)
        self._file: AppendFile | None = None
        self._next_number = 0
        self.damaged = 0
        """Damaged places that the latest `entries(skip_damaged=True)` has met so far."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Append entries in one write. Durable only after `flush`.

        The first append cuts off a frame that a crash left incomplete at the end; anything else that cannot be read
        stays where it is.

        Raises:
            DiskFull: no room; nothing of the batch is kept.
            ArchiveError: any other failure of the system.
            KeyUnavailable: the journal was written with other keys.
        """
        if not entries:
            return
        if self._file is None or self._file.is_torn:
            self.close()
            self._file = self._open_for_appending()
        frames = [] if self._file.size_bytes else [self._file_header]
        frames += [self._frame(self._next_number + i, entry) for i, entry in enumerate(entries)]
        self._file.append(b"".join(frames))
        self._next_number += len(entries)

    def flush(self) -> None:
        """Make everything appended durable."""
        if self._file is not None:
            self._file.flush()

    def entries(self, *, skip_damaged: bool = False) -> Iterator[JournalEntry]:
        """Yield every entry in the order of writing; nothing without a journal.

        An incomplete frame at the end of the file (a crash, or an active writer) is not an entry yet.

        Args:
            skip_damaged: continue after a damaged place and count it in `damaged`.
        Raises:
            ArchiveCorrupt: a frame is damaged, missing or out of order; the message has its offset.
            KeyUnavailable: the journal was written with other keys.
            ArchiveError: the journal cannot be read.
        """
        self.damaged = 0
        with suppress(FileNotFoundError), read_errors(self._path), self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _FILE_HEADER_BYTES:
                return
            self._check_file_header(file, skip_damaged=skip_damaged)
            yield from self._read_frames(file, size, skip_damaged=skip_damaged)

    def is_of_other_keys(self) -> bool:
        """Whether the file says that it was written with other keys. One that cannot be read says nothing."""
        try:
            with self._path.open("rb") as file:
                header = file.read(_FILE_HEADER_BYTES)
        except OSError:
            return False
        return header.startswith(_FILE_MAGIC) and len(header) == _FILE_HEADER_BYTES and header != self._file_header

    def size_bytes(self) -> int:
        """Return the length of the journal file; 0 if there is none."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def close(self) -> None:
        """Flush and close the file; the next append opens it again."""
        if self._file is not None:
            file, self._file = self._file, None
            file.finish()

    def _read_frames(self, file: BinaryIO, size: int, *, skip_damaged: bool) -> Iterator[JournalEntry]:
        expected = 0
        offset = _FILE_HEADER_BYTES
        while offset < size:
            frame = _frame_at(file, offset)
            if frame is None or frame.end > size:
                if _is_torn(file, offset, size, frame):
                    return
                self._report_damage(offset, "cannot be read", skip_damaged=skip_damaged)
                found = _next_frame(file, offset + 1, size)
                if found is None:
                    return
                offset, expected = found.offset, found.number
                continue
            if frame.number != expected:
                self._report_damage(offset, f"has number {frame.number}, not {expected}", skip_damaged=skip_damaged)
            entry = self._unseal(file, frame)
            if entry is None:
                self._report_damage(offset, "does not unseal", skip_damaged=skip_damaged)
            else:
                yield entry
            offset, expected = frame.end, frame.number + 1

    def _report_damage(self, offset: int, what: str, *, skip_damaged: bool) -> None:
        if not skip_damaged:
            raise ArchiveCorrupt(f"{self._path.name}: the entry at offset {offset} {what}")
        self.damaged += 1

    def _frame(self, number: int, entry: JournalEntry) -> bytes:
        plain = self._encoder.encode(_without_rest(entry))
        fields = _FIELDS.pack(_FRAME_MAGIC, _NONCE_BYTES + len(plain) + _TAG_BYTES, number)
        header = fields + _CRC.pack(zlib.crc32(fields))
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._aead.encrypt(nonce, plain, header)
        length = _LENGTH.pack(_HEADER_BYTES + _NONCE_BYTES + len(sealed) + _LENGTH.size)
        return b"".join((header, nonce, sealed, length))

    def _unseal(self, file: BinaryIO, frame: _Frame) -> JournalEntry | None:
        """Return the entry in a whole frame; None if it does not unseal."""
        file.seek(frame.offset + _HEADER_BYTES)
        nonce, sealed = file.read(_NONCE_BYTES), file.read(frame.sealed_bytes - _NONCE_BYTES)
        length = file.read(_LENGTH.size)
        try:
            plain = self._aead.decrypt(nonce, sealed, frame.header)
            entry = self._decoder.decode(plain)
        except (InvalidTag, ValueError, msgspec.MsgspecError):
            return None
        return entry if length == _LENGTH.pack(frame.end - frame.offset) else None

    def _check_file_header(self, file: BinaryIO, *, skip_damaged: bool) -> None:
        header = file.read(_FILE_HEADER_BYTES)
        if hmac.compare_digest(header, self._file_header):
            return
        if skip_damaged:
            self.damaged += 1
        elif header.startswith(_FILE_MAGIC):
            raise KeyUnavailable(
                f"the keys of this home are not those of its archive: {self._path.parent}",
                hint="restore the keys folder from a backup of this home",
            )
        else:
            raise ArchiveCorrupt(f"{self._path.name} is not a journal of this version")

    def _open_for_appending(self) -> AppendFile:
        """Open the journal, cut off an incomplete last frame, and find the number of the next one."""
        self._next_number = 0
        try:
            with read_errors(self._path), self._path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                end = 0
                if size >= _FILE_HEADER_BYTES:
                    self._check_file_header(file, skip_damaged=False)
                    end, self._next_number = _end_of_frames(file, size)
        except FileNotFoundError:
            return AppendFile(self._path, is_new=True)
        out = AppendFile(self._path, is_new=False)
        if end < out.size_bytes:
            try:
                out.truncate(end)
            except RecollectError:
                out.close()
                raise
        return out


def _without_rest(entry: JournalEntry) -> list[Any]:
    """Return an entry's fields by position, without those at the end that most entries leave as they are."""
    values = [getattr(entry, field) for field in JournalEntry.__struct_fields__]
    while len(values) > _ALWAYS_WRITTEN and not values[-1]:
        values.pop()
    return values


def _frame_at(file: BinaryIO, offset: int) -> _Frame | None:
    """Return the frame whose header is at `offset`; None without a valid header."""
    file.seek(offset)
    header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        return None
    fields = header[: _FIELDS.size]
    magic, sealed_bytes, number = _FIELDS.unpack(fields)
    if magic != _FRAME_MAGIC or _CRC.unpack_from(header, _FIELDS.size)[0] != zlib.crc32(fields):
        return None
    return _Frame(offset, number, sealed_bytes, header)


def _is_torn(file: BinaryIO, offset: int, size: int, frame: _Frame | None) -> bool:
    """Return whether a crash wrote only the start of the frame at `offset`.

    Only a valid header shows that its frame is longer than the file. Too few bytes for a header are the start of one,
    and zeros are what a power failure leaves of a file that had been extended. Everything else is damage.
    """
    if frame is not None:
        return frame.end > size
    if size - offset < _HEADER_BYTES:
        return True
    file.seek(offset)
    while piece := file.read(SEARCH_BYTES):
        if piece.strip(b"\0"):
            return False
    return True


def _next_frame(file: BinaryIO, offset: int, size: int) -> _Frame | None:
    """Return the first frame with a sound header at or after `offset`."""

    def read(at: int, count: int) -> bytes:
        file.seek(at)
        return file.read(count)

    frames = (_frame_at(file, place) for place in magic_places(read, _FRAME_MAGIC, offset, size))
    return next((frame for frame in frames if frame is not None), None)


def _end_of_frames(file: BinaryIO, size: int) -> tuple[int, int]:
    """Return where to append and the number of the next frame; before `size` if an incomplete frame must go."""
    last = _last_frame(file, size)
    if last is not None:
        return size, last.number + 1
    next_number = 0
    offset = _FILE_HEADER_BYTES
    while offset < size:
        frame = _frame_at(file, offset)
        if frame is not None and frame.end <= size:
            offset, next_number = frame.end, frame.number + 1
        elif _is_torn(file, offset, size, frame):
            return offset, next_number
        else:
            found = _next_frame(file, offset + 1, size)
            if found is None:
                return size, next_number
            offset = found.offset
    return size, next_number


def _last_frame(file: BinaryIO, size: int) -> _Frame | None:
    """Return the frame that ends exactly at `size`, found by the length at its end."""
    if size < _FILE_HEADER_BYTES + _HEADER_BYTES + _LENGTH.size:
        return None
    file.seek(size - _LENGTH.size)
    offset = size - int(_LENGTH.unpack(file.read(_LENGTH.size))[0])
    if offset < _FILE_HEADER_BYTES:
        return None
    frame = _frame_at(file, offset)
    return frame if frame is not None and frame.end == size else None


_RevisionKey = tuple[str, int]


class ArchivedRevision(msgspec.Struct):
    """One revision of one source. entry: its first observation, with the path and place of the last one.

    committed_bytes: where the whole records that were taken end; bytes_seen: where the open tail ends. marks: head and
    tail hash of the source at its committed end, b"" where they were not kept. observations: up to which byte it was
    seen when (UTC microseconds).
    """

    entry: JournalEntry
    chunks: list[tuple[ChunkPlace, bool]]
    committed_bytes: int
    bytes_seen: int
    observations: list[tuple[int, int]]
    marks: bytes = b""
    removal: Removal | None = None

    def take(self, entry: JournalEntry) -> None:
        """Take the next entry of this revision."""
        self.chunks = self.chunks[: entry.keep_chunks] + list(entry.chunks)
        self.committed_bytes, self.bytes_seen = entry.to_bytes, entry.bytes_seen
        self.marks = entry.marks
        self.entry = msgspec.structs.replace(self.entry, path=entry.path, relative=entry.relative)
        if entry.removal is not None:
            self.removal = entry.removal
        else:
            self.observe(entry)

    def observe(self, entry: JournalEntry) -> None:
        """Record an entry's time. An entry that begins where another one did replaces it (a crash)."""
        kept = [seen for seen in self.observations if seen[0] <= entry.from_bytes]
        self.observations = [*kept, (entry.to_bytes, entry.observed_at)]

    def entries(self) -> Iterator[JournalEntry]:
        """Yield the fewest entries that fold to this revision."""
        start = 0
        seen = self.observations or [(self.committed_bytes, self.entry.observed_at)]
        for number, (to_bytes, observed_at) in enumerate(seen, 1):
            is_last = number == len(seen)
            yield msgspec.structs.replace(
                self.entry, observed_at=observed_at, from_bytes=start, to_bytes=to_bytes, keep_chunks=0,
                bytes_seen=self.bytes_seen if is_last else to_bytes, chunks=self.chunks if is_last else [],
                marks=self.marks if is_last else b"", removal=None,
            )  # fmt: skip
            start = to_bytes
        if self.removal is not None:
            yield cutting(self, keep=len(self.chunks), chunks=[], removal=self.removal)


def cutting(
    revision: ArchivedRevision, *, keep: int, chunks: list[tuple[ChunkPlace, bool]], removal: Removal
) -> JournalEntry:
    """Return the entry that tells of holes: the revision has its first `keep` chunks, then `chunks`."""
    return msgspec.structs.replace(
        revision.entry, from_bytes=revision.committed_bytes, to_bytes=revision.committed_bytes,
        bytes_seen=revision.bytes_seen, keep_chunks=keep, chunks=chunks, marks=revision.marks, removal=removal,
        holes=[(hole.offset, hole.length) for hole in removal.holes],
    )  # fmt: skip


def fold(entries: Iterable[JournalEntry]) -> list[ArchivedRevision]:
    """Return every revision of every source that is not forgotten, in the order of first sight."""
    found: dict[_RevisionKey, ArchivedRevision] = {}
    moved: dict[bytes, ChunkPlace] = {}
    for entry in entries:
        if not entry.source_id:  # tombstones, or chunks that lie elsewhere now
            moved.update((place.name, place) for place, _ in entry.chunks)
            continue
        if entry.is_dropped:
            for key in [key for key in found if key[0] == entry.source_id]:
                del found[key]
            continue
        key = (entry.source_id, entry.revision)
        if key not in found:
            found[key] = ArchivedRevision(entry, [], 0, 0, [])
        found[key].take(entry)
    for revision in found.values() if moved else ():
        revision.chunks = [(moved.get(place.name, place), is_open) for place, is_open in revision.chunks]
    return list(found.values())


def fold_sizes(entries: Iterable[JournalEntry]) -> dict[str, dict[int, int]]:
    """Return, by source and revision, up to which byte each one that is not forgotten was seen (`bytes_seen`).

    What `fold` says of it, without chunks: for histories of very many sources.
    """
    found: dict[str, dict[int, int]] = {}
    for entry in entries:
        if entry.is_dropped:
            found.pop(entry.source_id, None)
        elif entry.source_id:
            found.setdefault(entry.source_id, {})[entry.revision] = entry.bytes_seen
    return found
