"""The two logs of a task: what each gives, and what both say only once."""

from __future__ import annotations

import json
from typing import Any

from recollect.agents.kit.cline.adapter import ClineFamily
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Rewind,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.agents.cline.reading import give, info_of, payloads

CLINE, ROO = ClineFamily("cline"), ClineFamily("roo")
TASK = "tasks/1785574800000"


def ui(*rows: dict[str, Any], adapter: ClineFamily = CLINE) -> list[Draft]:
    return give(adapter, info_of(adapter, "ui", f"{TASK}/ui_messages.json"), *rows)


def api(*messages: Any, adapter: ClineFamily = CLINE) -> list[Draft]:
    return give(adapter, info_of(adapter, "api", f"{TASK}/api_conversation_history.json"), *messages)


def say(name: str, text: str = "", ts: int = 1785574801000, **fields: Any) -> dict[str, Any]:
    return {"ts": ts, "type": "say", "say": name, "text": text, **fields}


def user(*texts: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts], **fields}


def called(name: str, arguments: Any, call_id: str = "t1") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]}


def result(content: Any, call_id: str = "t1", **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}]}


def names(drafts: list[Draft], kind: type[Any]) -> list[str | None]:
    return [draft.native_id for draft in drafts if isinstance(draft.payload, kind)]


def test_what_both_logs_say_has_one_name() -> None:
    rows = ui(
        say("task", "Add tests."), say("reasoning", "Hm."), say("text", "I will."), say("completion_result", "Done.")
    )
    messages = api(
        user("<task>\nAdd tests.\n</task>"),
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I will.\n"}],
        },
        called("attempt_completion", {"result": "Done."}),
    )
    for kind in (UserMessage, Thinking, AssistantMessage):
        assert names(rows, kind) == names(messages, kind)


def test_equal_texts_are_numbered_alike_in_both_logs() -> None:
    rows = ui(say("task", "Go on."), say("user_feedback", "Go on.", ts=1785574809000))
    messages = api(user("<task>Go on.</task>"), user("<feedback>\nGo on.\n</feedback>"))
    assert names(rows, UserMessage) == names(messages, UserMessage)
    assert len(set(names(rows, UserMessage))) == 2


def test_a_row_that_changes_in_place_keeps_its_name() -> None:
    first = ui(say("api_req_started", '{"request": "x"}'))
    later = ui(say("api_req_started", '{"request": "x", "tokensIn": 9, "tokensOut": 2}'))
    assert payloads(first, TokenUsage) == []
    assert names(later, TokenUsage) == ["say:api_req_started:1785574801000/usage"]


def test_rows_of_one_time_are_told_apart_by_their_kind_and_order() -> None:
    drafts = ui(say("error", "a"), say("error", "b"), say("info", "c"))
    assert [d.native_id for d in drafts if isinstance(d.payload, Lifecycle)] == [
        "say:error:1785574801000",
        "say:error:1785574801000/2",
        "say:info:1785574801000",
    ]


def test_a_partial_row_is_no_message_yet() -> None:
    drafts = ui(say("task", "x"), say("text", "Wri", partial=True))
    assert payloads(drafts, AssistantMessage) == []
    assert [p.text for p in payloads(drafts, Lifecycle)] == ["Wri"]


def test_the_first_text_of_a_log_is_the_task() -> None:
    drafts = ui(say("text", "Add tests."), say("text", "I will.", ts=1785574802000))
    assert [p.text for p in payloads(drafts, UserMessage)] == ["Add tests."]
    assert [p.text for p in payloads(drafts, AssistantMessage)] == ["I will."]


def test_approval_and_run_of_a_tool_are_no_calls() -> None:
    ask = {
        "ts": 1785574802000,
        "type": "ask",
        "ask": "tool",
        "text": '{"tool": "editedExistingFile", "path": "a.py", "diff": "x"}',
    }
    drafts = ui(
        say("task", "x"), ask, {**ask, "type": "say", "say": "tool"}, say("command", "ls"), say("command_output", "a")
    )
    assert payloads(drafts, ToolCall) == []
    assert [p.name for p in payloads(drafts, Lifecycle)] == ["permission", "tool", "tool", "progress"]
    assert "diff" not in str(payloads(drafts, Lifecycle)[0])


def test_a_screenshot_never_becomes_text() -> None:
    shot = json.dumps({"screenshot": "data:image/png;base64,AAAA", "logs": "ready"})
    assert [p.detail for p in payloads(ui(say("task", "x"), say("browser_action_result", shot)), Lifecycle)] == [
        {"logs": "ready"}
    ]


