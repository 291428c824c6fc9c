"""Tool calls, edits, usage, compactions and subagents of the stream."""

from __future__ import annotations

import pytest

from recollect.model.payloads import (
    Compaction,
    FileEdit,
    Lifecycle,
    SessionStart,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
)
from tests.agents.grok.lines import SESSION, call, drafts, ended, payloads, said_by_tool, update

DIFF = {"type": "diff", "path": "a.py", "oldText": "OLD = 1", "newText": "NEW = 1"}


def test_a_call_has_the_tools_own_name_and_not_the_title():
    line = call("c1", "run_terminal_command", {"command": "ls"})
    line["params"]["update"]["title"] = "Execute `ls`"
    (found,) = payloads([line], ToolCall)
    assert (found.name, found.canonical, found.arguments) == ("run_terminal_command", "shell", {"command": "ls"})


def test_arguments_that_come_later_make_a_newer_version_of_the_call():
    late = update("tool_call_update", toolCallId="c1", rawInput={"command": "ls"})
    (found,) = payloads([call("c1", "run_terminal_command", {}), late], ToolCall)
    assert found.arguments == {"command": "ls"}


def test_arguments_that_an_update_adds_are_kept():
    more = update("tool_call_update", toolCallId="c1", rawInput={"variant": "Bash", "command": "ls", "timeout": 77})
    kept = [p.text for p in payloads([call("c1", "run_terminal_command", {"command": "ls"}), more], Unknown)]
    assert kept == ["timeout: 77"]


def test_a_tool_of_another_server_is_told_by_the_call_of_use_tool():
    (found,) = payloads([call("c1", "use_tool", {"tool_name": "desk__read_pane", "tool_input": {}})], ToolCall)
    assert found.canonical == "mcp"


def test_a_completed_call_without_content_keeps_the_output_before():
    running = update("tool_call_update", toolCallId="c1", status="in_progress", content=said_by_tool("3 passed"))
    (result,) = payloads([call("c1", "run_terminal_command", {}), running, ended("c1")], ToolResult)
    assert (result.text, result.ok) == ("3 passed", True)


def test_a_long_output_before_the_end_stays_in_a_result_of_its_own():
    running = update("tool_call_update", toolCallId="c1", status="in_progress", content=said_by_tool("x" * 9000))
    first, last = payloads([call("c1", "run_terminal_command", {}), running, ended("c1")], ToolResult)
    assert (len(first.text), first.ok, last.text, last.ok) == (9000, None, "", True)


def test_a_failed_command_marked_only_in_its_raw_output_is_a_failure():
    line = ended("c1", content=said_by_tool("1 failed"), rawOutput={"type": "Bash", "exit_code": 1})
    (result,) = payloads([line], ToolResult)
    assert (result.ok, result.exit_code, result.text) == (False, 1, "1 failed")


def test_a_failed_status_is_a_failure_and_edits_nothing():
    values = [call("c1", "search_replace", {"path": "a.py", "old_string": "x", "new_string": "y"})]
    values.append(ended("c1", "failed", content=[DIFF]))
    assert payloads(values, FileEdit) == []
    assert payloads(values, ToolResult)[0].ok is False


def test_an_edit_is_given_when_its_call_completed_and_only_then():
    proposed = call("c1", "search_replace", {"path": "a.py"}, content=[DIFF], status="pending")
    assert payloads([proposed], FileEdit) == []
    assert payloads([proposed, ended("c1")], FileEdit) == [
        FileEdit("a.py", "modify", "OLD = 1", "NEW = 1", call_id="c1")
    ]


def test_an_edit_without_a_diff_is_told_by_the_arguments():
    values = [call("c1", "search_replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"}), ended("c1")]
    assert payloads(values, FileEdit) == [FileEdit("a.py", "modify", "x", "y", call_id="c1")]


def test_a_diff_without_an_old_text_makes_a_new_file():
    line = ended("c1", content=[{"type": "diff", "path": "b.py", "oldText": None, "newText": "x"}])
    assert payloads([line], FileEdit) == [FileEdit("b.py", "create", None, "x", call_id="c1")]


