"""The program, asked in a home of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.cli.main import run
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript


class Outcome(NamedTuple):
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Recollect = Callable[..., Outcome]


@pytest.fixture
def recollect(capfd: pytest.CaptureFixture[str], isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Recollect:
    work = isolated_home / "work" / "shop"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)

    def call(*argv: object) -> Outcome:
        capfd.readouterr()
        code = run([str(word) for word in argv])
        sys.stdout.flush()
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture
def session(isolated_home: Path, recollect: Recollect) -> str:
    """Return the uid of a session that was taken in."""
    transcript = ClaudeTranscript(isolated_home / ".claude", "checkout", cwd=str(isolated_home / "work" / "shop"))
    transcript.user("Use Postgres instead of MySQL because it has better JSON support.")
    transcript.write("postgres.py", "import psycopg\n")
    transcript.assistant("Done: it uses Postgres now.")
    with Memory.open() as memory:
        assert memory.sync().state == "done"
        return memory.sessions(sync=False).sessions[0].session_uid
