"""A read that looks for changes again looks at everything only where the state of files says that something changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect import Memory
from recollect.ingest import operations
from recollect.testing.builders import ClaudeTranscript


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory in which every read looks for changes."""
    monkeypatch.setattr(operations, "REFRESH_EVERY_S", 0.0)
    monkeypatch.setattr(operations, "QUICK_EVERY_S", 0.0)
    return Memory.open(tmp_path / "home", env={**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})


def test_where_nothing_changed_nothing_is_looked_at(memory: Memory, tmp_path: Path) -> None:
    ClaudeTranscript(tmp_path / "claude", "one").user("about the quokka")
    assert memory.search("quokka").hits
    looked = memory.last_sync
    assert memory.search("quokka").hits
    assert memory.last_sync is looked
    memory.close()


@pytest.mark.parametrize("what", ["append", "new file", "new folder"])
def test_what_changed_is_found(memory: Memory, tmp_path: Path, what: str) -> None:
    talk = ClaudeTranscript(tmp_path / "claude", "one")
    talk.user("about the quokka")
    memory.search("quokka")
    memory.search("quokka")
    if what == "append":
        talk.user("about the wombat")
    else:
        cwd = "/elsewhere" if what == "new folder" else "/work/shop"
        ClaudeTranscript(tmp_path / "claude", "two", cwd=cwd).user("about the wombat")
    assert memory.search("wombat").hits
    memory.close()


def test_what_another_process_ingested_has_everything_looked_at(memory: Memory, tmp_path: Path) -> None:
    ClaudeTranscript(tmp_path / "claude", "one").user("about the quokka")
    memory.search("quokka")
    looked = memory.last_sync
    ClaudeTranscript(tmp_path / "claude", "two").user("about the wombat")
    with Memory.open(memory.home, env=memory.env) as other:
        other.sync()
    assert memory.search("wombat").hits
    assert memory.last_sync is not looked
    memory.close()
