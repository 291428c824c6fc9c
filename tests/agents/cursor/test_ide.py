"""The editor's store: bubbles that change in place, and the composer's row behind them."""

from __future__ import annotations

import base64
import json

from recollect.model.payloads import FileEdit, Rewind, TokenUsage, ToolResult
from tests.agents.cursor.rows import AT_MS, AT_US, CHILD, COMPOSER, Story, bubble, composer, ide, tool

LEXICAL = json.dumps(
    {
        "root": {
            "children": [
                {
                    "type": "paragraph",
                    "children": [{"type": "text", "text": "Look "}, {"type": "text", "text": "here."}],
                },
                {"type": "paragraph", "children": [{"type": "text", "text": "And there."}]},
            ]
        }
    }
)


def test_a_dialogue_has_the_ids_of_its_bubbles_and_their_times() -> None:
    story = Story(ide(), [bubble("u1", 1, "Hi."), bubble("a1", 2, "Hello.", minute=1), composer("u1", "a1")])
    assert story.one("user_message").text == "Hi."
    assert story.draft("user_message").native_id == "u1"
    assert (story.draft("user_message").ts, story.draft("user_message").ts_quality) == (AT_US, "exact")
    assert story.draft("assistant_message").ts == AT_US + 60_000_000
    assert story.drift == []


def test_the_composers_row_is_the_start_of_the_session() -> None:
    workspace = {"id": "w", "uri": {"fsPath": "/w/demo", "path": "/w/demo"}}
    row = composer(
        "u1", name="Rename", subtitle="Edited a.py", workspaceIdentifier=workspace, unifiedMode="agent",
        modelConfig={"modelName": "model-x"}, createdOnBranch="main", agentBackend="cursor-agent",
    )  # fmt: skip
    story = Story(ide(), [bubble("u1", 1, "Hi."), row])
    start = story.one("session_start")
    assert (start.cwd, start.model, start.git_branch, start.originator) == (
        "/w/demo",
        "model-x",
        "main",
        "cursor-agent",
    )
    assert story.draft("session_start").ts == AT_MS * 1_000
    assert story.lifecycle("title").title == "Rename"
    assert story.lifecycle("mode").text == "agent"


def test_an_empty_shell_gives_nothing() -> None:
    empty = {"key": "composerData:empty-state-draft", "value": None}
    assert Story(ide(), [composer(status="none"), empty]).drafts == []


def test_a_value_that_is_bytes_or_text_is_read_as_well() -> None:
    row = bubble("u1", 1, "Hi.")
    raw = json.dumps(row["value"]).encode()
    for value in (raw.decode(), {"$blob": base64.b64encode(raw).decode()}):
        assert Story(ide(), [{**row, "value": value}]).one("user_message").text == "Hi."


def test_a_value_that_is_no_json_is_kept_with_a_defect() -> None:
    story = Story(ide(), [{"key": "bubbleId:c:b", "value": "not json"}])
    assert story.one("unknown").text == "not json"
    assert story.read.defects == ("not_json",)


def test_a_user_message_without_text_has_its_rich_text() -> None:
    story = Story(ide(), [bubble("u1", 1, "", richText=LEXICAL)])
    assert story.one("user_message").text == "Look here.\nAnd there."


def test_an_older_bubble_has_the_time_at_which_the_client_started() -> None:
    row = bubble("a1", 2, "Hello.", createdAt=None, timingInfo={"clientStartTime": AT_MS})
    assert Story(ide(), [row]).draft("assistant_message").ts == AT_US


def test_a_bubble_without_any_time_borrows_none_from_its_neighbour() -> None:
    rows = [bubble("a1", 2, "Hello."), bubble("a2", 2, "There.", createdAt=None)]
    last = Story(ide(), rows).drafts[-1]
    assert (last.ts, last.ts_quality) == (None, "missing")


