"""Unpacks zip exports for the time of an import, up to a size limit."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath, PureWindowsPath

from recollect.errors import SourceRefused, SourceUnavailable

MAX_BYTES = 8 * 1024**3
"""All files of an archive together; more is a bomb, not somebody's conversations."""
MAX_RATIO = 200
"""Text compresses 5 to 20 times; an archive that gives more than this per byte is a bomb."""
MAX_FILES = 200_000
_STEP_BYTES = 1024 * 1024
_SUFFIXES = (".json", ".jsonl")
_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")
"""Of an archive with files, and of an empty one."""
_APPLE = "__MACOSX"
_DAMAGES = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, NotImplementedError,
    RuntimeError, ValueError, OverflowError,
)  # fmt: skip
"""What reading a damaged, encrypted or odd archive raises."""


def is_zip(path: Path) -> bool:
    """Return True for a file that begins like a zip archive, whatever its name; also for a damaged one."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) in _BEGINNINGS
    except OSError:
        return False


@contextmanager
def unpacked(paths: Sequence[Path], below: Path) -> Iterator[dict[str, str]]:
    """Unpack the JSON files of archives; yield each one's folder with the archive's own absolute path.

    `below` belongs to imports alone, one at a time: what an import that was killed left there is removed first, and
    nothing stays there after. The folder of an archive is called the same every time. Raises SourceRefused for an
    archive that is too large or leaves its folder, SourceUnavailable for one that is damaged or encrypted.
    """
    shutil.rmtree(below, ignore_errors=True)
    archives = list(dict.fromkeys(path.absolute() for path in paths))
    if not archives:
        yield {}
        return
    try:
        folders: dict[str, str] = {}
        for archive in archives:
            name = hashlib.blake2b(os.fsencode(archive), digest_size=8).hexdigest()
            folder = below / name
            folder.mkdir(parents=True, mode=0o700)
            _unpack(archive, folder)
            folders[str(folder)] = str(archive)
        yield folders
    finally:
        shutil.rmtree(below, ignore_errors=True)


def _unpack(path: Path, folder: Path) -> None:
    try:
        room = min(MAX_BYTES, max(path.stat().st_size, _STEP_BYTES) * MAX_RATIO)
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if _is_wanted(m)]
            if len(members) > MAX_FILES:
                raise SourceRefused(f"{path} holds more than {MAX_FILES:,} files", reason="too large")
            # Nothing is written of an archive that says itself that it is too large, or that leaves its folder.
            targets = [_target(member, folder, path) for member in members]
            if sum(member.file_size for member in members) > room:
                raise _too_large(path)
            for member, target in zip(members, targets, strict=True):
                room = _unpack_one(archive, member, target, room, path)
    except _DAMAGES as error:
        raise SourceUnavailable(f"cannot unpack {path}: {error}", hint="is the download complete?") from error
    except OSError as error:
        raise SourceUnavailable(f"cannot unpack {path}: {error.strerror or error}") from error


def _is_wanted(member: zipfile.ZipInfo) -> bool:
    """Leave out folders, pictures, and the shadow files that macOS puts into archives."""
    parts = PurePosixPath(member.filename).parts
    return (
        not member.is_dir()
        and member.filename.endswith(_SUFFIXES)
        and _APPLE not in parts
        and not parts[-1].startswith("._")
    )


def _target(member: zipfile.ZipInfo, folder: Path, path: Path) -> Path:
    """Return where a file goes; on no platform outside of the folder."""
    inside, on_windows = PurePosixPath(member.filename), PureWindowsPath(member.filename)
    if inside.is_absolute() or on_windows.drive or on_windows.root or ".." in (*inside.parts, *on_windows.parts):
        raise SourceRefused(f"{path} contains {member.filename}, which leaves its folder", reason="not allowed")
    return folder.joinpath(*inside.parts)


def _unpack_one(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, room: int, path: Path) -> int:
    """Unpack one file; return how many bytes may still come. Sizes that the archive states are not believed."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with archive.open(member) as source, target.open("wb") as out:
        while step := source.read(_STEP_BYTES):
            room -= len(step)
            if room < 0:
                raise _too_large(path)
            out.write(step)
    _date(target, member)
    return room


def _date(target: Path, member: zipfile.ZipInfo) -> None:
    """Give a file the time that the archive states, so that unpacking it again makes the same file."""
    try:
        at = datetime(*member.date_time, tzinfo=UTC).timestamp()
        os.utime(target, (at, at))
    except (OverflowError, ValueError, OSError):
        return


def _too_large(path: Path) -> SourceRefused:
    return SourceRefused(f"{path} unpacks to far more than expected", reason="too large")
