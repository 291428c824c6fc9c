"""What of the forgotten still lies in the spool, in plain text: lines are blanked where they stand, files removed.

A receiver of ours may append to a file meanwhile, so no line moves: a blanked one has as many bytes as before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.erasure.records import says
from recollect.wire import IMPORT_FOLDER


class Meant(NamedTuple):
    """What is to be forgotten, as it may stand in a spool: ids of whole sessions, as their agent writes them; texts."""

    native_ids: Collection[str] = ()
    pattern: re.Pattern[str] | None = None
    paths: Collection[str] = ()
    """Files that were taken in wholly and go wholly."""
    records: Mapping[str, Collection[tuple[int, int]]] = MappingProxyType({})
    """(offset, length) of single records, by the path of their file."""


def clear_spooled(spool: Path, meant: Meant) -> int:
    """Blank or remove what is meant; return how many lines and files that were. Raises OSError."""
    count = 0
    needles = [msgspec.json.encode(native).strip(b'"') for native in meant.native_ids]
    for root, folders, names in os.walk(spool):
        if Path(root) == spool and IMPORT_FOLDER in folders:
            folders.remove(IMPORT_FOLDER)
        for name in names:
            path = Path(root, name)
            if path.is_symlink() or not path.is_file():
                continue
            if str(path) in meant.paths:
                path.unlink(missing_ok=True)
                count += 1
                continue
            with suppress(FileNotFoundError):  # taken in, or cleared, meanwhile
                count += _clear(path, needles, meant.pattern, set(meant.records.get(str(path), ())))
    return count


def _clear(path: Path, needles: list[bytes], pattern: re.Pattern[str] | None, records: set[tuple[int, int]]) -> int:
    """Blank the lines of a file that are meant. A file of anything but lines, such as a drop, goes as a whole."""
    count = at = 0
    with path.open("r+b") as file:
        for line in iter(file.readline, b""):
            start, at = at, at + len(line)
            body = line.rstrip(b"\n")
            if not body.strip():
                continue
            is_record = (start, len(body)) in records
            if is_record or any(needle in body for needle in needles) or (pattern is not None and says(pattern, body)):
                file.seek(start)
                file.write(b" " * len(body))
                file.seek(at)
                count += 1
        if count:
            file.flush()
            os.fsync(file.fileno())
    if count and not path.name.endswith(".jsonl"):
        path.unlink(missing_ok=True)
    return count
