"""Replaces a memory with a restored one; a crash at any point leaves the old or the new one.

restore/new/         the memory to come, checked and whole
restore/READY        from here on the swap is finished, not begun again; written last of all that is staged
restore/old/         what was there before, until nothing of it is needed any more
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from recollect.archive.files import make_private_folder
from recollect.files import move, remove_folder, sync_folder, write_file
from recollect.paths import DATABASE_NAME, RESTORE_FOLDER, RESTORE_READY, SPOOL_FOLDER
from recollect.ready_blocks import withdraw
from recollect.store.lock import IngestLock

FOLDER = RESTORE_FOLDER
READY = RESTORE_READY
KEEP = "KEEP"
"""Beside READY: the memory of before is kept, not deleted; what stands in it is the name of its folder."""
_FOLDERS = ("keys", "archive", "index")
_ONLY_WHERE_MISSING = ("setup.json", "config.toml")


def staging(home: Path) -> Path:
    """Return the folder in which a memory to come is put together."""
    return home / FOLDER / "new"


def begin_staging(home: Path) -> Path:
    """Return an empty folder for the memory to come. The caller holds the ingest lock. Raises OSError."""
    finish_restored(home)
    remove_folder(home / FOLDER, ignore_errors=True)
    make_private_folder(staging(home))
    return staging(home)


def drop_staging(home: Path) -> None:
    """Delete what was staged and is not ready: the memory is unchanged."""
    if not (home / FOLDER / READY).exists():
        remove_folder(home / FOLDER, ignore_errors=True)


def swap(home: Path, *, aside: str = "") -> None:
    """Replace the memory with what is staged. The caller holds the ingest lock.

    aside: the folder below the home for the previous memory; "": it is deleted. Raises OSError; the next call of
    `finish_restore` continues then.
    """
    if aside:
        write_file(home / FOLDER / KEEP, aside.encode(), durable=True)
    write_file(home / FOLDER / READY, b"", durable=True)
    finish_restored(home)


def finish_restore(home: Path) -> None:
    """Finish a swap that a crash interrupted. Raises StoreLocked while another process works."""
    if (home / FOLDER / READY).exists():
        with IngestLock(home):
            finish_restored(home)


def finish_restored(home: Path) -> None:
    """Put in place what is ready; every step can be repeated, and the database goes last. Needs the ingest lock."""
    restore = home / FOLDER
    if not (restore / READY).exists():
        return
    new, old = staging(home), restore / "old"
    make_private_folder(old)
    withdraw(str(home))
    for name in _FOLDERS:
        if (new / name).exists():
            if (home / name).exists() and not (old / name).exists():
                move(home / name, old / name, durable=False)
            remove_folder(home / name, ignore_errors=True)  # made by a reader in between
            move(new / name, home / name, durable=False)
    for name in _ONLY_WHERE_MISSING:
        if (new / name).exists() and not (home / name).exists():
            move(new / name, home / name, durable=False)
    _merge(new / SPOOL_FOLDER, home / SPOOL_FOLDER)
    if (new / DATABASE_NAME).exists():
        for suffix in ("-wal", "-shm"):
            (home / f"{DATABASE_NAME}{suffix}").unlink(missing_ok=True)
        move(new / DATABASE_NAME, home / DATABASE_NAME, durable=False)
    sync_folder(home)
    _put_aside(home, restore, old)
    (restore / READY).unlink()
    remove_folder(restore, ignore_errors=True)


def _put_aside(home: Path, restore: Path, old: Path) -> None:
    with suppress(FileNotFoundError):
        name = (restore / KEEP).read_text("utf-8")
        if old.exists() and not (home / name).exists():
            move(old, home / name, durable=False)


_KEPT = "before-restore-"


def aside_name(now_us: int) -> str:
    """Return a name for the memory of before: by the time, so that several can be kept."""
    return time.strftime(f"{_KEPT}%Y%m%dT%H%M%SZ", time.gmtime(now_us // 1_000_000))


def kept_memories(home: Path) -> list[Path]:
    """Return the memories of before that were kept, oldest first."""
    return sorted(home.glob(f"{_KEPT}*/"))


def _merge(source: Path, target: Path) -> None:
    """Move waiting spooled events back to their place; an existing one stays."""
    for root, _, names in os.walk(source):
        folder = target / Path(root).relative_to(source)
        for name in names:
            make_private_folder(folder)
            if not (folder / name).exists():
                move(Path(root, name), folder / name, durable=False)
