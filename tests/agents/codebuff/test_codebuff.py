"""Codebuff: times of day, credits for tokens, and subagents inside the blocks of a message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.codebuff.parse import CodebuffAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Lifecycle,
    Payload,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = CodebuffAdapter()
FOLDER = "projects/demo/chats/2026-07-28T09-00-00.236Z"
SESSION = "demo/2026-07-28T09-00-00.236Z"
INFO = SourceInfo("codebuff", "chat", f"{FOLDER}/chat-messages.json", SESSION)
STATE = SourceInfo("codebuff", "run", f"{FOLDER}/run-state.json", SESSION)
LISTED = SourceInfo("codebuff", "meta", f"{FOLDER}/chat-meta.json", SESSION)
BEGAN = 1_785_229_200_236_000
MINUTE = 60_000_000


def user(name: str, said: str, at: str = "09:00 AM", **fields: Any) -> dict[str, Any]:
    return {"id": name, "variant": "user", "content": said, "timestamp": at, **fields}


def answer(name: str, *blocks: Any, at: str = "09:00 AM", **fields: Any) -> dict[str, Any]:
    return {"id": name, "variant": "ai", "content": "", "blocks": list(blocks), "timestamp": at, **fields}


def text(said: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "content": said, "textType": "text", **fields}


def tool(name: str, given: Any, output: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool", "toolCallId": "c1", "toolName": name, "input": given, "output": output, **fields}


EDIT = {"path": "a.py", "replacements": [{"old": "1", "new": "2"}]}
AGENT = {
    "type": "agent",
    "agentId": "ag1",
    "agentName": "Editor",
    "agentType": "editor",
    "status": "complete",
    "initialPrompt": "Do it",
    "blocks": [text("Done"), {**tool("str_replace", EDIT, "message: ok"), "toolCallId": "c2"}],
}
DOCUMENT = {
    "sessionState": {
        "mainAgentState": {"agentType": "base2-free", "creditsUsed": 3},
        "fileContext": {"cwd": "/w", "knowledgeFiles": {"a.md": "of-the-project"}},
    }
}
RECORDS: list[Any] = [
    user("u1", "Hi", textAttachments=[{"content": "x"}], attachments=[{"path": "a.png"}]),
    answer("a1", text("Hm.", textType="reasoning"), text("Ho"), tool("str_replace", EDIT, "ok"), AGENT, credits=3),
    answer("a2", {"type": "ask-user", "toolCallId": "q", "questions": [{}], "answers": [{"a": 1}]}),
    answer("a3", {"type": "image", "image": "aGk=", "mediaType": "image/png"}, {"type": "plan", "content": "p"}),
    DOCUMENT,
    {"firstPrompt": "Hi", "messageCount": 2},
]


def drafts(*values: Any, info: SourceInfo = INFO) -> list[Draft]:
    return [d for found in read(ADAPTER, info, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any, info: SourceInfo = INFO) -> list[Any]:
    return [d.payload for d in drafts(*values, info=info) if isinstance(d.payload, kind)]


def test_a_time_of_day_is_counted_from_the_chats_beginning() -> None:
    told = ["11:58 PM", "11:59 PM", "12:01 AM", "00:05"]
    found = [d for d in drafts(*(user(at, "Hi", at) for at in told)) if isinstance(d.payload, UserMessage)]
    assert [d.ts for d in found] == [BEGAN, BEGAN + MINUTE, BEGAN + 3 * MINUTE, BEGAN + 7 * MINUTE]
    assert {d.ts_quality for d in found} == {"inferred"}


def test_two_projects_may_have_a_chat_of_the_same_time() -> None:
    assert ADAPTER.identify(INFO, b"") == SESSION


def test_credits_are_cents_and_the_runs_total_is_not_added() -> None:
    (usage,) = given_by(TokenUsage, RECORDS[1])
    assert (usage.cost_usd, usage.is_additive, usage.input_tokens) == (0.03, True, 0)
    (total,) = given_by(TokenUsage, DOCUMENT, info=STATE)
    assert (total.cost_usd, total.is_additive) == (0.03, False)


def test_a_subagent_is_a_task_here_and_a_session_of_its_own() -> None:
    found = drafts(answer("a1", AGENT))
    inner = [d for d in found if d.session == f"{SESSION}/ag1"]
    (start,) = [d.payload for d in inner if isinstance(d.payload, SessionStart)]
    assert (start.parent_session, start.agent_name) == (SESSION, "editor")
    assert [d.payload.text for d in inner if isinstance(d.payload, UserMessage)] == ["Do it"]
    assert [d.payload.text for d in inner if isinstance(d.payload, AssistantMessage)] == ["Done"]
    assert next((d.payload.name, d.payload.canonical) for d in found if isinstance(d.payload, ToolCall)) == (
        "Editor",
        "task",
    )
    results = [d.payload for d in found if isinstance(d.payload, ToolResult) and not d.session]
    assert [(r.call_id, r.ok, r.text) for r in results] == [("ag1", True, "Done")]
    assert not given_by(FileEdit, answer("a1", AGENT))


@pytest.mark.parametrize(
    ("output", "raw", "ok", "code"),
    [
        ("stdout: x\nexitCode: 0", None, True, 0),
        ("stdout: x\nexitCode: 2", None, False, 2),
        ("file: a\nerrorMessage: no such file", None, False, None),
        ("", [{"type": "json", "value": {"errorMessage": "no"}}], False, None),
        ("", [{"type": "json", "value": {"exitCode": 3}}], False, 3),
    ],
)
def test_how_a_tool_went_is_said_by_its_output(output: str, raw: Any, ok: bool, code: int | None) -> None:
    (found,) = given_by(ToolResult, answer("a1", tool("run_terminal_command", {}, output, outputRaw=raw)))
    assert (found.ok, found.exit_code) == (ok, code)


def test_a_tool_without_output_still_runs() -> None:
    running = {k: v for k, v in tool("str_replace", EDIT, None).items() if k != "output"}
    assert not given_by(ToolResult, answer("a1", running))
    assert not given_by(FileEdit, answer("a1", running))


def test_an_edit_is_given_with_what_was_there_before() -> None:
    (edit,) = given_by(FileEdit, answer("a1", tool("str_replace", EDIT, "message: ok")))
    assert (edit.path, edit.before, edit.after) == ("a.py", "1", "2")
    assert not given_by(FileEdit, answer("a1", tool("str_replace", EDIT, "errorMessage: no")))


def test_an_interruption_is_a_text_that_is_no_answer() -> None:
    values = answer("a1", text("Working\n\n[response interrupted]"))
    assert [m.text for m in given_by(AssistantMessage, values)] == ["Working"]
    assert [e.name for e in given_by(Lifecycle, values)] == ["interrupted"]


def test_a_message_that_grows_keeps_the_names_of_what_it_had() -> None:
    first = drafts(answer("a1", text("Hm.", textType="reasoning"), text("Ho")))
    second = drafts(answer("a1", text("Hm.", textType="reasoning"), text("Ho, "), tool("ls", {}, "a"), text("b")))
    assert {d.native_id for d in first} < {d.native_id for d in second}
    assert [t.text for t in given_by(Thinking, RECORDS[1])] == ["Hm."]


def test_of_the_runs_state_only_its_facts_are_given() -> None:
    found = drafts(DOCUMENT, info=STATE)
    assert "of-the-project" not in repr(found)
    assert [(d.payload.cwd, d.payload.originator) for d in found if isinstance(d.payload, SessionStart)] == [
        ("/w", "freebuff")
    ]


def test_only_files_of_its_own_name_are_taken() -> None:
    head = json.dumps(RECORDS[:2]).encode()
    assert ADAPTER.recognise("x/chat-messages.json", head[:200]) == "chat"
    assert ADAPTER.recognise("x/messages.json", head) is None
    assert ADAPTER.recognise("x/chat-messages.json", b'[{"role": "user"}]') is None


@given(values=any_values() | st.lists(bent(RECORDS), max_size=8))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    for info in (INFO, STATE, LISTED):
        assert check_adapter(ADAPTER, info, values) == []
