"""OpenClaude: Claude Code's parser under names of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.openclaude.spelling import as_claude_spells
from recollect.agents.registry import adapter
from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.model.payloads import Compaction, TokenUsage
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json, any_values
from tests.agents.kit.bent import bent

ADAPTER = adapter("openclaude")
SESSION = "5c5b5a59-1111-4222-8333-444455556666"
INFO = SourceInfo("openclaude", "transcript", f"projects/-w/{SESSION}.jsonl", SESSION)


def line(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    when = "2026-07-28T09:00:00.000Z"
    return {
        "type": kind,
        "uuid": name,
        "sessionId": SESSION,
        "timestamp": when,
        "cwd": "/w",
        "version": "0.9",
        **fields,
    }


USAGE = {"input_tokens": 3, "output_tokens": 9}
ANSWER = {"id": "msg_1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Ho"}], "usage": USAGE}
BOUNDARY = line(
    "b", "compact_boundary", message={"content": "Conversation compacted"}, compactMetadata={"trigger": "auto"}
)
RECORDS: list[Any] = [
    line("u", "user", message={"role": "user", "content": "Hi"}),
    line("a", "assistant", message=ANSWER, requestId="req_1", parentUuid="u"),
    BOUNDARY,
]


def test_a_compaction_may_be_a_type_of_its_own() -> None:
    found = [d for events in read(ADAPTER, INFO, records_of(RECORDS)).events for d in events]
    assert [d.payload.trigger for d in found if isinstance(d.payload, Compaction)] == ["auto"]
    told = as_claude_spells(records_of([BOUNDARY])[0]).value
    assert (told["type"], told["subtype"], told["content"]) == ("system", "compact_boundary", "Conversation compacted")


def test_the_record_itself_stays_as_it_was_written() -> None:
    (record,) = records_of([BOUNDARY])
    assert as_claude_spells(record).raw == record.raw
    assert record.value["type"] == "compact_boundary"


def test_a_response_is_counted_under_a_key_of_its_own() -> None:
    keys = []
    for slug in ("claude", "openclaude"):
        info = SourceInfo(slug, "transcript", INFO.path, SESSION)
        found = read(adapter(slug), info, records_of(RECORDS)).events
        keys += [d.payload.dedupe_key for events in found for d in events if isinstance(d.payload, TokenUsage)]
    assert keys[1] == f"openclaude:{keys[0]}"


def test_nothing_is_known_by_its_content() -> None:
    head = "\n".join(map(json.dumps, RECORDS)).encode()
    assert ADAPTER.recognise(INFO.path, head) is None
    assert adapter("claude").recognise(INFO.path, head) is not None


def test_both_homes_are_read_side_by_side(tmp_path: Path) -> None:
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    agents = {}
    for slug in ("claude", "openclaude"):
        path = tmp_path / slug / INFO.path
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"{json.dumps(r)}\n" for r in RECORDS[:2]))
        agents[slug] = AgentConfig(roots=(str(tmp_path / slug),))
    with Memory.open(tmp_path / "home", config=Config(agents=agents), env={"HOME": str(nobody)}) as memory:
        memory.sync(agents=list(agents))
        kinds = {slug: [e.kind for e in memory.events(f"{slug}:{SESSION}")] for slug in agents}
        rows = memory.usage.report(by="agent").rows
    assert kinds["openclaude"] == kinds["claude"]
    assert {row.key: row.totals.output_tokens for row in rows} == {"claude": 9, "openclaude": 9}


@given(values=any_values() | st.lists(bent(RECORDS), max_size=8))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    assert check_adapter(ADAPTER, INFO, values) == []


@given(value=any_json())
def test_any_record_can_be_respelled(value: Any) -> None:
    as_claude_spells(records_of([{"type": "compact_boundary", "message": value}])[0])
