"""Sessions of every agent, from files, databases and folders, arrive on another machine as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.testing.fixtures import fixtures_in, lay_out
from tests.sharing.conftest import PASSPHRASE

FIXTURES = Path(__file__).resolve().parents[1] / "conformance" / "fixtures"


def test_sessions_of_every_agent_arrive_as_they_were(tmp_path: Path) -> None:
    newest = {(one.agent, one.scenario): one for one in fixtures_in(FIXTURES) if one.scenario in ("dialogue", "rewind")}
    roots = {one: tmp_path / "agents" / one.agent / one.scenario for one in newest.values()}
    for fixture, root in roots.items():
        lay_out(fixture, root)
    places = {agent: tuple(str(root) for one, root in roots.items() if one.agent == agent) for agent, _ in newest}
    config = Config(agents={agent: AgentConfig(roots=found) for agent, found in places.items()})
    (tmp_path / "shared").mkdir()
    with (
        Memory.open(tmp_path / "one", config=config, env={"HOME": str(tmp_path)}) as one,
        Memory.open(tmp_path / "two", config=Config(), env={"HOME": str(tmp_path / "nobody")}) as two,
    ):
        one.sync(agents=tuple(places))
        sent, got = (
            memory.shared_folder.sync(tmp_path / "shared", lambda _: PASSPHRASE, name=name)
            for memory, name in ((one, "one"), (two, "two"))
        )
        assert (sent.refused, got.refused, got.waiting) == ((), (), 0)
        told = _content(one)
        assert {uid.partition(":")[0] for uid in told} >= places.keys() - {"otel"}
        assert _content(two) == told
        assert two.maintenance.verify().ok


def _content(memory: Memory) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for session in memory.sessions(limit=10_000, sync=False).sessions:
        events = memory.reader().events(session.session_uid, limit=None, include_hidden=True)
        found[session.session_uid] = [msgspec.to_builtins(event) | {"location": ""} for event in events]
    return found