def test_an_assistant_bubble_may_think_say_and_act() -> None:
    row = tool("a1", "read_file_v2", status="completed", rawArgs='{"path": "a.py"}', result='{"contents": "x = 1"}')
    row["value"] |= {"thinking": {"text": "Let me look.", "signature": "s"}, "text": "Reading."}
    story = Story(ide(), [row])
    assert story.ids("thinking") == ["a1/thinking"]
    assert story.one("thinking").text == "Let me look."
    assert story.one("assistant_message").text == "Reading."
    call = story.one("tool_call")
    assert (call.name, call.canonical, call.arguments) == ("read_file_v2", "read", {"path": "a.py"})
    assert story.one("tool_result").text == "x = 1"


def test_a_thought_that_is_only_signed_is_encrypted() -> None:
    thought = Story(ide(), [bubble("a1", 2, thinking={"text": "", "signature": "c2lnbmVk"})]).one("thinking")
    assert (thought.text, thought.is_encrypted) == ("", True)


def test_a_running_tool_has_no_result_until_its_status_changes() -> None:
    running = Story(ide(), [tool("a1", "run_terminal_command_v2", status="loading", params='{"command": "ls"}')])
    assert running.of("tool_result") == []
    ended = Story(ide(), [tool("a1", "run_terminal_command_v2", status="completed", params='{"command": "ls"}')])
    assert ended.ids("tool_call") == running.ids("tool_call") == ["call:call_1"]
    assert ended.ids("tool_result") == ["result:call_1"]
    assert ended.one("tool_call").arguments == {"command": "ls"}


def test_a_call_id_of_two_lines_is_named_by_its_first() -> None:
    story = Story(ide(), [tool("a1", "list_dir", call_id="call_9\nfc_9", status="completed")])
    assert story.ids("tool_call") == ["call:call_9"]
    assert story.one("tool_call").call_id == "call_9\nfc_9"


def test_a_failed_command_marked_only_by_its_exit_code_is_a_failure() -> None:
    result = json.dumps({"output": "1 failed", "exitCodeV2": 1, "rejected": False})
    story = Story(ide(), [tool("a1", "run_terminal_cmd", status="completed", result=result)])
    assert story.one("tool_result") == ToolResult("call_1\nfc_1", "run_terminal_cmd", False, 1, "1 failed")


def test_an_error_has_the_message_that_the_model_saw() -> None:
    error = json.dumps({"clientVisibleErrorMessage": "Failed", "modelVisibleErrorMessage": "exit 1"})
    result = Story(ide(), [tool("a1", "run_terminal_cmd", status="error", error=error)]).one("tool_result")
    assert (result.ok, result.text) == (False, "exit 1")


def test_a_cancelled_or_refused_call_failed_and_changed_nothing() -> None:
    arguments = '{"path": "a.py", "streamContent": "x"}'
    for fields in ({"status": "cancelled"}, {"status": "completed", "userDecision": "rejected"}):
        story = Story(ide(), [tool("a1", "edit_file_v2", rawArgs=arguments, **fields)])
        assert story.one("tool_result").ok is False
        assert story.one("tool_result").structured["status"] in ("cancelled", "rejected")
        assert story.of("file_edit") == []


def test_an_edit_takes_its_path_from_the_parameters_and_its_text_from_the_arguments() -> None:
    row = tool(
        "a1", "edit_file_v2", status="completed", rawArgs='{"streamContent": "NEW = 1\\n"}',
        params='{"relativeWorkspacePath": "a.py"}', result='{"beforeContentId": "composer.content.0a"}',
    )  # fmt: skip
    edit = Story(ide(), [row]).one("file_edit")
    assert edit == FileEdit("a.py", after="NEW = 1\n", call_id="call_1\nfc_1", backup="composer.content.0a")


def test_an_edit_without_content_is_told_by_its_path_alone() -> None:
    row = tool("a1", "edit_file_v2", status="completed", rawArgs="{}", params='{"relativeWorkspacePath": "a.py"}')
    edit = Story(ide(), [row]).one("file_edit")
    assert (edit.path, edit.before, edit.after, edit.diff) == ("a.py", None, None, "")


def test_an_edit_whose_result_has_hunks_has_them() -> None:
    result = json.dumps({"diff": {"chunks": [{"diffString": "-a\n+b"}, {"diffString": "-c\n+d"}]}})
    row = tool("a1", "search_replace", status="completed", params='{"relativeWorkspacePath": "a.py"}', result=result)
    assert Story(ide(), [row]).one("file_edit").diff == "-a\n+b\n-c\n+d"


