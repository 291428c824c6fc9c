"""A secret in any agent's conversation is in no event, no title, no answer and no byte of the database."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from recollect.agents.registry import adapters
from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.testing.fixtures import Fixture, fixtures_in, lay_out

FOLDER = Path(__file__).resolve().parent / "fixtures"
SECRET = "AKIA" + "Q3EGRIZBN4KAHXTP"
"""Made up; of the form of a cloud key."""
CARRIERS = re.compile(r"\btwo\b|\bThree\b|\bOne\b|\bpass\b|\bfails\b")
"""Words of the stories that stand in what people, models and tools say; short, so that streaming never splits them."""


def _is_binary(path: Path) -> bool:
    return path.is_file() and path.suffix in (".pb", ".binpb", ".zst", ".gz")


CHOSEN = [
    f
    for f in fixtures_in(FOLDER)
    if f.scenario in ("dialogue", "tool", "failed_tool") and not any(map(_is_binary, f.folder.rglob("*")))
]


def plant(fixture: Fixture, root: Path) -> Fixture:
    """Copy a fixture with the secret in place of a word of what is said."""
    target = root / fixture.agent / fixture.version / fixture.scenario
    for path in fixture.folder.rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(fixture.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(CARRIERS.sub(SECRET, path.read_text("utf-8")), "utf-8")
    return fixture._replace(folder=target)


@pytest.mark.parametrize("fixture", CHOSEN, ids=lambda f: f.name)
def test_a_planted_secret_is_nowhere(fixture: Fixture, tmp_path: Path) -> None:
    root = tmp_path / "root"
    files = lay_out(plant(fixture, tmp_path / "planted"), root)
    assert any(SECRET.encode() in path.read_bytes() for path in files), "the fixture does not tell the story"
    config = Config(agents={fixture.agent: AgentConfig(roots=(str(root),))})
    home = tmp_path / "home"
    with Memory.open(home, config=config, env={"HOME": str(tmp_path)}) as memory:
        memory.sync(agents=[fixture.agent])
        sessions = memory.sessions(sync=False, limit=100).sessions
        events = [e for s in sessions for e in memory.reader().events(s.session_uid, limit=None, include_hidden=True)]
        shown = msgspec.json.encode([list(sessions), events]).decode()
        answer = memory.search(f'"{SECRET}"', sync=False)
        assert memory.maintenance.verify().ok
    assert SECRET not in shown
    assert SECRET.lower() not in shown.lower()
    assert not answer.hits
    assert "redacted" in shown.lower() or "secret" in shown.lower()
    for path in home.glob("memory.db*"):
        assert SECRET.encode() not in path.read_bytes(), path.name


def test_every_agent_is_asked() -> None:
    """But Slack, which tells none of these stories: it has no assistant, and its own tests plant a secret."""
    own = {slug for slug, a in adapters().items() if not a.facts.is_configured}
    assert {f.agent for f in CHOSEN} >= own - {"slack"}
