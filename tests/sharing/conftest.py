"""Machines of one person, each with Claude Code and a memory, and a folder that reaches them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.memory import FolderReport, Memory
from recollect.sharing import batch_folder
from recollect.testing.builders import ClaudeTranscript

PASSPHRASE = "a horse that is correct"
MEMORY_KIB = batch_folder._MEMORY_KIB
"""What a key takes."""


@pytest.fixture(autouse=True)
def _cheap_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a key cost next to nothing: machines make more than a hundred here, which was more than half of the time."""
    monkeypatch.setattr(batch_folder, "_MEMORY_KIB", 64)


class Computer:
    """One machine."""

    def __init__(self, folder: Path, name: str, shared: Path) -> None:
        self.name = name
        self.shared = shared
        self.folder = folder / name
        (self.folder / "claude").mkdir(parents=True)
        self.home = self.folder / "recollect"
        self.env = {
            "HOME": str(self.folder),
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
            "RECOLLECT_HOME": str(self.home),
            "RECOLLECT_BACKGROUND": "0",
        }
        self.memory = Memory.open(self.home, env=self.env)

    def session(self, name: str, *said: str, repo: str = "shop") -> ClaudeTranscript:
        """Write a session in which each text is asked and answered."""
        written = ClaudeTranscript(self.folder / "claude", f"{self.name} {name}", cwd=str(self.folder / repo))
        for text in said:
            written.user(text)
            written.assistant(f"Done: {text}")
        return written

    def sync(self, passphrase: str = PASSPHRASE, **how: Any) -> FolderReport:
        """Sync with the shared folder."""
        return self.memory.shared_folder.sync(self.shared, lambda _new: passphrase, name=self.name, **how)

    def uids(self) -> set[str]:
        """Return the sessions that are stored."""
        return {one.session_uid for one in self.memory.sessions(limit=1000, sync=False).sessions}

    def content(self) -> dict[str, list[Any]]:
        """Return every event of every session, with its number and id, as far as it may not depend on the machine."""
        return {uid: [_told(event) for event in self.memory.events(uid)] for uid in sorted(self.uids())}

    def event_ids(self) -> dict[str, list[str]]:
        """Return the ids of the events of every session."""
        return {uid: [event.event_id for event in self.memory.events(uid)] for uid in sorted(self.uids())}

    def batches(self) -> list[Path]:
        """Return the files that this machine has in the folder."""
        return [one for one in self.shared.glob("*/*.batch") if one.parent.name == self.machine_id]

    @property
    def machine_id(self) -> str:
        """What the machine's folder is called."""
        found: str = msgspec.json.decode((self.home / "sync-folder.json").read_bytes())["machine"]
        return found

    def reopen(self) -> None:
        """Open the memory anew, as another process would."""
        self.memory.close()
        self.memory = Memory.open(self.home, env=self.env)


def _told(event: Any) -> Any:
    told = msgspec.to_builtins(event)
    told.pop("location")
    return told


@pytest.fixture
def computer(tmp_path: Path) -> Iterator[Callable[..., Computer]]:
    """Return what makes a machine by its name; with another folder, one that sees only what is put there."""
    made: list[Computer] = []

    def make(name: str, shared: Path = tmp_path / "shared") -> Computer:
        shared.mkdir(exist_ok=True)
        made.append(Computer(tmp_path, name, shared))
        return made[-1]

    yield make
    for one in made:
        one.memory.close()
