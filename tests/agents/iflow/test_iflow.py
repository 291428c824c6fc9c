"""iFlow CLI: Claude Code's envelope, Google's tool results, and responses written as overlapping lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
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
from recollect.model.records import Drift, SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = FormatAdapter("iflow")
SESSION = "session-5c5b5a59-1111-4222-8333-444455556666"
INFO = SourceInfo("iflow", "transcript", f"projects/-w/{SESSION}.jsonl", SESSION)
ASKED = {"file_path": "C:\\w\\a.py", "old_string": "a", "new_string": "b"}


def record(uuid: str, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    envelope = {
        "uuid": uuid, "parentUuid": "root", "sessionId": SESSION, "timestamp": "2026-08-01T09:00:01.000Z",
        "type": kind, "isSidechain": False, "userType": "external", "cwd": "/w", "gitBranch": None, "version": "1.0.0",
    }  # fmt: skip
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"response-{uuid}", "type": "message", "model": "glm", "usage": {"input_tokens": 0}}
    return {**envelope, "message": message, **fields}


def use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, name: str, display: Any = None, **body: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": call_id, "name": name, "response": body}}
    content = {"callId": call_id, "responseParts": response, "resultDisplay": display}
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return record(f"r-{call_id}", "user", [block], toolUseResult={"toolName": name, "status": "success"})


RECORDS: list[Any] = [
    record("u1", "user", "Hi"),
    record("a1", "assistant", [{"type": "text", "text": "x"}, use("c1", "replace", **ASKED), {"type": "thinking"}]),
    result("c1", "replace", {"fileDiff": "d", "fileName": "a.py"}, output="done"),
    record("s1", "system", "x", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9}),
]


def drafts(*values: Any) -> list[Draft]:
    return [d for found in read(ADAPTER, INFO, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any) -> list[Any]:
    return [d.payload for d in drafts(*values) if isinstance(d.payload, kind)]


def test_a_call_that_several_lines_repeat_is_one_call() -> None:
    one, two = use("c1", "read_file", absolute_path="a"), use("c2", "read_file", absolute_path="b")
    text = {"type": "text", "text": "Reading."}
    found = drafts(
        record("a1", "assistant", [text, one]), record("a2", "assistant", [one, two]), record("a3", "assistant", [two])
    )
    calls = {(d.native_id, repr(d.payload)) for d in found if isinstance(d.payload, ToolCall)}
    assert {name for name, _ in calls} == {"call:c1", "call:c2"}
    assert len(calls) == 2
    assert [d.native_id for d in found if isinstance(d.payload, AssistantMessage)] == ["a1"]


def test_a_result_is_unwrapped() -> None:
    (found,) = given_by(ToolResult, result("c1", "read_file", "Read all 8 lines", output="x = 1"))
    assert (found.name, found.ok, found.text, found.structured) == ("read_file", True, "x = 1", "Read all 8 lines")


def test_an_error_inside_the_wrapping_is_a_failure() -> None:
    (found,) = given_by(ToolResult, result("c1", "read_file", error="no such file"))
    assert (found.ok, found.text) == (False, "no such file")


def test_an_edit_is_told_under_the_path_of_its_call() -> None:
    shown = {"fileDiff": "-a\n+b", "fileName": "a.py", "originalContent": "a", "newContent": "b"}
    values = (record("a1", "assistant", [use("c1", "replace", **ASKED)]), result("c1", "replace", shown, output="done"))
    (edit,) = given_by(FileEdit, *values)
    assert (edit.path, edit.diff) == ("C:\\w\\a.py", "-a\n+b")
    assert not given_by(FileEdit, values[0], result("c1", "replace", shown, error="refused"))


def test_the_harness_in_the_role_of_the_user_is_no_person() -> None:
    said = ["Hi", "/help", "<task-notification>x", "Stop hook feedback: y", "see /w/a.py"]
    found = given_by(UserMessage, *(record(f"u{i}", "user", text) for i, text in enumerate(said)))
    assert [m.origin for m in found] == ["human", "command", "injected", "injected", "human"]
    assert given_by(UserMessage, record("u1", "user", "x", isMeta=True))[0].origin == "injected"


def test_an_interruption_and_a_compaction_are_no_messages() -> None:
    values = (
        record("u1", "user", "[Request interrupted by user]"),
        record("u2", "user", "This session is being continued", isCompactSummary=True),
        RECORDS[3],
    )
    assert not given_by(UserMessage, *values)
    assert [e.name for e in given_by(Lifecycle, *values)] == ["interrupted"]
    assert [(c.summary[:12], c.trigger, c.tokens_before) for c in given_by(Compaction, *values)] == [
        ("This session", "", None),
        ("", "auto", 9),
    ]


def test_counts_of_zero_are_no_usage_and_others_count_once_for_a_response() -> None:
    assert not given_by(TokenUsage, record("a1", "assistant", "x"))
    counted = record("a1", "assistant", "x")
    counted["message"]["usage"] = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 2}
    (usage,) = given_by(TokenUsage, counted)
    assert (usage.input_tokens, usage.cache_read_tokens, usage.dedupe_key) == (5, 7, "response-a1")


def test_signed_thoughts_without_text_are_marked() -> None:
    (thought,) = given_by(Thinking, record("a1", "assistant", [{"type": "thinking", "thinking": "", "signature": "x"}]))
    assert thought.is_encrypted


def test_changes_of_folder_model_and_branch_are_told() -> None:
    other = record("a2", "assistant", "y", cwd="/v", gitBranch="next")
    other["message"]["model"] = "other"
    values = (
        record("a1", "assistant", "x", gitBranch="main"),
        other,
        record("a3", "user", "z", cwd="/v", gitBranch="b"),
    )
    assert given_by(SessionStart, *values)[0].git_branch == "main"
    assert [e.name for e in given_by(Lifecycle, *values)] == ["cwd", "branch", "model", "branch"]


def test_what_is_not_known_is_drift() -> None:
    found: list[Drift] = []
    state = ADAPTER.begin(INFO)
    for value in records_of(
        [record("u1", "user", "x", novelty=1), record("u2", "future", "x"), record("a1", "assistant", [{"type": "b"}])]
    ):
        found += ADAPTER.parse(value, state).drift
    assert found == [Drift("field", "user.novelty"), Drift("type", "future"), Drift("type", "b")]


def test_its_files_are_told_from_those_of_claude_code_by_the_session_id() -> None:
    ours = json.dumps(RECORDS[0]).encode()
    assert ADAPTER.recognise("x.jsonl", b"{}\n" + ours) == "transcript"
    assert ADAPTER.recognise("x.jsonl", ours.replace(b'"session-', b'"')) is None
    assert ADAPTER.identify(SourceInfo("iflow", "transcript", INFO.path), ours) == SESSION


@given(values=any_values() | st.lists(bent(RECORDS), max_size=4))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    assert check_adapter(ADAPTER, INFO, values) == []
    ADAPTER.recognise("x", b"\n".join(json.dumps(v).encode() for v in values))


@pytest.mark.corpus
def test_a_recorded_session_gives_no_drift(shared: Path) -> None:
    paths = sorted((shared / "corpus").rglob("iflow/session-*.jsonl"))
    assert paths
    for path in paths:
        values = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        told = read(ADAPTER, SourceInfo("iflow", "transcript", path.name, path.stem), records_of(values), stops=True)
        assert told.defects == ()
        assert "unknown" not in told.kinds
