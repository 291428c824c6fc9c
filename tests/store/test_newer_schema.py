"""A home that a newer version wrote is read as far as that goes, and never written."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from recollect.config import Config
from recollect.errors import SchemaTooNew
from recollect.memory import Memory
from recollect.paths import DATABASE_NAME
from recollect.store.audit import add_audit, append_firings
from recollect.store.migrations import SCHEMA_VERSION
from recollect.testing.builders import ClaudeTranscript


def newer(home: Path, *statements: str) -> None:
    """Do to a database what a migration of a later version would."""
    db = apsw.Connection(str(home / DATABASE_NAME))
    for statement in statements:
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 3}")
    db.close()


@pytest.fixture
def transcript(tmp_path: Path) -> ClaudeTranscript:
    transcript = ClaudeTranscript(tmp_path / "claude", "one")
    transcript.user("where is the zanzibar log")
    transcript.tool("Bash", {"command": "ls"}, "word " * 3000)
    transcript.assistant("here")
    return transcript


@pytest.fixture
def memory(tmp_path: Path, transcript: ClaudeTranscript) -> Memory:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    memory = Memory.open(tmp_path / "memory", config=Config(), env=env)
    memory.sync()
    memory.close()
    return memory


def test_what_a_newer_version_added_to_does_not_keep_anybody_from_reading(
    memory: Memory, transcript: ClaudeTranscript
) -> None:
    newer(memory.home, "CREATE TABLE later (id INTEGER PRIMARY KEY)", "ALTER TABLE session ADD COLUMN later TEXT")
    before = (memory.home / DATABASE_NAME).read_bytes()
    transcript.user("not taken in by this version")
    answer = memory.search("zanzibar")
    assert len(answer.hits) == 1
    assert any("read only" in note and "newer Recollect" in note for note in answer.notes)
    (session,) = memory.sessions().sessions
    events = list(memory.events(session.session_uid))
    assert len(events) == session.event_count
    assert memory.digest(session.session_uid) is not None
    assert memory.maintenance.verify().ok
    with pytest.raises(SchemaTooNew):
        memory.sync()
    with pytest.raises(SchemaTooNew):
        append_firings(memory.home, [])
    with pytest.raises(SchemaTooNew):
        add_audit(memory.home, "fix", {}, at=0)
    memory.close()
    assert (memory.home / DATABASE_NAME).read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE digest",
        "ALTER TABLE session RENAME COLUMN shard TO part_of",
        f"INSERT OR REPLACE INTO meta VALUES ('readable_from', {SCHEMA_VERSION + 1})",
    ],
)
def test_what_a_newer_version_took_away_or_forbids_is_not_read(memory: Memory, statement: str) -> None:
    newer(memory.home, statement)
    with pytest.raises(SchemaTooNew, match="newer"):
        memory.sessions(sync=False)
