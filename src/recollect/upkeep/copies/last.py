"""When a memory was last backed up, and where to: `last-backup.json` in its home."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from recollect.archive.files import write_error
from recollect.upkeep.copies.manifest import write_private

NAME = "last-backup.json"


class LastBackup(msgspec.Struct, frozen=True):
    """The newest backup that was made whole. made_at: UTC microseconds."""

    target: str
    made_at: int


def remember(home: Path, backup: LastBackup) -> None:
    """Write down a backup. Raises DiskFull, ArchiveError."""
    draft = home / f"{NAME}.new"
    try:
        draft.unlink(missing_ok=True)
        write_private(draft, msgspec.json.encode(backup) + b"\n")
        os.replace(draft, home / NAME)
    except OSError as error:
        raise write_error(error, home / NAME) from error


def last_backup(home: Path) -> LastBackup | None:
    """Return the newest backup, None where none was ever made or what says so cannot be read."""
    try:
        return msgspec.json.decode((home / NAME).read_bytes(), type=LastBackup)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
