"""Making a backup: online, of one moment, read again before it counts as one.

Killed anywhere, what was a whole backup before still is one: new files have new names, packs are only added to, and
the manifest, which says what counts, is replaced last.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.archive.files import make_private_folder, write_error
from recollect.archive.sealing import Sealer
from recollect.errors import BrokenInvariant, StoreError, UsageError
from recollect.files import DRAFT_SUFFIX, write_file
from recollect.maintenance.backup import manifest as m
from recollect.maintenance.backup.check import Check, check_folder, places_by_pack
from recollect.maintenance.backup.contents import present_moment
from recollect.maintenance.backup.copy import Copying, PackGone, Wish, check_database, report_of, step, with_damage
from recollect.maintenance.backup.manifest import BackupManifest
from recollect.maintenance.backup.reports import BackupReport
from recollect.maintenance.backup.tar import back_up_to_file
from recollect.paths import DATABASE_NAME
from recollect.store.sqlite import IngestLock
from recollect.store.sqlite.connection import is_lost, lost

TRIES = 3
"""Packs may be replaced by smaller ones while they are copied; then the moment is gone and the next one is taken."""


def back_up(home: Path, target: Path, sealer: Sealer | None, wish: Wish) -> BackupReport:
    """Copy one moment of a home to a folder, or to one file if `target` ends in `.tar.zst`; read all of it again.

    sealer: of the home; None where its key is not at hand: the copy is then checked by hashes alone. Readers and the
    ingester go on meanwhile. A second backup to the same folder copies what is new.

    Raises:
        UsageError: the target is inside of the home, or holds something else.
        BackupUnusable: what was written is not what was to be written.
        DiskFull, StoreError, ArchiveError: as named. The target is then no backup, or still the one before.
    """
    started = time.perf_counter()
    if is_lost(home):
        raise lost(home)
    if not (home / DATABASE_NAME).exists():
        raise UsageError(f"nothing is stored in {home} yet", hint="run `recollect up --once` first")
    target, home = target.resolve(), home.resolve()
    if target == home or home in target.parents:
        raise UsageError(f"{target} is inside of the memory itself", hint="name a folder outside of it")
    if target.name.endswith(m.SUFFIX):
        report = _tried(lambda: back_up_to_file(home, target, sealer, wish), target)
    else:
        report = _to_folder(home, target, sealer, wish)
    return msgspec.structs.replace(report, seconds=time.perf_counter() - started)


def _tried(make: Callable[[], BackupReport], target: Path) -> BackupReport:
    for attempt in range(1, TRIES + 1):
        try:
            return make()
        except PackGone as error:
            if attempt == TRIES:
                hint = "run the same command again"
                raise StoreError(f"the archive was rewritten while it was copied ({error})", hint=hint) from error
        except OSError as error:
            raise write_error(error, target) from error
    raise BrokenInvariant("the last try of a backup returns or raises")


def _to_folder(home: Path, target: Path, sealer: Sealer | None, wish: Wish) -> BackupReport:
    _check_target(target)
    make_private_folder(target)
    lock = IngestLock(target, name=m.LOCK, work="backing up into")
    try:
        return _tried(lambda: _one_try(home, target, sealer, wish), target)
    finally:
        lock.release()
        with suppress(OSError):
            (target / m.LOCK).unlink()


def _check_target(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{target} is not a folder", hint=f"name a folder, or a file that ends in {m.SUFFIX}")
    names = {path.name for path in target.iterdir() if not path.name.endswith(DRAFT_SUFFIX)} - {m.LOCK}
    if names and not names & {m.MANIFEST, m.PARTIAL}:
        raise UsageError(f"{target} holds something else than a backup", hint="name an empty or a new folder")


def _one_try(home: Path, target: Path, sealer: Sealer | None, wish: Wish) -> BackupReport:
    before = m.read_manifest(target)
    write_file(target / m.PARTIAL, b"", durable=True)
    made_at = wish.now_us()
    with present_moment(home) as moment:
        copying = Copying(target, before, moment, wish)
        made = copying.run(made_at)
        places = places_by_pack(moment.snapshot.chunks())
    check = Check(made, places, sealer, progress=step(wish.progress, "check"))
    check_folder(target, made, check)
    check_database(target / copying.stored(DATABASE_NAME))
    made = with_damage(made, check.damaged)
    m.write_manifest(target, made)
    _remove_unnamed(target, made)
    (target / m.PARTIAL).unlink()
    return report_of(made, target, "folder", copied=copying.copied_bytes, chunks=check.chunks, sealer=sealer)


def _remove_unnamed(target: Path, made: BackupManifest) -> None:
    """Remove what the backup before had and this one has not. Harmless when it is done later."""
    named = {one.stored for one in made.files}
    for folder in target.glob("g*"):
        if folder.name != f"g{made.generation}" and folder.name[1:].isdecimal():
            shutil.rmtree(folder, ignore_errors=True)
    for pack in (target / m.PACKS).glob("*.pack"):
        if f"{m.PACKS}/{pack.name}" not in named:
            pack.unlink(missing_ok=True)
