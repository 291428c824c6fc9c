"""Traps of the event stream that Copilot CLI writes."""

from __future__ import annotations

import pytest

from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    Rewind,
    SessionEnd,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from tests.agents.copilot.streams import (
    SESSION,
    call,
    complete,
    drafts,
    event,
    of,
    reply,
    shutdown,
    start,
    stream,
    user,
)

EDIT = {"path": "/w/a.py", "old_str": "OLD = 1", "new_str": "NEW = 1"}


@pytest.mark.parametrize("is_start_first", [False, True])
def test_a_call_that_is_written_twice_is_given_once(is_start_first):
    told, begun = reply("", call("c1", "bash", '{"command": "ls"}')), start("c1", "bash", {"command": "ls"})
    found = stream(*((begun, told) if is_start_first else (told, begun)), complete("c1", "a.py"))
    assert [(c.name, c.canonical, c.arguments) for c in of(found, ToolCall)] == [("bash", "shell", {"command": "ls"})]
    assert not of(found, Unknown)


def test_a_start_that_names_a_server_gives_a_new_version_of_the_call():
    found = stream(reply("", call("c1", "get_issue", {})), start("c1", "get_issue", {}, mcpServerName="github"))
    calls = [(d.native_id, d.payload) for d in drafts(found) if isinstance(d.payload, ToolCall)]
    assert [(name, c.canonical, c.message_id) for name, c in calls] == [
        ("call:c1", "other", "m-a"),
        ("call:c1", "mcp", "m-a"),
    ]


@pytest.mark.parametrize(
    ("written", "code"),
    [("1 failed\n<exited with exit code 1>", 1), ("exit code: 2", 2), ("3 passed\n<exited with exit code 0>", 0)],
)
def test_a_failed_command_marked_only_in_its_text_is_a_failure(written, code):
    (result,) = of(stream(start("c1", "bash", {}), complete("c1", written)), ToolResult)
    assert (result.ok, result.exit_code) == (code == 0, code)


def test_words_about_an_exit_code_fail_no_other_tool():
    (result,) = of(stream(start("c1", "view", {}), complete("c1", "it exited with code 1")), ToolResult)
    assert (result.ok, result.exit_code) == (True, None)


def test_a_failed_tool_says_why():
    (result,) = of(
        stream(complete("c1", success=False, result=None, error={"message": "No such file", "code": "ENOENT"})),
        ToolResult,
    )
    assert (result.ok, result.text, result.structured) == (False, "No such file", {"code": "ENOENT"})


def test_the_result_of_an_old_build_is_read():
    old = {"result_type": "failure", "text_result_for_llm": "Nothing found"}
    (result,) = of(stream(event("tool.execution_complete", {"toolCallId": "c1", "result": old})), ToolResult)
    assert (result.ok, result.text) == (False, "Nothing found")


def test_an_image_in_a_result_is_a_part():
    blocks = [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "terminal", "text": "x", "exitCode": 3},
    ]
    (result,) = of(stream(complete("c1", result={"content": "shot", "contents": blocks})), ToolResult)
    assert ([p.bytes for p in result.parts], result.exit_code, result.ok) == ([2], 3, False)


def test_an_edit_is_told_when_it_succeeded():
    asked = reply("", call("c1", "edit", EDIT))
    done, denied = stream(asked, complete("c1", "ok")), stream(asked, complete("c1", "no", success=False))
    assert [(e.path, e.before, e.after, e.call_id) for e in of(done, FileEdit)] == [
        ("/w/a.py", "OLD = 1", "NEW = 1", "c1")
    ]
    assert not of(denied, FileEdit)


SWAP = {"path": "/w/a.py", "old_str": "y", "new_str": "x"}
SWAPS = {"replacements": [{"filePath": "/w/a.py", "oldString": "y", "newString": "x"}]}
WRITE = {"path": "/w/a.py", "file_text": "x"}


@pytest.mark.parametrize(
    ("tool", "arguments", "operation", "after"),
    [
        ("create", WRITE, "create", "x"),
        ("str_replace_editor", {"command": "create", **WRITE}, "create", "x"),
        ("str_replace_editor", {"command": "str_replace", **SWAP}, "modify", "x"),
        ("multi_replace_string_in_file", SWAPS, "modify", "x"),
        ("apply_patch", "*** Begin Patch\n*** Add File: /w/a.py\n+x\n*** End Patch", "create", "x"),
    ],
)
def test_every_editing_tool_gives_its_edit(tool, arguments, operation, after):
    (edit,) = of(stream(reply("", call("c1", tool, arguments)), complete("c1", "ok")), FileEdit)
    assert (edit.path, edit.operation, (edit.after or "").strip()) == ("/w/a.py", operation, after)


def test_looking_at_a_file_is_no_edit():
    looked = reply("", call("c1", "str_replace_editor", {"command": "view", "path": "/w/a.py"}))
    assert not of(stream(looked, complete("c1", "x")), FileEdit)


