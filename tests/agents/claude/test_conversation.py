"""Traps of the conversation itself: who wrote a text, responses in pieces, forks, rewinds, usage."""

from __future__ import annotations

import pytest

from recollect.agents.claude.messages import split_prompt
from recollect.agents.claude.state import MAX_BACKUPS, MAX_BLOCKS, MAX_CALLS, MAX_TURNS
from recollect.model.payloads import AssistantMessage, Rewind, UserMessage
from recollect.model.undone import step_of, undone
from tests.agents.claude.transcripts import (
    AT_US,
    OTHER,
    SESSION,
    Told,
    assistant,
    call,
    envelope,
    lifecycle,
    lines_of,
    said,
    source,
    tell,
    user,
)


def test_every_line_of_a_response_names_the_same_response() -> None:
    usages = [u for u in Told(lines_of("repeated_usage.jsonl")).all("token_usage") if u.dedupe_key == "msg_1:req_1"]
    assert [u.output_tokens for u in usages] == [5, 5, 631]


def test_usage_written_as_text_is_counted() -> None:
    [old] = [u for u in Told(lines_of("repeated_usage.jsonl")).all("token_usage") if u.dedupe_key == "msg_2:req_2"]
    assert (old.input_tokens, old.output_tokens, old.cache_write_5m_tokens) == (12, 34, 7)


def test_a_message_of_the_cli_itself_costs_nothing() -> None:
    told = tell(
        assistant(said("No response requested."), message={"model": "<synthetic>", "usage": {"output_tokens": 9}})
    )
    assert told.all("token_usage") == []
    assert told.one("assistant_message").model == ""


def test_claudes_own_totals_are_never_added_up() -> None:
    told = tell({"type": "cost-state", "sessionId": SESSION, "modelUsage": {"claude-x": {"inputTokens": 3}}})
    assert not told.one("token_usage").is_additive


def test_the_usage_of_a_task_is_not_counted_where_it_was_started() -> None:
    extra = {"agentId": "a1", "usage": {"output_tokens": 900}, "totalDurationMs": 5}
    told = tell(user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}], toolUseResult=extra))
    assert told.all("token_usage") == []


def test_usage_without_ids_is_named_by_its_record() -> None:
    record = assistant(said("x"), uuid="a-7", message={"id": None, "usage": {"output_tokens": 1}})
    del record["requestId"]
    assert tell(record).one("token_usage").dedupe_key == "a-7:"


@pytest.mark.parametrize("count", ["many", -1, 1.5, True, 2**64, [], {}])
def test_a_count_that_is_no_count_reads_as_zero_and_is_a_defect(count: object) -> None:
    told = tell(assistant(said("x"), message={"usage": {"input_tokens": count, "output_tokens": 3}}))
    assert (told.one("token_usage").input_tokens, told.one("token_usage").output_tokens) == (0, 3)
    assert [d.detail for d in told.defects] == ["input_tokens"]


def test_a_longer_snapshot_replaces_the_shorter_one() -> None:
    told = Told(lines_of("growing_snapshots.jsonl"))
    assert [d.replaces for d in told.drafts if d.replaces] == [("a-1", 0), ("a-2", 0), ("a-3", 1)]


def test_text_after_a_finished_response_is_new_text() -> None:
    told = Told(lines_of("growing_snapshots.jsonl"))
    assert told.drafts[-1].replaces is None


def test_a_different_block_of_the_same_response_is_added() -> None:
    told = tell(assistant(said("One."), uuid="a-1"), assistant(said("Two."), uuid="a-2"))
    assert [d.replaces for d in told.drafts] == [None, None]


def test_a_replayed_record_replaces_nothing() -> None:
    told = tell(assistant(said("One."), uuid="a-1"), assistant(said("One."), uuid="a-1"))
    assert [d.replaces for d in told.drafts] == [None, None]


def test_a_fork_repeats_the_ids_parts_and_usage_of_its_history() -> None:
    history = lines_of("repeated_usage.jsonl")[:-1]
    fork = [{**r, "sessionId": OTHER, "sessionKind": "bg"} for r in history]
    info = source(path=f"projects/-w-demo/{OTHER}.jsonl", session=OTHER)
    assert Told(fork, info).drafts == Told(history).drafts