def test_a_patch_gives_one_edit_a_file() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** Delete File: c.py\n*** End Patch"
    row = tool("a1", "apply_patch", status="completed", rawArgs=json.dumps({"patch": patch}))
    edits = Story(ide(), [row]).of("file_edit")
    assert [(e.path, e.operation, e.diff) for e in edits] == [("a.py", "modify", "@@\n-a\n+b"), ("c.py", "delete", "")]


def test_a_screenshot_in_a_result_becomes_a_part() -> None:
    picture = base64.b64encode(bytes(range(256))).decode()
    result = json.dumps({"content": [{"type": "image", "data": picture, "mimeType": "image/png"}]})
    row = tool("a1", "mcp_browser_shot", status="completed", result=result)
    story = Story(ide(), [row])
    assert story.one("tool_call").canonical == "mcp"
    (part,) = story.one("tool_result").parts
    assert (part.media_type, part.bytes) == ("image/png", 256)
    assert picture not in repr(story.drafts)


def test_tokens_count_only_where_they_are_counted() -> None:
    silent = bubble("a1", 2, "One.", tokenCount={"inputTokens": 0, "outputTokens": 0})
    counted = bubble("a2", 2, "Two.", tokenCount={"inputTokens": 12, "outputTokens": 3}, modelInfo={"modelName": "m"})
    usage = Story(ide(), [silent, counted]).one("token_usage")
    assert usage == TokenUsage("m", 12, 3, dedupe_key=f"{COMPOSER}:a2")


def test_totals_of_the_composer_are_never_added() -> None:
    row = composer(
        "u1",
        promptTokenBreakdown={"totalUsedTokens": 900, "maxTokens": 1000},
        usageData={"m": {"costInCents": 125, "amount": 1}},
    )
    usages = Story(ide(), [bubble("u1", 1, "Hi."), row]).of("token_usage")
    assert [(u.input_tokens, u.cost_usd, u.is_additive) for u in usages] == [(900, None, False), (0, 1.25, False)]


def test_a_message_that_the_composer_lists_no_more_was_rewound() -> None:
    rows = [
        bubble("u1", 1, "First.", minute=0), bubble("a1", 2, "One.", minute=1),
        bubble("u2", 1, "Wrong turn.", minute=2), bubble("a2", 2, "Oops.", minute=3),
        bubble("u3", 1, "Second.", minute=4), bubble("a3", 2, "Two.", minute=5),
        composer("u1", "a1", "u3", "a3"),
    ]  # fmt: skip
    story = Story(ide(), rows)
    assert story.one("rewind") == Rewind("a1", 1)
    assert [d.follows for d in story.drafts if isinstance(d.payload, Rewind)] == ["a2"]


def test_a_message_that_is_newer_than_all_listed_ones_proves_no_rewind() -> None:
    rows = [bubble("u1", 1, "First."), bubble("u2", 1, "Just typed.", minute=9), composer("u1")]
    assert Story(ide(), rows).of("rewind") == []


def test_a_summary_of_the_bubble_and_of_the_composer_is_one_compaction() -> None:
    summary = {
        "summary": "So far.", "truncationLastBubbleIdInclusive": "a1",
        "clientShouldStartSendingFromInclusiveBubbleId": "u2",
    }  # fmt: skip
    rows = [
        bubble("a2", 2, "Two.", minute=2, conversationSummary=json.dumps(summary)),
        bubble("u2", 1, "Second.", minute=1),
        composer("u2", "a2", latestConversationSummary={"summary": summary, "lastBubbleId": "a2"}),
    ]
    story = Story(ide(), rows)
    assert set(story.ids("compaction")) == {"compaction:a1"}
    assert {(c.summary, c.continues_at) for c in story.of("compaction")} == {("So far.", "u2")}


