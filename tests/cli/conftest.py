"""Homes with the bundled sample in them, and a way to run the program as a person would."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.agents.registry import adapters
from recollect.cli.first_run import lay_out
from recollect.cli.main import run
from recollect.memory import Memory

AGENTS = tuple(adapters())


class Outcome(NamedTuple):
    """What a run of the program gave. `data` is the decoded output of a run with `--json`."""

    code: int
    out: str
    err: str
    data: Any


@pytest.fixture
def recollect(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Return a function that runs `recollect` with arguments (and bytes on stdin) in this process."""

    def call(*argv: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        code = run(argv)
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = (stream.decode() for stream in capfdbinary.readouterr())
        return Outcome(code, out, err, json.loads(out) if "--json" in argv and argv[0] != "parse" else None)

    return call


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with the bundled sample in it, made once; for tests that only ask."""
    home = tmp_path_factory.mktemp("demo") / "home"
    home.mkdir()
    env = {"HOME": str(home), "USERPROFILE": str(home)}
    with Memory.open(home, config=lay_out(home, AGENTS), env=env) as memory:
        assert memory.sync().state == "done"
    return home


@pytest.fixture
def filled(demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the sample's home the user's for this test."""
    monkeypatch.setenv("RECOLLECT_HOME", str(demo))
    return demo


@pytest.fixture
def history(isolated_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Lay the sample out as this user's own history, in an empty memory; return the folder that holds both agents."""
    lay_out(tmp_path, AGENTS)
    (tmp_path / "config.toml").unlink()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "sample" / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "sample" / "codex"))
    return tmp_path / "sample"