def test_a_record_hangs_on_the_bookkeeping_record_before_it() -> None:
    told = tell(
        envelope("system", "s-1", "u-0", subtype="turn_duration", durationMs=1),
        user("next", "u-1", "s-1"),
    )
    assert [d.parent_id for d in told.drafts] == ["u-0", "s-1"]


def test_a_new_turn_on_an_older_record_is_a_rewind() -> None:
    told = Told(lines_of("rewound.jsonl"))
    assert (told.one("rewind").to_event, told.one("rewind").turns_dropped) == ("a-1", 1)


def test_a_rewind_stands_before_the_turn_that_shows_it_and_leaves_its_parts_alone() -> None:
    records = lines_of("rewound.jsonl")
    alone = Told([*records[:2], records[4]])
    rewind, turn = Told(records).by_record[4]
    assert (type(rewind.payload), rewind.native_id) == (Rewind, "u-3/rewind")
    assert alone.drafts[-1] == turn


def test_an_edit_of_the_first_prompt_is_a_rewind_of_everything() -> None:
    told = Told([user("first", "u-1"), assistant(said("One.")), user("better", "u-2")])
    assert (told.one("rewind").to_event, told.one("rewind").turns_dropped) == ("", 1)
    assert told.kinds[-2:] == ["rewind", "user_message"]


def test_going_back_into_a_branch_that_was_left_takes_it_up_again() -> None:
    told = Told(
        [
            user("first", "u-1"),
            assistant(said("One."), uuid="a-1", parentUuid="u-1"),
            user("use redis", "u-2", "a-1"),
            assistant(said("Redis it is."), uuid="a-2", parentUuid="u-2"),
            user("use memcached", "u-3", "a-1"),
            assistant(said("Memcached it is."), uuid="a-3", parentUuid="u-3"),
            user("go on with redis", "u-4", "a-2"),
            assistant(said("On with it."), uuid="a-4", parentUuid="u-4"),
        ]
    )
    assert [(one.to_event, one.turns_dropped) for one in told.all("rewind")] == [("a-1", 1), ("a-2", None)]
    steps = [step_of(draft.native_id or "", draft.payload, is_sidechain=False) for draft in told.drafts]
    gone = [draft.payload for draft, is_gone in zip(told.drafts, undone(steps), strict=True) if is_gone]
    left = [payload.text for payload in gone if isinstance(payload, UserMessage | AssistantMessage)]
    assert left == ["use memcached", "Memcached it is."]


def test_a_record_written_twice_is_no_rewind() -> None:
    turn = user("second", "u-2", "a-1")
    assert Told([user("first"), assistant(said("x")), turn, assistant(said("y"), uuid="a-2"), turn]).all("rewind") == []


def test_several_commands_below_one_notice_are_no_rewind() -> None:
    notice = user("Caveat: local commands", "c-1", isMeta=True)
    commands = [user(f"<command-name>/{n}</command-name>", f"u-{n}", "c-1") for n in ("doctor", "status", "mcp")]
    assert Told([notice, *commands]).all("rewind") == []


def test_parallel_tool_results_are_no_rewind() -> None:
    results = [
        user([{"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": "ok"}], f"u-{i}", "a-1") for i in range(4)
    ]
    assert tell(*results).all("rewind") == []


def test_a_prompt_between_reminders_is_taken_apart() -> None:
    pieces = split_prompt("<ide_selection>x = 1</ide_selection>\nwhy?\n<system-reminder>be brief</system-reminder>\n")
    assert (pieces.text, pieces.origin) == ("why?", "human")
    assert pieces.injected == "<ide_selection>x = 1</ide_selection>\n<system-reminder>be brief</system-reminder>"


def test_a_reminder_quoted_in_a_prompt_stays_in_it() -> None:
    text = "what does <system-reminder>x</system-reminder> mean?"
    assert split_prompt(text) == ("", text, "human")


def test_a_reminder_that_never_ends_is_injected_text() -> None:
    assert split_prompt("<system-reminder>cut off").origin == "injected"


def test_the_context_of_the_editor_stands_apart_from_the_prompt_and_its_image() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    told = tell(user([said("<ide_opened_file>a.md</ide_opened_file>"), picture, said("what is this?")]))
    injected, human = told.all("user_message")
    assert (injected.origin, injected.parts) == ("injected", ())
    assert (human.origin, human.text, human.parts[0].bytes) == ("human", "what is this?", 5)


