"""TRAE CLI: Codex's parser under names of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.registry import adapter
from recollect.model.payloads import SessionStart, TokenUsage
from recollect.model.records import SourceInfo
from recollect.testing.conformance import read, records_of

ADAPTER = adapter("traex")
SESSION = "019fbcca-1111-7d20-83dc-0762b2f839b3"
PATH = f"sessions/2026/07/28/rollout-2026-07-28T09-00-00-{SESSION}.jsonl"
INFO = SourceInfo("traex", "transcript", PATH, SESSION)
COUNTS = {"input_tokens": 9, "cached_input_tokens": 3, "output_tokens": 2, "total_tokens": 11}


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-07-28T09:00:00.000Z", "type": kind, "payload": payload}


RECORDS: list[Any] = [
    line("session_meta", id=SESSION, timestamp="2026-07-28T09:00:00.000Z", cwd="/w", cli_version="0.200.19"),
    line("turn_context", cwd="/w", model="m"),
    line("event_msg", type="user_message", message="Hi"),
    line("event_msg", type="token_count", info={"total_token_usage": COUNTS, "last_token_usage": COUNTS}),
]


def payloads(slug: str) -> list[Any]:
    info = SourceInfo(slug, "transcript", PATH, SESSION)
    return [d.payload for events in read(adapter(slug), info, records_of(RECORDS)).events for d in events]


def test_a_rollout_is_read_as_codex_would_under_keys_of_its_own() -> None:
    own, other = payloads("traex"), payloads("codex")
    assert [type(p) for p in own] == [type(p) for p in other]
    keys = [[p.dedupe_key for p in found if isinstance(p, TokenUsage)] for found in (own, other)]
    assert keys[0] == [f"traex:{key}" for key in keys[1]]
    assert keys[0]


def test_nothing_is_known_by_its_content() -> None:
    head = "\n".join(map(json.dumps, RECORDS)).encode()
    assert ADAPTER.recognise(PATH, head) is None
    assert adapter("codex").recognise(PATH, head) is not None


def test_an_archived_rollout_is_the_same_source() -> None:
    moved = SourceInfo("traex", "transcript", f"archived_sessions/{PATH.rsplit('/', 1)[-1]}")
    assert ADAPTER.source_key(moved) == ADAPTER.source_key(INFO)


@pytest.mark.corpus
def test_the_shared_rollout_is_read_without_a_defect(shared: Path) -> None:
    path = shared / "corpus/peers/agentsview/internal/parser/testdata/traex/rollout_subagent.jsonl"
    found = read(ADAPTER, INFO, records_of(json.loads(line) for line in path.read_text().splitlines()))
    assert found.defects == ()
    starts = [d.payload for events in found.events for d in events if isinstance(d.payload, SessionStart)]
    assert starts
    assert starts[0].parent_session
