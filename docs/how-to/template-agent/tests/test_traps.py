"""The traps of the format, one test each, and what every adapter promises."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from myagent.parse import MyAgentAdapter

from recollect.model.payloads import TokenUsage, ToolResult
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values

ADAPTER = MyAgentAdapter()
INFO = SourceInfo("myagent", "transcript", "sessions/one.jsonl", session="one")


def payloads(*values: Any) -> list[Any]:
    return [draft.payload for drafts in read(ADAPTER, INFO, records_of(values)).events for draft in drafts]


def test_a_failed_command_is_marked_by_its_exit_code_only() -> None:
    (result,) = payloads({"type": "result", "id": "1", "call": "c", "output": "1 failed", "exit_code": 1})
    assert result == ToolResult("c", "", False, 1, "1 failed")


def test_the_usage_of_a_response_has_one_key_on_every_record_of_it() -> None:
    record = {"type": "assistant", "response": "r1", "usage": {"input": 10, "cached": 4, "output": 2}}
    spent = [p for p in payloads({**record, "id": "1"}, {**record, "id": "2"}) if isinstance(p, TokenUsage)]
    assert {(s.dedupe_key, s.input_tokens, s.cache_read_tokens) for s in spent} == {("r1", 6, 4)}


@given(values=any_values())
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    assert check_adapter(ADAPTER, INFO, values) == []
