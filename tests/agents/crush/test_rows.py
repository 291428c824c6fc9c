"""What each row of a Crush database becomes."""

from __future__ import annotations

import base64
import hashlib

from recollect.agents.facts import facts_of
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
    Unknown,
    UserMessage,
)
from tests.agents.crush.rows import T0, block, call, drafts, message, parsed, payloads, result


def test_a_message_bears_its_own_id_and_further_parts_one_each() -> None:
    row = message("assistant", block("reasoning", thinking="Hm."), block("text", text="Hi"), block("text", text="Ho"))
    assert [(d.native_id, type(d.payload)) for d in drafts(row)] == [
        ("m1/reasoning", Thinking),
        ("m1", AssistantMessage),
        ("m1/text/2", AssistantMessage),
    ]


def test_seconds_are_exact_times() -> None:
    (draft,) = drafts(message("user", block("text", text="Hi"), at=3))
    assert (draft.ts, draft.ts_quality) == ((T0 + 3) * 1_000_000, "exact")


def test_a_continuation_that_crush_made_is_no_prompt() -> None:
    assert payloads(UserMessage, message("user", block("text", text="Go on", hidden=True)))[0].origin == "injected"


def test_attachments_start_no_second_turn_and_their_bytes_never_become_text() -> None:
    data = base64.b64encode(b"not an image").decode()
    row = message("user", block("text", text="See"), block("binary", Path="a.png", MIMEType="image/png", Data=data))
    first, second = payloads(UserMessage, row)
    assert (first.origin, second.origin, second.text) == ("human", "injected", "")
    assert second.parts[0].sha256 == hashlib.sha256(b"not an image").hexdigest()


def test_a_failed_command_is_told_by_the_end_of_its_output() -> None:
    rows = (call("bash", {"command": "pytest -q"}), result("bash", "1 failed\nExit code 1\n\n<cwd>/w</cwd>", {}))
    (failed,) = payloads(ToolResult, *rows)
    assert (failed.ok, failed.exit_code) == (False, 1)


def test_the_words_in_the_middle_of_an_output_are_no_exit_code() -> None:
    (fine,) = payloads(ToolResult, call("bash", {}), result("bash", "Exit code 1\nwas expected", {}))
    assert (fine.ok, fine.exit_code) == (True, None)


def test_the_words_in_another_tools_output_are_no_exit_code() -> None:
    assert payloads(ToolResult, call("view", {}), result("view", "Exit code 1", {}))[0].ok is True


def test_a_command_that_was_stopped_is_a_failure() -> None:
    stopped = result("bash", "half\nCommand was aborted before completion", {})
    assert payloads(ToolResult, call("bash", {}), stopped)[0].ok is False


def test_an_edit_is_told_from_the_metadata_of_its_result() -> None:
    rows = (
        call("edit", {"file_path": "/w/a.py", "old_string": "1", "new_string": "2"}),
        result("edit", "<result>", {"additions": 1, "removals": 1, "old_content": "x = 1", "new_content": "x = 2"}),
    )
    assert payloads(FileEdit, *rows) == [FileEdit("/w/a.py", before="x = 1", after="x = 2", call_id="c1")]
    assert payloads(ToolResult, *rows)[0].structured == {"additions": 1, "removals": 1}


def test_a_new_file_has_nothing_before_it() -> None:
    rows = (call("edit", {"file_path": "/w/a.py"}), result("edit", "ok", {"new_content": "x = 2"}))
    assert payloads(FileEdit, *rows) == [FileEdit("/w/a.py", "create", after="x = 2", call_id="c1")]


def test_a_write_has_a_diff() -> None:
    rows = (call("write", {"file_path": "/w/a.py"}), result("write", "ok", {"diff": "@@", "additions": 1}))
    assert payloads(FileEdit, *rows) == [FileEdit("/w/a.py", diff="@@", call_id="c1")]


def test_an_edit_that_failed_is_none() -> None:
    rows = (call("edit", {"file_path": "/w/a.py"}), result("edit", "old_string not found", {}, is_error=True))
    assert payloads(FileEdit, *rows) == []


def test_metadata_that_are_no_json_are_a_defect_and_kept() -> None:
    row = result("view", "text")
    row[1]["parts"][0]["data"]["metadata"] = "{"
    given = parsed(row)
    assert given.defects == ("not_json",)
    assert payloads(ToolResult, row)[0].structured == {"metadata": "{"}


