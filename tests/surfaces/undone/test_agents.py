"""What the person went back from is undone, whichever agent wrote it down: the fixtures of the conformance suite, with
something to decide in them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.testing.fixtures import Fixture, lay_out

FIXTURES = Path(__file__).parents[2] / "conformance" / "fixtures"
SAID = {
    "First.": "Let us use sqlite3 instead of orjson for the cache.",
    "Wrong turn.": "Actually, use Redis for the cache instead of sqlite3. Remember that the staging port is 7001.",
    "Second.": "Remember that the release branch is trunk.",
}


@pytest.mark.parametrize(
    "fixture", ["claude/2.1.230", "codex/0.146.0", "gemini/0.40.0", "hermes/schema-30", "pi/3", "qwen/0.21.13"]
)
def test_the_branch_that_was_left_is_undone_and_the_rest_holds(fixture: str, tmp_path: Path) -> None:
    with memory_of(fixture, tmp_path) as memory:
        memory.sync()
        memory.distilling.run()
        decisions = {v.decision.statement: v.state for v in memory.decisions(states=("holds", "undone")).decisions}
        learnings = {one.text: one.state for one in memory.learn.learnings()}
        (session,) = memory.sessions(sync=False).sessions
        undone = [event.summary for event in memory.events(session.session_uid) if event.is_undone]
    assert decisions == {SAID["First."]: "holds", SAID["Wrong turn."].partition(". ")[0] + ".": "undone"}
    assert learnings["the staging port is 7001."] == "undone"
    assert learnings["the release branch is trunk."] == "active"
    assert SAID["Wrong turn."] in undone
    assert "Oops." in undone
    assert not {*undone}.intersection((SAID["First."], SAID["Second."], "One.", "Two."))


def memory_of(fixture: str, root: Path) -> Memory:
    """Open a memory over a copy of a rewind's fixture in which a person says more than that it was wrong."""
    agent, _, version = fixture.partition("/")
    said, home = root / "said", root / "agent"
    shutil.copytree(FIXTURES / fixture / "rewind", said)
    for path in (path for path in said.rglob("*") if path.is_file()):
        text = path.read_text("utf-8")
        for old, new in SAID.items():
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
    lay_out(Fixture(agent, version, "rewind", said), home)
    config = Config(agents={agent: AgentConfig(roots=(str(home),))})
    return Memory.open(root / "memory", config=config, env={"HOME": str(root / "nobody")})
