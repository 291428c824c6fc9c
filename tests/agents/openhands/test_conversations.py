"""OpenHands: events of both generations, the state, and logs of requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.openhands.parse import OpenHandsAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    SessionEnd,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import Record, SourceInfo
from recollect.model.text import flatten
from recollect.testing.conformance import check_adapter, read
from recollect.testing.strategies import any_json

ADAPTER = OpenHandsAdapter()
EVENTS = SourceInfo("openhands", "conversation", "", session="c1", document="c1")
OLD = SourceInfo("openhands", "old_conversation", "", session="c1", document="c1")
STATE = SourceInfo("openhands", "state", "c1/base_state.json", session="c1")
LOG = SourceInfo("openhands", "llm_log", "logs/completions/x.json", session="llm-1")


def drafts(info: SourceInfo, *values: Any, at: str = "event") -> list[Draft]:
    records = [Record(value, b"", i, at) for i, value in enumerate(values)]
    return [draft for events in read(ADAPTER, info, records).events for draft in events]


def payloads(kind: type, info: SourceInfo, *values: Any) -> list[Any]:
    return [draft.payload for draft in drafts(info, *values) if isinstance(draft.payload, kind)]


def event(kind: str, source: str = "agent", **fields: Any) -> dict[str, Any]:
    return {"id": "e1", "timestamp": "2026-08-01T09:00:01.000000", "source": source, "kind": kind, **fields}


def observed(**observation: Any) -> dict[str, Any]:
    value = {"content": [{"type": "text", "text": "x"}], "is_error": False, **observation}
    return event("ObservationEvent", "environment", tool_name="terminal", tool_call_id="c1", observation=value)


def acted(tool: str, arguments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    call = {"id": "c1", "name": tool, "arguments": json.dumps(arguments)}
    known: dict[str, Any] = {"thought": [], "action": {**arguments, "kind": "A"}, "tool_name": tool}
    return event("ActionEvent", **known, tool_call_id="c1", tool_call=call, llm_response_id="r1", **fields)


@pytest.mark.parametrize(
    ("observation", "ok", "code"),
    [
        ({"exit_code": 0}, True, 0),
        ({"exit_code": 1}, False, 1),
        ({"metadata": {"exit_code": 2}}, False, 2),
        ({"exit_code": -1}, None, None),
        ({"is_error": True}, False, None),
        ({"exit_code": -1, "timeout": True}, False, None),
    ],
)
def test_a_failed_command_may_be_marked_by_its_exit_code_only(
    observation: dict[str, Any], ok: bool | None, code: int | None
) -> None:
    assert [(p.ok, p.exit_code) for p in payloads(ToolResult, EVENTS, observed(**observation))] == [(ok, code)]


def test_an_observation_of_the_editor_shows_the_edit() -> None:
    seen = {"command": "str_replace", "path": "/w/a.py", "prev_exist": True, "old_content": "1", "new_content": "2"}
    assert payloads(FileEdit, EVENTS, observed(**seen)) == [FileEdit("/w/a.py", "modify", "1", "2", call_id="c1")]
    made = {**seen, "command": "create", "prev_exist": False, "old_content": None}
    assert [p.operation for p in payloads(FileEdit, EVENTS, observed(**made))] == ["create"]
    assert payloads(FileEdit, EVENTS, observed(**{**seen, "command": "view"})) == []
    assert payloads(FileEdit, EVENTS, observed(**{**seen, "is_error": True})) == []


def test_the_editor_reads_too() -> None:
    values = [
        acted("file_editor", {"command": "view", "path": "a"}),
        acted("file_editor", {"command": "insert", "path": "a"}),
    ]
    assert [p.canonical for p in payloads(ToolCall, EVENTS, *values)] == ["read", "edit"]


def test_the_thought_of_an_action_is_said_and_its_reasoning_thought() -> None:
    value = acted("terminal", {"command": "ls"}, reasoning_content="Hm.", thinking_blocks=[{"thinking": "Hm."}])
    value["thought"] = [{"type": "text", "text": "I look."}]
    assert payloads(Thinking, EVENTS, value) == [Thinking("Hm.", "r1")]
    assert payloads(AssistantMessage, EVENTS, value) == [AssistantMessage("I look.", message_id="r1")]


def test_a_finish_action_is_answer_and_end() -> None:
    value = acted("finish", {"message": "Done."})
    assert [p.text for p in payloads(AssistantMessage, EVENTS, value)] == ["Done."]
    assert payloads(SessionEnd, EVENTS, value) == [SessionEnd("finished")]


def test_what_the_agents_context_adds_to_a_message_is_injected() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    added = [{"type": "text", "text": "A skill."}]
    value = event("MessageEvent", "user", llm_message=message, extended_content=added)
    assert payloads(UserMessage, EVENTS, value) == [UserMessage("Go."), UserMessage("A skill.", "injected")]


def test_errors_and_rejections_are_failed_results() -> None:
    values = [
        event("AgentErrorEvent", error="No such tool", tool_name="t", tool_call_id="c1"),
        event("UserRejectObservation", rejection_reason="No.", tool_name="t", tool_call_id="c2"),
    ]
    assert [(p.ok, p.text) for p in payloads(ToolResult, EVENTS, *values)] == [(False, "No such tool"), (False, "No.")]


def test_a_condensation_is_a_compaction() -> None:
    value = event("Condensation", "environment", forgotten_event_ids=["a", "b"], summary="So far.", summary_offset=1)
    assert payloads(Compaction, EVENTS, value) == [Compaction(summary="So far.")]


def test_the_settings_of_the_model_never_become_text() -> None:
    llm = {"model": "m", "api_key": "sk-visibly-synthetic-000000"}
    state = {"id": "c1", "agent": {"llm": llm, "kind": "Agent"}, "workspace": {"working_dir": "/w"}, "stats": {}}
    update = event("ConversationStateUpdateEvent", "environment", key="full_state", value=state)
    told = [*drafts(STATE, state), *drafts(EVENTS, update)]
    assert "synthetic" not in flatten([str(d.payload) for d in told])
    assert [(p.cwd, p.model) for p in payloads(SessionStart, STATE, state)] == [("/w", "m")]


def usages(**metrics: Any) -> list[TokenUsage]:
    return payloads(TokenUsage, STATE, {"stats": {"usage_to_metrics": {"agent": metrics}}})


def test_usage_is_counted_by_response_and_without_cached_tokens() -> None:
    one = {"prompt_tokens": 100, "completion_tokens": 9, "cache_read_tokens": 70, "cache_write_tokens": 10,
           "model": "m", "reasoning_tokens": 4, "response_id": "r1"}  # fmt: skip
    total = {**one, "response_id": ""}
    cost = {"model": "m", "cost": 0.5, "timestamp": 1785574801.5}
    (found,) = usages(token_usages=[one], costs=[cost], accumulated_token_usage=total, accumulated_cost=0.5)
    assert found == TokenUsage("m", 20, 9, 70, 10, reasoning_tokens=4, cost_usd=0.5, dedupe_key="r1")


def test_totals_alone_have_one_name_and_key_however_they_grow() -> None:
    first = usages(model_name="m", accumulated_token_usage={"prompt_tokens": 5, "completion_tokens": 1})
    later = usages(model_name="m", accumulated_token_usage={"prompt_tokens": 9, "completion_tokens": 2})
    assert [u.dedupe_key for u in first] == [u.dedupe_key for u in later] == ["c1:agent"]


def old(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": "2026-08-01T09:00:01", "source": "agent", **fields}


def test_running_totals_of_the_old_generation_become_differences() -> None:
    def metrics(prompt: int, completion: int, cost: float) -> dict[str, Any]:
        total = {"model": "m", "prompt_tokens": prompt, "completion_tokens": completion}
        return {"accumulated_cost": cost, "accumulated_token_usage": total}

    values = [
        old(1, action="message", args={"content": "a"}, llm_metrics=metrics(10, 1, 0.1)),
        old(2, action="message", args={"content": "b"}, llm_metrics=metrics(10, 1, 0.1)),
        old(3, action="message", args={"content": "c"}, llm_metrics=metrics(30, 4, 0.3)),
        old(4, action="message", args={"content": "d"}, llm_metrics=metrics(5, 1, 0.1)),
    ]
    found = payloads(TokenUsage, OLD, *values)
    assert [(u.input_tokens, u.output_tokens, u.cost_usd) for u in found] == [(10, 1, 0.1), (20, 3, 0.2), (5, 1, 0.1)]


def test_an_old_result_belongs_to_the_action_that_caused_it() -> None:
    values = [
        old(1, action="run", args={"command": "ls", "thought": "I look."}),
        old(2, observation="run", cause=1, content="x", extras={"metadata": {"exit_code": 1}}),
    ]
    assert [p.call_id for p in payloads(ToolCall, OLD, *values)] == ["e1"]
    assert [(p.call_id, p.ok, p.exit_code) for p in payloads(ToolResult, OLD, *values)] == [("e1", False, 1)]


def test_logs_of_one_conversation_are_one_session_and_repeat_no_message() -> None:
    system = {"role": "system", "content": [{"type": "text", "text": "You are OpenHands agent."}]}
    user = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    answer = {"role": "assistant", "content": "Done.", "tool_calls": None}
    again = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    first = {"messages": [system, user], "response": {"id": "r1", "choices": [{"message": answer}]}}
    second = {"messages": [system, user, again, user], "response": {"id": "r2", "choices": []}}
    heads = [json.dumps(log).encode() for log in (first, second)]
    names = {ADAPTER.identify(SourceInfo("openhands", "llm_log", "x.json"), head) for head in heads}
    assert len(names) == 1
    assert [ADAPTER.recognise("x.json", head) for head in heads] == ["llm_log", "llm_log"]
    rest = {"response": first["response"]}
    records = [Record(system, b"", 0, "messages"), Record(user, b"", 1, "messages"), Record(rest, b"", 2)]
    one = {d.native_id for events in read(ADAPTER, LOG, records).events for d in events}
    two = [d.native_id for d in drafts(LOG, *second["messages"], at="messages")]
    assert set(two[:3]) <= one
    assert len(set(two)) == len(two)


def test_a_conversation_is_called_after_its_folder_everywhere() -> None:
    assert ADAPTER.identify(EVENTS, b"") == "c1"
    assert ADAPTER.identify(SourceInfo("openhands", "state", "c1/base_state.json"), b'{"id": "c-1"}') == "c1"


KINDS = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "Condensation", "ACPToolCallEvent",
         "ConversationStateUpdateEvent", "TokenEvent", "UserRejectObservation", "AgentErrorEvent", "New")  # fmt: skip
NAMES = ("id", "source", "llm_message", "thought", "action", "observation", "tool_call", "args", "extras", "content",
         "llm_metrics", "cause", "tool_name", "tool_call_id", "key", "value", "system_prompt", "stats", "messages",
         "response", "role", "agent", "tool_calls", "summary", "thinking_blocks")  # fmt: skip
VALUES = st.lists(
    st.builds(
        lambda fields, kind: {**fields, "kind": kind},
        st.dictionaries(st.sampled_from(NAMES), any_json() | st.sampled_from(("run", "message", "user", "tool"))),
        st.sampled_from(KINDS),
    )
    | any_json(),
    max_size=5,
)


@given(
    values=VALUES,
    role=st.sampled_from(("conversation", "old_conversation", "state", "old_state", "tasks", "llm_log")),
    at=st.sampled_from(("", "event", "messages")),
)
def test_any_content_keeps_the_contract(values: list[Any], role: str, at: str) -> None:
    info = SourceInfo("openhands", role, "c1/x.json", session="c1")
    assert check_adapter(ADAPTER, info, values) == []
    records = [Record(value, b"", i, at) for i, value in enumerate(values)]
    assert read(ADAPTER, info, records, stops=True) == read(ADAPTER, info, records)


@pytest.mark.corpus
def test_recorded_states_and_logs_have_no_unknown_parts(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "openhands").rglob("*.json")):
        data = path.read_bytes()
        role = ADAPTER.recognise(path.name, data[:65536])
        if role is None:
            continue
        value = json.loads(data)
        around = {k: v for k, v in value.items() if k != "messages"}
        records = [Record(m, b"", i, "messages") for i, m in enumerate(value.get("messages", []))]
        state = ADAPTER.begin(SourceInfo("openhands", role, path.name, session="c1"))
        for record in [*records, Record(around, b"", len(records))]:
            parsed = ADAPTER.parse(record, state)
            state = parsed.state
            assert (parsed.drift, parsed.defects) == ((), ()), f"{path.name} {record.index}"
