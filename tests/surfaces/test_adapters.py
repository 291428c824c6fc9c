"""What outsiders build on: the conformance kit, and a new agent added by following docs/adding-an-agent.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from recollect.agents.registry import adapters
from recollect.config import Config
from recollect.memory import Memory
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Root
from recollect.model.events import Draft
from recollect.model.payloads import AssistantMessage, Unknown, UserMessage
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.model.timestamps import parse_iso
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_values
from tests.docs.pages import blocks

ROLES = [(slug, place.role) for slug, a in adapters().items() for place in a.facts.places]


@pytest.mark.parametrize(("slug", "role"), ROLES, ids=lambda x: x)
@given(values=any_values())
@settings(max_examples=25)
def test_every_adapter_keeps_the_contract_on_any_content(slug: str, role: str, values: list[Any]) -> None:
    info = SourceInfo(slug, role, "a/b/0b0c0d0e-0000-4000-8000-000000000000.jsonl", session="s")
    assert check_adapter(adapters()[slug], info, values) == []


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


# An invented agent, made by following the page.

TINY = AgentFacts(
    slug="tiny",
    name="Tiny",
    aliases=("tiny-agent",),
    roots=(Root(variable="TINY_HOME", default=".tiny"),),
    places=(Place(role="transcript", container="jsonl", patterns=("logs/*.jsonl",)),),
    capabilities=Capabilities(
        container="jsonl", rewrites_history=False, timestamps="exact", usage="no", usage_authority="none",
        thinking="no", edits="no", lineage="no", session_end="no", notes="",
        kinds=("user_message", "assistant_message", "unknown"),
        verified_version="1", verified_on="2026-11-20", evidence="invented",
    ),
    parser_version=1,
)  # fmt: skip


class TinyState(msgspec.Struct, frozen=True):
    """What is carried from record to record: the time of the newest one."""

    ts: int | None = None


class TinyAdapter:
    """Reads `{"who": "me" | "it", "says": text, "at": time}`."""

    facts = TINY
    state_type = TinyState

    def recognise(self, path: str, head: bytes) -> str | None:
        return "transcript" if b'"who"' in head else None

    def source_key(self, info: SourceInfo) -> str:
        return info.name

    def identify(self, info: SourceInfo, head: bytes) -> str:
        return info.stem

    def begin(self, info: SourceInfo) -> TinyState:
        return TinyState()

    def parse(self, record: Record, state: TinyState) -> Parsed[TinyState]:
        value = record.value if isinstance(record.value, dict) else {}
        at = parse_iso(value.get("at"))
        ts = at if at is not None else state.ts
        quality: Any = "exact" if at is not None else "missing" if ts is None else "inferred"
        payload, role = _told(value.get("who"), value.get("says"), record)
        return Parsed(TinyState(ts), (Draft(payload=payload, role=role, ts=ts, ts_quality=quality),))


class _CountingAdapter(TinyAdapter):
    """Breaks the contract: what it gives depends on what it has seen before."""

    seen = 0

    def parse(self, record: Record, state: TinyState) -> Parsed[TinyState]:
        self.seen += 1
        return Parsed(state, (Draft(payload=UserMessage(str(self.seen)), role="user"),))


def _told(who: object, says: object, record: Record) -> tuple[Any, Any]:
    if isinstance(says, str) and who == "me":
        return UserMessage(says), "user"
    if isinstance(says, str) and who == "it":
        return AssistantMessage(says), "assistant"
    return Unknown(type=str(who), text=record.raw.decode("utf-8", "replace")), "system"


def test_an_agent_added_as_the_page_says_is_taken_in_found_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(adapters(), "tiny", TinyAdapter())
    log = tmp_path / "tiny/logs/first.jsonl"
    log.parent.mkdir(parents=True)
    said = [
        {"who": "me", "says": "polish the samovar", "at": "2026-08-01T09:00:00Z"},
        {"who": "it", "says": "done"},
        {"x": 1},
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in said))
    with Memory.open(
        tmp_path / "memory", config=Config(), env={"HOME": str(tmp_path), "TINY_HOME": str(tmp_path / "tiny")}
    ) as m:
        assert m.sync().agents["tiny"].events == 3
        (hit,) = m.search("samovar agent:tiny", sync=False).hits
        assert (hit.session_uid, hit.kind) == ("tiny:first", "user_message")
        assert [e.ts_quality for e in m.events("tiny:first")] == ["exact", "inferred", "inferred"]
        assert m.upkeep.verify().ok
        assert b"".join(m.upkeep.export_bytes("tiny:first")) == log.read_bytes()
        assert "tiny" in [a.slug for a in m.agents.list()]


def test_the_example_of_the_page_runs(repository: Path) -> None:
    page = (repository / "docs/adding-an-agent.md").read_text("utf-8")
    (example,) = [block.text for block in blocks(page) if block.language == "python"]
    names: dict[str, Any] = {}
    exec(compile(example, "docs/adding-an-agent.md", "exec"), names)
    names["test_any_content_keeps_the_contract"]()


@given(values=any_values())
@settings(max_examples=25)
def test_the_invented_agent_keeps_the_contract(values: list[Any]) -> None:
    assert check_adapter(TinyAdapter(), SourceInfo("tiny", "transcript", "logs/a.jsonl", session="a"), values) == []


def test_the_kit_sees_an_adapter_that_breaks_the_contract() -> None:
    info = SourceInfo("tiny", "transcript", "logs/a.jsonl", session="a")
    assert check_adapter(_CountingAdapter(), info, [{"who": "me"}]) == [
        "the same records gave other events the second time",
        "the events depend on where parsing was stopped",
    ]
    undeclared = TinyAdapter()
    undeclared.facts = msgspec.structs.replace(
        TINY, capabilities=msgspec.structs.replace(TINY.capabilities, kinds=("user_message",))
    )
    assert check_adapter(undeclared, info, [{"a": 1}]) == ["kinds that are not declared: unknown"]
