"""Headers, turns, forks, compactions, and the events around the conversation."""

from __future__ import annotations

import msgspec
import pytest

from recollect.model.payloads import (
    Compaction,
    Instructions,
    Lifecycle,
    Rewind,
    SessionStart,
    ToolCall,
    Unknown,
    UserMessage,
)
from tests.agents.codex.records import (
    ADAPTER,
    AT,
    AT_US,
    PARENT,
    THREAD,
    TURN_1,
    TURN_2,
    assistant_item,
    completed,
    context,
    event,
    item,
    meta,
    read,
    record,
    user_event,
    user_item,
)


def test_the_first_header_starts_the_session():
    git = {"branch": "main", "commit_hash": "abc", "repository_url": "https://example.invalid/r.git"}
    reading = read(meta(cli_version="0.150.0", git=git, base_instructions={"text": "be exact"}))
    assert reading.payloads == [
        SessionStart(
            cwd="/w/demo",
            git_branch="main",
            git_commit="abc",
            git_remote="https://example.invalid/r.git",
            tool_version="0.150.0",
            originator="codex-tui",
        ),
        Instructions(text="be exact", source="base_instructions"),
    ]
    assert (reading.drafts[0].ts, reading.drafts[0].ts_quality) == (AT_US, "exact")


@pytest.mark.parametrize(
    ("source", "name", "parent"),
    [
        ("cli", "", ""),
        ({"custom": "ide"}, "", ""),
        ({"subagent": "review"}, "review", ""),
        ({"subagent": {"other": "scout"}}, "scout", ""),
        ({"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_role": "explorer"}}}, "explorer", PARENT),
        ({"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_nickname": "Ada"}}}, "Ada", PARENT),
    ],
)
def test_a_source_is_text_or_says_who_spawned_the_thread(source, name, parent):
    (start,) = read(meta(source=source)).payloads
    assert (start.agent_name, start.parent_session) == (name, parent)


def test_a_fork_names_its_parent():
    assert read(meta(forked_from_id=PARENT)).payloads[0].forked_from == PARENT


def test_a_copied_header_marks_a_replay_and_does_not_rename_the_session():
    reading = read(meta(THREAD, forked_from_id=PARENT), meta(PARENT, cwd="/elsewhere"))
    assert reading.payloads[1:] == [Lifecycle(name="replay", text=PARENT)]


def test_a_copied_header_is_the_only_trace_of_an_old_fork():
    reading = read(meta(THREAD), meta(PARENT))
    assert reading.of(SessionStart)[1] == SessionStart(forked_from=PARENT)


def test_the_own_header_again_is_a_resume():
    assert read(meta(), meta()).payloads[1] == Lifecycle(name="resumed", cwd="/w/demo")


def test_instructions_that_are_repeated_are_given_once():
    reading = read(
        meta(instructions="be kind"),
        context(TURN_1, user_instructions="be kind"),
        context(user_instructions="be quick"),
    )
    assert [i.text for i in reading.of(Instructions)] == ["be kind", "be quick"]


def test_a_turn_context_tells_what_changed():
    reading = read(
        meta(),
        context(TURN_1),
        context(TURN_1),
        context(TURN_2),
        context(TURN_2, model="gpt-y"),
        context(cwd="/w/b", model="gpt-y"),
    )
    told = [(p.name, p.model, p.cwd) for p in reading.of(Lifecycle)]
    assert told == [
        ("model", "gpt-x", ""),
        ("turn_context", "", ""),
        ("turn_started", "", ""),
        ("model", "gpt-y", ""),
        ("cwd", "", "/w/b"),
    ]


def test_a_changed_mode_is_told_by_the_names_of_its_settings():
    reading = read(context(), context(sandbox_policy={"type": "read-only", "x": 1}, approval_policy="never"))
    assert reading.payloads[1] == Lifecycle(
        name="mode", detail={"approval_policy": "never", "sandbox_policy": "read-only"}
    )


def test_a_compaction_told_by_several_records_is_one_event():
    reading = read(
        record("compacted", {"message": "so far: x", "replacement_history": [user_item("old")["payload"]]}),
        event("context_compacted"),
        completed("ContextCompaction", id="1"),
        item("compaction", encrypted_content="gAAAAAB"),
    )
    assert reading.payloads == [Compaction(summary="so far: x")]


def test_two_compactions_are_two_events():
    reading = read(
        record("compacted", {"message": "a"}), event("context_compacted"), record("compacted", {"message": "b"})
    )
    assert [c.summary for c in reading.of(Compaction)] == ["a", "b"]


def test_a_summary_that_comes_after_its_mark_is_not_lost():
    reading = read(event("context_compacted"), record("compacted", {"message": "so far"}))
    assert reading.of(Compaction)[-1].summary == "so far"


def test_the_history_that_replaces_the_context_is_never_given_as_turns():
    history = [user_item("old words")["payload"], assistant_item("old answer")["payload"]]
    assert read(record("compacted", {"message": "", "replacement_history": history})).kinds == ["compaction"]


