"""Poolside: requests that repeat everything, calls that never ran, and tokens that include the cache."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.poolside.parse import PoolsideAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Lifecycle,
    Payload,
    SessionEnd,
    SessionStart,
    TokenUsage,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = PoolsideAdapter()
SESSION = "019e658b-56c3-7cb2-a9d1-8af2ea649438"
INFO = SourceInfo("poolside", "trajectory", f"trajectories/trajectory-standalone_{SESSION}.ndjson", SESSION)


def event(record_id: str, record_type: str, step: str = "", /, **payload: Any) -> dict[str, Any]:
    envelope = {"id": record_id, "timestamp": "2026-07-28T09:00:00.089334-04:00", "type": record_type}
    return {**envelope, **({"step_id": step} if step else {}), record_type.replace(".", "_"): payload}


def request(name: str, step: str, model: str) -> dict[str, Any]:
    said = [{"role": "system", "content": "You are Pool."}, {"role": "user", "content": "Hi"}]
    return event(name, "tool_call.inference.start", step, chat_completion_request={"model": model, "messages": said})


START = event("e1", "session.start", working_directories=["/w"], prompt="")
CALL = event("e2", "tool_call.parsed", "s1", id="c1", name="edit", args={"path": "a", "old_string": "1"}, raw_args="")
RESULT = event("e3", "tool_call.result", "s1", id="c1", tool_name="edit", observation="ok", execution_latency=5_000_000)
TOKENS = {"input_tokens": 1000, "output_tokens": 50, "cache_read_input_tokens": 500, "cache_write_input_tokens": 0}
RECORDS: list[Any] = [
    START,
    event("e4", "session.input", id="", prompt="Hi", mode="build"),
    request("e5", "s1", "laguna"),
    event("e6", "assistant_message.end", "s1", assistant_message="Ho"),
    event("e7", "tool_call.inference.end", "s1", **TOKENS),
    CALL,
    event("e8", "tool_call.approval", "s1", tool_call_id="c1", denied=True, reason="no"),
    RESULT,
    event("e9", "session.exit", reason="user_cancelled"),
    event("e10", "model_reminder", text="x"),
]


def drafts(*values: Any) -> list[Draft]:
    return [d for found in read(ADAPTER, INFO, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any) -> list[Any]:
    return [d.payload for d in drafts(*values) if isinstance(d.payload, kind)]


def test_the_session_is_in_the_files_name() -> None:
    assert ADAPTER.identify(INFO, b"") == SESSION
    named = SourceInfo("poolside", "trajectory", "trajectories/trajectory-my-agent_abc_d.ndjson")
    assert ADAPTER.identify(named, b"") == "abc_d"


def test_a_request_is_given_by_what_is_new_in_it() -> None:
    values = (request("e1", "s1", "laguna"), request("e2", "s2", "laguna"), request("e3", "s3", "malibu"))
    assert [i.text for i in given_by(Instructions, *values)] == ["You are Pool."]
    assert [e.model for e in given_by(Lifecycle, *values)] == ["malibu"]
    assert not given_by(UserMessage, *values)


def test_the_model_of_a_message_is_that_of_its_step() -> None:
    late = event("e4", "assistant_message.end", "s1", assistant_message="Ho")
    (message,) = given_by(AssistantMessage, request("e1", "s1", "laguna"), request("e2", "s2", "malibu"), late)
    assert message.model == "laguna"


def test_cached_tokens_are_taken_out_of_the_input() -> None:
    (usage,) = given_by(TokenUsage, event("e1", "tool_call.inference.end", "s1", **TOKENS))
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (500, 500, 50)
    assert usage.dedupe_key == "poolside:e1"


def test_a_call_that_never_ran_has_a_result_all_the_same() -> None:
    refused = event("e1", "tool_call.parsed", id="c1", name="edit", args={}, validation_error={"detail": "no path"})
    denied = event("e2", "tool_call.approval", tool_call_id="c1", denied=True, reason="not now")
    assert [(r.ok, r.text) for r in given_by(ToolResult, refused)] == [(False, "no path")]
    assert [(r.ok, r.name, r.text) for r in given_by(ToolResult, CALL, denied)] == [(False, "edit", "not now")]


@pytest.mark.parametrize(
    ("fields", "ok", "code"),
    [
        ({}, True, None),
        ({"is_error": True}, False, None),
        ({"shell_run_tool_result": {"exit_code": 2}}, False, 2),
        ({"todo_action_tool_result": {"success": False}}, False, None),
    ],
)
def test_how_a_result_went_is_said_in_several_places(fields: dict[str, Any], ok: bool, code: int | None) -> None:
    (found,) = given_by(ToolResult, event("e1", "tool_call.result", id="c1", observation="x", **fields))
    assert (found.ok, found.exit_code) == (ok, code)


def test_an_edit_is_told_by_its_result() -> None:
    assert [e.path for e in given_by(FileEdit, CALL, RESULT)] == ["a"]
    assert not given_by(FileEdit, CALL)
    assert given_by(ToolResult, CALL, RESULT)[0].duration_ms == 5


def test_a_second_start_is_the_session_going_on() -> None:
    again = event("e2", "session.start", working_directories=["/w"])
    assert len(given_by(SessionStart, START, again)) == 1
    assert [e.name for e in given_by(Lifecycle, START, again)] == ["resumed"]


def test_a_cancelled_session_was_interrupted() -> None:
    assert [e.reason for e in given_by(SessionEnd, RECORDS[8])] == ["user_cancelled"]
    assert [e.name for e in given_by(Lifecycle, RECORDS[8])] == ["interrupted"]


def test_a_trajectory_is_known_by_a_payload_named_for_its_type() -> None:
    assert ADAPTER.recognise("x", json.dumps(START).encode()) == "trajectory"
    assert ADAPTER.recognise("x", b'{"type": "session.start"}') is None
    assert ADAPTER.recognise("x", b'{"type": ["session.start"]}') is None


@given(values=any_values() | st.lists(bent(RECORDS), max_size=8))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    assert check_adapter(ADAPTER, INFO, values) == []
