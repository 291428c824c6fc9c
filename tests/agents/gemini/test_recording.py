"""Recordings of Gemini CLI: a log of patches, where a message is written again whenever more of it is known."""

from __future__ import annotations

import hashlib

from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Rewind,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Drift
from tests.agents.gemini.recordings import HEADER, SESSION, Told, call, reply, user

TOKENS = {"input": 900, "output": 20, "cached": 600, "thoughts": 15, "tool": 0, "total": 935}


def test_a_message_written_again_is_the_same_events_with_more_in_them() -> None:
    told = Told(
        HEADER,
        reply("m1", "Reading", toolCalls=[call("read_file", {"file_path": "a.py"})]),
        reply("m1", "Reading it.", toolCalls=[call("read_file", {"file_path": "a.py"}, "x = 1")], tokens=TOKENS),
    )
    assert told.one(AssistantMessage).text == "Reading it."
    assert told.one(ToolCall).canonical == "read"
    assert told.one(ToolResult).text == "x = 1"
    assert told.one(TokenUsage).dedupe_key == f"{SESSION}:m1"


def test_input_tokens_are_those_that_were_not_cached_and_thoughts_are_output() -> None:
    usage = Told(reply("m1", "Hi.", tokens=TOKENS)).one(TokenUsage)
    assert (usage.input_tokens, usage.cache_read_tokens) == (300, 600)
    assert (usage.output_tokens, usage.reasoning_tokens) == (35, 15)


def test_tokens_that_are_null_or_zero_are_no_usage() -> None:
    zero = dict.fromkeys(TOKENS, 0)
    assert not Told(reply("m1", "Hi.", tokens=None), reply("m2", "Ho.", tokens=zero)).all(TokenUsage)


def test_thoughts_have_their_own_times_and_a_name_each() -> None:
    thoughts = [
        {"subject": "Plan", "description": "open it", "timestamp": "2026-08-01T09:00:01.500Z"},
        {"subject": "Do"},
    ]
    told = Told(reply("m1", "Hi.", thoughts=thoughts))
    assert [t.text for t in told.all(Thinking)] == ["Plan\nopen it", "Do"]
    first, second, said = told.drafts
    assert [d.ts_quality for d in (first, second, said)] == ["exact"] * 3
    assert (said.ts or 0) - (first.ts or 0) == 500_000
    assert (first.native_id, second.native_id) == ("m1/thinking/1", "m1/thinking/2")


def test_a_checkpoint_is_a_compaction_that_says_no_known_message_again() -> None:
    summary = user("s1", [{"text": "<state_snapshot>\nNumbers.\n</state_snapshot>"}])
    masked = reply("m4", [{"text": "[masked]"}])
    told = Told(
        HEADER, user("m1", "First."), reply("m2", "One."), user("m3", "Go on."), reply("m4", "Two."),
        {"$set": {"messages": [summary, masked], "lastUpdated": "2026-08-01T09:00:05.000Z"}},
    )  # fmt: skip
    compaction = told.one(Compaction)
    assert compaction.summary.startswith("<state_snapshot>")
    assert compaction.continues_at == "s1"
    assert [m.text for m in told.all(AssistantMessage)] == ["One.", "Two."]
    assert [m.text for m in told.all(UserMessage)] == ["First.", "Go on."]


def test_what_only_a_checkpoint_holds_was_not_written_by_a_person() -> None:
    results = [{"functionResponse": {"id": "read_file-1", "name": "read_file", "response": {"output": "[masked]"}}}]
    told = Told(
        user("m1", "First."), reply("m2", "", toolCalls=[call("read_file", {"file_path": "a.py"}, "x = 1")]),
        {"$set": {"messages": [user("m1", "First."), reply("m2"), user("r1", results), user("n1", "Go on.")]}},
    )  # fmt: skip
    assert told.one(ToolResult).text == "x = 1"
    assert [(m.text, m.origin) for m in told.all(UserMessage)] == [("First.", "human"), ("Go on.", "injected")]


