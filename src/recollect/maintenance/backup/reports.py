"""What backup and restore say."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.maintenance.backup.manifest import KeyState


class BackupReport(msgspec.Struct, frozen=True):
    """A backup that was made and read again.

    made_at: UTC microseconds of the moment it shows. bytes: of all its files; copied_bytes: written by this run.
    chunks: opened and found to be what their names say; 0 where the key was not at hand. in_step: False where
    something was being taken in meanwhile: the archive may then be ahead of the database, and restoring sees to that.
    """

    target: str
    form: Literal["folder", "tar.zst"]
    made_at: int
    files: int
    bytes: int
    copied_bytes: int
    chunks: int
    sessions: int
    events: int
    key: KeyState
    in_step: bool
    seconds: float
    notes: tuple[str, ...] = ()


class RestoreReport(msgspec.Struct, frozen=True):
    """A backup that took the place of a memory.

    made_at: UTC microseconds of the moment it shows; version: of the program that made it. lost_sessions: of the memory
    before that the backup does not have or has less of; lost: the first of their uids; lost_events: how many events
    that were. forgotten: what it had that was forgotten since, and is forgotten again, in sessions. aside: where the
    memory of before is kept, "" where it is not.
    """

    home: str
    source: str
    made_at: int
    version: str
    sessions: int
    events: int
    chunks: int
    lost_sessions: int
    lost_events: int
    lost: tuple[str, ...]
    forgotten: int
    aside: str
    seconds: float
    notes: tuple[str, ...] = ()
