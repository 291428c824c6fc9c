"""Everything derived, made again from the archive alone, is the same: events, usage, digests, nodes, decisions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.config import Config
from recollect.memory import DecisionQuestion, Memory, NewDecision
from recollect.store.insights import NodeFilter
from recollect.testing.builders import ClaudeTranscript, CodexRollout

AGENTS = ("claude", "codex")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a folder with two agents in which something was decided, done, and done again after a while."""
    one = ClaudeTranscript(tmp_path / "claude", "one")
    one.user("Should we keep the events in SQLite or in Postgres?")
    one.assistant("SQLite needs no server, Postgres scales further. I recommend SQLite.")
    one.user("Let's go with SQLite, not Postgres, because it needs no server.")
    one.write("/w/demo/store.py", "import sqlite3\n")
    one.tool("Bash", {"command": "pytest -q"}, "1 failed, 3 passed", is_error=True)
    one.write("/w/demo/store.py", "import sqlite3  # fixed\n")
    one.tool("Bash", {"command": "pytest -q"}, "4 passed")
    one.assistant("All tests pass now.", output_tokens=77)
    CodexRollout(tmp_path / "codex", "two").turn("why is the build red", "because of a flaky test", output_tokens=42)
    return tmp_path


@pytest.fixture
def memory(machine: Path) -> Iterator[Memory]:
    env = {"HOME": str(machine), "CLAUDE_CONFIG_DIR": str(machine / "claude"), "CODEX_HOME": str(machine / "codex")}
    with Memory.open(machine / "memory", config=Config(), env=env) as memory:
        memory.sync()
        ClaudeTranscript(machine / "claude", "one").user("and thank you")  # a second observation of the first source
        memory.sync()
        memory.distilling.run(sessions=[s.session_uid for s in memory.sessions(sync=False).sessions])
        yield memory


def said(memory: Memory) -> dict[str, Any]:
    """Return what a memory says of everything that is derived, without the times at which it did so."""
    sessions = memory.sessions(sync=False, limit=100).sessions
    uids = sorted(s.session_uid for s in sessions)
    nodes = memory.distilled().nodes(NodeFilter())
    return {
        "events": {uid: [msgspec.to_builtins(e) for e in memory.reader().events(uid, limit=None)] for uid in uids},
        "hidden": {uid: len(list(memory.reader().events(uid, limit=None, include_hidden=True))) for uid in uids},
        "sessions": [
            msgspec.to_builtins(msgspec.structs.replace(s, ingested_at=None, discovered_at=None, analyzed_at=None))
            for s in sorted(sessions, key=lambda s: s.session_uid)
        ],
        "digests": [msgspec.to_builtins(memory.digest(uid)) for uid in uids],
        "nodes": sorted((n.node.id, msgspec.json.encode(n.node), n.recorded_at) for n in nodes),
        "usage": msgspec.to_builtins(memory.usage.report(by="session")),
        "ledgers": sorted(msgspec.json.encode(row) for row in memory.reader().ledgers()),
        "hits": [(h.session_uid, h.seq) for h in memory.search("SQLite", sync=False).hits],
    }


def test_from_the_archive_and_what_exists_nowhere_else(memory: Memory, machine: Path) -> None:
    (first, *_) = memory.sessions(sync=False).sessions
    memory.decisions_facet.add(
        NewDecision("we write dates as ISO 8601", because="they sort", session=first.session_uid)
    )
    before = said(memory)
    decided = memory.decisions_facet.find(DecisionQuestion())
    assert before["nodes"]
    assert any(digest["outcome"] for digest in before["digests"])
    for agent in AGENTS:
        shutil.rmtree(machine / agent)
    memory.maintenance.rebuild("all")
    assert said(memory) == before
    added = [d.decision.statement for d in memory.distilled().decisions() if d.decision.origin == "added"]
    assert added == ["we write dates as ISO 8601"]
    assert memory.decisions_facet.find(DecisionQuestion()) == decided
    assert memory.maintenance.verify().ok


def test_from_the_archive_alone(memory: Memory, machine: Path) -> None:
    """No database, no index, no files of agents: only the archive and its keys."""
    before = said(memory)
    memory.close()
    for agent in AGENTS:
        shutil.rmtree(machine / agent)
    for path in list(memory.home.iterdir()):
        if path.name not in ("archive", "keys"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    memory.maintenance.rebuild("all")
    memory.distilling.run(sessions=sorted(before["events"]))
    assert said(memory) == before
    assert all(part.ok for part in memory.maintenance.verify_deep().deep)
