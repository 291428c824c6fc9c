"""Calls, results and edits: one row that changes, failures that look like successes, children."""

from __future__ import annotations

import pytest

from recollect.model.payloads import Compaction, FileEdit, Lifecycle, ToolCall, ToolResult
from tests.agents.opencode.rows import T0, assistant, completed, drafts, payloads, tool


def result(name: str, state: dict[str, object]) -> ToolResult:
    found: ToolResult = payloads(ToolResult, assistant(), tool(name, state))[0]
    return found


def test_a_running_call_has_no_result_and_keeps_its_name_when_it_ends() -> None:
    running = {"status": "running", "input": {"command": "ls"}, "time": {"start": T0 + 2000}}
    ended = completed({"exit": 0}, input={"command": "ls"})
    before = drafts(assistant(), tool("bash", running))
    after = drafts(assistant(), tool("bash", ended))
    assert [(d.native_id, d.ts) for d in before] == [("call:c1", (T0 + 2000) * 1000)]
    assert [(d.native_id, d.ts) for d in after] == [
        ("call:c1", (T0 + 2000) * 1000),
        ("result:c1", (T0 + 2500) * 1000),
    ]


def test_a_failed_command_marked_only_in_metadata_is_a_failure() -> None:
    failed = result("bash", completed({"exit": 1, "output": "1 failed"}, "1 failed"))
    assert (failed.ok, failed.exit_code, failed.text) == (False, 1, "1 failed")


def test_a_command_that_was_killed_is_a_failure() -> None:
    assert result("bash", completed({"exit": None})).ok is False


def test_a_call_that_could_not_be_read_is_a_failure_of_the_tool_it_wanted() -> None:
    state = completed({}, "The arguments provided to the tool are invalid", input={"tool": "edit", "error": "bad"})
    call, answer = (d.payload for d in drafts(assistant(), tool("invalid", state)))
    assert isinstance(call, ToolCall)
    assert isinstance(answer, ToolResult)
    assert (call.name, call.canonical, answer.ok) == ("invalid", "edit", False)


def test_an_error_is_the_text_of_the_result_behind_what_came_before_it() -> None:
    state = {"status": "error", "input": {}, "error": "Tool execution aborted", "metadata": {"output": "partly"}}
    failed = result("bash", state)
    assert (failed.ok, failed.text) == (False, "partly\nTool execution aborted")


def test_a_status_of_old_files_is_a_result_too() -> None:
    assert result("bash", {**completed({}), "status": "success"}).ok is True


def test_metadata_repeat_nothing_that_stands_elsewhere() -> None:
    state = completed({"exit": 0, "output": "a.py\n", "truncated": True}, "a.py\n", input={"command": "ls"}, title="ls")
    assert result("bash", state).structured == {"truncated": True}


def test_a_subagent_is_named_by_its_session() -> None:
    state = completed({"sessionId": "ses_b"}, input={"subagent_type": "general", "prompt": "Find"})
    (told,) = payloads(Lifecycle, assistant(), tool("task", state))
    assert (told.name, told.call_id, told.detail) == ("subagent", "c1", {"session": "ses_b", "agent": "general"})


def test_output_that_was_pruned_is_kept_and_marked() -> None:
    state = completed({})
    state["time"]["compacted"] = T0 + 90_000
    given = drafts(assistant(), tool("read", state))
    assert [(d.payload, d.ts) for d in given if isinstance(d.payload, Compaction)] == [
        (Compaction(trigger="prune"), (T0 + 90_000) * 1000)
    ]
    assert any(isinstance(d.payload, ToolResult) and d.payload.text == "done" for d in given)


ASKED = {"filePath": "/w/a.py", "oldString": "OLD", "newString": "NEW"}


@pytest.mark.parametrize(
    ("name", "metadata", "asked", "edit"),
    [
        (
            "edit",
            {"diff": "@@", "filediff": {"file": "/w/a.py", "before": "OLD\n", "after": "NEW\n"}},
            ASKED,
            FileEdit("/w/a.py", before="OLD\n", after="NEW\n", call_id="c1"),
        ),
        ("edit", {"diff": "@@ -1 +1 @@"}, ASKED, FileEdit("/w/a.py", diff="@@ -1 +1 @@", call_id="c1")),
        ("edit", {}, ASKED, FileEdit("/w/a.py", before="OLD", after="NEW", call_id="c1")),
        (
            "write",
            {"filepath": "/w/a.py", "exists": False},
            {"filePath": "/w/a.py", "content": "NEW"},
            FileEdit("/w/a.py", "create", after="NEW", call_id="c1"),
        ),
        (
            "apply_patch",
            {"files": [{"filePath": "/w/a.py", "type": "move", "movePath": "/w/b.py", "diff": "@@"}]},
            {"patchText": "*** Begin Patch"},
            FileEdit("/w/a.py", "rename", diff="@@", new_path="/w/b.py", call_id="c1"),
        ),
        (
            "multiedit",
            {
                "results": [
                    {"diff": "@@ one", "filediff": {"file": "/w/a.py", "before": "1", "after": "2"}},
                    {"diff": "@@ two", "filediff": {"file": "/w/a.py", "before": "2", "after": "3"}},
                ]
            },
            {"filePath": "/w/a.py"},
            FileEdit("/w/a.py", before="1", after="3", call_id="c1"),
        ),
    ],
    ids=["filediff", "diff", "arguments", "write", "patch", "multiedit"],
)
def test_an_edit_is_told_by_the_best_that_is_written(name, metadata, asked, edit) -> None:
    given = drafts(assistant(), tool(name, completed(metadata, input=asked)))
    assert [(d.native_id, d.payload) for d in given if isinstance(d.payload, FileEdit)] == [("edit:c1:/w/a.py", edit)]


def test_an_edit_that_failed_is_none() -> None:
    state = {"status": "error", "input": ASKED, "error": "oldString not found"}
    assert payloads(FileEdit, assistant(), tool("edit", state)) == []


def test_a_call_that_is_still_written_has_its_text_for_arguments() -> None:
    (call,) = payloads(ToolCall, assistant(), tool("bash", {"status": "pending", "input": {}, "raw": '{"comm'}))
    assert call.arguments == '{"comm'
