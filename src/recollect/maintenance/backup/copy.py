"""Copying the files of one moment, and what is said of a copy: shared by backups that are folders and single files."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from recollect import clock
from recollect.archive.chunks import ChunkPlace
from recollect.archive.files import make_private_folder
from recollect.archive.sealing import Sealer
from recollect.errors import BackupUnusable
from recollect.files import sync_folder, write_all
from recollect.maintenance.backup import manifest as m
from recollect.maintenance.backup.check import READ_BYTES, Stream
from recollect.maintenance.backup.contents import Moment, Original
from recollect.maintenance.backup.manifest import BackupManifest, KeyState, StoredFile
from recollect.maintenance.backup.reports import BackupReport
from recollect.paths import DATABASE_NAME
from recollect.ready import PROGRAM
from recollect.store.sqlite.snapshots.snapshot import open_copy

Progress = Callable[[str, int, int], None]
"""(what is done: copy or check, bytes done, bytes in all)"""


class PackGone(Exception):
    """A pack of the moment is not there any more."""


class Wish(NamedTuple):
    """What is asked for. with_key: the wrapping key goes along; now_us: the clock."""

    with_key: bool = True
    now_us: Callable[[], int] = clock.now_us
    progress: Progress | None = None


class Copying:
    """Copies the files of a moment into a folder; knows what an earlier backup there has already."""

    def __init__(self, target: Path, before: BackupManifest | None, moment: Moment, wish: Wish) -> None:
        self._target = target
        self._before = before
        self._moment = moment
        self._wish = wish
        self._generation = before.generation + 1 if before else 1
        self._total = sum(one.bytes for one in moment.originals)
        self._done = 0
        self.copied_bytes = 0

    def stored(self, place: str) -> str:
        """Return where a file that is copied anew each time lies."""
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
        originals = [one for one in self._moment.originals if self._wish.with_key or one.place != m.WRAPPING_KEY]
        for original in originals:
            stored = self._pack(original) if original.is_pack else self._small(original)
            if stored is not None:
                files.append(stored)
            self._tell(original.bytes)
        for folder in {(self._target / one.stored).parent for one in files}:
            sync_folder(folder)
        return make_manifest(self._moment, tuple(files), made_at, self._generation, with_key=self._wish.with_key)

    def _small(self, original: Original) -> StoredFile | None:
        """Copy a file anew. One of the spool may have been taken in meanwhile: its content is then in the archive."""
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
        """Add what is new of a pack to its copy; None where the pack does not begin with what was copied before."""
        path = self._target / known.stored
        if original.bytes < known.bytes or not path.is_file() or path.stat().st_size < known.bytes:
            return None
        with _original(original) as source:
            hashed = hashlib.sha256()
            left = known.bytes
            while left and (piece := source.read(min(READ_BYTES, left))):
                hashed.update(piece)
                left -= len(piece)
            if left or hashed.hexdigest() != known.sha256:
                return None
            fd = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
            try:
                os.ftruncate(fd, known.bytes)  # behind it lies at most what a try that did not end had added
                os.lseek(fd, known.bytes, os.SEEK_SET)
                left = original.bytes - known.bytes
                while left and (piece := source.read(min(READ_BYTES, left))):
                    write_all(fd, piece)
                    hashed.update(piece)
                    left -= len(piece)
                os.fsync(fd)
            finally:
                os.close(fd)
        added = original.bytes - known.bytes - left
        self.copied_bytes += added
        return _stored(original, known.stored, known.bytes + added, hashed.hexdigest())

    def _tell(self, count: int) -> None:
        self._done += count
        if self._wish.progress is not None:
            self._wish.progress("copy", min(self._done, self._total), self._total)


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


def report_of(
    made: BackupManifest, target: Path, form: str, *, copied: int, chunks: int, sealer: Sealer | None
) -> BackupReport:
    """Return what is said of a backup that was made."""
    notes = []
    if sealer is None:
        notes.append("the archive's key is not at hand: the copy was checked by its hashes alone")
    if made.key == "left_out":
        notes.append("the wrapping key is not in the backup: keep it elsewhere, without it no original text opens")
    if made.key == "elsewhere":
        notes.append("the wrapping key is kept by the system's keyring and is not in the backup")
    if made.damaged:
        notes.append(
            f"{len(made.damaged):,} chunks of the archive were damaged already, and are missing in the backup: run "
            "`recollect repair`, then make it again"
        )
    if not made.in_step:
        notes.append("the memory was not held still: what was ingested meanwhile is not in the backup")
    return BackupReport(
        target=str(target), form="folder" if form == "folder" else "tar.zst", made_at=made.made_at,
        files=len(made.files), bytes=made.bytes, copied_bytes=copied, chunks=chunks, sessions=made.sessions,
        events=made.events, key=made.key, in_step=made.in_step, seconds=0.0, notes=tuple(notes),
    )  # fmt: skip


def check_database(path: Path) -> None:
    """Raise BackupUnusable where a copied database does not pass SQLite's own check of every page."""
    with open_copy(path) as copy:
        problems = copy.problems()
    if problems:
        raise BackupUnusable(f"the copied database is damaged: {problems[0]}", hint="run `recollect doctor`")


def copy_stream(source: Stream, path: Path, limit: int) -> tuple[int, str]:
    """Copy up to `limit` bytes into a new, private, durable file; return how many, and their hash. Raises OSError."""

    hashed = hashlib.sha256()
    size = 0
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        while size < limit and (piece := source.read(min(READ_BYTES, limit - size))):
            write_all(fd, piece)
            hashed.update(piece)
            size += len(piece)
        os.fsync(fd)
    finally:
        os.close(fd)
    return size, hashed.hexdigest()


def hash_file(path: Path) -> tuple[int, str]:
    """Return the length of a file and its hash. Raises OSError."""
    with path.open("rb") as file:
        hashed = hashlib.file_digest(file, "sha256")
        return os.fstat(file.fileno()).st_size, hashed.hexdigest()


def step(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
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
