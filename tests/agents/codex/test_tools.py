"""Calls, results that take many shapes, and file edits that are told twice."""

from __future__ import annotations

import base64
import json

import pytest

from recollect.model.payloads import FileEdit, ToolCall, ToolResult
from tests.agents.codex.records import completed, event, item, read

PATCH = """*** Begin Patch
*** Add File: new.py
+print(1)
+
*** Update File: old.py
*** Move to: renamed.py
@@ def f
-a
+b
*** Update File: same.py
@@
-x
+y
*** Delete File: gone.py
*** End Patch
"""
EDITS = [
    FileEdit(path="new.py", operation="create", after="print(1)\n\n", call_id="c"),
    FileEdit(path="old.py", operation="rename", diff="@@ def f\n-a\n+b", new_path="renamed.py", call_id="c"),
    FileEdit(path="same.py", operation="modify", diff="@@\n-x\n+y", call_id="c"),
    FileEdit(path="gone.py", operation="delete", call_id="c"),
]
CALL = item("function_call", name="exec_command", arguments='{"cmd": "pytest -q"}', call_id="c")


def output(value):
    return item("function_call_output", call_id="c", output=value)


def result_of(value):
    (result,) = read(output(value)).of(ToolResult)
    return result


def test_arguments_are_decoded_from_their_string():
    assert read(CALL).payloads == [
        ToolCall(call_id="c", name="exec_command", canonical="shell", arguments={"cmd": "pytest -q"})
    ]


@pytest.mark.parametrize("broken", ['{"cmd": ', "[" * 5000, '{"a": "\ud800"}'])
def test_arguments_that_are_not_json_are_kept_as_text_with_a_defect(broken):
    reading = read(item("function_call", name="shell", arguments=broken, call_id="c"))
    assert reading.of(ToolCall)[0].arguments == {"raw": broken}
    assert [d.code for d in reading.defects] == ["bad_arguments"]


def test_a_tool_of_a_server_is_named_with_its_namespace():
    reading = read(item("function_call", name="find", namespace="mcp__docs__", arguments="{}", call_id="c"))
    (call,) = reading.of(ToolCall)
    assert (call.name, call.canonical) == ("mcp__docs__find", "mcp")


@pytest.mark.parametrize(
    ("value", "text", "exit_code", "ok"),
    [
        ("plain", "plain", None, None),
        ("Exit code: 2\nWall time: 0.5 seconds\nOutput:\nbad", None, 2, False),
        ("Chunk ID: a1\nWall time: 0.5 seconds\nProcess exited with code 0\nOutput:\nok", None, 0, True),
        ("Wall time: 0.5 seconds\nProcess running with session ID 3\nOutput:\nExit code: 9", None, None, None),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", None, None),
        ({"type": "input_text", "text": "a"}, "a", None, None),
        ({"output": "o", "metadata": {"exit_code": 1, "duration_seconds": 0.5}}, "o", 1, False),
        (json.dumps({"output": "o", "metadata": {"exit_code": 0, "duration_seconds": 0.5}}), "o", 0, True),
        ({"content": "no", "success": False}, "no", None, False),
        ('{"output": 1}', '{"output": 1}', None, None),
        (None, "", None, None),
    ],
)
def test_an_output_is_read_in_each_of_its_shapes(value, text, exit_code, ok):
    result = result_of(value)
    assert (result.text, result.exit_code, result.ok) == (value if text is None else text, exit_code, ok)


@pytest.mark.parametrize(
    "value",
    [
        "Exit code: 0\nWall time: 0.5 seconds\nOutput:\n",
        {"output": "", "metadata": {"exit_code": 0, "duration_seconds": 0.5}},
    ],
)
def test_the_duration_is_read_in_milliseconds(value):
    assert result_of(value).duration_ms == 500


def test_an_image_in_an_output_is_a_part():
    url = "data:image/png;base64," + base64.b64encode(b"pixels").decode()
    assert result_of([{"type": "input_image", "image_url": url}]).parts[0].bytes == 6


def test_the_end_event_of_a_known_call_adds_only_the_outcome():
    reading = read(CALL, event("exec_command_end", call_id="c", exit_code=1, aggregated_output="text"), output("text"))
    assert reading.of(ToolResult) == [
        ToolResult(call_id="c", ok=False, exit_code=1),
        ToolResult(call_id="c", text="text"),
    ]


def test_the_end_event_of_a_settled_call_adds_nothing():
    reading = read(CALL, output("Exit code: 1\nOutput:\nbad"), event("exec_command_end", call_id="c", exit_code=1))
    assert len(reading.of(ToolResult)) == 1


@pytest.mark.parametrize(
    "end",
    [
        event(
            "exec_command_end",
            call_id="c",
            command=["ls"],
            exit_code=0,
            aggregated_output="a",
            duration={"secs": 1, "nanos": 5_000_000},
        ),
        completed(
            "CommandExecution",
            id="c",
            command=["ls"],
            exit_code=0,
            aggregated_output="a",
            duration={"secs": 1, "nanos": 5_000_000},
        ),
    ],
)
def test_a_command_that_no_call_announced_is_given_whole(end):
    call, result = read(end).payloads
    assert call == ToolCall(call_id="c", name="shell", canonical="shell", arguments={"command": ["ls"]})
    assert result == ToolResult(call_id="c", ok=True, exit_code=0, text="a", duration_ms=1005)


