"""Exports that come as a zip archive: unpacked for the time of an import, never more than a bound."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from recollect.errors import SourceRefused, SourceUnavailable

MAX_BYTES = 8 * 1024**3
"""All files of an archive together; more is a bomb, not somebody's conversations."""
MAX_RATIO = 200
"""Text compresses 5 to 20 times; an archive that gives more than this per byte is a bomb."""
MAX_FILES = 200_000
_STEP_BYTES = 1024 * 1024
_SUFFIXES = (".json", ".jsonl")


def is_zip(path: Path) -> bool:
    """Return True for a file that is a zip archive, whatever its name."""
    return path.is_file() and zipfile.is_zipfile(path)


@contextmanager
def unpacked(path: Path, below: Path) -> Iterator[Path]:
    """Unpack the JSON files of an archive into a new folder below `below` (only the user can read it); remove it after.

    Raises SourceRefused for an archive that is too large or leaves its folder, SourceUnavailable for a damaged one.
    """
    below.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = below / f"{path.stem}.unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        _unpack(path, folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpack(path: Path, folder: Path) -> None:
    room = min(MAX_BYTES, max(path.stat().st_size, _STEP_BYTES) * MAX_RATIO)
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(_SUFFIXES) and not m.is_dir()]
            if len(members) > MAX_FILES:
                raise SourceRefused(f"{path} holds more than {MAX_FILES:,} files", reason="too large")
            for member in members:
                room = _unpack_one(archive, member, folder, room, path)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise SourceUnavailable(f"cannot unpack {path}: {error}") from error


def _unpack_one(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, room: int, path: Path) -> int:
    """Unpack one file; return how many bytes may still come. Sizes that the archive states are not believed."""
    inside = PurePosixPath(member.filename)
    if inside.is_absolute() or ".." in inside.parts:
        raise SourceRefused(f"{path} holds {member.filename}, which leaves its folder", reason="not allowed")
    target = folder.joinpath(*inside.parts)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with archive.open(member) as source, target.open("wb") as out:
        while step := source.read(_STEP_BYTES):
            room -= len(step)
            if room < 0:
                raise SourceRefused(f"{path} unpacks to far more than it should", reason="too large")
            out.write(step)
    return room