def test_of_an_edit_too_long_to_remember_the_diff_of_the_result_is_told():
    asked = reply("", call("c1", "edit", {**EDIT, "new_str": "x" * 50_000}))
    found = stream(asked, complete("c1", result={"content": "ok", "detailedContent": "@@ -1 +1 @@"}))
    assert [(e.path, e.diff) for e in of(found, FileEdit)] == [("/w/a.py", "@@ -1 +1 @@")]


def test_reasoning_that_stands_alone_is_not_given_again_with_its_message():
    alone = event("assistant.reasoning", {"reasoningId": "r", "content": "Hm."}, "r")
    assert [t.text for t in of(stream(alone, reply("Yes.", reasoningText="Hm.")), Thinking)] == ["Hm."]
    assert [t.text for t in of(stream(reply("Yes.", reasoningText="Hm.")), Thinking)] == ["Hm."]


def test_opaque_reasoning_never_becomes_text():
    (thought,) = of(stream(reply("Yes.", reasoningOpaque="b3BhcXVl" * 9)), Thinking)
    assert (thought.text, thought.is_encrypted) == ("", True)


@pytest.mark.parametrize(
    ("data", "origin"),
    [
        ({}, "human"),
        ({"delivery": "queued"}, "queued"),
        ({"delivery": "steering"}, "queued"),
        ({"source": "skill-review"}, "injected"),
        ({"source": "system"}, "injected"),
        ({"source": "command-fix"}, "command"),
    ],
)
def test_who_wrote_a_message_is_told_by_its_source(data, origin):
    assert [m.origin for m in of(stream(user("Go.", **data)), UserMessage)] == [origin]


def test_a_skill_that_looks_like_the_user_is_injected():
    assert [m.origin for m in of(stream(user("<skill-context name='x'>text")), UserMessage)] == ["injected"]


def test_the_context_around_a_message_is_injected():
    found = stream(user("Go.", transformedContent="<reminder/>Go."))
    assert [(m.text, m.origin) for m in of(found, UserMessage)] == [("Go.", "human"), ("<reminder/>Go.", "injected")]


def test_attachments_are_parts():
    attached = [{"type": "file", "path": "/w/a.py"}, {"type": "blob", "data": "aGk=", "mimeType": "image/png"}]
    (message,) = of(stream(user("See.", attachments=attached)), UserMessage)
    assert [(p.type, p.path, p.bytes) for p in message.parts] == [("file", "/w/a.py", 0), ("blob", "", 2)]


def test_cached_tokens_are_taken_out_of_the_input():
    (usage,) = of(stream(shutdown(m=(1000, 50, 700, 100))), TokenUsage)
    assert (usage.input_tokens, usage.output_tokens) == (200, 50)
    assert (usage.cache_read_tokens, usage.cache_write_5m_tokens) == (700, 100)


def test_counters_of_one_process_become_differences():
    found = stream(shutdown("e1", m=(100, 10, 0, 0)), shutdown("e2", m=(150, 30, 0, 0)))
    assert [(u.input_tokens, u.output_tokens) for u in of(found, TokenUsage)] == [(100, 10), (50, 20)]


def test_counters_that_fell_or_were_resumed_start_anew():
    resumed = event("session.resume", {"resumeTime": "2026-08-01T10:00:00Z", "eventCount": 3}, "r")
    fell = stream(shutdown("e1", m=(100, 10, 0, 0)), shutdown("e2", m=(90, 30, 0, 0)))
    again = stream(shutdown("e1", m=(100, 10, 0, 0)), resumed, shutdown("e2", m=(150, 30, 0, 0)))
    assert [u.input_tokens for u in of(fell, TokenUsage)] == [100, 90]
    assert [u.input_tokens for u in of(again, TokenUsage)] == [100, 150]


def test_a_shutdown_that_repeats_the_counters_gives_no_usage():
    assert len(of(stream(shutdown("e1", m=(9, 1, 0, 0)), shutdown("e2", m=(9, 1, 0, 0))), TokenUsage)) == 1


def test_the_output_of_a_message_is_not_added():
    found = stream(reply("Yes.", outputTokens=12), shutdown(m=(100, 12, 0, 0)))
    assert sum(u.output_tokens for u in of(found, TokenUsage) if u.is_additive) == 12


def test_a_shutdown_without_usage_is_an_end_all_the_same():
    bare = event("session.shutdown", {"modelMetrics": {"m": {"requests": 2}}, "totalPremiumRequests": 1})
    assert len(of(stream(bare), SessionEnd)) == 1
    assert [e.detail for e in of(stream(bare), Lifecycle)] == [{"totalPremiumRequests": 1}]