def test_a_checkpoint_at_the_start_of_a_recording_is_its_first_messages() -> None:
    told = Told(HEADER, {"$set": {"messages": [user("m1", "First."), reply("m2", "One.")]}})
    assert not told.all(Compaction)
    assert told.one(UserMessage).origin == "human"


def test_a_rewind_drops_the_message_and_all_turns_behind_it() -> None:
    told = Told(
        user("m1", "First."), reply("m2", "One."), user("m3", "Wrong."), reply("m4", "Oops."), user("m5", "Worse."),
        {"$rewindTo": "m3"}, user("m6", "Second."), {"$rewindTo": "m6"},
    )  # fmt: skip
    first, second = told.all(Rewind)
    assert (first.to_event, first.turns_dropped) == ("m2", 2)
    assert (second.to_event, second.turns_dropped) == ("m2", 1)
    assert len(told.all(UserMessage)) == 4


def test_a_rewind_to_an_unknown_message_drops_everything() -> None:
    rewind = Told(user("m1", "First."), user("m2", "Second."), {"$rewindTo": "gone"}).one(Rewind)
    assert (rewind.to_event, rewind.turns_dropped) == ("", 2)


def test_a_failed_command_marked_only_in_its_output_is_a_failure() -> None:
    told = Told(
        reply("m1", toolCalls=[call("run_shell_command", {"command": "x"}, "Output: no\nExit Code: 2\nSignal: 0")])
    )
    result = told.one(ToolResult)
    assert (result.ok, result.exit_code, result.text) == (False, 2, "no")


def test_the_wrapping_of_a_command_is_no_part_of_its_output() -> None:
    output = (
        "Command: ls\nDirectory: src\nOutput: a\nExit Code: 9 is no end\nb\nError: (none)\nExit Code: 0\n"
        "Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7"
    )
    result = Told(reply("m1", toolCalls=[call("run_shell_command", {"command": "ls"}, output)])).one(ToolResult)
    assert result.text == "a\nExit Code: 9 is no end\nb"
    assert result.structured == {"directory": "src", "process_group": "7"}
    assert result.ok is True


def test_calls_that_were_refused_or_failed_are_failures() -> None:
    error = call("read_file", {}, {"error": "File not found"}, status="error")
    told = Told(reply("m1", toolCalls=[error, call("glob", {}, {"error": "Cancelled"}, status="cancelled")]))
    assert [(r.ok, r.text) for r in told.all(ToolResult)] == [(False, "File not found"), (False, "Cancelled")]


def test_a_call_without_a_status_has_ended_where_it_has_a_result() -> None:
    running = {k: v for k, v in call("glob", {}).items() if k != "status"}
    ended = {k: v for k, v in call("read_file", {}, "x").items() if k != "status"}
    told = Told(reply("m1", toolCalls=[running, ended]))
    assert [r.name for r in told.all(ToolResult)] == ["read_file"]


def test_an_edit_is_told_as_it_was_shown() -> None:
    shown = {"fileDiff": "-a\n+b", "fileName": "a.py", "originalContent": "a", "newContent": "b", "diffStat": {"x": 1}}
    told = Told(reply("m1", toolCalls=[call("replace", {"file_path": "/w/a.py"}, "done", resultDisplay=shown)]))
    edit = told.one(FileEdit)
    assert (edit.path, edit.operation, edit.diff) == ("/w/a.py", "modify", "-a\n+b")
    assert told.one(ToolResult).structured is None


def test_an_edit_without_a_display_is_told_by_its_arguments_and_a_refused_one_is_none() -> None:
    asked = {"file_path": "/w/a.py", "old_string": "OLD", "new_string": "NEW"}
    edit = Told(reply("m1", toolCalls=[call("replace", asked, "done")])).one(FileEdit)
    assert (edit.before, edit.after) == ("OLD", "NEW")
    assert not Told(reply("m1", toolCalls=[call("replace", asked, "no", status="cancelled")])).all(FileEdit)


def test_a_new_file_is_created() -> None:
    shown = {"fileDiff": "+b", "fileName": "a.py", "originalContent": None, "newContent": "b"}
    told = Told(reply("m1", toolCalls=[call("write_file", {"file_path": "/w/a.py"}, "done", resultDisplay=shown)]))
    assert told.one(FileEdit).operation == "create"


