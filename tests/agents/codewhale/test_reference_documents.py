"""The two whole documents of the reference, told anew in its shape, and what it asserts of the second."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Lifecycle,
    Rewind,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Record, SourceInfo
from recollect.model.text import searchable
from recollect.testing.conformance import check_adapter, read
from recollect.testing.strategies import any_json
from tests.agents.codewhale.documents import ADAPTER, FIRST, SECOND, drafts, load, payloads, pieces
from tests.agents.kit.bent import places_in
from tests.examples import tried

ROLES = tuple(place.role for place in ADAPTER.facts.places)


def test_the_first_document_is_read_whole():
    value = load(FIRST)
    said = (UserMessage, AssistantMessage, Thinking, ToolCall, ToolResult)
    kinds = [type(d.payload) for d in drafts(value) if isinstance(d.payload, said)]
    assert kinds == [UserMessage, Thinking, AssistantMessage, ToolCall, ToolResult, AssistantMessage]
    assert payloads(value, TokenUsage)[0].input_tokens == 4821
    assert payloads(value, Unknown) == []


def test_abandoned_text_is_there_and_marked_off_the_branch():
    found = [
        d for d in drafts(load(SECOND)) if isinstance(d.payload, AssistantMessage) and "ABANDONED" in d.payload.text
    ]
    assert [d.is_sidechain for d in found] == [True]
    assert "ABANDONED" in searchable(found[0].payload)[1]
    assert sum(d.is_sidechain for d in drafts(load(SECOND))) == 1
    assert len(payloads(load(SECOND), Rewind)) == 1


def test_calls_and_results_are_paired_and_one_is_an_error():
    value = load(SECOND)
    calls = {c.call_id for c in payloads(value, ToolCall)}
    results = {r.call_id: r.ok for r in payloads(value, ToolResult)}
    assert calls == {"call-7", "srv-1"}
    assert results == {"call-7": False, "srv-1": True}


def test_image_data_is_in_no_text():
    assert not any("iVBORw0" in searchable(d.payload)[1] for d in drafts(load(SECOND)))
    assert any(m.parts and m.parts[0].bytes == 8 for m in payloads(load(SECOND), UserMessage))


def test_the_sessions_usage_is_its_total():
    (usage,) = payloads(load(SECOND), TokenUsage)
    assert (usage.input_tokens, usage.cost_usd) == (90_211, 0.01)


def test_the_parent_is_linked_and_the_archived_flag_is_kept():
    value = load(SECOND)
    assert payloads(value, SessionStart)[0].forked_from == load(FIRST)["metadata"]["id"]
    assert [p.detail for p in payloads(value, Lifecycle) if p.name == "archived"] == [{"archived": True}]


def test_the_unknown_part_is_kept_and_so_are_its_bytes():
    value = load(SECOND)
    assert [(p.type, p.text) for p in payloads(value, Unknown)] == [("future_part", "type: future_part\npayload: 1")]
    assert any(json.loads(r.raw)["content"][-1] == {"type": "future_part", "payload": 1} for r in pieces(value)
               if r.at == "messages")  # fmt: skip


def test_the_compaction_is_one_with_its_counts_beside_it():
    value = load(SECOND)
    assert len(payloads(value, Compaction)) == 1
    assert any(
        p.name == "compaction_counts" and p.detail["tokens_before"] == 80_000 for p in payloads(value, Lifecycle)
    )


def test_reading_it_again_gives_the_same_and_three_messages_less_give_no_other_name():
    value = load(SECOND)
    assert drafts(value) == drafts(value)
    shorter = {**value, "messages": value["messages"][:-3]}
    lost = {d.native_id for d in drafts(value)} - {d.native_id for d in drafts(shorter)}
    gained = {d.native_id for d in drafts(shorter)} - {d.native_id for d in drafts(value)}
    assert lost
    assert gained == set()


def test_taken_again_it_adds_nothing_and_shortened_it_deletes_nothing(tmp_path: Path, monkeypatch: Any):
    from recollect.agents import registry

    monkeypatch.setitem(registry.adapters(), "codewhale", ADAPTER)
    root = tmp_path / "root"
    (root / "sessions").mkdir(parents=True)
    path = root / "sessions" / SECOND.name
    path.write_bytes(SECOND.read_bytes())
    config = Config(agents={"codewhale": AgentConfig(roots=(str(root),))})
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    with Memory.open(tmp_path / "home", config=config, env={"HOME": str(nobody)}) as memory:
        memory.sync(agents=["codewhale"])
        uid = f"codewhale:{SECOND.stem}"
        before = [(e.event_id, e.part) for e in memory.events(uid)]
        path.write_bytes(SECOND.read_bytes())
        again = memory.sync(agents=["codewhale"])
        assert sum(a.events for a in again.agents.values()) == 0
        value = load(SECOND)
        path.write_text(json.dumps({**value, "messages": value["messages"][:-3]}, indent=2))
        memory.sync(agents=["codewhale"])
        assert {(e.event_id, e.part) for e in memory.events(uid)} >= set(before)


@settings(max_examples=tried(150))
@given(data=st.data(), role=st.sampled_from(ROLES))
def test_no_bent_document_makes_the_parser_raise(data: st.DataObject, role: str) -> None:
    values = [json.loads(r.raw) for r in pieces(load(SECOND))]
    for _ in range(data.draw(st.integers(1, 5))):
        container, key = data.draw(st.sampled_from(places_in(values)))
        container[key] = data.draw(any_json())
    ats = [r.at for r in pieces(load(SECOND))]
    records = [Record(v, json.dumps(v).encode(), i, at) for i, (v, at) in enumerate(zip(values, ats, strict=False))]
    info = SourceInfo("codewhale", role, "sessions/s1/x.json", session="s1")
    assert read(ADAPTER, info, records) == read(ADAPTER, info, records, stops=True)
    assert check_adapter(ADAPTER, info, values) == []


@pytest.mark.corpus
def test_the_agents_own_fixture_leaves_nothing_unknown(shared: Path) -> None:
    path = shared / "corpus/peers/CodeWhale/crates/tui/tests/fixtures/work_graph_session_v1_reader.json"
    if not path.is_file():
        pytest.skip("the corpus has no session of CodeWhale")
    value = load(path)
    assert payloads(value, Unknown) == []
    assert ADAPTER.recognise("x.json", path.read_bytes()) == "session"
    assert ADAPTER.recognise("x.json", path.with_name("codex_models_cache.json").read_bytes()) is None
