"""Continue's sessions: one test for each trap of the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.continue_.parse import ContinueAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.testing.conformance import read
from tests.agents.cline.reading import give, info_of, mangled, payloads, problems_of, record

ADAPTER = ContinueAdapter()
INFO = info_of(ADAPTER, "session", "sessions/c1.json")
USAGE = {"promptTokens": 1020, "completionTokens": 30, "promptTokensDetails": {"cachedTokens": 900}}


def items(*values: Any) -> list[Draft]:
    return give(ADAPTER, INFO, *values, at="history")


def said(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"message": {"role": role, "content": content}, "contextItems": [], **fields}


def called(name: str, arguments: dict[str, Any], status: str = "done", output: Any = None) -> dict[str, Any]:
    call = {"id": "t1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    state = {"toolCallId": "t1", "toolCall": call, "status": status, "parsedArgs": arguments, "output": output or []}
    message = {"role": "assistant", "content": "", "toolCalls": [call]}
    return {"message": message, "contextItems": [], "toolCallStates": [state]}


SOUND = [
    said(
        "user", [{"type": "text", "text": "x"}, {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}]
    ),
    called(
        "multi_edit",
        {"filepath": "a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
        output=[{"content": "ok"}],
    ),
    said("assistant", "y", reasoning={"text": "z", "startAt": 1785574800000}, conversationSummary="s"),
    {
        "message": {"role": "tool", "content": "ok", "toolCallId": "t1", "usage": USAGE},
        "contextItems": [{"content": "f"}],
    },
]


@given(values=mangled(SOUND), at=st.sampled_from(["history", ""]))
def test_items_gone_wrong_keep_the_contract(values: list[Any], at: str) -> None:
    assert problems_of(ADAPTER, INFO, [record(v, i, at) for i, v in enumerate(values)]) == []


def test_an_insertion_renames_nothing_that_follows() -> None:
    names = [d.native_id for d in items(said("user", "a"), said("assistant", "b"))]
    longer = [d.native_id for d in items(said("user", "new"), said("user", "a"), said("assistant", "b"))]
    assert set(names) <= set(longer)


def test_a_call_that_is_answered_later_keeps_its_names() -> None:
    before = [d.native_id for d in items(called("Bash", {"command": "ls"}, "calling"))]
    after = [d.native_id for d in items(called("Bash", {"command": "ls"}, "done", [{"content": "a"}]))]
    assert (before, after) == (["call:t1"], ["call:t1", "result:t1"])


def test_a_result_that_stands_in_two_places_is_one() -> None:
    drafts = items(
        called("Bash", {"command": "ls"}, "done", [{"content": "a"}]),
        {"message": {"role": "tool", "content": "a", "toolCallId": "t1"}, "contextItems": []},
    )
    assert len(payloads(drafts, ToolResult)) == 1


def test_a_failed_command_is_told_by_state_or_by_its_label() -> None:
    errored = items(called("Bash", {"command": "make"}, "errored", [{"content": "Error (exit code 2): no rule"}]))
    assert [(r.ok, r.exit_code) for r in payloads(errored, ToolResult)] == [(False, 2)]
    label = [{"content": "no rule", "status": "Command failed with exit code 2"}]
    labelled = items(called("run_terminal_command", {"command": "make"}, "done", label))
    assert [(r.ok, r.exit_code) for r in payloads(labelled, ToolResult)] == [(False, 2)]


def test_a_cancelled_call_is_an_interruption_and_no_edit() -> None:
    drafts = items(called("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "canceled"))
    assert [p.name for p in payloads(drafts, Lifecycle)] == ["interrupted"]
    assert payloads(drafts, FileEdit) == []


def test_several_replacements_are_several_edits() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    drafts = items(called("MultiEdit", {"file_path": "a.py", "edits": edits}, output=[{"content": "ok"}]))
    assert [(e.before, e.after) for e in payloads(drafts, FileEdit)] == [("a", "b"), ("c", "d")]
    assert len({d.native_id for d in drafts if isinstance(d.payload, FileEdit)}) == 2


def test_arguments_that_are_no_json_stay_text_and_are_a_defect() -> None:
    item = {
        "message": {
            "role": "assistant",
            "content": "",
            "toolCalls": [{"id": "t1", "function": {"name": "Bash", "arguments": "{"}}],
        }
    }
    found = read(ADAPTER, INFO, [record(item, 0, "history")])
    assert found.defects == ("bad_arguments",)
    assert [p.arguments for p in payloads(list(found.events[0]), ToolCall)] == ["{"]


def test_context_files_are_injected_and_prompt_logs_are_not_repeated() -> None:
    context = {
        "name": "a.py",
        "description": "a.py",
        "content": "OLD = 1",
        "id": {"providerTitle": "file", "itemId": "1"},
    }
    drafts = items({**said("user", "See it."), "contextItems": [context], "promptLogs": [{"prompt": "Copy of all"}]})
    assert [(p.text, p.origin) for p in payloads(drafts, UserMessage)] == [
        ("See it.", "human"),
        ("OLD = 1", "injected"),
    ]
    assert "Copy of all" not in str(drafts)


def test_thinking_may_be_an_item_of_its_own_or_stand_beside_an_answer() -> None:
    drafts = items(
        said("thinking", "Hm."), said("assistant", "y", reasoning={"text": "Ha.", "startAt": 1, "endAt": 1785574800000})
    )
    assert [p.text for p in payloads(drafts, Thinking)] == ["Hm.", "Ha."]
    assert drafts[-1].ts == 1785574800000000
    signed = items({"message": {"role": "thinking", "content": "", "redactedThinking": "QUJD"}, "contextItems": []})
    assert payloads(signed, Thinking) == [Thinking("", is_encrypted=True)]


def test_a_summary_is_a_compaction() -> None:
    assert payloads(items(said("assistant", "y", conversationSummary="So far.")), Compaction) == [
        Compaction("summary", "So far.")
    ]


def test_the_sessions_total_counts_only_where_messages_state_nothing() -> None:
    total = record({"usage": USAGE}, 1)
    alone = read(ADAPTER, INFO, [record(said("assistant", "y"), 0, "history"), total])
    assert [u.is_additive for u in payloads(list(alone.events[1]), TokenUsage)] == [True]
    item = said("assistant", "y")
    item["message"]["usage"] = USAGE
    both = read(ADAPTER, INFO, [record(item, 0, "history"), total])
    assert [u.input_tokens for u in payloads(list(both.events[0]), TokenUsage)] == [120]
    assert [u.is_additive for u in payloads(list(both.events[1]), TokenUsage)] == [False]


def test_the_placeholder_of_a_new_session_is_no_title() -> None:
    assert payloads(give(ADAPTER, INFO, {"sessionId": "c1", "title": "New Session"}), Lifecycle) == []


def test_the_index_dates_other_sessions_and_keeps_the_obsolete_form() -> None:
    entries = [
        {"sessionId": "c1", "title": "T", "dateCreated": "1785574800000", "workspaceDirectory": "file:///w"},
        {"session_id": "old", "title": "Before"},
    ]
    drafts = give(ADAPTER, info_of(ADAPTER, "index", "sessions/sessions.json"), *entries)
    assert (drafts[0].session, drafts[0].ts) == ("c1", 1785574800000000)
    assert payloads(drafts, SessionStart)[0].cwd == "/w"
    assert "Before" in payloads(drafts, Unknown)[0].text


def test_only_sessions_are_opened() -> None:
    patterns = {p for place in ADAPTER.facts.places for p in place.patterns}
    assert patterns == {"sessions/*.json", "sessions/sessions.json"}


def test_a_session_is_told_by_its_content() -> None:
    document = {"sessionId": "c1", "title": "T", "workspaceDirectory": "/w", "history": [said("user", "x")]}
    assert ADAPTER.recognise("x.json", json.dumps(document).encode()) == "session"
    kiro = {**document, "history": [{**said("user", "x"), "executionId": "e"}]}
    assert ADAPTER.recognise("x.json", json.dumps(kiro).encode()) is None
    assert ADAPTER.recognise("x.json", b'{"sessionId": "c1", "type": "user"}') is None


@pytest.mark.corpus
def test_a_captured_session_is_read_without_defect_or_drift(shared: Path) -> None:
    path = next((shared / "corpus/continue-cli").rglob("*.json"))
    document = json.loads(path.read_text("utf-8"))
    state = ADAPTER.begin(INFO)
    for index, item in enumerate(document["history"]):
        parsed = ADAPTER.parse(record(item, index, "history"), state)
        state = parsed.state
        assert (parsed.defects, parsed.drift) == ((), ())
    assert state.waiting == ()


def test_an_answer_keeps_the_model_that_the_session_names() -> None:
    records = [record({"sessionId": "c1", "chatModelTitle": "Sonnet"}), record(said("assistant", "y"), 1, "history")]
    assert [p.model for p in payloads(list(read(ADAPTER, INFO, records).events[1]), AssistantMessage)] == ["Sonnet"]
