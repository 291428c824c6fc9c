"""Stages a backup beside the memory and checks every byte; `ingest.swap` then puts it in place."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from recollect.archive.archive import Archive
from recollect.archive.envelope import WRAPPING_FILE
from recollect.archive.files import make_private_folder
from recollect.archive.keys import HomeKeys, load_keys
from recollect.errors import ArchiveError, BackupUnusable, KeyUnavailable, SchemaTooNew
from recollect.files import DRAFT_SUFFIX, move, write_file
from recollect.maintenance.backup import manifest as m
from recollect.maintenance.backup.contents import Progress, check_database, copy_stream
from recollect.maintenance.backup.create import open_members
from recollect.maintenance.backup.manifest import BackupManifest, StoredFile
from recollect.paths import DATABASE_NAME
from recollect.store.migrations import SCHEMA_VERSION
from recollect.store.snapshots import open_copy, take_snapshot


class Staged(NamedTuple):
    """A backup that was copied beside a memory and found whole. chunks: that were opened."""

    folder: Path
    manifest: BackupManifest
    keys: HomeKeys
    chunks: int


class Loss(NamedTuple):
    """What a memory has that a backup has not. sessions: uid to how many events of it are lacking."""

    sessions: Mapping[str, int]

    @property
    def events(self) -> int:
        """How many events that are."""
        return sum(self.sessions.values())


def look_at(source: Path) -> BackupManifest | None:
    """Return the manifest of a folder backup; None for a file backup, which has it at its end.

    Raises BackupUnusable for anything but a whole backup.
    """
    if source.is_dir():
        manifest = m.read_manifest(source)
        if manifest is None:
            why = "was not finished" if (source / m.PARTIAL).exists() else "is no backup"
            raise BackupUnusable(f"{source} {why}: it has no {m.MANIFEST}")
        return manifest
    if not source.exists():
        raise BackupUnusable(f"{source} does not exist")
    return None


def stage(source: Path, folder: Path, *, keys_of: Path, progress: Progress | None = None) -> Staged:
    """Copy a backup into an empty folder as a home, and check all of it: hashes, pages, every chunk.

    keys_of: the keys folder of the present memory: used where the backup has no wrapping key.

    Raises:
        BackupUnusable: it is not whole, or damaged. SchemaTooNew: a newer version made it.
        KeyUnavailable: neither the backup nor this machine has the key that opens it.
        DiskFull, ArchiveError, StoreError: as named.
    """
    manifest = look_at(source)
    if manifest is None:
        manifest = _unpack(source, folder, progress)
    else:
        _copy(source, folder, manifest, progress)
    if manifest.schema > SCHEMA_VERSION:
        raise SchemaTooNew(manifest.schema, SCHEMA_VERSION)
    check_database(folder / DATABASE_NAME)
    keys = _keys(folder, keys_of)
    return Staged(folder, manifest, keys, _open_chunks(folder, keys, set(manifest.damaged), progress))


def loss(home: Path, staged: Path) -> Loss:
    """Return what the memory in `home` has and the one in `staged` lacks.

    Raises StoreError and its subclasses: the memory's database cannot be read.
    """
    if not (home / DATABASE_NAME).exists():
        return Loss({})
    with take_snapshot(home) as now:
        present = now.sessions()
    with take_snapshot(staged) as then:
        restored = then.sessions()
    lacking = {uid: count - restored.get(uid, 0) for uid, count in present.items()}
    return Loss({uid: lacks for uid, lacks in lacking.items() if lacks > 0 or uid not in restored})


def _copy(source: Path, folder: Path, manifest: BackupManifest, progress: Progress | None) -> None:
    done = 0
    for one in manifest.files:
        try:
            with (source / one.stored).open("rb") as stream:
                _place(stream, folder, one)
        except FileNotFoundError as error:
            raise BackupUnusable(f"{source} has lost {one.stored}") from error
        done += one.bytes
        if progress is not None:
            progress("copy", done, manifest.bytes)


def _place(stream: IO[bytes], folder: Path, one: StoredFile) -> None:
    path = folder / one.place
    make_private_folder(path.parent)
    if copy_stream(stream, path, one.bytes) != (one.bytes, one.sha256):
        raise BackupUnusable(f"{one.stored} in the backup is damaged")


def _unpack(source: Path, folder: Path, progress: Progress | None) -> BackupManifest:
    """Take a backup that is one file apart. What its members are shows only at the end, in the manifest."""
    unpacked = folder.with_name("unpacked")
    shutil.rmtree(unpacked, ignore_errors=True)
    found: dict[str, tuple[int, str]] = {}
    manifest: BackupManifest | None = None
    size = source.stat().st_size
    with open_members(source) as members:
        for name, stream in members:
            path = unpacked / name
            make_private_folder(path.parent)
            found[name] = copy_stream(stream, path, 1 << 62)
            if progress is not None:
                progress("copy", min(sum(length for length, _ in found.values()), size), size)
            if name == m.MANIFEST:
                manifest = m.decode_manifest(path.read_bytes(), where=str(source))
    if manifest is None:
        raise BackupUnusable(f"{source} is not a whole backup: it has no {m.MANIFEST}")
    for one in manifest.files:
        if found.get(one.stored) != (one.bytes, one.sha256):
            raise BackupUnusable(f"{one.stored} in the backup is missing or damaged")
        path = folder / one.place
        make_private_folder(path.parent)
        move(unpacked / one.stored, path, durable=True)
    shutil.rmtree(unpacked, ignore_errors=True)
    return manifest


def _keys(folder: Path, keys_of: Path) -> HomeKeys:
    """Return the keys of what is staged, which then has all it needs of them.

    Its own; else its data key with the wrapping key of the memory that it is for; else, where that memory has been
    given another wrapping key since, that memory's keys if they open the archive.
    """
    own = folder / "keys"
    try:
        return load_keys(own)
    except KeyUnavailable as error:
        why = error
    wrapping = keys_of / WRAPPING_FILE
    if wrapping.is_file() and not (own / WRAPPING_FILE).exists():
        make_private_folder(own)
        write_file(own / WRAPPING_FILE, wrapping.read_bytes(), durable=True)
        with suppress(KeyUnavailable):
            return load_keys(own)
    try:
        keys = load_keys(keys_of)
        with Archive.open(folder / "archive", keys, read_only=True) as archive:
            next(archive.entries(), None)
    except KeyUnavailable:
        hint = f"put the wrapping key that was kept elsewhere at {wrapping}"
        raise KeyUnavailable(f"the backup has no key that opens it ({why})", hint=hint) from why
    shutil.rmtree(own, ignore_errors=True)
    make_private_folder(own)
    for path in keys_of.iterdir():
        if path.is_file() and not path.name.endswith(DRAFT_SUFFIX):
            write_file(own / path.name, path.read_bytes(), durable=True)
    return keys


def _open_chunks(folder: Path, keys: HomeKeys, damaged: set[str], progress: Progress | None) -> int:
    """Open every chunk; return how many. damaged: those that did not open when the backup was made."""
    count = 0
    with (
        Archive.open(folder / "archive", keys, read_only=True) as archive,
        open_copy(folder / DATABASE_NAME) as database,
    ):
        places = list(database.chunks())
        total = sum(place.length for place in places)
        done = 0
        for place in places:
            try:
                for _ in archive.iter_bytes((place,)):
                    count += 1
            except ArchiveError as error:
                if place.name.hex() not in damaged:
                    raise BackupUnusable(f"the backup's archive is damaged: {error}") from error
            done += place.length
            if progress is not None:
                progress("check", done, total)
    return count
