"""A backup as one file: a tar archive in zstandard, whose last member is the manifest."""

from __future__ import annotations

import os
import secrets
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from recollect.archive.files import make_private_folder, write_error
from recollect.archive.sealing import Sealer
from recollect.errors import BackupUnusable, UsageError
from recollect.files import move
from recollect.maintenance.backup import manifest as m
from recollect.maintenance.backup.check import Check, Stream, check_folder, places_by_pack
from recollect.maintenance.backup.contents import present_moment
from recollect.maintenance.backup.copy import Copying, Wish, check_database, report_of, step, with_damage
from recollect.maintenance.backup.manifest import BackupManifest
from recollect.maintenance.backup.reports import BackupReport
from recollect.paths import DATABASE_NAME

_LEVEL = 3
_FOREIGN = (tarfile.TarError, zstandard.ZstdError, EOFError)


def back_up_to_file(home: Path, target: Path, sealer: Sealer | None, wish: Wish) -> BackupReport:
    """Make a backup that is one file; see `back_up`. It has its name only once it was read again."""
    if target.is_dir():
        raise UsageError(f"{target} is a folder", hint="name a file that is not there, or that is an earlier backup")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, target.parent) from error
    staged = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    make_private_folder(staged)
    try:
        made_at = wish.now_us()
        with present_moment(home) as moment:
            copying = Copying(staged, None, moment, wish)
            made = copying.run(made_at)
            places = places_by_pack(moment.snapshot.chunks())
        check_database(staged / copying.stored(DATABASE_NAME))
        check = Check(made, places, sealer)
        check_folder(staged, made, check)
        made, chunks = with_damage(made, check.damaged), check.chunks
        packed = staged / "packed"
        _write(packed, staged, made)
        check = Check(made, {}, None, progress=step(wish.progress, "check"))
        with open_members(packed) as members:
            for name, stream in members:
                check.take(name, stream)
        check.finish()
        move(packed, target, durable=True)
        return report_of(made, target, "tar.zst", copied=copying.copied_bytes, chunks=chunks, sealer=sealer)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@contextmanager
def open_members(path: Path) -> Iterator[Iterator[tuple[str, Stream]]]:
    """Open a backup that is one file: its members in order, each to be read before the next.

    Raises BackupUnusable for what is no such file, is cut short, or holds what no backup holds.
    """
    try:
        with (
            path.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as plain,
            tarfile.open(fileobj=cast("BinaryIO", plain), mode="r|") as tar,
        ):
            yield _members(tar, path)
    except _FOREIGN as error:
        raise BackupUnusable(f"{path} is not a whole backup: {error}") from error


def _members(tar: tarfile.TarFile, path: Path) -> Iterator[tuple[str, Stream]]:
    for member in tar:
        stream = tar.extractfile(member) if member.isreg() else None
        if stream is None or not m.is_stored_name(member.name):
            raise BackupUnusable(f"{path} holds what no backup holds: {member.name}")
        yield member.name, stream


def _write(packed: Path, staged: Path, made: BackupManifest) -> None:
    """Write the tar archive, each file leaving the staging folder as it goes in: no more than one is there twice."""
    with os.fdopen(
        os.open(packed, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb"
    ) as file:
        with (
            zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).stream_writer(file, closefd=False) as plain,
            tarfile.open(fileobj=cast("BinaryIO", plain), mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            for one in made.files:
                info = _info(one.stored, one.bytes, made)
                with (staged / one.stored).open("rb") as source:
                    tar.addfile(info, source)
                (staged / one.stored).unlink()
            data = m.encode_manifest(made)
            tar.addfile(_info(m.MANIFEST, len(data), made), BytesIO(data))
        file.flush()
        os.fsync(file.fileno())


def _info(name: str, size: int, made: BackupManifest) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, made.made_at // 1_000_000
    return info
