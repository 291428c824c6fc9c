"""The files of a memory at one moment: lists, copies and checks them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

import msgspec

from recollect.archive.files import make_private_folder
from recollect.archive.packs import ChunkPlace, pack_numbers, pack_path
from recollect.archive.sealer import Sealer
from recollect.errors import ArchiveCorrupt, BackupUnusable, StoreError, StoreLocked
from recollect.files import DRAFT_SUFFIX, sync_folder, write_all
from recollect.maintenance.backup import manifest as m
from recollect.maintenance.backup.manifest import BackupManifest, BackupReport, KeyState, StoredFile
from recollect.paths import DATABASE_NAME, SPOOL_FOLDER
from recollect.ready_blocks import PROGRAM
from recollect.store.lock import IngestLock
from recollect.store.snapshots import Snapshot, open_copy, take_snapshot
from recollect.wire import IMPORT_FOLDER

LOCK_WAIT_S = 3.0
"""A backup waits so long for the ingester to pause; then it continues beside it."""
_LOCK_POLL_S = 0.02


class Original(NamedTuple):
    """A file of the home and how much of it belongs to the moment."""

    place: str
    path: Path
    bytes: int
    mtime_ns: int
    inode: int

    @property
    def is_pack(self) -> bool:
        """Whether it only ever grows."""
        return self.place.endswith(".pack")


class Moment(NamedTuple):
    """What to copy. in_step: nothing was being ingested at that moment."""

    snapshot: Snapshot
    originals: tuple[Original, ...]
    in_step: bool


@contextmanager
def present_moment(home: Path) -> Iterator[Moment]:
    """Hold the present moment of a home: everything that its database names is in the files named here.

    Holds the ingest lock only for the look. If a long sync keeps it, the database is examined first: extra data in
    journal and packs is what a crash leaves too, and is known to be harmless. Raises StoreError and its subclasses.
    """
    lock = _lock(home, LOCK_WAIT_S)
    try:
        snapshot = take_snapshot(home)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    with snapshot:
        try:
            originals = tuple(_originals(home))
        finally:
            if lock is not None:
                lock.release()
        yield Moment(snapshot, originals, lock is not None)


def _lock(home: Path, wait_s: float) -> IngestLock | None:
    until = time.monotonic() + wait_s
    while True:
        try:
            return IngestLock(home)
        except StoreLocked:
            if time.monotonic() >= until:
                return None
            time.sleep(_LOCK_POLL_S)
        except StoreError:
            if os.access(home, os.W_OK):
                raise
            return None  # nothing can be written there, not even a lock


def _originals(home: Path) -> Iterator[Original]:
    """Yield files in the order in which they must be looked at: the journal names chunks of packs, never beyond."""
    archive = home / "archive"
    yield from _file_of(home, archive / "journal.log")
    for number in pack_numbers(archive / "packs"):
        yield from _file_of(home, pack_path(archive / "packs", number))
    for name in ("setup.json", "config.toml"):
        yield from _file_of(home, home / name)
    for name in ("keys", SPOOL_FOLDER):
        for root, folders, names in os.walk(home / name):
            if Path(root) == home / SPOOL_FOLDER:
                folders[:] = [folder for folder in folders if folder != IMPORT_FOLDER]
            for file in sorted(names):
                if not file.endswith((DRAFT_SUFFIX, ".tmp", ".lock", ".new")):
                    yield from _file_of(home, Path(root, file))


def _file_of(home: Path, path: Path) -> Iterator[Original]:
    try:
        found = path.lstat()
    except FileNotFoundError:  # a drop of a hook that was ingested meanwhile
        return
    if path.is_file() and not path.is_symlink():
        yield Original(
            path.relative_to(home).as_posix(), path, found.st_size, found.st_mtime_ns, found.st_ino
        )  # fmt: skip


READ_BYTES = 1 << 20
CheckProgress = Callable[[int, int], None]
"""(bytes done, bytes in all)"""
_PACK = re.compile(r"archive/packs/(\d+)\.pack")


def places_by_pack(chunks: Iterable[ChunkPlace]) -> dict[int, list[ChunkPlace]]:
    """Gather chunks, which come in order of pack and offset, by pack."""
    return {pack: list(places) for pack, places in groupby(chunks, key=attrgetter("pack"))}


class BackupCheck:
    """Checks the files of a backup one by one, in any order; `finish` then reports missing ones."""

    def __init__(
        self, manifest: BackupManifest, places: Mapping[int, list[ChunkPlace]], sealer: Sealer | None, *,
        progress: CheckProgress | None = None,
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

    def take(self, stored: str, stream: IO[bytes]) -> None:
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
        if reader.passed != (expected.bytes, expected.sha256):
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


def check_folder(folder: Path, manifest: BackupManifest, check: BackupCheck) -> None:
    """Check every file of a backup that is a folder. Raises BackupUnusable."""
    for one in manifest.files:
        try:
            with (folder / one.stored).open("rb") as stream:
                check.take(one.stored, stream)
        except OSError as error:
            raise BackupUnusable(f"{folder / one.stored} cannot be read: {error.strerror}") from error
    check.finish()


def pieces(stream: IO[bytes], length: int) -> Iterator[bytes]:
    """Yield the next `length` bytes of a stream (fewer at its end), piece by piece."""
    left = length
    while left > 0 and (piece := stream.read(min(READ_BYTES, left))):
        left -= len(piece)
        yield piece


class _Hashing:
    """Reads a stream forwards and hashes all that passes."""

    def __init__(self, stream: IO[bytes], tell: Callable[[int], None] = lambda _count: None) -> None:
        self._stream = stream
        self._tell = tell
        self._sha256 = hashlib.sha256()
        self.position = 0

    @property
    def passed(self) -> tuple[int, str]:
        """How many bytes passed, and their hash."""
        return self.position, self._sha256.hexdigest()

    def read(self, length: int) -> bytes:
        return b"".join(map(self._took, pieces(self._stream, length)))

    def skip(self, length: int) -> None:
        for piece in pieces(self._stream, length):
            self._took(piece)

    def copy(self, fd: int, length: int) -> None:
        """Write what comes next to a file, durably."""
        for piece in pieces(self._stream, length):
            write_all(fd, self._took(piece))
        os.fsync(fd)

    def _took(self, piece: bytes) -> bytes:
        self._sha256.update(piece)
        self.position += len(piece)
        self._tell(len(piece))
        return piece


Progress = Callable[[str, int, int], None]
"""(what is done: copy or check, bytes done, bytes in all)"""


class PackGone(Exception):
    """A pack of the moment no longer exists."""


class Copier:
    """Copies the files of a moment into a folder; knows what an earlier backup there has already."""

    def __init__(
        self, target: Path, before: BackupManifest | None, moment: Moment, *, with_key: bool, progress: Progress | None
    ) -> None:
        self._target = target
        self._before = before
        self._moment = moment
        self._with_key = with_key
        self._progress = progress
        self._generation = before.generation + 1 if before else 1
        self._total = sum(one.bytes for one in moment.originals)
        self._done = 0
        self.copied_bytes = 0

    def stored(self, place: str) -> str:
        """Return the place of a file that is copied each time."""
        return f"g{self._generation}/{place}"

    def run(self, made_at: int) -> BackupManifest:
        """Copy everything and return what the manifest is to say. Raises PackGone, OSError, StoreError."""
        fresh = self._target / f"g{self._generation}"
        shutil.rmtree(fresh, ignore_errors=True)  # of a try that did not end
        make_private_folder(fresh)
        database = fresh / DATABASE_NAME
        self._moment.snapshot.copy_to(database)
        size, sha256 = hash_file(database)
        self.copied_bytes += size
        files = [StoredFile(DATABASE_NAME, self.stored(DATABASE_NAME), size, sha256)]
        originals = [one for one in self._moment.originals if self._with_key or one.place != m.WRAPPING_KEY]
        for original in originals:
            stored = self._pack(original) if original.is_pack else self._small(original)
            if stored is not None:
                files.append(stored)
            self._tell(original.bytes)
        for folder in {(self._target / one.stored).parent for one in files}:
            sync_folder(folder)
        return make_manifest(self._moment, tuple(files), made_at, self._generation, with_key=self._with_key)

    def _small(self, original: Original) -> StoredFile | None:
        """Copy a file. A spooled one may have been ingested meanwhile: its content is then in the archive."""
        path = self._target / self.stored(original.place)
        make_private_folder(path.parent)
        try:
            with original.path.open("rb") as source:
                size, sha256 = copy_stream(source, path, original.bytes)
        except FileNotFoundError:
            if original.place.startswith("spool/"):
                return None
            raise PackGone(original.place) from None
        self.copied_bytes += size
        return StoredFile(original.place, self.stored(original.place), size, sha256)

    def _pack(self, original: Original) -> StoredFile:
        known = self._before.file(original.place) if self._before else None
        if known is not None:
            if (known.bytes, known.mtime_ns, known.inode) == (original.bytes, original.mtime_ns, original.inode):
                return known
            grown = self._grow(original, known)
            if grown is not None:
                return grown
        name = original.path.name
        stored = f"{m.PACKS}/{name}" if known is None else f"{m.PACKS}/{original.path.stem}-g{self._generation}.pack"
        path = self._target / stored
        make_private_folder(path.parent)
        path.unlink(missing_ok=True)  # of a try that did not end
        with _original(original) as source:
            size, sha256 = copy_stream(source, path, original.bytes)
        self.copied_bytes += size
        return _stored(original, stored, size, sha256)

    def _grow(self, original: Original, known: StoredFile) -> StoredFile | None:
        """Append a pack's new part to its copy; None if the pack does not begin with the copied part."""
        path = self._target / known.stored
        if original.bytes < known.bytes or not path.is_file() or path.stat().st_size < known.bytes:
            return None
        with _original(original) as source:
            reader = _Hashing(source)
            reader.skip(known.bytes)
            if reader.passed != (known.bytes, known.sha256):
                return None
            fd = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
            try:
                os.ftruncate(fd, known.bytes)  # behind it lies at most what a try that did not end had added
                os.lseek(fd, known.bytes, os.SEEK_SET)
                reader.copy(fd, original.bytes - known.bytes)
            finally:
                os.close(fd)
        self.copied_bytes += reader.position - known.bytes
        return _stored(original, known.stored, *reader.passed)

    def _tell(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress("copy", min(self._done, self._total), self._total)


def make_manifest(
    moment: Moment, files: tuple[StoredFile, ...], made_at: int, generation: int, *, with_key: bool
) -> BackupManifest:
    """Return the manifest of a moment's copy."""
    counts = moment.snapshot.counts()
    key: KeyState = "elsewhere"
    if any(one.place == m.WRAPPING_KEY for one in moment.originals):
        key = "included" if with_key else "left_out"
    return BackupManifest(
        made_at=made_at, version=PROGRAM, schema=counts.schema, home_id=counts.home_id, generation=generation,
        key=key, in_step=moment.in_step, sessions=counts.sessions, events=counts.events, sources=counts.sources,
        chunks=sum(1 for _ in moment.snapshot.chunks()), files=files,
    )  # fmt: skip


def with_damage(made: BackupManifest, damaged: Sequence[ChunkPlace]) -> BackupManifest:
    """Return a manifest that says which chunks did not open in the memory either."""
    return msgspec.structs.replace(made, damaged=tuple(sorted({place.name.hex() for place in damaged})))


def report_of(made: BackupManifest, target: Path, *, copied: int, chunks: int, sealer: Sealer | None) -> BackupReport:
    """Return the report of a backup."""
    notes = []
    if sealer is None:
        notes.append("the archive's key is not available: the copy was checked only by its hashes")
    if made.key == "left_out":
        notes.append(
            "the backup does not contain the wrapping key: keep it elsewhere; without it no original text opens"
        )
    if made.key == "elsewhere":
        notes.append("the wrapping key is in the system's keyring, not in the backup")
    if made.damaged:
        notes.append(
            f"{len(made.damaged):,} chunks of the archive were already damaged and are missing from the backup: "
            "run `recollect repair`, then back up again"
        )
    if not made.in_step:
        notes.append("the memory changed during the backup: what was ingested meanwhile is not in it")
    return BackupReport(
        target=str(target), form="tar.zst" if target.name.endswith(m.SUFFIX) else "folder", made_at=made.made_at,
        files=len(made.files), bytes=made.bytes, copied_bytes=copied, chunks=chunks, sessions=made.sessions,
        events=made.events, key=made.key, in_step=made.in_step, seconds=0.0, notes=tuple(notes),
    )  # fmt: skip


def check_database(path: Path) -> None:
    """Raise BackupUnusable where a copied database does not pass SQLite's own check of every page."""
    with open_copy(path) as copy:
        problems = copy.problems()
    if problems:
        raise BackupUnusable(f"the copied database is damaged: {problems[0]}", hint="run `recollect doctor`")


def copy_stream(source: IO[bytes], path: Path, limit: int) -> tuple[int, str]:
    """Copy up to `limit` bytes into a new, private, durable file; return how many, and their hash. Raises OSError."""
    reader = _Hashing(source)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        reader.copy(fd, limit)
    finally:
        os.close(fd)
    return reader.passed


def hash_file(path: Path) -> tuple[int, str]:
    """Return the length of a file and its hash. Raises OSError."""
    with path.open("rb") as file:
        hashed = hashlib.file_digest(file, "sha256")
        return os.fstat(file.fileno()).st_size, hashed.hexdigest()


def step(progress: Progress | None, name: str) -> CheckProgress | None:
    """Return the progress of one step."""
    return None if progress is None else lambda done, total: progress(name, done, total)


@contextmanager
def _original(original: Original) -> Iterator[BinaryIO]:
    try:
        file = original.path.open("rb")
    except FileNotFoundError:
        raise PackGone(original.place) from None
    with file:
        yield file


def _stored(original: Original, stored: str, size: int, sha256: str) -> StoredFile:
    return StoredFile(original.place, stored, size, sha256, original.mtime_ns, original.inode)
