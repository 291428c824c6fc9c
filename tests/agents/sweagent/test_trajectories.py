"""SWE-agent: two lists that say the same, given once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.sweagent.parse import MAX_PENDING_CHARS, SweAgentAdapter, SweAgentState
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Lifecycle,
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
from recollect.testing.conformance import MAX_STATE_BYTES, check_adapter, read
from recollect.testing.strategies import any_json

ADAPTER = SweAgentAdapter()
INFO = SourceInfo("sweagent", "trajectory", "me/run/t1/t1.traj", session="me/run/t1")
SYSTEM = {"role": "system", "content": "You are an agent.", "agent": "main"}
TASK = {"role": "user", "content": "Fix it.", "agent": "main"}


def records(*, steps: Any = (), history: Any = (), around: Any = None, before: Any = None) -> list[Record]:
    values = [("", before)] if before is not None else []
    values += [("trajectory", step) for step in steps] + [("history", item) for item in history]
    values += [("", around)] if around is not None else []
    return [Record(value, b"", i, at) for i, (at, value) in enumerate(values)]


def drafts(**lists: Any) -> list[Draft]:
    return [draft for events in read(ADAPTER, INFO, records(**lists)).events for draft in events]


def payloads(kind: type, **lists: Any) -> list[Any]:
    return [draft.payload for draft in drafts(**lists) if isinstance(draft.payload, kind)]


def step(action: str, observation: str = "", thought: str = "", **fields: Any) -> dict[str, Any]:
    return {
        "action": action,
        "observation": observation,
        "response": thought,
        "thought": thought,
        "state": {},
        **fields,
    }


def did(action: str, thought: str = "", calls: Any = None, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": thought, "thought": thought, "action": action, "agent": "main",
            "tool_calls": calls, **fields}  # fmt: skip


def called(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]


def got(text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_ids": ["c1"], "agent": "main"}


def test_a_step_in_both_lists_is_given_once_with_what_each_knows() -> None:
    lists = {
        "steps": [step("ls", "a.py", "I look.", execution_time=0.25, state={"working_dir": "/w"})],
        "history": [SYSTEM, TASK, did("ls", "I look.", called("bash", command="ls")), got("a.py")],
        "around": {"info": {}},
    }
    assert payloads(AssistantMessage, **lists) == [AssistantMessage("I look.")]
    assert payloads(ToolCall, **lists) == [ToolCall("c1", "bash", "shell", {"command": "ls"})]
    assert payloads(ToolResult, **lists) == [ToolResult("c1", "bash", text="a.py", duration_ms=250)]
    assert "/w" in [p.cwd for p in payloads(Lifecycle, **lists)]


def test_the_last_step_that_the_history_lacks_is_given_at_the_end() -> None:
    lists = {
        "steps": [step("ls", "a.py"), step("submit", "diff")],
        "history": [TASK, did("ls"), {"role": "user", "content": "a.py\nbash-$"}],
        "around": {"info": {"exit_status": "submitted"}},
    }
    assert [p.text for p in payloads(ToolResult, **lists)] == ["a.py\nbash-$", "diff"]


def test_the_last_result_that_the_history_lacks_is_given_at_the_end() -> None:
    lists = {"steps": [step("submit", "diff")], "history": [TASK, did("submit")], "around": {"info": {}}}
    assert [p.text for p in payloads(ToolResult, **lists)] == ["diff"]
    assert len(payloads(ToolCall, **lists)) == 1


def test_the_same_action_twice_is_two_steps() -> None:
    result = {"role": "user", "content": "x"}
    lists = {
        "steps": [step("ls", "x"), step("ls", "x")], "history": [TASK, did("ls"), result, did("ls"), result],
        "around": {"info": {}},
    }  # fmt: skip
    names = [d.native_id for d in drafts(**lists)]
    assert len(payloads(ToolCall, **lists)) == 2
    assert len(set(names)) == len(names)


def test_one_list_alone_is_enough() -> None:
    assert len(payloads(ToolResult, history=[TASK, did("ls"), {"role": "user", "content": "x"}])) == 1
    assert len(payloads(ToolResult, steps=[step("ls", "x")], around={"info": {}})) == 1


def test_steps_too_large_to_wait_are_given_at_once_and_not_again() -> None:
    steps = [step(f"cat {i}", str(i) * (MAX_PENDING_CHARS // 2)) for i in range(5)]
    history = [TASK, *(item for i in range(5) for item in (did(f"cat {i}"), {"role": "user", "content": str(i)}))]
    lists = {"steps": steps, "history": history, "around": {"info": {}}}
    assert len(payloads(ToolCall, **lists)) == len(payloads(ToolResult, **lists)) == 5
    state = ADAPTER.begin(INFO)
    for record in records(**lists):
        state = ADAPTER.parse(record, state).state
        assert len(msgspec.msgpack.encode(state)) < MAX_STATE_BYTES


def test_a_file_written_again_after_another_step_renames_nothing() -> None:
    result = {"role": "user", "content": "x"}
    first = {"steps": [step("ls", "x")], "history": [TASK, did("ls"), result], "around": {"info": {}}}
    second = {
        "steps": [step("ls", "x"), step("pwd", "y")],
        "history": [*first["history"], did("pwd")],
        "around": {"info": {}},
    }
    assert {d.native_id for d in drafts(**first)} <= {d.native_id for d in drafts(**second)}


def test_results_in_the_users_role_are_no_turns_and_demonstrations_no_messages() -> None:
    demo = {"role": "user", "content": "For example.", "is_demo": True, "agent": "main"}
    complaint = {"role": "user", "content": "Your output was not formatted correctly.", "agent": "main"}
    history = [SYSTEM, demo, TASK, did("ls"), {"role": "user", "content": "a.py"}, complaint]
    assert payloads(UserMessage, history=history) == [
        UserMessage("Fix it."),
        UserMessage(complaint["content"], "injected"),
    ]
    assert payloads(Instructions, history=history)[1] == Instructions("For example.", "demonstration")


def test_an_answer_that_is_only_its_action_says_nothing() -> None:
    assert payloads(AssistantMessage, history=[TASK, did("ls", content="```\nls\n```")]) == []


@pytest.mark.parametrize(
    ("observation", "ok", "count"),
    [
        ("The file a.py has been edited.", True, 1),
        ("Your proposed edit has introduced new syntax error(s).", False, 0),
        ("Something else.", None, 0),
    ],
)
def test_an_edit_is_told_from_what_the_editor_answers(observation: str, ok: bool | None, count: int) -> None:
    call = called("str_replace_editor", command="str_replace", path="a.py", old_str="1", new_str="2")
    history = [TASK, did("x", calls=call), got(observation)]
    assert [p.ok for p in payloads(ToolResult, history=history)] == [ok]
    assert payloads(FileEdit, history=history) == [FileEdit("a.py", "modify", "1", "2", call_id="c1")] * count


def test_the_edited_file_stands_in_the_answer_of_line_editors() -> None:
    answer = {"role": "user", "content": "[File: /w/a.py (3 lines total)]\n1:x"}
    (edit,) = payloads(FileEdit, history=[TASK, did("edit 1:1\nx\nend_of_edit"), answer])
    assert (edit.path, edit.operation) == ("/w/a.py", "modify")


def test_thinking_blocks_are_thoughts() -> None:
    item = did("", "So.", thinking_blocks=[{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}])
    assert payloads(Thinking, history=[TASK, item]) == [Thinking("Hm.")]


def test_totals_end_and_facts_come_from_around_the_lists() -> None:
    config = {
        "agent": {"model": {"name": "m", "api_key": "sk-visibly-synthetic-000000"}},
        "env": {"repo": {"base_commit": "c"}},
    }
    info = {"exit_status": "submitted", "model_stats": {"tokens_sent": 9, "tokens_received": 2, "instance_cost": 0.5}}
    lists = {"before": {"environment": "main"}, "around": {"info": info, "replay_config": json.dumps(config)}}
    assert payloads(TokenUsage, **lists) == [TokenUsage("m", 9, 2, cost_usd=0.5, dedupe_key="me/run/t1:total")]
    assert payloads(SessionEnd, **lists) == [SessionEnd("submitted")]
    assert [(p.originator, p.model, p.git_commit) for p in payloads(SessionStart, **lists)] == [
        ("main", "", ""),
        ("", "m", "c"),
    ]
    assert "synthetic" not in flatten([str(d.payload) for d in drafts(**lists)])


def test_runs_of_one_task_are_sessions_of_their_own() -> None:
    paths = ("me/run1/t1/t1.traj", "me/run2/t1/t1.traj", "me/run2/t1.traj")
    names = [ADAPTER.identify(SourceInfo("sweagent", "trajectory", path), b"") for path in paths]
    assert names == ["me/run1/t1", "me/run2/t1", "me/run2/t1"]


def test_a_file_is_told_by_its_lists() -> None:
    assert (
        ADAPTER.recognise("x.traj", b'{"environment": "main", "trajectory": [{"action": "", "observation": ""')
        == "trajectory"
    )
    assert ADAPTER.recognise("x.json", b'{"history": [{"role": "user", "agent": "main", "thought": ""') == "trajectory"
    assert ADAPTER.recognise("x.json", b'{"history": [{"role": "user", "content": ""') is None


NAMES = ("action", "observation", "thought", "response", "state", "execution_time", "role", "content", "tool_calls",
         "tool_call_ids", "thinking_blocks", "is_demo", "info", "replay_config", "environment")  # fmt: skip


@given(
    values=st.lists(
        st.tuples(
            st.sampled_from(("trajectory", "history", "")),
            st.dictionaries(st.sampled_from(NAMES), any_json() | st.sampled_from(("assistant", "user", "tool", "ls")))
            | any_json(),
        ),
        max_size=8,
    )
)
def test_any_content_keeps_the_contract(values: list[tuple[str, Any]]) -> None:
    assert check_adapter(ADAPTER, INFO, [value for _, value in values]) == []
    found = [Record(value, b"", i, at) for i, (at, value) in enumerate(values)]
    assert read(ADAPTER, INFO, found, stops=True) == read(ADAPTER, INFO, found)


@pytest.mark.corpus
def test_recorded_trajectories_give_every_step_once(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "swe-agent").rglob("*.traj")):
        value = json.loads(path.read_bytes())
        state: SweAgentState = ADAPTER.begin(INFO)
        calls = results = 0
        around = {k: v for k, v in value.items() if k not in ("trajectory", "history")}
        for record in records(steps=value.get("trajectory", []), history=value["history"], around=around):
            parsed = ADAPTER.parse(record, state)
            state = parsed.state
            assert (parsed.drift, parsed.defects) == ((), ())
            calls += sum(isinstance(d.payload, ToolCall) for d in parsed.events)
            results += sum(isinstance(d.payload, ToolResult) for d in parsed.events)
        acted = sum(bool(item.get("action")) for item in value["history"] if item["role"] == "assistant")
        assert calls == results == max(acted, len(value.get("trajectory", [])))
