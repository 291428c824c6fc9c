"""When a memory was last backed up, and where to: `last-backup.json` in its home."""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.archive.files import write_error
from recollect.files import write_file

NAME = "last-backup.json"


class LastBackup(msgspec.Struct, frozen=True):
    """The newest backup that was made whole. made_at: UTC microseconds."""

    target: str
    made_at: int


def remember(home: Path, backup: LastBackup) -> None:
    """Write down a backup. Raises DiskFull, ArchiveError."""
    try:
        write_file(home / NAME, msgspec.json.encode(backup) + b"\n", durable=True)
    except OSError as error:
        raise write_error(error, home / NAME) from error


def last_backup(home: Path) -> LastBackup | None:
    """Return the newest backup, None where none was ever made or what says so cannot be read."""
    try:
        return msgspec.json.decode((home / NAME).read_bytes(), type=LastBackup)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