def test_base64_never_becomes_text() -> None:
    data = "QUJD" * 400
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    told = tell(user([picture]), assistant({"type": "comet", "data": data, "name": "tail"}))
    assert data not in repr(told.drafts)
    assert "tail" in told.one("unknown").text


def test_base64_that_is_none_is_a_defect() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a"}}
    told = tell(user([picture]))
    assert [d.code for d in told.defects] == ["bad_base64"]
    assert told.one("user_message").parts[0].sha256 == ""


def test_a_prompt_typed_while_the_agent_worked_is_a_human_turn() -> None:
    told = Told(lines_of("queued_prompts.jsonl"))
    assert [(p.text, p.origin) for p in told.all("user_message")][1:] == [
        ("and run the tests", "queued"),
        ("like this", "queued"),
        ("<task-notification>done</task-notification>", "injected"),
        ("no uuid here", "queued"),
    ]


def test_what_an_agent_told_its_subagent_inside_a_root_transcript_is_no_human_turn() -> None:
    assert tell(user("count files", isSidechain=True)).one("user_message").origin == "injected"


def test_a_compact_summary_is_a_compaction_and_no_turn() -> None:
    told = tell(user("This session is being continued", "u-5", isCompactSummary=True))
    assert told.one("compaction").continues_at == "u-5"


def test_thinking_that_is_only_signed_is_marked_encrypted() -> None:
    blocks = (
        {"type": "thinking", "thinking": "", "signature": "x" * 80},
        {"type": "redacted_thinking", "data": "y" * 80},
    )
    assert [t.is_encrypted for t in tell(assistant(*blocks)).all("thinking")] == [True, True]


def test_the_tool_of_a_server_gives_a_call_and_a_result() -> None:
    asked = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "moths"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "srv_1",
        "content": [{"type": "web_search_result", "title": "On moths", "encrypted_content": "Z" * 90}],
    }
    told = tell(assistant(asked, found))
    assert (told.one("tool_call").canonical, told.one("tool_result").name) == ("fetch", "web_search")
    assert "On moths" in told.one("tool_result").text
    assert "ZZZ" not in told.one("tool_result").text


def test_a_change_of_folder_and_branch_is_told_before_the_record_it_comes_with() -> None:
    told = tell(user("go on", "u-1", "a-1", cwd="/w/other", gitBranch="topic"))
    assert told.kinds == ["lifecycle", "lifecycle", "user_message"]
    assert (lifecycle(told, "cwd")[0].cwd, lifecycle(told, "branch")[0].branch) == ("/w/other", "topic")


def test_a_record_without_a_time_has_the_time_of_the_record_before() -> None:
    draft = tell({"type": "mode", "mode": "plan", "sessionId": SESSION}).drafts[0]
    assert (draft.ts, draft.ts_quality) == (AT_US, "inferred")


def test_before_any_time_there_is_none() -> None:
    draft = Told([{"type": "summary", "summary": "x", "leafUuid": "u"}]).drafts[0]
    assert (draft.ts, draft.ts_quality, draft.native_id) == (None, "missing", None)


def test_a_time_that_is_none_is_a_defect() -> None:
    told = tell(user("x", timestamp="yesterday"))
    assert [d.code for d in told.defects] == ["bad_timestamp"]
    assert told.drafts[0].ts_quality == "inferred"


def test_the_state_stays_small_however_long_the_session_is() -> None:
    records = []
    for i in range(MAX_TURNS + 50):
        records.append(user("turn", f"{i:036}", f"{i:035}p"))
        records += [assistant(call("Bash", {}, f"toolu_{i}_{j}"), uuid=f"a-{i}-{j}") for j in range(3)]
        backups = {f"f{i}-{j}": {"backupFileName": f"{i}@v{j}", "version": 1} for j in range(4)}
        records.append({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": backups}})
    state = Told(records).state
    assert (len(state.turns), len(state.calls), len(state.backups)) == (MAX_TURNS, MAX_CALLS, MAX_BACKUPS)
    assert len(state.blocks) <= MAX_BLOCKS