def test_cached_tokens_are_taken_off_only_where_the_agent_counts_them_in() -> None:
    spent = json.dumps({"tokensIn": 1020, "tokensOut": 30, "cacheReads": 900, "cacheWrites": 0, "cost": 0.1})
    assert [p.input_tokens for p in payloads(ui(say("api_req_started", spent)), TokenUsage)] == [1020]
    assert [p.input_tokens for p in payloads(ui(say("api_req_started", spent), adapter=ROO), TokenUsage)] == [120]
    older = json.dumps({"tokensIn": 12, "tokensOut": 30, "cacheReads": 900})
    assert [p.input_tokens for p in payloads(ui(say("api_req_started", older), adapter=ROO), TokenUsage)] == [12]


def test_a_return_to_a_checkpoint_is_a_rewind_and_keeps_what_was_spent() -> None:
    drafts = ui(say("task", "x"), say("deleted_api_reqs", '{"tokensIn": 10, "tokensOut": 2, "cost": 0.1}'))
    assert len(payloads(drafts, Rewind)) == 1
    assert [p.output_tokens for p in payloads(drafts, TokenUsage)] == [2]


def test_a_truncation_is_given_once_though_every_row_repeats_its_range() -> None:
    cut = {"conversationHistoryDeletedRange": [2, 5]}
    drafts = ui(say("task", "x"), say("info", "a", **cut), say("info", "b", **cut))
    assert [p.trigger for p in payloads(drafts, Compaction)] == ["truncation"]


def test_a_summary_and_the_truncation_that_follows_are_one_compaction() -> None:
    tool = say("tool", '{"tool": "summarizeTask", "content": "So far."}')
    drafts = ui(say("task", "x"), tool, say("info", "a", conversationHistoryDeletedRange=[2, 5]))
    assert [p.summary for p in payloads(drafts, Compaction)] == ["So far."]
    logged = api(user("<task>x</task>"), called("summarize_task", {"context": "So far."}))
    assert names(drafts, Compaction) == names(logged, Compaction)


def test_a_broken_off_request_says_by_whom() -> None:
    drafts = ui(say("task", "x"), say("api_req_started", '{"cancelReason": "user_cancelled"}'))
    assert [p.name for p in payloads(drafts, Lifecycle)] == ["interrupted"]


def test_environment_details_are_injected_and_name_folder_and_time() -> None:
    details = (
        "<environment_details>\n# Current Time\n8/1/2026, 1:05:00 PM (Europe/Berlin, UTC+2:00)\n\n"
        "# Current Working Directory (/w/demo) Files\na.py\n</environment_details>"
    )
    drafts = api(user("<task>\nx\n</task>", details))
    assert [p.origin for p in payloads(drafts, UserMessage)] == ["human", "injected"]
    assert [p.cwd for p in payloads(drafts, Lifecycle)] == ["/w/demo"]
    assert {(d.ts, d.ts_quality) for d in drafts} == {(1785582300000000, "inferred")}


def test_without_any_time_the_tasks_id_is_its_start() -> None:
    assert {d.ts for d in api(user("<task>x</task>"))} == {1785574800000000}


def test_text_without_tags_is_not_the_persons_once_tags_were_seen() -> None:
    drafts = api(user("<task>x</task>"), user("If you have completed the task, use attempt_completion."))
    assert [p.origin for p in payloads(drafts, UserMessage)] == ["human", "injected"]
    assert [p.origin for p in payloads(api(user("Just words")), UserMessage)] == ["human"]


def test_feedback_inside_a_result_is_the_persons() -> None:
    said = "The user denied this operation and provided the following feedback:\n<feedback>\nUse tabs.\n</feedback>"
    drafts = api(called("write_to_file", {"path": "a.py", "content": "x"}), result(said))
    assert [p.text for p in payloads(drafts, UserMessage)] == ["Use tabs."]
    assert payloads(drafts, ToolResult)[0].ok is False
    assert payloads(drafts, FileEdit) == []