def test_a_failed_compaction_is_none():
    failed = event("session.compaction_complete", {"success": False, "error": "Timed out"})
    assert not of(stream(failed), Compaction)
    assert [(e.name, e.text) for e in of(stream(failed), Lifecycle)] == [("compaction_failed", "Timed out")]


def test_a_compaction_knows_why_it_began():
    begun = event("session.compaction_start", {"trigger": "manual"}, "e1")
    told = {"success": True, "summaryContent": "So far.", "preCompactionTokens": 9, "postCompactionTokens": 2}
    done = event("session.compaction_complete", told, "e2")
    (one,) = of(stream(begun, done), Compaction)
    assert (one.trigger, one.summary, one.tokens_before, one.tokens_after) == ("manual", "So far.", 9, 2)


@pytest.mark.parametrize("kind", ["session.truncation", "session.context_cleared"])
def test_a_context_that_was_cut_or_cleared_is_a_compaction(kind):
    assert len(of(stream(event(kind)), Compaction)) == 1


@pytest.mark.parametrize(("removed", "dropped", "kept"), [(3, 2, "u1"), (2, 1, "a")])
def test_a_written_rewind_goes_by_the_revision_of_its_schema(removed, dropped, kept):
    back = event("session.snapshot_rewind", {"upToEventId": "u2", "eventsRemoved": removed}, "back")
    found = stream(user("One", "u1"), user("Two", "u2"), reply("Yes."), user("Three", "u3"), back)
    assert [(r.to_event, r.turns_dropped) for r in of(found, Rewind)] == [(kept, dropped)]


def test_a_rewind_that_lists_the_end_names_the_event_before_it():
    back = event("session.snapshot_rewind", {"eventIds": ["u2", "x"]}, "back")
    assert of(stream(user("One", "u1"), user("Two", "u2"), back), Rewind) == [Rewind("u1", 1)]


def test_a_rewind_that_keeps_a_turn_behind_what_it_removed_does_not_say_what_it_undid():
    back = event("session.snapshot_rewind", {"eventIds": ["u1", "x"]}, "back")
    assert of(stream(user("One", "u1"), user("Two", "u2"), back), Rewind) == [Rewind()]


def test_a_subagent_is_a_session_of_its_own():
    task = call("c1", "task", {"prompt": "Find it.", "agent_type": "explore"})
    begun = event("subagent.started", {"toolCallId": "c1", "agentName": "explore"}, "b", agentId="agent-1")
    inside = event("assistant.message", {"content": "Found.", "messageId": "m"}, "i", agentId="agent-1")
    older = event("assistant.message", {"content": "Old.", "messageId": "m", "parentToolCallId": "c1"}, "o")
    found = stream(reply("", task), begun, inside, older, complete("c1", "Found."))
    child = [d for d in drafts(found) if d.session == f"{SESSION}/c1"]
    assert [type(d.payload) for d in child] == [SessionStart, UserMessage, AssistantMessage, AssistantMessage]
    first, prompt = child[0].payload, child[1].payload
    assert isinstance(first, SessionStart)
    assert isinstance(prompt, UserMessage)
    assert (first.parent_session, first.agent_name, prompt.text) == (SESSION, "explore", "Find it.")


def test_a_subagents_task_is_not_told_twice():
    task = call("c1", "task", {"prompt": "Find it."})
    begun = event("subagent.started", {"toolCallId": "c1", "agentName": "x"}, "b", agentId="agent-1")
    said = event("user.message", {"content": "Find it."}, "s", agentId="agent-1")
    assert [m.text for m in of(stream(reply("", task), begun, said), UserMessage)] == ["Find it."]


def test_a_change_of_folder_or_branch_is_told():
    begun = event("session.start", {"context": {"cwd": "/w", "branch": "main"}}, "e1")
    moved = event("session.context_changed", {"cwd": "/w", "branch": "fix"}, "e2")
    assert [(e.cwd, e.branch) for e in of(stream(begun, moved), Lifecycle)] == [("", "fix")]


def test_prompts_of_the_system_are_instructions():
    prompt = event("system.message", {"role": "developer", "content": "Be brief."})
    assert [(i.text, i.source) for i in of(stream(prompt), Instructions)] == [("Be brief.", "developer message")]


def test_a_skill_is_told_with_its_text_as_instructions():
    used = event("skill.invoked", {"name": "review", "path": "/s/SKILL.md", "content": "Read well."})
    found = stream(used)
    assert [i.text for i in of(found, Instructions)] == ["Read well."]
    assert [(e.name, e.text) for e in of(found, Lifecycle)] == [("skill", "review")]


@pytest.mark.parametrize(
    "kind", ["permission.requested", "session.usage_checkpoint", "fusion_started", "canvas.opened"]
)
def test_types_of_an_open_set_are_kept_without_drift(kind):
    (noted,) = of(stream(event(kind, {"x": 1})), Lifecycle)
    assert noted.detail == {"x": 1}