def test_referenced_files_are_not_the_words_of_the_person() -> None:
    content = [{"text": "Explain @a.py"}, {"text": "--- Content from referenced files ---"}, {"text": "x = 1"}]
    human, added = Told(user("m1", content)).all(UserMessage)
    assert (human.text, human.origin) == ("Explain @a.py", "human")
    assert (added.text, added.origin) == ("--- Content from referenced files ---\nx = 1", "injected")


def test_what_was_shown_is_what_the_person_typed() -> None:
    human, added = Told(user("m1", "Expanded prompt", displayContent="/plan it")).all(UserMessage)
    assert (human.text, human.origin) == ("/plan it", "command")
    assert (added.text, added.origin) == ("Expanded prompt", "injected")


def test_the_preamble_of_a_session_is_injected_and_no_turn() -> None:
    told = Told(user("m1", "<session_context>\nToday\n</session_context>"), user("m2", "Hi"), {"$rewindTo": "m1"})
    assert [m.origin for m in told.all(UserMessage)] == ["injected", "human"]
    assert told.one(Rewind).turns_dropped == 1


def test_a_path_is_no_command() -> None:
    told = Told(user("m1", "/home/dev/a.py is broken"), user("m2", "/help"))
    assert [m.origin for m in told.all(UserMessage)] == ["human", "command"]


def test_an_image_is_kept_by_its_hash() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    (part,) = Told(user("m1", [{"text": "Look"}, image])).one(UserMessage).parts
    assert (part.type, part.media_type, part.bytes) == ("image", "image/png", 3)
    assert part.sha256 == hashlib.sha256(b"\0\0\0").hexdigest()


def test_media_that_cannot_be_decoded_are_a_defect() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "A"}}
    assert Told(user("m1", [image])).defects == ["bad_base64"]


def test_notices_say_what_happened() -> None:
    notices = [("info", "Request cancelled."), ("error", "[API Error: quota]"), ("warning", "Old version")]
    told = Told(*({"id": f"n{i}", "type": t, "content": c} for i, (t, c) in enumerate(notices)))
    assert [e.name for e in told.all(Lifecycle)] == ["interrupted", "api_error", "warning"]


def test_the_folder_is_told_where_a_path_proves_it() -> None:
    header = {**HEADER, "projectHash": hashlib.sha256(b"/home/dev/demo").hexdigest()}
    told = Told(header, reply("m1", toolCalls=[call("read_file", {"file_path": "/home/dev/demo/src/a.py"})]))
    assert told.named("cwd").cwd == "/home/dev/demo"
    assert told.one(SessionStart).cwd == ""


def test_a_windows_folder_is_proven_too() -> None:
    header = {**HEADER, "projectHash": hashlib.sha256(b"C:\\Users\\dev").hexdigest()}
    told = Told(header, user("m1", "Open C:\\Users\\dev\\x\\a.py please"))
    assert told.named("cwd").cwd == "C:\\Users\\dev"


def test_a_folder_of_the_workspace_may_prove_it_at_the_start() -> None:
    header = {**HEADER, "projectHash": hashlib.sha256(b"/home/dev/demo").hexdigest(), "directories": ["/home/dev/demo"]}
    assert Told(header).one(SessionStart).cwd == "/home/dev/demo"


def test_a_folder_that_nothing_proves_is_not_guessed() -> None:
    header = {**HEADER, "projectHash": hashlib.sha256(b"/home/dev/demo").hexdigest()}
    assert not [e for e in Told(header, user("m1", "See /home/dev/other/a.py")).all(Lifecycle) if e.cwd]


def test_a_summary_is_the_title_and_is_given_when_it_changes() -> None:
    told = Told(HEADER, {"$set": {"summary": "A"}}, {"$set": {"summary": "A"}}, {"$set": {"summary": "B"}})
    assert [e.title for e in told.all(Lifecycle) if e.name == "title"] == ["A", "B"]


def test_a_resume_under_another_id_is_told() -> None:
    told = Told(HEADER, {"$set": {"sessionId": SESSION}}, {"$set": {"sessionId": "other"}})
    resumed = [e for e in told.all(Lifecycle) if e.name == "resumed"]
    assert [e.detail for e in resumed] == [{"session_id": "other"}]


