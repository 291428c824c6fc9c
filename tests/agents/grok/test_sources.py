"""The files beside the stream, whose they are, and what must not be read."""

from __future__ import annotations

import json
from fnmatch import fnmatch

import pytest

from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Lifecycle,
    SessionStart,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from tests.agents.grok.lines import ADAPTER, CHAT, EVENTS, FOLDER, SESSION, STREAM, SUMMARY, drafts, payloads


def test_a_session_is_named_by_its_folder_and_a_prompt_history_by_its_lines():
    assert ADAPTER.identify(SourceInfo("grok", "summary", f"{FOLDER}/summary.json"), b"{}") == SESSION
    child = SourceInfo("grok", "updates", f"{FOLDER}/subagents/kid/updates.jsonl")
    assert ADAPTER.identify(child, b"") == "kid"
    line = {"timestamp": "2026-08-01T16:00:00Z", "session_id": "other", "prompt": "make test", "is_bash": True}
    (found,) = drafts([line], "prompt_history")
    assert (found.session, found.payload) == ("other", UserMessage("!make test", "command"))


def test_loose_files_are_named_by_what_they_say():
    head = json.dumps(STREAM[0]).encode()
    assert ADAPTER.identify(SourceInfo("grok", "updates", "loose.jsonl"), head) == SESSION


@pytest.mark.parametrize(
    ("value", "role"), [(STREAM[0], "updates"), (STREAM[-1], "updates"), (CHAT[2], "chat"), (EVENTS[0], "events"),
                        (SUMMARY, "summary")]
)  # fmt: skip
def test_a_file_is_recognised_by_its_content(value, role):
    assert ADAPTER.recognise("x.jsonl", json.dumps(value).encode() + b"\n") == role


@pytest.mark.parametrize(
    "value",
    [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate": "plan"}}},
        {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}},
        {"type": "assistant", "content": "hi"},
        {"role": "user", "content": "hi"},
    ],
)
def test_lines_of_other_agents_are_not_taken(value):
    assert ADAPTER.recognise("x.jsonl", json.dumps(value).encode()) is None


@pytest.mark.parametrize("name", ["auth.json", "config.toml", "logs/unified.jsonl", "sessions/session_search.sqlite",
                                  "worktrees/a/summary.json", "active_sessions.json"])  # fmt: skip
def test_credentials_logs_and_worktrees_match_no_place(name):
    patterns = [pattern for place in ADAPTER.facts.places for pattern in place.patterns]
    assert not any(fnmatch(name, pattern) for pattern in patterns if name.count("/") == pattern.count("/"))


def test_the_summary_gives_the_sessions_facts_and_a_fork_its_origin():
    found = payloads([{**SUMMARY, "parent_session_id": "origin"}], SessionStart, "summary")[0]
    assert (found.cwd, found.git_branch, found.git_remote) == ("/work/demo", "main", "git@example.com:demo.git")
    assert (found.forked_from, found.parent_session) == ("origin", "")


def test_the_summary_of_a_subagent_names_its_kind():
    value = {**SUMMARY, "session_kind": "subagent", "agent_name": "explore", "parent_session_id": "parent"}
    found = payloads([value], SessionStart, "summary")[0]
    assert (found.parent_session, found.forked_from, found.agent_name) == ("parent", "", "explore")


def test_a_summary_that_only_counts_on_says_nothing_new():
    first, second = drafts([SUMMARY], "summary"), drafts([{**SUMMARY, "num_messages": 99}], "summary")
    assert [d.payload for d in first] == [d.payload for d in second]


def test_an_old_summary_in_camel_case_gives_the_first_prompt():
    value = {"info": {"id": "s", "cwd": "/w"}, "firstPrompt": "Hello", "modelId": "grok-4", "numMessages": 3}
    assert payloads([value], UserMessage, "summary") == [UserMessage("Hello")]
    assert payloads([value], SessionStart, "summary")[0].model == "grok-4"


@pytest.mark.parametrize("reason", ["system_reminder", "auto_continue", "task_completed", "stop_hook_feedback"])
def test_a_synthetic_user_message_is_injected(reason):
    line = {"type": "user", "content": [{"type": "text", "text": "go on"}], "synthetic_reason": reason}
    assert payloads([line], UserMessage, "chat") == [UserMessage("go on", "injected")]


