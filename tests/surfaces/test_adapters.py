"""What outsiders build on: the contract's checks, and the invented agent of docs/how-to/add-an-agent.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from recollect.agents.kit.adapter import BaseState
from recollect.agents.registry import adapters
from recollect.config import Config
from recollect.memory import Memory
from recollect.model.events import Draft
from recollect.model.payloads import UserMessage
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_values
from tests.surfaces.strangers import load


def test_every_adapter_keeps_the_contract_on_its_own_transcripts(tmp_path: Path) -> None:
    one, two = ClaudeTranscript(tmp_path, "one"), CodexRollout(tmp_path, "two")
    for i in range(3):
        one.user(f"question {i}")
        one.tool("Bash", {"command": "ls"}, "files")
        one.assistant("answer")
        two.turn(f"question {i}", "answer")
    for slug, writer in (("claude", one), ("codex", two)):
        info = SourceInfo(slug, "transcript", f"x/{writer.path.name}", session=writer.session)
        values = [json.loads(line) for line in writer.path.read_bytes().splitlines()]
        assert check_adapter(adapters()[slug], info, values) == []


# The invented agent of the page.

TINY = load("tiny-agent", "tiny_agent")
SAID = (
    {"who": "me", "says": "polish the samovar", "at": "2026-08-01T09:00:00Z"},
    {"who": "it", "says": "done"},
    {"x": 1},
)


class _CountingAdapter(TINY.TinyAdapter):  # type: ignore[misc, name-defined]  # loaded from a file
    """Breaks the contract: what it gives depends on what it has seen before."""

    seen = 0

    def parse(self, record: Record, state: BaseState) -> Parsed[BaseState]:
        self.seen += 1
        return Parsed(state, (Draft(payload=UserMessage(str(self.seen)), role="user"),))


def test_an_agent_added_as_the_page_says_is_taken_in_found_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(adapters(), "tiny", TINY.TinyAdapter())
    log = tmp_path / "tiny/logs/first.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(line) + "\n" for line in SAID))
    with Memory.open(
        tmp_path / "memory", config=Config(), env={"HOME": str(tmp_path), "TINY_HOME": str(tmp_path / "tiny")}
    ) as m:
        assert m.sync().agents["tiny"].events == 3
        (hit,) = m.search("samovar agent:tiny", sync=False).hits
        assert (hit.session_uid, hit.kind) == ("tiny:first", "user_message")
        assert [e.ts_quality for e in m.events("tiny:first")] == ["exact", "inferred", "inferred"]
        assert m.maintenance.verify().ok
        assert b"".join(m.maintenance.export_bytes("tiny:first", format="raw")) == log.read_bytes()
        assert "tiny" in [a.slug for a in m.agents.list()]


@given(values=any_values())
@settings(max_examples=25)
def test_the_invented_agent_keeps_the_contract(values: list[Any]) -> None:
    assert (
        check_adapter(TINY.TinyAdapter(), SourceInfo("tiny", "transcript", "logs/a.jsonl", session="a"), values) == []
    )


def test_the_kit_sees_an_adapter_that_breaks_the_contract() -> None:
    info = SourceInfo("tiny", "transcript", "logs/a.jsonl", session="a")
    assert check_adapter(_CountingAdapter(), info, [{"who": "me"}]) == [
        "the same records gave other events the second time",
        "the events depend on where parsing was stopped",
    ]
    undeclared = TINY.TinyAdapter()
    undeclared.facts = msgspec.structs.replace(
        TINY.FACTS, capabilities=msgspec.structs.replace(TINY.FACTS.capabilities, kinds=("user_message",))
    )
    assert check_adapter(undeclared, info, [{"a": 1}]) == ["kinds that are not declared: unknown"]
