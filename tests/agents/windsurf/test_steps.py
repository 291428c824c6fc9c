"""Cascade's transcripts: one step a line, without times and ids."""

from __future__ import annotations

from recollect.model.payloads import FileEdit, ToolResult
from tests.agents.windsurf.records import Story, step


def test_a_dialogue_begins_the_session_and_has_no_times() -> None:
    story = Story("transcript", [step("user_input", user_response="Hi."), step("planner_response", response="Hello.")])
    assert story.ids("session_start") == ["start"]
    assert (story.one("user_message").text, story.one("assistant_message").text) == ("Hi.", "Hello.")
    assert {draft.ts_quality for draft in story.drafts} == {"missing"}
    assert story.drift == []


def test_a_command_is_a_call_and_its_result() -> None:
    story = Story(
        "transcript",
        [step("run_command", command="pytest -q", cwd="/w", exit_code=0, output="3 passed", user_rejected=False)],
    )
    call = story.one("tool_call")
    assert (call.canonical, call.arguments) == ("shell", {"command": "pytest -q", "cwd": "/w"})
    assert story.one("tool_result") == ToolResult(call.call_id, "run_command", True, 0, "3 passed")


def test_a_failed_command_marked_only_by_its_exit_code_is_a_failure() -> None:
    story = Story("transcript", [step("run_command", command="pytest -q", exit_code=1, output="1 failed")])
    assert (story.one("tool_result").ok, story.one("tool_result").exit_code) == (False, 1)


def test_a_command_that_the_person_refused_failed() -> None:
    story = Story("transcript", [step("run_command", command="rm x", user_rejected=True)])
    assert story.one("tool_result").ok is False
    assert [e.name for e in story.of("lifecycle")] == ["permission"]


def test_an_error_of_the_step_is_a_failure() -> None:
    result = Story("transcript", [step("list_resources", "error", server_name="memory")]).one("tool_result")
    assert result.ok is False


def test_a_running_step_has_no_result_until_it_is_done() -> None:
    running = Story("transcript", [step("run_command", "running", command="ls")])
    done = Story("transcript", [step("run_command", command="ls", exit_code=0, output="a.py")])
    assert running.of("tool_result") == []
    assert running.ids("tool_call") == done.ids("tool_call")


def test_a_change_has_the_file_before_and_after_it() -> None:
    change = step(
        "code_action", path="file:///w/a%20b.py", original_content="OLD = 1\n", new_content="NEW = 1\n",
        acknowledgement_type="ACKNOWLEDGEMENT_TYPE_ACCEPT",
    )  # fmt: skip
    story = Story("transcript", [change])
    call_id = story.one("tool_call").call_id
    assert story.one("file_edit") == FileEdit("/w/a b.py", "modify", "OLD = 1\n", "NEW = 1\n", call_id=call_id)


def test_a_file_without_a_before_was_created() -> None:
    assert (
        Story("transcript", [step("code_action", path="a.py", new_content="x")]).one("file_edit").operation == "create"
    )


def test_a_change_that_was_refused_is_none() -> None:
    refused = step("code_action", path="a.py", new_content="x", acknowledgement_type="ACKNOWLEDGEMENT_TYPE_REJECT")
    story = Story("transcript", [refused])
    assert story.of("file_edit") == []
    assert story.one("tool_result").ok is False


def test_equal_steps_have_names_of_their_own_and_keep_them() -> None:
    twice = [step("view_file", path="a.py", content="x"), step("view_file", path="a.py", content="x")]
    story = Story("transcript", twice)
    assert len(set(story.ids("tool_call"))) == 2
    assert Story("transcript", [*twice, step("planner_response", response="Hm.")]).ids("tool_call") == story.ids(
        "tool_call"
    )


def test_unknown_steps_and_fields_are_kept_and_counted() -> None:
    odd = {**step("planner_response", response="Hi.", mood="x"), "novelty": "y"}
    story = Story("transcript", [step("from_the_future", text="kept"), odd, {"type": "bare", "status": "done"}])
    assert story.drift == ["from_the_future", "response.mood", "step.novelty", "bare"]
    assert "kept" in story.of("unknown")[0].text


def test_a_known_step_of_an_unknown_shape_is_kept() -> None:
    story = Story("transcript", [{"type": "user_input", "status": "done", "user_input": "Hi."}])
    assert "Hi." in story.one("unknown").text
