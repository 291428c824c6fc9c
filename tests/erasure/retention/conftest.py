"""A memory of several sessions of one agent, with a decision and much output in each."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config, NotifyConfig, RetentionConfig
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript

WORDS = ("otter", "heron", "badger", "marten", "osprey", "lynx")
"""One a session: by it its decision and its prompt are found."""


class Work:
    """What an agent left, and the memory of it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "memory"
        self.env = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "claude"), "RECOLLECT_BACKGROUND": "0"}
        self.folder = folder
        self.transcripts: list[ClaudeTranscript] = []

    def write(self, count: int = 3, *, large: Sequence[int] = ()) -> list[ClaudeTranscript]:
        """Write sessions, each a month after the one before; those in `large` have a result of 100 kB."""
        for number in range(count):
            start = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(days=30 * number)
            session = ClaudeTranscript(self.folder / "claude", f"session {number}", cwd="/w/shop", start=start)
            word = WORDS[number]
            session.user(f"The {word} importer is slow. What should we do?")
            session.assistant(f"We could batch the {word} rows, or stream them one by one.")
            session.user(f"Let's batch the {word} rows instead of streaming them, because a commit is slow.")
            for step in range(4):
                session.tool("Bash", {"command": f"pytest -k {word}{step}"}, output(number * 10 + step, 3_000))
            if number in large:
                session.tool("Bash", {"command": f"cat {word}.log"}, output(number, 100_000))
            session.assistant(f"Done: the {word} rows are batched and all tests pass.")
            self.transcripts.append(session)
        return self.transcripts

    def open(self, *, notify: tuple[str, ...] = (), **bounds: Any) -> Memory:
        """Open the memory with bounds for what it keeps."""
        config = Config(retention=RetentionConfig(**bounds), notify=NotifyConfig(command=notify))
        return Memory.open(self.home, config=config, env=self.env)


def output(seed: int, size: int) -> str:
    """Return text that hardly compresses, the same for the same seed."""
    drawn = random.Random(seed)
    return "".join(drawn.choices("abcdefghijklmnopqrstuvwxyz0123456789 \n", k=size))


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


@pytest.fixture
def made() -> Callable[[Path], Work]:
    """Return what makes a further one, for tests that need many."""
    return Work
