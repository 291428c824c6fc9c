"""The format of a backup: a folder or a `.tar.zst`, and a manifest of its contents.

backup.json          the manifest: written last, and what makes the rest a backup
g<N>/…               what is copied again each time: memory.db, archive/journal.log, keys/, spool/, setup.json
packs/<number>.pack  packs of the archive: they only grow, so the next backup adds what is new
backup.partial       a backup was begun here and did not end; what the manifest names is whole all the same
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from recollect.archive.files import write_errors
from recollect.errors import BackupUnusable
from recollect.files import write_file

MANIFEST = "backup.json"
PARTIAL = "backup.partial"
LOCK = "backup.lock"
FORMAT = 1
PACKS = "packs"
SUFFIX = ".tar.zst"
WRAPPING_KEY = "keys/wrapping.key"

KeyState = Literal["included", "left_out", "elsewhere"]
"""Of the wrapping key: in the backup; left out by choice; never in the home (the keyring of the system has it)."""

_PLACE = re.compile(
    r"memory\.db|setup\.json|config\.toml|archive/journal\.log|archive/packs/\d{6,}\.pack|keys/[\w.-]+|spool/.+"
)
_STORED = re.compile(r"g\d+/.+|packs/[\w.-]+\.pack")


class StoredFile(msgspec.Struct, frozen=True):
    """One file. place: in the home; stored: in the backup; both with `/`. mtime_ns, inode: of the original when it was
    read, so that the next backup sees at one look that a pack did not change."""

    place: str
    stored: str
    bytes: int
    sha256: str
    mtime_ns: int = 0
    inode: int = 0


class BackupManifest(msgspec.Struct, frozen=True):
    """The content of a backup. made_at: UTC microseconds of its moment.

    in_step: the archive did not change at that moment. False: something was being ingested, so the archive may hold
    more than the database; restoring handles that. damaged: names of chunks, in hex, that did not open in the memory
    either.
    """

    made_at: int
    version: str
    schema: int
    home_id: str
    generation: int
    key: KeyState
    in_step: bool
    sessions: int
    events: int
    sources: int
    chunks: int
    files: tuple[StoredFile, ...]
    format: int = FORMAT
    damaged: tuple[str, ...] = ()

    def file(self, place: str) -> StoredFile | None:
        """Return the file of a place in the home."""
        return next((one for one in self.files if one.place == place), None)

    @property
    def bytes(self) -> int:
        """The bytes of all its files."""
        return sum(one.bytes for one in self.files)


def decode_manifest(data: bytes, *, where: str) -> BackupManifest:
    """Return a manifest. Raises BackupUnusable for a damaged one, a newer one, or one that names strange places."""
    try:
        manifest = msgspec.json.decode(data, type=BackupManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BackupUnusable(f"{where} has a manifest that cannot be read: {error}") from error
    if manifest.format > FORMAT:
        raise BackupUnusable(f"{where} was made by a newer Recollect", hint="upgrade recollect")
    for one in manifest.files:
        if not (_is_inside(one.place, _PLACE) and _is_inside(one.stored, _STORED)):
            raise BackupUnusable(f"{where} names a file that no backup has: {one.place}")
    return manifest


def read_manifest(folder: Path) -> BackupManifest | None:
    """Return the manifest of a folder, None where it holds no whole backup. Raises BackupUnusable."""
    try:
        data = (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BackupUnusable(f"{folder / MANIFEST} cannot be read: {error.strerror}") from error
    return decode_manifest(data, where=str(folder))


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Put the manifest in place, whole and durable: from now on the folder is this backup. Raises OSError."""
    write_file(folder / MANIFEST, encode_manifest(manifest), durable=True)


def encode_manifest(manifest: BackupManifest) -> bytes:
    """Return the manifest as stored in a backup."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def is_stored_name(name: str) -> bool:
    """Return whether a backup may hold a file of this name."""
    return name == MANIFEST or _is_inside(name, _STORED)


def _is_inside(name: str, form: re.Pattern[str]) -> bool:
    parts = PurePosixPath(name).parts
    return form.fullmatch(name) is not None and ".." not in parts and "\\" not in name and not name.startswith("/")


class BackupReport(msgspec.Struct, frozen=True):
    """A backup that was made and read back.

    made_at: UTC microseconds of its moment. bytes: of all its files; copied_bytes: written by this run. chunks: opened
    and found to match their names; 0 without the key. in_step: False if something was being ingested meanwhile: the
    archive may then be ahead of the database, and restoring handles that.
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


LAST_BACKUP = "last-backup.json"


class LastBackup(msgspec.Struct, frozen=True):
    """The newest backup that was made whole. made_at: UTC microseconds."""

    target: str
    made_at: int


def remember(home: Path, backup: LastBackup) -> None:
    """Write down a backup. Raises DiskFull, ArchiveError."""
    with write_errors(home / LAST_BACKUP):
        write_file(home / LAST_BACKUP, msgspec.json.encode(backup) + b"\n", durable=True)


def last_backup(home: Path) -> LastBackup | None:
    """Return the newest backup, None without one or without a readable record of it."""
    try:
        return msgspec.json.decode((home / LAST_BACKUP).read_bytes(), type=LastBackup)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