def test_an_xml_call_and_its_result_find_each_other() -> None:
    xml = "I look.\n<read_file>\n<path>a.py</path>\n</read_file>"
    drafts = api(
        {"role": "assistant", "content": [{"type": "text", "text": xml}]},
        user("[read_file for 'a.py'] Result:", "OLD = 1", "<environment_details>\n# x\n</environment_details>"),
    )
    call, back = payloads(drafts, ToolCall)[0], payloads(drafts, ToolResult)[0]
    assert (call.name, call.arguments, call.canonical) == ("read_file", {"path": "a.py"}, "read")
    assert (back.call_id, back.text, back.ok) == (call.call_id, "OLD = 1", True)
    assert [p.text for p in payloads(drafts, AssistantMessage)] == ["I look."]


def test_xml_content_may_hold_tags_of_its_own() -> None:
    xml = "<write_to_file>\n<path>a.html</path>\n<content>\n<path>x</path></content>\n</write_to_file>"
    drafts = api({"role": "assistant", "content": xml}, user("[write_to_file for 'a.html'] Result:\nsaved"))
    assert payloads(drafts, ToolCall)[0].arguments == {"path": "a.html", "content": "<path>x</path>"}
    assert payloads(drafts, FileEdit)[0].after == "<path>x</path>"


def test_angle_brackets_in_what_the_model_says_are_no_calls() -> None:
    drafts = api({"role": "assistant", "content": "Use <b>bold</b> and <thinking>maybe</thinking>."})
    assert payloads(drafts, ToolCall) == []
    assert [p.text for p in payloads(drafts, AssistantMessage)] == ["Use <b>bold</b> and maybe."]


def test_a_failed_command_is_told_by_its_exit_code() -> None:
    said = "Command executed in terminal. Exit code: 2\nOutput:\nExit code: 0"
    drafts = api(called("execute_command", {"command": "make"}), result(said))
    assert (payloads(drafts, ToolResult)[0].ok, payloads(drafts, ToolResult)[0].exit_code) == (False, 2)


def test_an_edit_is_told_from_its_result() -> None:
    diff = "<<<<<<< SEARCH\n:start_line:1\n-------\nOLD = 1\n=======\nNEW = 1\n>>>>>>> REPLACE"
    drafts = api(called("apply_diff", {"path": "a.py", "diff": diff}), adapter=ROO)
    assert payloads(drafts, FileEdit) == []
    drafts = api(called("apply_diff", {"path": "a.py", "diff": diff}), result("saved"), adapter=ROO)
    assert payloads(drafts, FileEdit) == [FileEdit("a.py", "modify", "OLD = 1", "NEW = 1", call_id="t1")]


def test_a_written_file_is_new_where_the_result_says_so() -> None:
    drafts = api(
        called("write_to_file", {"path": "a.py", "content": "x"}), result('{"path": "a.py", "operation": "created"}')
    )
    assert payloads(drafts, FileEdit) == [FileEdit("a.py", "create", after="x", call_id="t1")]


def test_a_condensed_context_has_one_name_in_both_logs() -> None:
    row = say("condense_context", contextCondense={"summary": "So far.", "condenseId": "c1", "prevContextTokens": 9})
    rows = ui(say("text", "x"), row, adapter=ROO)
    logged = api({**user("So far."), "role": "assistant", "isSummary": True, "condenseId": "c1"}, adapter=ROO)
    assert names(rows, Compaction) == names(logged, Compaction) == ["compaction:c1"]


def test_messages_of_the_second_version_stand_in_a_document() -> None:
    call = {"type": "tool-call", "toolCallId": "t1", "toolName": "execute_command", "input": {"command": "make"}}
    back = {
        "type": "tool-result",
        "toolCallId": "t1",
        "toolName": "execute_command",
        "output": {"type": "text", "value": "ok"},
    }
    messages = [user("<task>x</task>"), {"role": "assistant", "content": [call]}, {"role": "tool", "content": [back]}]
    drafts = api({"version": 2, "messages": messages}, adapter=ROO)
    assert [p.canonical for p in payloads(drafts, ToolCall)] == ["shell"]
    assert [(p.call_id, p.text, p.ok) for p in payloads(drafts, ToolResult)] == [("t1", "ok", True)]


def test_encrypted_reasoning_leaves_no_text() -> None:
    drafts = api({"type": "reasoning", "encrypted_content": "QUJD" * 40, "summary": []})
    assert payloads(drafts, Thinking) == [Thinking("", is_encrypted=True)]


def test_an_old_file_of_messages_under_the_name_of_the_ui_log_is_read() -> None:
    drafts = ui(user("<task>x</task>"))
    assert [p.text for p in payloads(drafts, UserMessage)] == ["x"]
