"""Checks of the machine and the home's folder: versions, room, permissions, what crashes and older versions left."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from recollect.archive.wrapping.envelope import drafts
from recollect.files import DRAFT_SUFFIX
from recollect.maintenance.backup.last_backup import last_backup
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.reports import Check
from recollect.ready import PROGRAM
from recollect.units import plural, size

OLDEST_PYTHON = (3, 11)
_LOW_DISK_BYTES = 500_000_000
BACKUP_DAYS = 30
"""Where a backup was ever made, one that is older than this is worth a word."""
_DAY_US = 24 * 3600 * 1_000_000
_SHOWN = 3
_INDEX = "index"


def machine_checks(desk: Desk) -> Iterator[Check]:
    """Yield what there is to say without opening anything that is stored."""
    yield python()
    yield home(desk)
    yield disk(desk)
    if desk.folder.exists():
        yield permissions(desk)
        yield leftovers(desk)
    yield daemon(desk)
    last = backup(desk)
    if last is not None:
        yield last


def python() -> Check:
    """Say whether the interpreter is new enough."""
    here = f"{platform.python_version()} on {sys.platform}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Check("python", "fail", f"{here}; {oldest} or newer is needed", f"install Python {oldest} or newer")
    return Check("python", "ok", here)


def home(desk: Desk) -> Check:
    """Say whether the folder can be written, by its owner alone."""
    if not desk.folder.exists():
        return Check("home", "ok", f"{desk.folder} (not made yet)")
    mode = stat.S_IMODE(desk.folder.stat().st_mode)
    if not os.access(desk.folder, os.R_OK | os.W_OK | os.X_OK):
        return Check("home", "fail", f"{desk.folder} cannot be written", f"chmod u+rwx {desk.folder}")
    if os.name == "posix" and mode & 0o077:
        return Check("home", "warn", f"{desk.folder} can be read by others ({mode:o})", f"chmod 700 {desk.folder}")
    return Check("home", "ok", str(desk.folder))


def disk(desk: Desk) -> Check:
    """Say whether there is room."""
    folder = desk.folder
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < _LOW_DISK_BYTES:
        return Check("disk", "fail", f"{size(free)} free", "free some space; what is stored stays")
    return Check("disk", "ok", f"{size(free)} free")


def open_to_others(folder: Path) -> Iterator[Path]:
    """Yield what in a home others may read or write, the home itself first. POSIX only: elsewhere nothing.

    Of the index only folders: its engine makes files with the rights that the process gives, in closed folders.
    """
    if os.name != "posix":
        return
    for root, folders, names in os.walk(folder):
        is_index = Path(root).relative_to(folder).parts[:1] == (_INDEX,)
        for path in (Path(root), *(Path(root, name) for name in names if not is_index)):
            if not path.is_symlink() and _mode(path) & 0o077:
                yield path
        folders.sort()


def permissions(desk: Desk) -> Check:
    """Say whether anything in the home is open to others."""
    found = list(open_to_others(desk.folder))
    if not found:
        return Check("permissions", "ok", "nothing in the home is open to others")
    keys = any("keys" in path.relative_to(desk.folder).parts for path in found)
    named = ", ".join(str(path.relative_to(desk.folder) or ".") for path in found[:_SHOWN])
    text = f"{plural(len(found), 'place')} can be read by others: {named}"
    hint = "`recollect doctor --fix` closes them"
    return Check("permissions", "fail" if keys else "warn", text, hint, tuple(map(str, found)))


def left_behind(folder: Path) -> list[Path]:
    """Return what crashes and older versions left in a home that nothing needs any more."""
    text = folder / "index" / "text"
    found = [folder / name for name in ("rebuild", "restore", "verify")]
    found = [path for path in found if path.is_dir() and not (path / "READY").exists()]
    found += sorted(text.glob("*.damaged")) if text.is_dir() else []
    found += [path for path in (folder / "memory.damaged.db",) if path.exists()]
    return found + sorted({*drafts(folder / "keys"), *folder.rglob(f"*{DRAFT_SUFFIX}")})


def leftovers(desk: Desk) -> Check:
    """Say what crashes and older versions left behind, and what a daemon that was killed did not take along."""
    found = [str(path.relative_to(desk.folder)) for path in left_behind(desk.folder)]
    if desk.asks.daemon().is_stale:
        found.append("run/daemon.json of a daemon that is gone")
    if not found:
        return Check("leftovers", "ok", "none")
    text = f"left by a crash or an older version: {', '.join(found)}"
    return Check("leftovers", "warn", text, "`recollect doctor --fix` removes them", tuple(found))


def daemon(desk: Desk) -> Check:
    """Say whether a daemon is at work, whether it is of this version, and whether it serves what it should."""
    seen = desk.asks.daemon()
    if not seen.pid:
        return Check("daemon", "ok", "none is running; hooks and questions keep the memory fresh")
    if seen.version != PROGRAM:
        text = f"one of version {seen.version} is running (pid {seen.pid}), this is {PROGRAM}"
        return Check("daemon", "warn", text, "`recollect up --stop`, then `recollect up --detach`")
    if seen.no_http and desk.config.daemon.http:
        text = f"running (pid {seen.pid}), but without MCP over HTTP and the status page: {seen.no_http}"
        return Check("daemon", "warn", text, "end what has the port, or name another with [daemon] port; the daemon "
                     "takes a port that is free again by itself")  # fmt: skip
    if seen.no_socket:
        text = f"running (pid {seen.pid}), but hooks and reads cannot ask it: {seen.no_socket}"
        return Check("daemon", "warn", text, "a home with a shorter path, on a local disk, is within reach "
                     "(RECOLLECT_HOME); until then hooks and reads do by themselves what they need")  # fmt: skip
    return Check("daemon", "ok", f"running (pid {seen.pid})")


def backup(desk: Desk) -> Check | None:
    """Say how old the newest backup is; None where none was ever made."""
    last = last_backup(desk.folder)
    if last is None:
        return None
    days = (desk.now_us - last.made_at) / _DAY_US
    text = f"the newest is {plural(round(days), 'day')} old, in {last.target}"
    if days > BACKUP_DAYS:
        return Check("backup", "warn", text, f"run `recollect backup {last.target}`")
    if not os.path.exists(last.target):
        return Check("backup", "warn", f"{last.target} is not there now", "mount it, or make another")
    return Check("backup", "ok", text)


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return 0