def test_a_subagents_composer_names_its_parent() -> None:
    info = {"parentComposerId": COMPOSER, "subagentTypeName": "explore", "toolCallId": "call_1"}
    child = composer("u1", subagentInfo=info)
    start = Story(ide(CHILD), [child]).one("session_start")
    assert (start.parent_session, start.agent_name) == (COMPOSER, "explore")


def test_a_parent_lists_its_subagents() -> None:
    story = Story(ide(), [composer("u1", subagentComposerIds=[CHILD], subComposerIds=[CHILD])])
    assert story.lifecycle("subagent").text == CHILD


def test_an_aborted_composer_was_interrupted() -> None:
    story = Story(ide(), [composer("u1", "a1", status="aborted")])
    assert story.lifecycle("interrupted").text == "aborted"
    assert Story(ide(), [composer("u1", status="wondering")]).drift == ["composer.status=wondering"]


def test_messages_inside_an_old_composers_row_are_read_in_its_order() -> None:
    inline = [
        {"type": 1, "bubbleId": "u1", "text": "First.", "timingInfo": {"clientStartTime": AT_MS}},
        {"type": 2, "bubbleId": "a1", "text": "One."},
    ]
    story = Story(
        ide(), [{"key": f"composerData:{COMPOSER}", "value": {"composerId": COMPOSER, "conversation": inline}}]
    )
    assert story.ids("user_message") + story.ids("assistant_message") == ["u1", "a1"]


def test_files_before_the_session_are_checkpoints() -> None:
    states = {"file:///w/demo/a%20b.py": {"content": "OLD = 1\n", "firstEditBubbleId": "a1"}}
    edit = Story(ide(), [composer("u1", originalFileStates=states)]).one("file_edit")
    assert (edit.path, edit.operation, edit.before) == ("/w/demo/a b.py", "checkpoint", "OLD = 1\n")


def test_keys_of_encrypted_content_never_become_text() -> None:
    row = composer("u1", speculativeSummarizationEncryptionKey="synthetic-secret-1", newApiKey="synthetic-secret-2")
    story = Story(ide(), [row])
    assert "synthetic-secret" not in repr(story.drafts)


def test_a_live_blob_of_a_call_is_no_text() -> None:
    row = tool("a1", "list_dir", status="completed", toolCallBinary="UHJvdG9idWY=")
    assert "UHJvdG9idWY" not in repr(Story(ide(), [row]).drafts)


def test_what_was_attached_is_searchable_beside_the_message() -> None:
    row = bubble("u1", 1, "Look.", context={"fileSelections": [{"uri": {"fsPath": "/w/a.py"}}], "selections": []})
    story = Story(ide(), [row])
    assert story.one("unknown").type == "attached"
    assert "/w/a.py" in story.one("unknown").text
    assert story.drift == []


def test_code_that_the_text_shows_is_not_said_twice() -> None:
    row = bubble("a1", 2, "Use:\n```\nx = 1\n```", codeBlocks=[{"content": "x = 1"}])
    assert Story(ide(), [row]).of("unknown") == []


def test_unknown_types_and_fields_are_kept_and_counted() -> None:
    story = Story(ide(), [bubble("x1", 7, "Who?"), bubble("u1", 1, "Hi.", novelty="x")])
    assert story.drift == ["bubble:7", "bubble.novelty"]
    assert [u.type for u in story.of("unknown")] == ["bubble:7", "fields"]


def test_an_empty_bubble_says_nothing() -> None:
    assert Story(ide(), [bubble("a1", 2, "", tokenCount={"inputTokens": 0, "outputTokens": 0})]).drafts == []


def test_the_end_of_a_turn_and_an_error_are_told() -> None:
    row = bubble("a1", 2, "Done.", turnDurationMs=5463, errorDetails={"message": "overloaded"})
    story = Story(ide(), [row])
    assert story.lifecycle("turn_ended").detail == {"duration_ms": 5463}
    assert "overloaded" in story.lifecycle("api_error").text


def test_a_status_that_nobody_knows_is_no_failure() -> None:
    story = Story(ide(), [tool("a1", "list_dir", status="from_the_future", result='{"output": "a.py"}')])
    assert story.one("tool_result").ok is None
    assert story.drift == ["toolFormerData.status=from_the_future"]
