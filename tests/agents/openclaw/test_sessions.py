"""OpenClaw: the family's parser, and what differs from pi."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.facts import facts_of
from recollect.agents.kit.pi_entries import PiFamilyAdapter
from recollect.model.payloads import Rewind, ToolCall, ToolResult, UserMessage
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of

ADAPTER = PiFamilyAdapter("openclaw")
INFO = SourceInfo("openclaw", "session", "agents/main/sessions/s1.jsonl", session="s1")
HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-08-01T09:00:00Z", "cwd": "/w"}


def payloads(*values: Any) -> list[Any]:
    return [d.payload for events in read(ADAPTER, INFO, records_of([HEADER, *values])).events for d in events]


def test_parents_that_are_sessions_or_calls_make_no_rewind() -> None:
    call = {"type": "toolCall", "id": "c1", "name": "shell_exec", "arguments": {"command": "ls"}}
    values = [
        {"type": "message", "id": "m1", "parentId": "s1", "message": {"role": "user", "content": "List files"}},
        {"type": "message", "id": "m2", "parentId": "m1", "message": {"role": "assistant", "content": [call]}},
        {"type": "message", "id": "m3", "parentId": "c1", "message": {"role": "toolResult", "toolCallId": "c1",
         "toolName": "shell_exec", "content": "a.py\n", "isError": False}},
    ]  # fmt: skip
    found = payloads(*values)
    assert not [p for p in found if isinstance(p, Rewind)]
    assert [p.canonical for p in found if isinstance(p, ToolCall)] == ["shell"]
    assert [(p.ok, p.text) for p in found if isinstance(p, ToolResult)] == [(True, "a.py\n")]


def test_context_of_the_runtime_is_injected() -> None:
    value = {"type": "custom_message", "customType": "openclaw.runtime-context", "content": "Context.", "id": "c"}
    assert UserMessage("Context.", "injected") in payloads(value)


def test_checkpoints_which_repeat_a_session_are_not_read() -> None:
    (place,) = facts_of("openclaw").places
    assert any(fnmatch("agents/main/sessions/s1.checkpoint.c1.jsonl", pattern) for pattern in place.exclude)
    assert not any(fnmatch("agents/main/sessions/sessions.json", pattern) for pattern in place.patterns)


def test_loose_files_are_known_by_their_folder_or_by_the_name_in_them() -> None:
    head = json.dumps(HEADER).encode() + b"\n"
    named = head + b'{"type":"custom_message","customType":"openclaw.runtime-context","content":"x"}\n'
    assert ADAPTER.recognise("x/s.jsonl", head) is None
    assert ADAPTER.recognise("clawdbot/s.jsonl", head) == "session"
    assert ADAPTER.recognise("x/s.jsonl", named) == "session"
    assert PiFamilyAdapter("pi").recognise("x/s.jsonl", named) is None


@pytest.mark.corpus
def test_recorded_sessions_keep_the_contract(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "openclaw").rglob("*.jsonl")):
        values = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        assert check_adapter(ADAPTER, INFO, values) == []
