"""The conversation in Qwen Code's transcripts: who wrote what, what tools gave back, and what it cost."""

from __future__ import annotations

import pytest

from recollect.model.payloads import (
    AssistantMessage,
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
from recollect.model.records import Drift
from tests.agents.qwen.transcripts import SESSION, Told, call, record, response

DISPLAY = {"fileDiff": "-a\n+b", "fileName": "a.py", "originalContent": "a", "newContent": "b"}
EDIT = record("a1", "assistant", call("c1", "edit", file_path="/w/a.py", old_string="a", new_string="b"))


def result(call_id: str = "c1", name: str = "edit", said: str = "done", **recorded: object) -> dict[str, object]:
    return record("r1", "tool_result", response(call_id, name, output=said), toolCallResult=recorded)


def test_the_first_record_starts_the_session_and_changes_are_told() -> None:
    told = Told(
        record("u1", "user", "Hi", gitBranch="main"), record("u2", "user", "Ho", gitBranch="main"),
        record("u3", "user", "He", gitBranch="next", cwd="/v"),
    )  # fmt: skip
    start = told.one(SessionStart)
    assert (start.cwd, start.git_branch, start.tool_version) == ("/w", "main", "0.21.13")
    assert [(e.name, e.cwd or e.branch) for e in told.all(Lifecycle)] == [("cwd", "/v"), ("branch", "next")]
    assert {d.parent_id for d in told.drafts} == {"root"}


@pytest.mark.parametrize(
    ("fields", "origin"),
    [
        ({}, "human"),
        ({"provenance": "real_user"}, "human"),
        ({"subtype": "mid_turn_user_message"}, "queued"),
        ({"subtype": "notification"}, "injected"),
        ({"subtype": "cron"}, "injected"),
        ({"provenance": "goal_runtime"}, "injected"),
        ({"externalInputKind": "notification"}, "injected"),
    ],
)
def test_the_record_says_who_wrote_in_the_role_of_the_user(fields: dict[str, str], origin: str) -> None:
    assert Told(record("u1", "user", "Look", **fields)).one(UserMessage).origin == origin


def test_the_context_of_a_hook_is_not_the_words_of_the_person() -> None:
    context = "<qwen:user-prompt-submit-context>\nhook\n</qwen:user-prompt-submit-context>"
    human, added = Told(record("u1", "user", "Look", context, systemPayload={"displayText": "Look"})).all(UserMessage)
    assert (human.text, human.origin) == ("Look", "human")
    assert (added.text, added.origin) == (context, "injected")


def test_what_was_typed_goes_before_what_it_was_expanded_to() -> None:
    human, added = Told(record("u1", "user", "Expanded", systemPayload={"displayText": "/plan"})).all(UserMessage)
    assert (human.text, human.origin, added.text, added.origin) == ("/plan", "command", "Expanded", "injected")


def test_one_step_may_think_speak_and_call() -> None:
    told = Told(
        record("a1", "assistant", {"text": "Hm", "thought": True}, "Now.", call("c1", "glob"), "Soon.", model="q")
    )
    assert told.one(Thinking).text == "Hm"
    assert told.one(AssistantMessage).text == "Now.\nSoon."
    assert told.one(ToolCall).canonical == "search"
    assert [d.native_id for d in told.drafts[1:]] == ["a1/thinking/1", "a1", "call:c1"]


def test_a_record_written_twice_counts_once() -> None:
    usage = {
        "promptTokenCount": 900,
        "cachedContentTokenCount": 600,
        "candidatesTokenCount": 35,
        "totalTokenCount": 935,
    }
    told = Told(
        record("a1", "assistant", "Hi", usageMetadata=usage), record("a1", "assistant", "Hi", usageMetadata=usage)
    )
    found = told.one(TokenUsage)
    assert (found.input_tokens, found.output_tokens, found.dedupe_key) == (300, 35, "a1")


def test_records_without_an_id_have_usage_of_their_own() -> None:
    value = {
        k: v for k, v in record("", "assistant", "Hi", usageMetadata={"candidatesTokenCount": 1}).items() if k != "uuid"
    }
    (usage,) = Told(value).all(TokenUsage)
    assert usage.dedupe_key.startswith(f"{SESSION}:")


def test_what_the_agent_says_of_a_result_names_its_call() -> None:
    told = Told(
        record("a1", "assistant", call("c1", "glob")),
        result("other", "glob", "x", callId="c1", status="success", durationMs=5),
    )
    found = told.one(ToolResult)
    assert (found.call_id, found.ok, found.duration_ms, found.text) == ("c1", True, 5, "x")


def test_a_result_without_an_id_is_called_after_its_record() -> None:
    value = record("r9", "tool_result", {"functionResponse": {"name": "glob", "response": {"output": "x"}}})
    assert Told(value).one(ToolResult).call_id == "r9"


def test_each_of_several_results_belongs_to_its_call() -> None:
    value = record(
        "r1", "tool_result", response("c1", "glob", output="a"), response("c2", "glob", error="b"),
        toolCallResult={"callId": "c2", "status": "error", "errorType": "invalid"},
    )  # fmt: skip
    first, second = Told(value).all(ToolResult)
    assert (first.call_id, first.ok, second.call_id, second.ok) == ("c1", True, "c2", False)
    assert second.structured == {"error_type": "invalid"}


@pytest.mark.parametrize("recorded", [{"status": "error"}, {"status": "cancelled"}, {"error": {"message": "no"}}])
def test_a_failure_marked_only_in_the_metadata_is_a_failure(recorded: dict[str, object]) -> None:
    assert Told(EDIT, result(**recorded)).one(ToolResult).ok is False
    assert not Told(EDIT, result(resultDisplay=DISPLAY, **recorded)).all(FileEdit)


def test_a_command_that_failed_by_its_exit_code_failed() -> None:
    found = Told(result("c1", "run_shell_command", "Output: no\nExit Code: 3", status="success")).one(ToolResult)
    assert (found.ok, found.exit_code, found.text) == (False, 3, "no")


def test_an_edit_is_told_by_what_was_shown_under_the_path_of_the_call() -> None:
    edit = Told(EDIT, result(callId="c1", status="success", resultDisplay=DISPLAY)).one(FileEdit)
    assert (edit.path, edit.diff, edit.call_id) == ("/w/a.py", "-a\n+b", "c1")


def test_a_shortened_display_gives_way_to_what_the_call_asked_for() -> None:
    shown = {**DISPLAY, "fileDiff": "omitted", "fileDiffTruncated": True, "truncatedForSession": True}
    edit = Told(EDIT, result(callId="c1", status="success", resultDisplay=shown)).one(FileEdit)
    assert (edit.before, edit.after, edit.diff) == ("a", "b", "")


def test_an_edit_that_was_not_shown_is_told_by_its_call() -> None:
    edit = Told(EDIT, result(callId="c1", status="success")).one(FileEdit)
    assert (edit.path, edit.before, edit.after) == ("/w/a.py", "a", "b")


def test_a_task_in_the_background_is_told() -> None:
    payload = {"displayText": "Done", "backgroundTask": {"taskId": "t", "status": "ok", "toolUseId": "c1"}}
    told = Told(record("u1", "user", "Done", subtype="notification", systemPayload=payload))
    assert (told.one(Lifecycle).name, told.one(Lifecycle).call_id) == ("subagent", "c1")


def test_unknown_types_parts_and_fields_are_drift() -> None:
    told = Told(
        record("u1", "user", "Hi", {"future": 1}, novelty="x"), record("u2", "from_the_future"),
        record("u3", "user", "Ho", provenance="oracle"), result(status="dreaming"),
    )  # fmt: skip
    assert told.drift == [
        Drift("type", "future"),
        Drift("field", "user.novelty"),
        Drift("type", "from_the_future"),
        Drift("value", "user.provenance=oracle"),
        Drift("value", "toolCallResult.status=dreaming"),
    ]
    assert [u.type for u in told.all(Unknown)] == ["future", "fields", "from_the_future"]


def test_a_forked_session_knows_where_it_comes_from() -> None:
    told = Told(record("u1", "user", "Hi", forkedFrom={"sessionId": "old", "messageUuid": "u1"}))
    assert told.one(SessionStart).forked_from == "old"
    assert told.drafts[-1].native_id == "u1"


def test_a_subagent_knows_its_parent_and_its_task_is_its_first_turn() -> None:
    told = Told(record("u1", "user", "Find it", agentId="x", agentName="explore", isSidechain=True), role="subagent")
    start = told.one(SessionStart)
    assert (start.parent_session, start.agent_name) == (SESSION, "explore")
    assert told.one(UserMessage).origin == "human"
    assert not any(d.is_sidechain for d in told.drafts)
    assert all(d.is_sidechain for d in Told(record("u1", "user", "Find it", isSidechain=True)).drafts)
