"""The files of what hooks told, one a session and day, and the note by which a crash is told.

What is about to be appended stands in `hooks/taking.json` until it is done: after a crash, `written_before` says which
drops were written, so that they are not written again.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from recollect.capture.discover import FoundSource
from recollect.files import write_all, write_file
from recollect.model.capabilities import HOOK_PLACE
from recollect.wire import HOOKS_FOLDER

SUFFIX = HOOK_PLACE.patterns[0].removeprefix("*")
_TAKING = "taking.json"


def hooks_folder(spool: str, slug: str) -> str:
    """Return the folder in which what an agent's hooks told waits for a sync."""
    return os.path.join(spool, HOOKS_FOLDER, slug)


def sources_of_hooks(spool: str, slug: str) -> list[FoundSource]:
    """Return the files of what an agent's hooks told."""
    folder = hooks_folder(spool, slug)
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                info = entry.stat(follow_symlinks=False)
                found.append(
                    FoundSource(slug, entry.path, entry.name, HOOK_PLACE, info.st_size, info.st_mtime_ns, info.st_ino)
                )
    return found


def file_of(begins: str, drop: str) -> str:
    """Return the file whose path begins so, or a name for one that was never used, after its first drop."""
    folder, prefix = os.path.split(begins)
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        found = min((e.name for e in entries if e.name.startswith(prefix) and e.name.endswith(SUFFIX)), default="")
        if found:
            return os.path.join(folder, found)
    return f"{begins}{drop[:16]}{SUFFIX}"


def append(path: str, data: bytes) -> None:
    """Append lines to a file and sync them. When that fails, the file is as it was before."""
    folder = os.path.dirname(path)
    for each in (os.path.dirname(folder), folder):
        os.makedirs(each, mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, _end_of_torn_line(descriptor, size) + data)
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


class Target(msgspec.Struct, frozen=True):
    """A file that is about to be appended to, and its size before."""

    path: str
    size: int


def write_taking(spool: str, targets: list[str]) -> None:
    folder = os.path.join(spool, HOOKS_FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    sizes = [Target(path, os.path.getsize(path) if os.path.exists(path) else 0) for path in targets]
    path = os.path.join(folder, _TAKING)
    write_file(path, msgspec.json.encode(sizes), durable=True)


def forget_taking(spool: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(spool, HOOKS_FOLDER, _TAKING))


def written_before(spool: str) -> set[str] | None:
    """Return the drops that were written when a crash came, None when none came. Cuts half a line off an end."""
    path = os.path.join(spool, HOOKS_FOLDER, _TAKING)
    if not os.path.exists(path):
        return None
    written: set[str] = set()
    with suppress(msgspec.MsgspecError), open(path, "rb") as handle:
        for target in msgspec.json.decode(handle.read(), type=list[Target]):
            written |= _written(target)
    return written


def _written(target: Target) -> set[str]:
    """Return the drops that a file has from a place on, and cut half a line off its end."""
    written: set[str] = set()
    with suppress(FileNotFoundError), open(target.path, "r+b") as handle:
        handle.seek(target.size)
        data = handle.read()
        whole = data[: data.rfind(b"\n") + 1]
        handle.truncate(target.size + len(whole))
        for line in whole.splitlines():
            with suppress(msgspec.MsgspecError):
                told = msgspec.json.decode(line, type=_Line)
                written.update((told.drop, *(other.drop for other in told.again)))
    return written


class _Again(msgspec.Struct):
    drop: str


class _Line(msgspec.Struct):
    """What is read of a line that was written."""

    drop: str
    again: list[_Again] = []


def _end_of_torn_line(descriptor: int, size: int) -> bytes:
    if not size:
        return b""
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return b"" if os.read(descriptor, 1) == b"\n" else b"\n"
