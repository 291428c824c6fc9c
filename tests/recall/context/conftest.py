"""A repository that agents work in, and a memory of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.memory import ContextBlock
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.conftest import World, world

__all__ = ["Shop", "shop", "world"]


class Shop:
    """The repository `shop`; sessions in it have their own days, one after the other."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.memory = world.memory
        self.path = world.root / "shop"
        (self.path / ".git").mkdir(parents=True)
        self._count = 0

    def session(self, name: str, *, cwd: str | Path = "") -> Session:
        self._count += 1
        return Session(self.world, name, str(cwd or self.path), day=self._count)

    def context(self, **asked: Any) -> ContextBlock:
        self.memory.sync()
        return self.memory.context(**{"cwd": str(self.path), **asked})


class Session(ClaudeTranscript):
    """A session of Claude Code on a day of its own."""

    def __init__(self, world: World, name: str, cwd: str, *, day: int) -> None:
        super().__init__(world.claude_home, name, cwd=cwd)
        self._at = self._at.replace(day=day)

    def work(self, asked: str, answered: str) -> Session:
        self.user(asked)
        self.assistant(answered)
        return self

    def shell(self, command: str, result: str, *, fails: bool = False) -> None:
        self.tool("Bash", {"command": command}, result, is_error=fails)

    def edit(self, path: str) -> None:
        self.tool("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "edited")

    def compact(self) -> None:
        boundary = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info",
                    "compactMetadata": {"trigger": "auto", "preTokens": 150_000}}  # fmt: skip
        self._message("system", {}, boundary)


@pytest.fixture
def shop(world: World) -> Shop:
    return Shop(world)