def test_raw_output_that_repeats_the_content_is_not_said_twice():
    line = ended("c1", content=said_by_tool("3 passed"), rawOutput={"output": "3 passed", "cwd": "/w"})
    assert payloads([line], ToolResult)[0].structured == {"cwd": "/w"}


def test_an_unknown_content_of_a_call_is_kept():
    assert "from_the_future" in payloads([ended("c1", content=[{"type": "from_the_future"}])], Unknown)[0].type


def turn(usage, prompt="p1", **fields):
    return update("turn_completed", prompt_id=prompt, stop_reason="end_turn", usage=usage, **fields)


def test_input_tokens_do_not_include_the_cache_and_ticks_become_dollars():
    usage = {"inputTokens": 5000, "cachedReadTokens": 4200, "outputTokens": 120, "reasoningTokens": 30,
             "costUsdTicks": 41_000_000, "modelUsage": {"grok-x": {"inputTokens": 5000}}}  # fmt: skip
    assert payloads([turn(usage)], TokenUsage) == [
        TokenUsage("grok-x", 800, 120, 4200, reasoning_tokens=30, cost_usd=0.0041, dedupe_key="p1:grok-x")
    ]


def test_usage_written_again_for_a_prompt_replaces_the_one_before():
    values = [turn({"inputTokens": 10, "outputTokens": 1}), turn({"inputTokens": 20, "outputTokens": 2})]
    (found,) = payloads(values, TokenUsage)
    assert (found.input_tokens, found.dedupe_key) == (20, "p1:")


def test_usage_of_several_models_is_counted_by_model():
    usage = {"inputTokens": 30, "costUsdTicks": 10_000_000_000,
             "modelUsage": {"a": {"inputTokens": 10}, "b": {"inputTokens": 20}}}  # fmt: skip
    found = payloads([turn(usage)], TokenUsage)
    assert [(u.model, u.input_tokens, u.cost_usd) for u in found] == [("a", 10, None), ("b", 20, None), ("", 0, 1.0)]


def test_an_absent_cost_is_unknown_and_not_free():
    assert payloads([turn({"inputTokens": 1})], TokenUsage)[0].cost_usd is None


@pytest.mark.parametrize("reason", ["cancelled", "interrupted"])
def test_a_turn_that_was_stopped_is_an_interruption(reason):
    line = update("turn_completed", prompt_id="p", stop_reason=reason, agent_result="stopped early")
    assert payloads([line], Lifecycle)[-1] == Lifecycle("interrupted", "stopped early", {"stop_reason": reason})


def test_a_checkpoint_and_its_token_counts_are_one_compaction():
    values = [
        update("auto_compact_started", reason="threshold"),
        update("compaction_checkpoint", checkpoint_id="k1", prompt_index_at_compaction=1),
        update("auto_compact_completed", tokens_before=100, tokens_after=30, summary_preview=None),
    ]
    assert payloads(values, Compaction) == [Compaction("threshold", "", 100, 30)]


def test_a_compaction_without_a_checkpoint_counts_too_and_two_are_two():
    line = update("auto_compact_completed", tokens_before=100, tokens_after=30)
    later = update("auto_compact_completed", 9, tokens_before=90, tokens_after=20)
    assert len(payloads([line, later], Compaction)) == 2


def test_a_subagent_is_a_session_of_its_own_with_a_parent():
    line = update("subagent_spawned", subagent_id="kid", child_session_id="kid", subagent_type="explore",
                  parent_session_id=SESSION, description="Look it up", model="grok-4.6")  # fmt: skip
    start = next(d for d in drafts([line]) if d.session == "kid")
    assert start.payload == SessionStart(model="grok-4.6", parent_session=SESSION, agent_name="explore")


def test_the_stream_of_a_subagent_in_its_parents_folder_names_the_parent():
    path = f"sessions/%2Fwork/{SESSION}/subagents/kid/updates.jsonl"
    found = drafts([update("turn_completed", prompt_id="p")], path=path)
    assert found[0].payload == SessionStart(cwd="/work", parent_session=SESSION)


def test_a_field_that_is_new_is_kept_and_counted():
    line = call("c1", "read_file", {})
    line["params"]["update"]["novelty"] = "x"
    assert [p.text for p in payloads([line], Unknown)] == ["novelty: x"]
