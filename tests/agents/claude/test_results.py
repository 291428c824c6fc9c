"""Traps of tool results: shapes of content, structured results, edits, spilled output."""

from __future__ import annotations

import pytest

from tests.agents.claude.transcripts import assistant, call, result, source, tell, user


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "tool_reference", "tool_name": "TaskCreate"}], "tool_name: TaskCreate"),
        (None, ""),
        ([], ""),
    ],
)
def test_content_in_any_shape_becomes_text(content: object, text: str) -> None:
    assert tell(result(content)).one("tool_result").text == text


def test_content_that_is_missing_is_taken_from_the_structured_result() -> None:
    told = tell(user([{"type": "tool_result", "tool_use_id": "t"}], toolUseResult={"stdout": "out", "stderr": "err"}))
    assert told.one("tool_result").text == "out\nerr"


def test_a_structured_result_that_is_an_error_text_is_not_repeated() -> None:
    found = tell(result("Exit code 1\nno", "Error: Exit code 1\nno", is_error=True)).one("tool_result")
    assert (found.ok, found.exit_code, found.structured) == (False, 1, None)


def test_a_structured_error_text_alone_means_failure() -> None:
    found = tell(result(None, "Error: cancelled")).one("tool_result")
    assert (found.ok, found.text) == (False, "Error: cancelled")


def test_a_result_without_an_error_flag_succeeded() -> None:
    assert tell(result("ok", {"stdout": "ok"})).one("tool_result").ok is True


@pytest.mark.parametrize("extra", [{"interrupted": True}, {"success": False}, {"is_error": True}])
def test_the_structured_result_can_say_that_it_failed(extra: dict[str, bool]) -> None:
    assert tell(result("x", extra)).one("tool_result").ok is False


def test_the_exit_code_of_a_background_command_is_found_in_its_state() -> None:
    text = "<status>failed</status>\n\n<exit_code>137</exit_code>\n"
    assert tell(result(text)).one("tool_result").exit_code == 137


def test_a_result_is_named_after_the_tool_that_was_called() -> None:
    told = tell(assistant(call("Bash", {"command": "ls"}, "toolu_1")), result("cli.py"))
    assert told.one("tool_result").name == "Bash"


def test_error_output_beside_the_text_is_kept() -> None:
    found = tell(result("out", {"stdout": "out", "stderr": "warned", "interrupted": False})).one("tool_result")
    assert found.structured == {"stderr": "warned"}


def test_a_file_that_was_read_is_not_repeated_without_its_line_numbers() -> None:
    body = "     1→import os\n     2→print(os)\n"
    extra = {"type": "text", "file": {"filePath": "/w/x.py", "content": "import os\nprint(os)\n", "numLines": 2}}
    found = tell(result(body, extra)).one("tool_result")
    assert found.structured == {"type": "text", "file": {"filePath": "/w/x.py", "numLines": 2}}


def test_a_file_that_the_text_does_not_show_is_kept() -> None:
    extra = {"type": "text", "file": {"filePath": "/w/x.py", "content": "import os\n"}}
    found = tell(result("File unchanged since last read", extra)).one("tool_result")
    assert found.structured["file"]["content"] == "import os\n"


def test_an_image_that_only_the_structured_result_holds_is_a_part() -> None:
    extra = {"type": "image", "file": {"base64": "aGVsbG8=", "type": "image/png", "originalSize": 5}}
    found = tell(result("", extra)).one("tool_result")
    assert [(p.media_type, p.bytes) for p in found.parts] == [("image/png", 5)]


def test_the_time_a_tool_took_is_in_milliseconds() -> None:
    assert tell(result("x", {"durationSeconds": 1.5})).one("tool_result").duration_ms == 1500


def test_an_edit_is_told_from_its_result_as_unified_hunks() -> None:
    patch = [{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-a", "+b"]}]
    extra = {"filePath": "/w/x.py", "oldString": "a", "newString": "b", "originalFile": "a", "structuredPatch": patch}
    told = tell(result("updated", extra))
    edit = told.one("file_edit")
    assert (edit.path, edit.operation, edit.diff) == ("/w/x.py", "modify", "@@ -3,1 +3,1 @@\n-a\n+b")
    assert (edit.call_id, told.one("tool_result").structured) == ("toolu_1", None)


def test_a_denied_edit_is_no_edit() -> None:
    extra = {"filePath": "/w/x.py", "oldString": "a", "newString": "b", "structuredPatch": []}
    assert tell(result("denied", extra, is_error=True)).all("file_edit") == []


@pytest.mark.parametrize("extra", [{"type": "create"}, {"originalFile": None}])
def test_a_file_that_was_not_there_before_is_created(extra: dict[str, object]) -> None:
    told = tell(result("written", {"filePath": "/w/x.py", "content": "x", "structuredPatch": [], **extra}))
    assert (told.one("file_edit").operation, told.one("file_edit").after) == ("create", "x")


def test_a_path_without_an_edit_is_no_edit() -> None:
    assert tell(result("plan saved", {"filePath": "/w/plan.md", "isAgent": False, "plan": "x"})).all("file_edit") == []


def test_several_results_of_one_record_are_all_told() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": f"r{i}"} for i in range(3)]
    assert [r.call_id for r in tell(user(blocks)).all("tool_result")] == ["t0", "t1", "t2"]


def test_spilled_output_is_the_text_of_its_call() -> None:
    path = "projects/-w/0a0a0a0a-0000-4000-8000-000000000001/tool-results/toolu_9.txt"
    told = tell("all of it", info=source("spill", path))
    assert (told.one("tool_result").call_id, told.one("tool_result").text) == ("toolu_9", "all of it")