def test_a_rollback_drops_turns_from_the_context_only():
    reading = read(user_event("a"), event("thread_rolled_back", num_turns=1))
    assert reading.payloads == [UserMessage(text="a"), Rewind(turns_dropped=1)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (event("task_started", turn_id=TURN_1), Lifecycle(name="turn_started")),
        (event("turn_started", turn_id=TURN_1), Lifecycle(name="turn_started")),
        (
            event("task_complete", turn_id=TURN_1, last_agent_message="said before", duration_ms=5),
            Lifecycle(name="turn_ended", detail={"duration_ms": 5}),
        ),
        (event("turn_aborted", reason="interrupted"), Lifecycle(name="turn_aborted", text="interrupted")),
        (event("thread_name_updated", thread_name="Fix it"), Lifecycle(name="title", title="Fix it")),
        (event("error", message="slow down"), Lifecycle(name="api_error", text="slow down")),
        (
            event("thread_settings_applied", thread_settings={"cwd": "/w/b", "model": "gpt-y"}),
            Lifecycle(name="mode", cwd="/w/b", model="gpt-y"),
        ),
        (
            event("thread_goal_updated", goal={"objective": "ship", "status": "open"}),
            Lifecycle(name="task", text="ship", detail={"status": "open"}),
        ),
        (
            item("ghost_snapshot", ghost_commit={"id": "abc"}),
            Lifecycle(name="checkpoint", detail={"ghost_commit": {"id": "abc"}}),
        ),
        (
            record("inter_agent_communication", {"content": "over to you", "trigger_turn": True}),
            Lifecycle(name="subagent", text="over to you", detail={"trigger_turn": True}),
        ),
    ],
)
def test_what_happens_around_the_conversation_is_lifecycle(value, expected):
    assert read(value).payloads == [expected]


def test_a_world_state_gives_the_instructions_once_and_the_rest_as_detail():
    state = {"agents_md": {"directory": "/w", "text": "be kind"}, "model": "gpt-x"}
    first, detail = read(record("world_state", {"full": True, "state": state})).payloads
    assert first == Instructions(text="be kind", source="AGENTS.md")
    assert detail.detail == {"full": True, "state": {"agents_md": {"directory": "/w"}, "model": "gpt-x"}}


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        (record("brand_new", {"note": "xylophone"}), "brand_new"),
        (item("telepathy_call", thought="xylophone"), "response_item/telepathy_call"),
        (event("aurora", body={"text": "xylophone"}), "event_msg/aurora"),
        (completed("Teapot", note="xylophone"), "item_completed/Teapot"),
    ],
)
def test_an_unknown_record_is_kept_and_readable(value, tag):
    (unknown,) = read(value).of(Unknown)
    assert unknown.type == tag
    assert "xylophone" in unknown.text


def test_an_unknown_record_leaves_out_long_unbroken_text():
    (unknown,) = read(event("aurora", blob="A" * 5000, note="kept words")).of(Unknown)
    assert unknown.text == "note: kept words"


def test_the_oldest_lines_have_no_wrapper_and_take_the_time_of_the_header():
    reading = read(
        {"id": THREAD, "timestamp": AT, "instructions": "be kind", "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    )
    assert reading.kinds == [
        "session_start",
        "instructions",
        "lifecycle",
        "user_message",
        "tool_call",
        "tool_result",
        "assistant_message",
    ]
    assert [d.ts_quality for d in reading.drafts] == ["exact"] * 2 + ["inferred"] * 5
    assert {d.ts for d in reading.drafts} == {AT_US}


def test_the_oldest_documents_hold_header_and_items_in_one_record():
    document = {
        "session": {"id": THREAD, "timestamp": AT, "instructions": ""},
        "items": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
            7,
        ],
    }
    reading = read(document, role="transcript_json")
    assert reading.kinds == ["session_start", "user_message", "tool_call", "unknown"]
    assert [d.code for d in reading.defects] == ["wrong_type"]
    assert reading.of(ToolCall)[0].canonical == "shell"


def test_a_record_without_time_takes_the_last_one_and_says_so():
    late = user_event("late")
    del late["timestamp"]
    reading = read(meta(), late)
    assert (reading.drafts[1].ts, reading.drafts[1].ts_quality) == (AT_US, "inferred")


def test_a_time_that_cannot_be_read_is_a_defect():
    reading = read(record("event_msg", {"type": "user_message", "message": "hi"}, at="yesterday"))
    assert reading.drafts[0].ts_quality == "missing"
    assert [d.code for d in reading.defects] == ["bad_timestamp"]


def test_a_payload_of_the_wrong_type_is_a_defect_and_stays_readable():
    reading = read(record("event_msg", ["xylophone"]))
    assert [d.code for d in reading.defects] == ["wrong_type"]
    assert "xylophone" in reading.of(Unknown)[0].text


def test_text_of_the_wrong_type_is_a_defect_and_stays_readable():
    reading = read(event("user_message", message={"deep": "xylophone"}))
    assert [d.code for d in reading.defects] == ["wrong_type"]
    assert "xylophone" in reading.of(UserMessage)[0].text


def test_files_without_any_header_hold_bare_messages():
    lines = [
        {"timestamp": AT, "role": "user", "content": "which way is up", "model": "o-mini"},
        {"timestamp": AT, "role": "assistant", "content": "that way"},
    ]
    reading = read(*lines)
    assert reading.kinds == ["user_message", "assistant_message"]
    head = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    assert ADAPTER.recognise("old.jsonl", head) == "transcript"


def test_a_bare_message_with_foreign_fields_is_somebody_elses():
    line = {"timestamp": AT, "role": "user", "content": "hi", "sessionId": "s", "uuid": "u"}
    assert ADAPTER.recognise("old.jsonl", msgspec.json.encode(line)) is None