@pytest.mark.parametrize(
    "result",
    [
        {"Ok": {"content": [{"type": "text", "text": "hit"}], "isError": False}},
        {"content": [{"type": "text", "text": "hit"}], "isError": False},
    ],
)
def test_an_mcp_result_is_read_with_and_without_its_wrapper(result):
    invocation = {"server": "docs", "tool": "find", "arguments": {"q": 1}}
    call, outcome = read(event("mcp_tool_call_end", call_id="c", invocation=invocation, result=result)).payloads
    assert call == ToolCall(call_id="c", name="mcp__docs__find", canonical="mcp", arguments={"q": 1})
    assert outcome == ToolResult(call_id="c", ok=True, text="hit")


def test_an_mcp_error_is_a_failed_result():
    reading = read(event("mcp_tool_call_end", call_id="c", invocation={}, result={"Err": "no server"}))
    assert reading.of(ToolResult) == [ToolResult(call_id="c", ok=False, text="no server")]


def test_a_web_search_told_twice_is_one_call():
    action = {"type": "search", "query": "q"}
    results = [{"title": "Found", "url": "https://example.invalid"}]
    search = item("web_search_call", status="completed", action=action)
    end = event("web_search_end", call_id="ws", query="q", action=action, results=results)
    for records in ((search, end), (end, search)):
        reading = read(*records)
        assert len(reading.of(ToolCall)) == 1
        assert "Found" in reading.of(ToolResult)[0].text


def test_a_generated_image_is_a_call_and_an_image_once():
    data = base64.b64encode(b"pixels").decode()
    reading = read(
        item("image_generation_call", id="ig", status="completed", revised_prompt="a cat", result=data),
        event("image_generation_end", call_id="ig", revised_prompt="a cat", result=data),
    )
    assert reading.kinds == ["tool_call", "tool_result"]
    assert reading.of(ToolResult)[0].parts[0].bytes == 6


def test_a_local_shell_call_is_a_shell_call():
    reading = read(
        item("local_shell_call", call_id="c", status="completed", action={"type": "exec", "command": ["ls"]})
    )
    assert reading.payloads == [
        ToolCall(call_id="c", name="local_shell", canonical="shell", arguments={"command": ["ls"]})
    ]


def test_a_tool_search_and_what_it_found_belong_together():
    reading = read(
        item("tool_search_call", call_id="c", arguments={"query": "mail"}),
        item("tool_search_output", call_id="c", tools=[{"name": "send_mail"}]),
    )
    call, result = reading.payloads
    assert (call.canonical, call.arguments, result.call_id) == ("search", {"query": "mail"}, "c")
    assert "send_mail" in result.text


@pytest.mark.parametrize(
    "call",
    [
        item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c"),
        item("function_call", name="apply_patch", arguments=json.dumps({"input": PATCH}), call_id="c"),
        item("function_call", name="shell", arguments=json.dumps({"command": ["apply_patch", PATCH]}), call_id="c"),
        item(
            "function_call",
            name="shell_command",
            arguments=json.dumps({"command": f"apply_patch <<'EOF'\n{PATCH}EOF\n"}),
            call_id="c",
        ),
        item(
            "local_shell_call", call_id="c", action={"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF\n"]}
        ),
    ],
)
def test_the_patch_in_a_call_is_given_as_edits(call):
    assert read(call).of(FileEdit) == EDITS


def test_a_patch_cut_short_gives_what_is_there():
    (edit,) = read(item("custom_tool_call", name="apply_patch", input=PATCH[:40], call_id="c")).of(FileEdit)
    assert edit.path == "new.py"


CHANGES = {
    "/w/a": {"type": "add", "content": "A"},
    "/w/b": {"type": "update", "unified_diff": "@@", "move_path": "/w/c"},
    "/w/d": {"delete": {"content": "D"}},
    "/w/e": {"update": {"unified_diff": "@@ e", "move_path": None}},
}


@pytest.mark.parametrize(
    "end",
    [
        event("patch_apply_end", call_id="c", success=True, stdout="ok", changes=CHANGES),
        completed("FileChange", id="c", status="completed", stdout="ok", changes=CHANGES),
    ],
)
def test_the_changes_of_a_patch_that_no_call_showed_are_edits(end):
    reading = read(end)
    assert reading.of(FileEdit) == [
        FileEdit(path="/w/a", operation="create", after="A", call_id="c"),
        FileEdit(path="/w/b", operation="rename", diff="@@", new_path="/w/c", call_id="c"),
        FileEdit(path="/w/d", operation="delete", before="D", call_id="c"),
        FileEdit(path="/w/e", operation="modify", diff="@@ e", call_id="c"),
    ]
    assert reading.of(ToolResult) == [ToolResult(call_id="c", ok=True, text="ok")]


def test_a_patch_told_by_its_call_and_by_its_end_is_given_once():
    reading = read(
        item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c"),
        event("patch_apply_end", call_id="c", success=False, stderr="no", changes=CHANGES),
    )
    assert reading.of(FileEdit) == EDITS
    assert reading.of(ToolResult) == [ToolResult(call_id="c", ok=False)]


def test_a_patch_that_failed_changed_nothing():
    assert not read(event("patch_apply_end", call_id="c", success=False, changes=CHANGES)).of(FileEdit)
