"""A home of agents and a memory over it, both new for every test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests.capture.conftest import desk

__all__ = ["World", "desk", "texts", "world", "world_in"]


class World(NamedTuple):
    """Two agents' homes and a memory."""

    root: Path
    claude_home: Path
    codex_home: Path
    memory: Memory
    env: dict[str, str]

    def claude(self, name: str = "one", **options: str) -> ClaudeTranscript:
        return ClaudeTranscript(self.claude_home, name, **options)

    def codex(self, name: str = "one") -> CodexRollout:
        return CodexRollout(self.codex_home, name)

    def again(self, config: Config | None = None) -> Memory:
        """Open the same memory a second time, as another process would."""
        return Memory.open(self.root / "memory", config=config or Config(), env=self.env)


@contextmanager
def world_in(root: Path) -> Iterator[World]:
    """Open the memory of a folder; agents write beside it."""
    env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
    with Memory.open(root / "memory", config=Config(), env=env) as memory:
        yield World(root, root / "claude", root / "codex", memory, env)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_in(tmp_path) as world:
        yield world


def texts(events: list[Event]) -> list[str]:
    """The texts of the human and assistant messages, in order."""
    return [e.payload.text for e in events if e.kind in ("user_message", "assistant_message")]  # type: ignore[union-attr]