def test_arguments_that_are_still_written_stay_text() -> None:
    assert payloads(ToolCall, call("bash", '{"comm'))[0].arguments == '{"comm'


def test_a_tool_of_a_server_is_one() -> None:
    assert payloads(ToolCall, call("mcp_github_list", {}))[0].canonical == "mcp"


def test_the_folder_of_commands_is_told_when_it_changes() -> None:
    rows = (result("bash", "a", {"working_directory": "/w"}), result("bash", "b", {"working_directory": "/w"}))
    assert [p.cwd for p in payloads(Lifecycle, *rows)] == ["/w"]


def test_a_turn_that_was_stopped_is_an_interruption() -> None:
    row = message("assistant", block("text", text="Half"), block("finish", reason="canceled", time=T0 + 9))
    assert [(d.payload.name, d.ts) for d in drafts(row) if isinstance(d.payload, Lifecycle)] == [
        ("interrupted", (T0 + 9) * 1_000_000)
    ]


def test_a_refusal_and_an_error_are_errors_of_the_provider() -> None:
    for reason in ("error", "content_filter"):
        row = message("assistant", block("finish", reason=reason, message="Bad", details="why"))
        (told,) = payloads(Lifecycle, row)
        assert (told.name, told.text, told.detail) == ("api_error", "Bad", {"reason": reason, "details": "why"})


def test_a_summary_is_a_compaction_and_no_answer() -> None:
    row = message("assistant", block("text", text="They met."), is_summary_message=1)
    assert payloads(Compaction, row) == [Compaction(summary="They met.")]
    assert payloads(AssistantMessage, row) == []


def test_a_command_of_the_person_is_a_command() -> None:
    row = message("user", block("shell_command", command="ls", output="no", exit_code=2))
    assert [d.payload for d in drafts(row)] == [
        UserMessage("!ls", "command"),
        ToolResult("m1/shell_command", "shell", ok=False, exit_code=2, text="no"),
    ]


def test_a_system_message_is_instructions() -> None:
    assert payloads(Instructions, message("system", block("text", text="Be brief."))) == [
        Instructions("Be brief.", source="system")
    ]


def test_a_signature_alone_is_encrypted_thought() -> None:
    (thought,) = payloads(Thinking, message("assistant", block("reasoning", thinking="", signature="FAKE")))
    assert thought.is_encrypted


def test_versions_of_a_file_are_copies_and_no_edits() -> None:
    row = {"id": "f1", "session_id": "s1", "path": "/w/a.py", "content": "x", "version": 2, "created_at": T0}
    (draft,) = drafts(("files", row), role="files")
    assert draft.payload == FileEdit("/w/a.py", "checkpoint", after="x", backup="version 2")


def session(**columns: object) -> tuple[str, dict[str, object]]:
    return "sessions", {"id": "s1", "title": "A story", "created_at": T0, "updated_at": T0 + 60, **columns}


def test_a_session_of_a_tool_names_its_parent() -> None:
    (start,) = payloads(SessionStart, session(id="m2$$c1", parent_session_id="s0"), role="session")
    assert (start.parent_session, start.agent_name) == ("s0", "agent")
    (start,) = payloads(SessionStart, session(id="title-s0", parent_session_id="s0"), role="session")
    assert start.agent_name == "title"


def test_counters_of_a_session_are_never_added_up() -> None:
    (usage,) = payloads(TokenUsage, session(prompt_tokens=10, completion_tokens=5, cost=0.5), role="session")
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd, usage.is_additive) == (10, 5, 0.5, False)


def test_to_dos_are_told_one_by_one() -> None:
    todos = [{"content": "Test", "status": "pending", "active_form": "Testing"}]
    given = drafts(session(todos=todos), role="session")
    assert [d.payload.text for d in given if d.native_id == "todo:0" and isinstance(d.payload, Lifecycle)] == ["Test"]


def test_parts_that_are_no_list_are_kept() -> None:
    row = message("user")
    row[1]["parts"] = "cut {"
    assert "cut {" in payloads(Unknown, row)[0].text


def test_only_the_tables_of_conversations_are_declared() -> None:
    tables = {table.name for place in facts_of("crush").places for table in place.tables}
    assert tables == {"messages", "sessions", "files"}
    assert {p for place in facts_of("crush").places for p in place.patterns} == {".crush/crush.db"}
