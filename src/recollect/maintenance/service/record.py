"""`service.json` in the memory's home: what was written for the service, so that it can be taken out exactly.

It is written before the files it speaks of: a crash between the two leaves a record that names more than is there.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from recollect.errors import SettingsError
from recollect.maintenance.service.job import ManagerName, ServiceEvery, ServiceKind
from recollect.maintenance.setup.files import read_settings, replace_settings

NAME = "service.json"
VERSION = 1


class WrittenFile(msgspec.Struct, frozen=True):
    """A file of ours. sha256: of what we wrote last and, while that is under way, before. folders: made for it."""

    path: str
    sha256: tuple[str, ...]
    folders: tuple[str, ...] = ()


class Record(msgspec.Struct, frozen=True):
    """What is installed. program: that it starts. made_crontab: there was none before. lingered: we turned it on.
    environment: what the service was told of it, None where an older version wrote this. crontab: our lines in it.
    retro_out: as in `Job`.
    """

    manager: ManagerName
    name: str
    kind: ServiceKind
    every: ServiceEvery
    program: str
    files: tuple[WrittenFile, ...] = ()
    made_crontab: bool = False
    lingered: bool = False
    environment: dict[str, str] | None = None
    crontab: str = ""
    retro_out: str = ""
    version: int = VERSION

    def file(self, path: str) -> WrittenFile | None:
        """Return what is known of a file."""
        return next((one for one in self.files if one.path == path), None)


def load_record(home: Path) -> Record | None:
    """Return what is installed for a home, None for nothing. Raises SettingsError for a damaged record."""
    found = read_settings(str(home / NAME))
    if found.data is None:
        return None
    try:
        record = msgspec.json.decode(found.data, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{home / NAME} cannot be read: {error}", hint="what the service wrote can only be taken out by hand then"
        ) from error
    if record.version > VERSION:
        raise SettingsError(f"{home / NAME} was written by a newer Recollect", hint="upgrade recollect")
    return record


def save_record(home: Path, record: Record | None) -> None:
    """Write the record, whole or not at all; None takes it away. Raises SettingsError."""
    before = read_settings(str(home / NAME))
    if record is None:
        if before.data is not None:
            os.unlink(before.target)
        return
    data = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    if data != before.data:
        replace_settings(before, data)
