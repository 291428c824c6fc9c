"""Reads and writes an agent's settings files, whole or not at all.

A file keeps its mode and its owner; a symbolic link stays, its target changes. A file that changed since it was read,
or that its owner made read-only, is not written. `setup.json` names everything that setup wrote, so that it can be
removed exactly: it is written before the file it speaks of, and once more after. A crash between the two leaves a
record that names more than is there, and taking out what is not there changes nothing.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec

from recollect.agents.install.values import Format, Undo
from recollect.errors import SettingsChanged, SettingsError, SettingsInvalid
from recollect.files import PRIVATE, remove_drafts, write_file
from recollect.units import size

MAX_BYTES = 64 * 1024 * 1024
RECORD_VERSION = 1
"""Of the records in the memory's home: what setup wrote, and what the service did."""
_ANYBODY_WRITES = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class RecordFile(msgspec.Struct, frozen=True, kw_only=True):
    """A record of what was written outside of the home, so that it can be removed exactly."""

    version: int = RECORD_VERSION


_Record = TypeVar("_Record", bound=RecordFile)


class Settings(NamedTuple):
    """A file as it was read. path: as named; target: what it is when links are followed. data: None if absent."""

    path: str
    target: str
    data: bytes | None
    mode: int = PRIVATE

    @property
    def sha256(self) -> str:
        """The hash of its bytes, empty for a missing file."""
        return sha256_of(self.data)

    @property
    def text(self) -> str:
        """Its text; a byte order mark stays. Raises SettingsInvalid where it is not UTF-8."""
        try:
            return (self.data or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            line = (self.data or b"")[: error.start].count(b"\n") + 1
            raise SettingsInvalid(f"{self.path} is not UTF-8", line=line) from error


def sha256_of(data: bytes | None) -> str:
    """Return the hash of a file's bytes, empty for none."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def read_settings(path: str) -> Settings:
    """Read a file. Raises SettingsError for anything that cannot be read as a file."""
    target = os.path.realpath(path)
    try:
        found = os.stat(target)
        if not stat.S_ISREG(found.st_mode):
            raise SettingsError(f"{path} is not a file")
        if found.st_size > MAX_BYTES:
            raise SettingsError(f"{path} is larger than {size(MAX_BYTES, binary=True)}")
        data = Path(target).read_bytes()
    except FileNotFoundError:
        if os.path.islink(target):
            raise SettingsError(f"{path} is a link that leads back to itself") from None
        return Settings(path, target, None)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    return Settings(path, target, data, stat.S_IMODE(found.st_mode))


def write_problem(settings: Settings) -> str:
    """Return why a file cannot be written, empty where it can."""
    if settings.data is not None and not settings.mode & _ANYBODY_WRITES:
        return f"{settings.path} is read-only"
    folder = os.path.dirname(settings.target)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        return f"{folder} is not a folder"
    if settings.data is not None and not os.access(settings.target, os.W_OK):
        return f"{settings.path} cannot be written"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written"


def missing_folders(settings: Settings) -> tuple[str, ...]:
    """Return the folders that have to be made for a file, the outermost first."""
    missing: list[str] = []
    folder = os.path.dirname(settings.target)
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(missing[::-1])


def replace_settings(before: Settings, data: bytes) -> None:
    """Write a file's new bytes; folders on the way are made.

    Raises SettingsChanged when it is not as it was read, SettingsError when it cannot be written.
    """
    _check(before)
    try:
        for one in missing_folders(before):
            os.mkdir(one, 0o700)
        write_file(before.target, data, durable=True, mode=None, before_replace=lambda: _check(before))
    except OSError as error:
        raise SettingsError(f"{before.path} cannot be written: {error.strerror}") from error


def delete_settings(before: Settings, folders: tuple[str, ...]) -> None:
    """Delete a file that is as it was read, and of these folders those that are empty then."""
    _check(before)
    try:
        os.unlink(before.target)
    except OSError as error:
        raise SettingsError(f"{before.path} cannot be deleted: {error.strerror}") from error
    remove_empty(folders)


def remove_empty(folders: tuple[str, ...]) -> None:
    """Remove those of the folders (the outermost first) that are empty."""
    for folder in reversed(folders):
        try:
            remove_drafts(folder)
            os.rmdir(folder)
        except OSError:  # somebody else has something in it, or it is gone: either way it isn't ours any more
            return


def _check(before: Settings) -> None:
    problem = write_problem(before)
    if problem:
        raise SettingsError(problem, hint="make it writable, or set the agent up by hand")
    if read_settings(before.path).sha256 != before.sha256:
        raise SettingsChanged(
            f"{before.path} was changed by another program meanwhile", hint="run the same command again"
        )


def load_record(path: Path, kind: type[_Record], *, writer: str) -> _Record | None:
    """Return the record of what `writer` wrote, None without one. Raises SettingsError for a damaged one."""
    found = read_settings(str(path))
    if found.data is None:
        return None
    try:
        record = msgspec.json.decode(found.data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} cannot be read: {error}", hint=f"what {writer} wrote can then only be removed by hand"
        ) from error
    if record.version > RECORD_VERSION:
        raise SettingsError(f"{path} was written by a newer Recollect", hint="upgrade recollect")
    return record


def save_record(path: Path, record: RecordFile | None) -> None:
    """Write a record, whole or not at all; None takes it away. Raises SettingsError."""
    before = read_settings(str(path))
    if record is None:
        if before.data is not None:
            os.unlink(before.target)
        return
    data = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    if data != before.data:
        replace_settings(before, data)


NAME = "setup.json"
Kind = Literal["mcp", "hooks", "skill", "native_memory", "writing_tools"]
"""writing_tools: in the configuration of Recollect itself, which no manifest speaks of."""
Mode = Literal["pull", "push", "both"]


class KindUndo(msgspec.Struct, frozen=True):
    """An edit of ours in a file, and what for."""

    kind: Kind
    undo: Undo


class FileRecord(msgspec.Struct, frozen=True):
    """A file that setup changed or created.

    form: of the settings; `own` is a file that is ours alone. made: it did not exist before; folders: created for it.
    before_sha256: of the bytes before the first change (empty: absent); after_sha256: as we left it last. frame: what a
    file that we created held besides. backup: where its first bytes are kept.
    """

    path: str
    form: Format | Literal["own"]
    kinds: tuple[Kind, ...]
    made: bool
    before_sha256: str
    after_sha256: str
    undos: tuple[KindUndo, ...] = ()
    folders: tuple[str, ...] = ()
    frame: str = ""
    backup: str = ""


class Registration(msgspec.Struct, frozen=True):
    """What the agent's own command wrote: the place, and how to remove it if the command is gone."""

    path: str
    form: Format
    undo: Undo


class AgentRecord(msgspec.Struct, frozen=True):
    """What setup wrote for one agent."""

    mode: Mode
    files: tuple[FileRecord, ...] = ()
    registration: Registration | None = None

    def file(self, path: str) -> FileRecord | None:
        """Return the record of a file."""
        return next((one for one in self.files if one.path == path), None)


class Manifest(RecordFile, frozen=True):
    """Everything that setup wrote, by agent."""

    agents: dict[str, AgentRecord] = msgspec.field(default_factory=dict)


def load_manifest(home: Path) -> Manifest:
    """Return the manifest of a home, an empty one before any setup. Raises SettingsError for a damaged one."""
    return load_record(home / NAME, Manifest, writer="setup") or Manifest()


def save_manifest(home: Path, manifest: Manifest) -> None:
    """Write the manifest, whole or not at all; delete it when nothing is set up."""
    save_record(home / NAME, manifest if manifest.agents else None)


def with_agent(manifest: Manifest, slug: str, record: AgentRecord | None) -> Manifest:
    """Return the manifest with another record of an agent, or with none."""
    agents = {name: one for name, one in manifest.agents.items() if name != slug}
    if record is not None:
        agents[slug] = record
    return Manifest(agents)


def with_file(record: AgentRecord, file: FileRecord) -> AgentRecord:
    """Return the record of an agent with another record of a file; without it, where that has nothing of ours."""
    files = [one for one in record.files if one.path != file.path]
    if file.kinds:
        files.append(file)
    return msgspec.structs.replace(record, files=tuple(files))