def test_an_interjection_is_the_persons():
    line = {"type": "user", "content": [{"type": "text", "text": "also this"}], "synthetic_reason": "interjection"}
    assert payloads([line], UserMessage, "chat") == [UserMessage("also this", "queued")]


def test_project_instructions_and_system_prompts_are_instructions():
    line = {"type": "user", "content": "Keep it short.", "synthetic_reason": "project_instructions"}
    assert [p.text for p in payloads([CHAT[0], line], Instructions, "chat")] == ["You are Grok.", "Keep it short."]


def test_the_system_prompt_has_one_name_in_all_files():
    (one,) = drafts([CHAT[0]], "chat")
    (two,) = drafts(["You are Grok."], "system_prompt")
    assert one.native_id == two.native_id


def test_reasoning_that_is_only_encrypted_says_so_and_its_bytes_stay_away():
    (found,) = payloads(
        [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "AAAA"}], Thinking, "chat"
    )
    assert found == Thinking(is_encrypted=True)


def test_arguments_are_decoded_and_bad_ones_kept_as_text():
    line = {"type": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "x", "arguments": '{"n": 1}'},
                                                               {"id": "b", "name": "x", "arguments": "{"}]}  # fmt: skip
    assert [c.arguments for c in payloads([line], ToolCall, "chat")] == [{"n": 1}, "{"]


def test_lines_with_a_role_are_read_as_those_with_a_type():
    lines = [
        {"role": "user", "content": "Run."},
        {"role": "assistant", "content": "", "reasoning_content": "Hm.",
         "tool_calls": [{"id": "c", "type": "function", "function": {"name": "list_dir", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "a.py"},
    ]  # fmt: skip
    assert payloads(lines, Thinking, "chat") == [Thinking("Hm.")]
    assert payloads(lines, ToolCall, "chat")[0].name == "list_dir"
    assert payloads(lines, ToolResult, "chat") == [ToolResult("c", "list_dir", text="a.py")]


def test_a_tool_of_the_provider_is_a_call_with_its_result():
    assert payloads(CHAT, ToolCall, "chat")[-1].name == "web_search"
    assert payloads(CHAT, ToolResult, "chat")[-1].ok is True


def test_what_is_said_between_a_compaction_and_the_next_prompt_is_left_to_the_stream():
    meta = {"type": "user", "content": "Summary", "synthetic_reason": "compaction_meta"}
    reply = {"type": "assistant", "content": "Going on.", "model_id": "grok-4.6"}
    assert payloads([meta, reply], AssistantMessage, "chat") == []
    assert len(payloads([meta, CHAT[2], reply], AssistantMessage, "chat")) == 1


def test_telemetry_of_the_workspace_is_not_told_twice():
    again = {**EVENTS[1], "source": "workspace"}
    assert len(drafts([EVENTS[1], again], "events")) == 1


def test_a_refused_permission_is_in_the_telemetry():
    found = payloads(EVENTS, Lifecycle, "events")[-1]
    assert (found.name, found.call_id, found.detail["outcome"]) == ("tool_completed", "c1", "permission_rejected")


def test_copies_of_files_before_a_prompt_are_checkpoints_and_no_edits():
    point = {"prompt_index": 1, "created_at": "2026-08-01T16:00:00Z", "after_snapshots": {},
             "file_snapshots": {"a.py": {"path": "a.py", "content": "OLD = 1"}, "b.py": {"content": None}}}  # fmt: skip
    assert payloads([point], FileEdit, "rewind_points") == [
        FileEdit("a.py", "checkpoint", "OLD = 1"), FileEdit("b.py", "checkpoint")
    ]  # fmt: skip


def test_loaded_instruction_files_are_instructions():
    value = {"is_non_interactive": True, "agents_files": [{"path": "/w/AGENTS.md", "content": "Be brief."}]}
    assert payloads([value], Instructions, "prompt_context") == [Instructions("Be brief.", "/w/AGENTS.md")]
    assert payloads([value], Lifecycle, "prompt_context")[0].detail == {"is_non_interactive": True}


def test_a_folder_named_by_a_hash_is_no_working_directory():
    path = f"sessions/long-name-0a1b2c/{SESSION}/updates.jsonl"
    assert drafts([STREAM[0]], path=path)[0].payload.cwd == ""
    assert drafts([STREAM[0]])[0].payload.cwd == "/work/demo"
