"""`setup.json`: everything that setup wrote, so that it can be removed exactly.

It is written before the file it speaks of, and once more after: a crash between the two leaves a record that names more
than is there, and taking out what is not there changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from recollect.agents.install.values import Format, Undo
from recollect.maintenance.setup.settings import RecordFile, load_record, save_record

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
