"""Makes a backup while the memory is in use, and reads it again before it counts.

Killed anywhere, what was a whole backup before still is one: new files have new names, packs are only added to, and
the manifest, which says what counts, is replaced last.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, cast

import msgspec
import zstandard

from recollect.archive.files import make_private_folder, write_errors
from recollect.archive.sealer import Sealer
from recollect.clock import now_us
from recollect.errors import BackupUnusable, StoreError, UsageError
from recollect.files import DRAFT_SUFFIX, move, write_file
from recollect.maintenance.backup import manifest as m
from recollect.maintenance.backup.contents import (
    BackupCheck,
    CheckProgress,
    Copier,
    PackGone,
    Progress,
    check_database,
    check_folder,
    places_by_pack,
    present_moment,
    report_of,
    step,
    with_damage,
)
from recollect.maintenance.backup.manifest import BackupManifest, BackupReport
from recollect.paths import DATABASE_NAME
from recollect.store.connection import is_lost, lost
from recollect.store.lock import IngestLock
from recollect.store.snapshots import take_snapshot
from recollect.units import plural

_LEVEL = 3
_ELSEWHERE = "name another place, or replace it with --force"
_FOREIGN = (tarfile.TarError, zstandard.ZstdError, EOFError)
TRIES = 3
"""Packs may be replaced by smaller ones while they are copied; then the moment is gone and the next one is taken."""


class _Backup(NamedTuple):
    """One backup that is being made, see `back_up`."""

    home: Path
    target: Path
    sealer: Sealer | None
    with_key: bool
    progress: Progress | None

    def to_folder(self) -> BackupReport:
        """Make or renew a backup that is a folder."""
        target = self.target
        _check_target(target)
        make_private_folder(target)
        lock = IngestLock(target, name=m.LOCK, work="backing up into")
        try:
            return _tried(self._renew, target)
        finally:
            lock.release()
            with suppress(OSError):
                (target / m.LOCK).unlink()

    def _renew(self) -> BackupReport:
        target = self.target
        before = m.read_manifest(target)
        write_file(target / m.PARTIAL, b"", durable=True)
        made, report = self._copy(target, before, checks=step(self.progress, "check"))
        m.write_manifest(target, made)
        _remove_unnamed(target, made)
        (target / m.PARTIAL).unlink()
        return report

    def to_file(self) -> BackupReport:
        """Make a backup that is one file. It has its name only once it was read again."""
        if self.target.is_dir():
            raise UsageError(f"{self.target} is a folder", hint="name a new file, or one that is an earlier backup")
        with write_errors(self.target.parent):
            self.target.parent.mkdir(parents=True, exist_ok=True)
        return _tried(self._pack, self.target)

    def _pack(self) -> BackupReport:
        target = self.target
        staged = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
        make_private_folder(staged)
        try:
            made, report = self._copy(staged, None, checks=None)
            packed = staged / "packed"
            _write(packed, staged, made)
            check = BackupCheck(made, {}, None, progress=step(self.progress, "check"))
            with open_members(packed) as members:
                for name, stream in members:
                    check.take(name, stream)
            check.finish()
            move(packed, target, durable=True)
            return report
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def _copy(
        self, folder: Path, before: BackupManifest | None, *, checks: CheckProgress | None
    ) -> tuple[BackupManifest, BackupReport]:
        """Copy the present moment into a folder and read the copy again."""
        made_at = now_us()
        with present_moment(self.home) as moment:
            copier = Copier(folder, before, moment, with_key=self.with_key, progress=self.progress)
            made = copier.run(made_at)
            places = places_by_pack(moment.snapshot.chunks())
        check = BackupCheck(made, places, self.sealer, progress=checks)
        check_folder(folder, made, check)
        check_database(folder / copier.stored(DATABASE_NAME))
        made = with_damage(made, check.damaged)
        copied = copier.copied_bytes
        return made, report_of(made, self.target, copied=copied, chunks=check.chunks, sealer=self.sealer)


def back_up(
    home: Path, target: Path, sealer: Sealer | None, *, with_key: bool = True, force: bool = False,
    progress: Progress | None = None,
) -> BackupReport:  # fmt: skip
    """Copy one moment of a home to a folder, or to one file if `target` ends in `.tar.zst`; then read the copy back.

    sealer: of the home; None without its key: the copy is then checked only by hashes. with_key: include the wrapping
    key. force: also replace the backup of another memory. Readers and the ingester continue meanwhile. A second backup
    to the same folder copies only what is new.

    Raises:
        UsageError: the target is inside of the home, or holds something else or the backup of another memory.
        BackupUnusable: the copy differs from the original.
        DiskFull, StoreError, ArchiveError: as named. The target is then no backup, or still the previous one.
    """
    started = time.perf_counter()
    if is_lost(home):
        raise lost(home)
    if not (home / DATABASE_NAME).exists():
        raise UsageError(f"nothing is stored in {home} yet", hint="run `recollect up --once` first")
    target, home = target.resolve(), home.resolve()
    if target == home or home in target.parents:
        raise UsageError(f"{target} is inside the memory itself", hint="name a folder outside it")
    if not force:
        _check_owner(home, target)
    backup = _Backup(home, target, sealer, with_key, progress)
    report = backup.to_file() if target.name.endswith(m.SUFFIX) else backup.to_folder()
    return msgspec.structs.replace(report, seconds=time.perf_counter() - started)


def _check_owner(home: Path, target: Path) -> None:
    """Refuse to replace what another memory was saved to. Raises UsageError, BackupUnusable, StoreError."""
    is_file = target.name.endswith(m.SUFFIX) and target.is_file()
    before = _manifest_in(target) if is_file else m.read_manifest(target)
    with take_snapshot(home) as snapshot:
        if before is not None and before.home_id != snapshot.counts().home_id:
            many = plural(before.sessions, "session")
            raise UsageError(f"{target} is the backup of another memory ({many})", hint=_ELSEWHERE)


def _manifest_in(path: Path) -> BackupManifest:
    with open_members(path) as members:
        for name, stream in members:
            if name == m.MANIFEST:
                return m.decode_manifest(stream.read(), where=str(path))
    raise BackupUnusable(f"{path} is not a whole backup: it has no {m.MANIFEST}")


def _tried(make: Callable[[], BackupReport], target: Path) -> BackupReport:
    with write_errors(target):
        for _ in range(TRIES - 1):
            with suppress(PackGone):
                return make()
        try:
            return make()
        except PackGone as error:
            hint = "run the same command again"
            raise StoreError(f"the archive was rewritten while it was copied ({error})", hint=hint) from error


def _check_target(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{target} is not a folder", hint=f"name a folder, or a file that ends in {m.SUFFIX}")
    names = {path.name for path in target.iterdir() if not path.name.endswith(DRAFT_SUFFIX)} - {m.LOCK}
    if names and not names & {m.MANIFEST, m.PARTIAL}:
        raise UsageError(f"{target} contains something other than a backup", hint="name an empty or a new folder")


def _remove_unnamed(target: Path, made: BackupManifest) -> None:
    """Remove what the backup before had and this one has not. Harmless when it is done later."""
    named = {one.stored for one in made.files}
    for folder in target.glob("g*"):
        if folder.name != f"g{made.generation}" and folder.name[1:].isdecimal():
            shutil.rmtree(folder, ignore_errors=True)
    for pack in (target / m.PACKS).glob("*.pack"):
        if f"{m.PACKS}/{pack.name}" not in named:
            pack.unlink(missing_ok=True)


@contextmanager
def open_members(path: Path) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Open a backup that is one file: its members in order, each to be read before the next.

    Raises BackupUnusable for any other file, a truncated one, or one with foreign members.
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


def _members(tar: tarfile.TarFile, path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    for member in tar:
        stream = tar.extractfile(member) if member.isreg() else None
        if stream is None or not m.is_stored_name(member.name):
            raise BackupUnusable(f"{path} contains a file that no backup contains:  {member.name}")
        yield member.name, stream


def _write(packed: Path, staged: Path, made: BackupManifest) -> None:
    """Write the tar archive and delete each file from the staging folder as it goes in: at most one exists twice."""
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
