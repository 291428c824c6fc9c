"""Is a backup what its manifest says, and does every chunk that its database names open? Read again, file by file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from recollect.archive.chunks import ChunkPlace
from recollect.archive.sealing import Sealer
from recollect.errors import ArchiveCorrupt, BackupUnusable
from recollect.maintenance.backup.manifest import BackupManifest, StoredFile

READ_BYTES = 1 << 20
Progress = Callable[[int, int], None]
"""(bytes done, bytes in all)"""
_PACK = re.compile(r"archive/packs/(\d+)\.pack")


class Stream(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes: ...


def places_by_pack(chunks: Iterable[ChunkPlace]) -> dict[int, list[ChunkPlace]]:
    """Gather chunks, which come in order of pack and offset, by pack."""
    return {pack: list(places) for pack, places in groupby(chunks, key=attrgetter("pack"))}


class Check:
    """Checks the files of a backup one after the other, in any order; then `finish` says what was not there."""

    def __init__(
        self, manifest: BackupManifest, places: Mapping[int, list[ChunkPlace]], sealer: Sealer | None, *,
        progress: Progress | None = None,
    ) -> None:  # fmt: skip
        """places: of the chunks that the database names. sealer: None where the key is not at hand: hashes alone."""
        self._missing = {one.stored: one for one in manifest.files}
        self._places = dict(places)
        self._sealer = sealer
        self._progress = progress
        self._total = manifest.bytes
        self._done = 0
        self.chunks = 0
        """Chunks that were opened."""
        self.damaged: list[ChunkPlace] = []
        """Chunks that do not open though their file is what was written: they were damaged in the memory already."""

    def take(self, stored: str, stream: Stream) -> None:
        """Check one file. Raises BackupUnusable, OSError."""
        expected = self._missing.pop(stored, None)
        if expected is None:
            return
        pack = _PACK.fullmatch(expected.place)
        places = self._places.pop(int(pack[1]), []) if pack else []
        reader = _Hashing(stream, self._tell)
        self._open(reader, expected, places)
        # Behind it may lie what a later backup began to add to a pack; an end before it shows in the hash.
        reader.skip(expected.bytes - reader.position)
        if (reader.position, reader.sha256.hexdigest()) != (expected.bytes, expected.sha256):
            raise BackupUnusable(f"{stored} in the backup is not what was written ({reader.position:,} bytes)")

    def finish(self) -> None:
        """Raise BackupUnusable for files that never came. Chunks of packs that the memory has lost are damaged ones."""
        if self._missing:
            raise BackupUnusable(f"the backup has lost {', '.join(sorted(self._missing)[:3])}")
        for places in self._places.values():
            self.damaged += places

    def _open(self, reader: _Hashing, expected: StoredFile, places: list[ChunkPlace]) -> None:
        for place in places:
            if place.offset < reader.position:
                raise BackupUnusable(f"two chunks lie on each other in {expected.place}")
            if place.offset + place.length > expected.bytes:
                self.damaged.append(place)
                continue
            reader.skip(place.offset - reader.position)
            blob = reader.read(place.length)
            if self._sealer is None:
                continue
            try:
                plain = self._sealer.open(place.name, blob)
            except ArchiveCorrupt:
                self.damaged.append(place)
                continue
            if len(plain) != place.plain:
                self.damaged.append(place)
                continue
            self.chunks += 1

    def _tell(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


def check_folder(folder: Path, manifest: BackupManifest, check: Check) -> None:
    """Check every file of a backup that is a folder. Raises BackupUnusable."""
    for one in manifest.files:
        try:
            with (folder / one.stored).open("rb") as stream:
                check.take(one.stored, stream)
        except OSError as error:
            raise BackupUnusable(f"{folder / one.stored} cannot be read: {error.strerror}") from error
    check.finish()


def pieces(stream: Stream, length: int) -> Iterator[bytes]:
    """Yield the next `length` bytes of a stream (fewer at its end), piece by piece."""
    left = length
    while left > 0 and (piece := stream.read(min(READ_BYTES, left))):
        left -= len(piece)
        yield piece


class _Hashing:
    """Reads a stream forwards and hashes all that passes."""

    def __init__(self, stream: Stream, tell: Callable[[int], None]) -> None:
        self._stream = stream
        self._tell = tell
        self.sha256 = hashlib.sha256()
        self.position = 0

    def read(self, length: int) -> bytes:
        return b"".join(map(self._took, pieces(self._stream, length)))

    def skip(self, length: int) -> None:
        for piece in pieces(self._stream, length):
            self._took(piece)

    def _took(self, piece: bytes) -> bytes:
        self.sha256.update(piece)
        self.position += len(piece)
        self._tell(len(piece))
        return piece
