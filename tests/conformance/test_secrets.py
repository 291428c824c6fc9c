"""A secret in any agent's conversation is in no event, no title, no answer and no byte of the database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from recollect.agents.registry import adapters
from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.testing.fixtures import Fixture, fixtures_in, lay_out
from tests.conformance.conftest import Together, each_of

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


@each_of(CHOSEN)
def test_a_planted_secret_is_nowhere(fixture: Fixture, together: Together) -> None:
    shown = together(shown_of, fixture)
    assert SECRET.lower() not in shown
    assert "redacted" in shown


def shown_of(fixtures: Sequence[Fixture], work: Path) -> list[str]:
    """Return all that a memory shows of fixtures with the secret in them; it is in no answer and in no file."""
    agents = [fixture.agent for fixture in fixtures]
    for fixture in fixtures:
        files = lay_out(plant(fixture, work / "planted"), work / "root" / fixture.agent)
        assert any(SECRET.encode() in path.read_bytes() for path in files), f"{fixture.name} does not tell the story"
    config = Config(agents={agent: AgentConfig(roots=(str(work / "root" / agent),)) for agent in agents})
    home = work / "home"
    with Memory.open(home, config=config, env={"HOME": str(work)}) as memory:
        memory.sync(agents=agents)
        sessions = memory.sessions(sync=False, limit=1000).sessions
        told: dict[str, list[object]] = {agent: [] for agent in agents}
        for session in sessions:
            events = memory.reader().events(session.session_uid, limit=None, include_hidden=True)
            told[session.agent] += [session, *events]
        answer = memory.search(f'"{SECRET}"', sync=False)
        assert memory.maintenance.verify().ok
    assert not answer.hits
    for path in home.glob("memory.db*"):
        assert SECRET.encode() not in path.read_bytes(), path.name
    return [msgspec.json.encode(told[agent]).decode().lower() for agent in agents]


def test_every_agent_is_asked() -> None:
    """But Slack, which tells none of these stories: it has no assistant, and its own tests plant a secret."""
    own = {slug for slug, a in adapters().items() if not a.facts.is_configured}
    assert {f.agent for f in CHOSEN} >= own - {"slack"}