def test_a_change_of_the_model_is_told() -> None:
    told = Told(reply("m1", "A"), reply("m2", "B"), reply("m3", "C", model="gemini-y"))
    assert [e.model for e in told.all(Lifecycle) if e.name == "model"] == ["gemini-y"]


def test_a_subagent_of_a_call_is_named() -> None:
    told = Told(reply("m1", toolCalls=[call("invoke_agent", {}, "42", agentId="a1")]))
    assert told.one(Lifecycle).detail == {"agent_id": "a1"}


def test_an_unknown_type_a_field_and_a_status_are_drift() -> None:
    odd = call("glob", {}, status="dreaming")
    told = Told(
        user("m1", "Hi", novelty="x"), {"id": "m2", "type": "from_the_future"}, reply("m3", toolCalls=[odd]), {"a": 1}
    )
    assert told.drift == [
        Drift("field", "message.novelty"),
        Drift("type", "from_the_future"),
        Drift("value", "toolCall.status=dreaming"),
        Drift("type", "a"),
    ]
    assert [u.type for u in told.all(Unknown)] == ["fields", "from_the_future", "a"]


def test_lines_of_other_programs_are_unknown() -> None:
    assert Told({"role": "user", "text": "Hi"}).one(Unknown).text == "role: user\ntext: Hi"


def test_a_snapshot_and_the_log_that_follows_it_name_their_events_alike() -> None:
    messages = [user("m1", "First."), reply("m2", "", toolCalls=[call("glob", {}, "a.py")], tokens=TOKENS)]
    log = Told(HEADER, *messages)
    snapshot = Told(HEADER, *((m, "messages") for m in messages), ({"summary": "A title"}, ""), role="chat_json")
    assert [(d.native_id, d.payload) for d in snapshot.drafts[:-1]] == [(d.native_id, d.payload) for d in log.drafts]
    assert snapshot.drafts[-1].native_id == "title"


def test_a_snapshot_that_comes_whole_gives_its_messages() -> None:
    told = Told({**HEADER, "messages": [user("m1", "First."), "odd"]}, role="chat_json")
    assert told.one(UserMessage).text == "First."
    assert told.defects == ["wrong_type"]


def test_a_saved_conversation_names_its_turns_by_their_content() -> None:
    turns = [{"role": "user", "parts": [{"text": "yes"}]}, {"role": "model", "parts": [{"text": "ok"}]}]
    inside = Told({"history": [*turns, *turns], "authType": "x"}, role="saved")
    bare = Told(*turns, *turns, role="saved")
    names = [d.native_id for d in bare.drafts]
    assert names == [d.native_id for d in inside.drafts]
    assert len(set(names)) == 5
    assert names[3] == f"{names[1]}/2"


def test_prompts_go_to_the_sessions_that_they_name() -> None:
    entry = {"sessionId": "gone", "messageId": 0, "type": "user", "message": "Hi", "timestamp": "2026-08-01T09:00:00Z"}
    told = Told(entry, {**entry, "message": "/quit"}, role="prompts")
    assert [d.session for d in told.drafts] == ["gone", "gone"]
    assert [m.origin for m in told.all(UserMessage)] == ["human", "command"]


def test_side_files_say_which_folder_a_project_is() -> None:
    (given,) = Told("/home/dev/demo\n", role="project").drafts
    assert given.payload.cwd == "/home/dev/demo"
    assert given.payload.detail["project_hash"] == hashlib.sha256(b"/home/dev/demo").hexdigest()
    (listed,) = Told({"projects": {"/home/dev/demo": "demo"}}, role="projects").drafts
    assert listed.payload == given.payload
    assert listed.session == "project/demo"


def test_the_state_stays_small_whatever_comes() -> None:
    records = [user(f"{'m' * 300}{i}", "x") for i in range(2200)]
    told = Told(HEADER, *records, {"$set": {"messages": records}})
    assert len(told.state.live) <= 2048
    assert len(told.state.known) <= 4096
