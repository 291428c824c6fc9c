"""A memory of two agents that can grow, and what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript, CodexRollout


class World(NamedTuple):
    """A person's machine: two agents, and a memory of them."""

    folder: Path
    env: dict[str, str]
    one: ClaudeTranscript
    two: CodexRollout

    @property
    def home(self) -> Path:
        return self.folder / "memory"

    def memory(self, home: Path | None = None) -> Memory:
        return Memory.open(home or self.home, config=Config(), env=self.env)

    def grow(self, text: str) -> None:
        self.one.user(text)
        self.one.assistant(f"answer to {text}")
        with self.memory() as memory:
            assert memory.sync().state == "done"


@pytest.fixture
def machine(tmp_path: Path) -> World:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    one = ClaudeTranscript(tmp_path / "claude", "one")
    one.user("let us keep the events in SQLite")
    one.tool("Bash", {"command": "cat log"}, "zanzibar\n" + "word " * 4000)
    one.assistant("they are in SQLite now")
    two = CodexRollout(tmp_path / "codex", "two")
    two.turn("why is the build red", "because of a flaky test")
    world = World(tmp_path, env, one, two)
    with world.memory() as memory:
        memory.sync()
    return world


def told(memory: Memory) -> dict[str, list[bytes]]:
    """Return everything that a memory says of its sessions, without looking for changes first."""
    page = memory.sessions(limit=1000, sync=False)
    return {
        session.session_uid: [msgspec.json.encode(event) for event in memory.events(session.session_uid)]
        for session in page.sessions
    }


def found(memory: Memory, query: str) -> list[tuple[str, int]]:
    """Return the places of a query's hits, without looking for changes first."""
    return [(hit.session_uid, hit.seq) for hit in memory.search(query, sync=False).hits]
