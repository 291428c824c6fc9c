"""Kimi: the wires of both generations, the context, and the files beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kimi.parse import KimiAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json

ADAPTER = KimiAdapter()
WIRE = SourceInfo("kimi", "wire", "sessions/0a/s1/wire.jsonl", session="s1")
CODE = SourceInfo("kimi", "wire", "sessions/wd_x/session_1/agents/main/wire.jsonl", session="session_1")
CHILD = SourceInfo("kimi", "subagent", "sessions/wd_x/session_1/agents/agent-0/wire.jsonl", session="session_1/agent-0")
CONTEXT = SourceInfo("kimi", "context", "sessions/0a/s1/context.jsonl", session="s1")
USAGE = {"inputOther": 5, "output": 7, "inputCacheRead": 3, "inputCacheCreation": 2}


def drafts(info: SourceInfo, *values: Any) -> list[Draft]:
    return [draft for events in read(ADAPTER, info, records_of(values)).events for draft in events]


def payloads(kind: type, info: SourceInfo, *values: Any) -> list[Any]:
    return [draft.payload for draft in drafts(info, *values) if isinstance(draft.payload, kind)]


def wire(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": 1785574800.5, "message": {"type": kind, "payload": payload}}


def loop(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": kind, **fields}, "time": 1785574800500}


def result(call_id: str, **told: Any) -> dict[str, Any]:
    value = {"is_error": False, "output": "", "message": "", "display": [], **told}
    return wire("ToolResult", tool_call_id=call_id, return_value=value)


def shell(call_id: str, arguments: str | None = '{"command":"ls"}') -> dict[str, Any]:
    return wire("ToolCall", type="function", id=call_id, function={"name": "Shell", "arguments": arguments})


def test_arguments_are_text_and_come_decoded() -> None:
    (call,) = payloads(ToolCall, WIRE, shell("t1"))
    assert (call.canonical, call.arguments) == ("shell", {"command": "ls"})
    found = read(ADAPTER, WIRE, records_of([shell("t1", "{")]))
    assert found.defects == ("bad_arguments",)


def test_arguments_in_pieces_are_longer_versions_of_one_call() -> None:
    values = [shell("t1", '{"command":'), wire("ToolCallPart", arguments_part='"ls"}')]
    found = [d for d in drafts(WIRE, *values) if isinstance(d.payload, ToolCall)]
    assert {d.native_id for d in found} == {"call:t1"}
    assert isinstance(found[-1].payload, ToolCall)
    assert found[-1].payload.arguments == {"command": "ls"}


def test_a_failed_command_says_its_exit_code_in_its_message() -> None:
    values = [shell("t1"), result("t1", is_error=True, output="1 failed", message="Command failed with exit code: 2.")]
    (found,) = payloads(ToolResult, WIRE, *values)
    assert (found.name, found.ok, found.exit_code) == ("Shell", False, 2)
    assert found.text == "1 failed\nCommand failed with exit code: 2."


def test_an_edit_is_what_the_result_shows() -> None:
    block = {"type": "diff", "path": "a.py", "old_text": "OLD", "new_text": "NEW"}
    (edit,) = payloads(FileEdit, WIRE, shell("t1"), result("t1", display=[block]))
    assert edit == FileEdit("a.py", "modify", "OLD", "NEW", call_id="t1")


def test_what_is_typed_while_the_agent_works_is_queued_and_commands_are_commands() -> None:
    values = [
        wire("TurnBegin", user_input="/compact"),
        wire("SteerInput", user_input=[{"type": "text", "text": "stop"}]),
    ]
    assert [(p.text, p.origin) for p in payloads(UserMessage, WIRE, *values)] == [
        ("/compact", "command"),
        ("stop", "queued"),
    ]


def test_what_a_person_says_with_a_rejection_is_theirs() -> None:
    value = wire("ApprovalResponse", request_id="r", response="reject", feedback="Use the other file.")
    assert payloads(UserMessage, WIRE, value) == [UserMessage("Use the other file.", "queued")]


def test_events_of_a_subagent_are_only_in_its_own_wire() -> None:
    inner = {"type": "ContentPart", "payload": {"type": "text", "text": "Forty-two."}}
    values = [
        wire("SubagentEvent", parent_tool_call_id="t1", agent_id="a1", event={"type": "TurnBegin", "payload": {}}),
        wire("SubagentEvent", parent_tool_call_id="t1", agent_id="a1", event=inner),
    ]
    assert payloads(AssistantMessage, WIRE, *values) == []
    assert [(p.name, p.call_id) for p in payloads(Lifecycle, WIRE, *values)] == [("subagent", "t1")]


def test_a_status_repeated_for_one_response_has_one_key() -> None:
    usage = {"input_other": 5, "output": 7, "input_cache_read": 3, "input_cache_creation": 2}
    value = wire("StatusUpdate", token_usage=usage, message_id="m1")
    assert payloads(TokenUsage, WIRE, value, value) == [TokenUsage("", 5, 7, 3, 2, dedupe_key="m1")] * 2


def test_wire_and_context_name_the_same_things_alike() -> None:
    spoken = [
        wire("TurnBegin", user_input="Go."), wire("ContentPart", type="text", text="Done."), shell("t1"),
        result("t1", output="x"),
    ]  # fmt: skip
    call = {"type": "function", "id": "t1", "function": {"name": "Shell", "arguments": '{"command":"ls"}'}}
    seen = [
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "<system>Done</system>"}]},
    ]
    kinds = (UserMessage, AssistantMessage, ToolCall, ToolResult)
    names = [
        [d.native_id for d in drafts(i, *v) if isinstance(d.payload, kinds)]
        for i, v in ((WIRE, spoken), (CONTEXT, seen))
    ]
    assert names[0] == names[1]


def test_equal_texts_and_reused_call_ids_are_things_of_their_own() -> None:
    values = [wire("TurnBegin", user_input="hi"), shell("t1"), wire("TurnBegin", user_input="hi"), shell("t1")]
    names = [d.native_id for d in drafts(WIRE, *values)]
    assert len(set(names)) == len(names)
    assert "call:t1/2" in names


def test_rows_of_the_context_that_are_no_messages() -> None:
    values = [
        {"role": "_system_prompt", "content": "You are Kimi."}, {"role": "_checkpoint", "id": 1},
        {"role": "_usage", "token_count": 9}, {"role": "user", "content": "<system>CHECKPOINT 1</system>"},
    ]  # fmt: skip
    assert payloads(Instructions, CONTEXT, *values) == [Instructions("You are Kimi.", "system")]
    assert payloads(TokenUsage, CONTEXT, *values) == []
    assert payloads(UserMessage, CONTEXT, *values) == [UserMessage("<system>CHECKPOINT 1</system>", "injected")]


def test_an_error_in_the_context_is_told_by_the_agents_note() -> None:
    row = {
        "role": "tool",
        "tool_call_id": "t1",
        "content": [{"type": "text", "text": "<system>ERROR: No file</system>"}],
    }
    assert [(p.ok, p.text) for p in payloads(ToolResult, CONTEXT, row)] == [(False, "ERROR: No file")]


def test_a_prompt_and_its_copy_in_the_context_are_one_message() -> None:
    content = [{"type": "text", "text": "hi"}]
    prompt = {"type": "turn.prompt", "input": content, "origin": {"kind": "user"}, "time": 1785574800500}
    copy = {
        "type": "context.append_message",
        "message": {"role": "user", "content": content, "origin": {"kind": "user"}},
    }
    assert payloads(UserMessage, CODE, prompt, copy, prompt, copy) == [UserMessage("hi")] * 2
    assert payloads(UserMessage, CODE, {"type": "turn.prompt", "time": 1785574800500}, copy) == [UserMessage("hi")]


def test_reminders_are_injected_and_the_task_of_a_subagent_is_its_prompt() -> None:
    told = {"role": "user", "content": "<system-reminder>x</system-reminder>", "origin": {"kind": "injection"}}
    assert payloads(UserMessage, CODE, {"type": "context.append_message", "message": told})[0].origin == "injected"
    task = {"type": "turn.prompt", "input": "Find it.", "origin": {"kind": "system_trigger", "name": "subagent"}}
    assert payloads(UserMessage, CHILD, task) == [UserMessage("Find it.")]
    assert payloads(UserMessage, CODE, task)[0].origin == "injected"


def test_a_usage_record_that_repeats_the_step_counts_nothing_and_adds_the_model() -> None:
    values = [
        loop("step.end", uuid="s1", usage=USAGE, messageId="m1"),
        {"type": "usage.record", "model": "k2", "usage": USAGE},
    ]
    found = [d for d in drafts(CODE, *values) if isinstance(d.payload, TokenUsage)]
    assert [d.native_id for d in found] == ["usage:m1", "usage:m1"]
    assert [d.payload for d in found][-1] == TokenUsage("k2", 5, 7, 3, 2, dedupe_key="m1")


def test_a_usage_record_without_a_step_is_a_compactions() -> None:
    value = {"type": "usage.record", "model": "k2", "usage": USAGE, "time": 1785574800500}
    (found,) = payloads(TokenUsage, CODE, value)
    assert (found.output_tokens, found.is_additive) == (7, True)


def test_only_failures_are_marked_in_results() -> None:
    call = loop("tool.call", uuid="Bash_0", toolCallId="Bash_0", name="Bash", args={"command": "x"})
    failed = loop(
        "tool.result", toolCallId="Bash_0", result={"output": "x\nCommand failed with exit code: 1.", "isError": True}
    )
    assert [(p.ok, p.exit_code) for p in payloads(ToolResult, CODE, call, failed)] == [(False, 1)]
    fine = loop("tool.result", toolCallId="Bash_0", result={"output": "x"})
    assert [p.ok for p in payloads(ToolResult, CODE, call, fine)] == [True]


def test_a_compaction_has_trigger_summary_and_tokens() -> None:
    values = [
        {"type": "full_compaction.begin", "source": "manual"},
        {"type": "context.apply_compaction", "summary": "So far.", "tokensBefore": 90, "tokensAfter": 9},
    ]
    assert payloads(Compaction, CODE, *values) == [Compaction("manual", "So far.", 90, 9)]


def test_a_subagents_profile_is_its_name() -> None:
    found = payloads(SessionStart, CHILD, {"type": "config.update", "profileName": "explore"})
    assert [(p.parent_session, p.agent_name) for p in found] == [("session_1", "agent-0"), ("session_1", "explore")]


def test_thoughts_of_both_spellings() -> None:
    values = [
        loop("content.part", uuid="p1", part={"type": "think", "think": "a"}),
        loop("content.part", uuid="p2", part={"type": "think", "text": "b"}),
    ]
    assert [p.text for p in payloads(Thinking, CODE, *values)] == ["a", "b"]


def test_folders_of_sessions_come_from_the_list_of_work_dirs() -> None:
    info = SourceInfo("kimi", "folders", "kimi.json", session="kimi")
    value = {"work_dirs": [{"path": "/w", "last_session_id": "s1"}, {"path": "/v"}], "thinking": False}
    assert [(d.session, d.payload) for d in drafts(info, value)] == [("s1", Lifecycle("cwd", cwd="/w"))]


def test_title_and_folder_come_from_the_state() -> None:
    info = SourceInfo("kimi", "state", "sessions/wd_x/session_1/state.json", session="session_1")
    found = payloads(Lifecycle, info, {"title": "Demo", "workDir": "/w", "createdAt": "2026-08-01T09:00:00.000Z"})
    assert found == [Lifecycle("title", title="Demo"), Lifecycle("cwd", cwd="/w")]


@pytest.mark.parametrize(
    ("path", "session", "parent"),
    [
        ("sessions/0a/s1/wire.jsonl", "s1", ""),
        ("sessions/0a/s1/context_2.jsonl", "s1", ""),
        ("sessions/0a/s1/context_sub_1.jsonl", "s1/sub_1", "s1"),
        ("sessions/0a/s1/subagents/a1/wire.jsonl", "s1/a1", "s1"),
        ("sessions/wd_x/session_1/agents/main/wire.jsonl", "session_1", ""),
        ("sessions/wd_x/session_1/agents/agent-0/wire.jsonl", "session_1/agent-0", "session_1"),
        ("sessions/wd_x/session_1/state.json", "session_1", ""),
        ("sessions/0a/531d195b-6436-426e-b010-4bf723a992de.jsonl", "531d195b-6436-426e-b010-4bf723a992de", ""),
        (
            "sessions/0a/531d195b-6436-426e-b010-4bf723a992de_read_1.jsonl",
            "531d195b-6436-426e-b010-4bf723a992de/read_1",
            "531d195b-6436-426e-b010-4bf723a992de",
        ),
    ],
)
def test_the_path_tells_whose_a_file_is(path: str, session: str, parent: str) -> None:
    info = SourceInfo("kimi", "wire", path)
    assert (ADAPTER.identify(info, b""), ADAPTER.begin(info).parent_session) == (session, parent)


def test_loose_files_are_told_by_their_first_records() -> None:
    assert (
        ADAPTER.recognise("x.jsonl", b'{"type":"metadata","protocol_version":"1.4"}\n{"type":"turn.prompt"}\n')
        == "wire"
    )
    assert ADAPTER.recognise("x.jsonl", json.dumps(wire("TurnBegin", user_input="x")).encode()) == "wire"
    assert ADAPTER.recognise("x.jsonl", b'{"role":"_checkpoint","id":0}\n{"role":"user"}\n') == "old_context"
    assert ADAPTER.recognise("x.jsonl", b'{"type":"user","message":{"role":"user"}}\n') is None


KINDS = ("TurnBegin", "ContentPart", "ToolCall", "ToolCallPart", "ToolResult", "StatusUpdate", "SubagentEvent", "New")
TYPES = (
    "metadata", "config.update", "turn.prompt", "context.append_message", "context.append_loop_event", "usage.record",
    "context.apply_compaction", "permission.record_approval_result", "full_compaction.begin", "llm.request", "new",
)  # fmt: skip
EVENTS = ("content.part", "tool.call", "tool.result", "step.end", "step.begin", "new")
ANY = st.dictionaries(
    st.sampled_from(("user_input", "type", "text", "think", "id", "function", "arguments_part", "return_value", "event",
                     "token_usage", "part", "result", "usage", "uuid", "args", "name", "toolCallId")),
    any_json(),
    max_size=5,
)  # fmt: skip
VALUES = (
    st.builds(lambda kind, payload: wire(kind, **payload), st.sampled_from(KINDS), ANY)
    | st.builds(lambda kind, fields: {**fields, "type": kind}, st.sampled_from(TYPES), ANY)
    | st.builds(
        lambda kind, fields: loop(kind, **{k: v for k, v in fields.items() if k != "type"}),
        st.sampled_from(EVENTS),
        ANY,
    )
    | st.builds(
        lambda role, fields: {**fields, "role": role}, st.sampled_from(("user", "tool", "assistant", "_usage")), ANY
    )
    | any_json()
)


@given(
    values=st.lists(VALUES, max_size=6),
    role=st.sampled_from(("wire", "subagent", "context", "old_context", "state", "folders")),
)
def test_any_content_keeps_the_contract(values: list[Any], role: str) -> None:
    assert check_adapter(ADAPTER, SourceInfo("kimi", role, WIRE.path, session="s1"), values) == []


@pytest.mark.corpus
def test_recorded_files_have_no_unknown_parts(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "kimi-cli").rglob("*.jsonl")):
        data = path.read_bytes()
        info = SourceInfo("kimi", ADAPTER.recognise(path.name, data[:65536]) or "", path.name)
        info = SourceInfo("kimi", info.role, info.path, session=ADAPTER.identify(info, data[:65536]))
        assert info.role in ("wire", "old_context")
        state = ADAPTER.begin(info)
        for record in records_of([json.loads(line) for line in data.splitlines() if line.strip()]):
            parsed = ADAPTER.parse(record, state)
            state = parsed.state
            assert (parsed.drift, parsed.defects) == ((), ()), f"{path.name} {record.index}"
