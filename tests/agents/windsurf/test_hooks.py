"""Payloads of Cascade's hooks: sessions, turns, and actions before and after."""

from __future__ import annotations

from recollect.model.payloads import FileEdit
from tests.agents.windsurf.records import AT_US, TRAJECTORY, Story, payload, step

OTHER = "0d000000-0000-4000-8000-000000000002"


def test_the_first_payload_begins_its_session() -> None:
    story = Story(
        "hooks", [payload("pre_user_prompt", user_prompt="Hi."), payload("post_cascade_response", response="Hello.")]
    )
    assert story.one("session_start").model == "model-x"
    assert story.one("user_message").text == "Hi."
    assert story.one("assistant_message").model == "model-x"
    assert {(draft.ts, draft.ts_quality) for draft in story.drafts} == {(AT_US, "exact")}
    assert {draft.session for draft in story.drafts} == {None}


def test_a_payload_belongs_to_the_session_that_it_names() -> None:
    story = Story(
        "hooks",
        [payload("pre_user_prompt", user_prompt="Hi."), payload("pre_user_prompt", session=OTHER, user_prompt="Yo.")],
    )
    assert [draft.session for draft in story.drafts_of("user_message")] == [None, OTHER]
    assert [draft.session for draft in story.drafts_of("session_start")] == [None, OTHER]


def test_an_action_before_and_after_is_one_call() -> None:
    asked = {"command_line": "pytest -q", "cwd": "/w"}
    story = Story("hooks", [payload("pre_run_command", **asked), payload("post_run_command", **asked)])
    assert story.one("tool_call").canonical == "shell"
    assert (story.one("tool_result").ok, story.one("tool_result").call_id) == (None, story.one("tool_call").call_id)


def test_the_second_run_of_a_command_in_a_turn_is_another_call() -> None:
    asked = {"command_line": "ls", "cwd": "/w"}
    lines = [payload(f"{moment}_run_command", **asked) for moment in ("pre", "post", "pre", "post")]
    story = Story("hooks", lines)
    first, second = story.of("tool_call")
    assert first.call_id != second.call_id
    assert [r.call_id for r in story.of("tool_result")] == [first.call_id, second.call_id]


def test_an_action_is_told_where_only_the_hook_after_it_is_set_up() -> None:
    story = Story("hooks", [payload("post_read_code", file_path="/w/a.py")])
    assert story.one("tool_call").canonical == "read"
    assert story.one("tool_result").name == "read_code"


def test_a_failed_command_marked_only_by_its_exit_code_is_a_failure() -> None:
    story = Story("hooks", [payload("post_run_command", command_line="x", exit_code=2, stderr="no")])
    assert (story.one("tool_result").ok, story.one("tool_result").text) == (False, "no")


def test_a_change_has_its_replacements_and_only_after_it_was_made() -> None:
    change = {"file_path": "/w/a.py", "edits": [{"old_string": "OLD = 1", "new_string": "NEW = 1"}]}
    story = Story("hooks", [payload("pre_write_code", **change), payload("post_write_code", **change)])
    edit = story.one("file_edit")
    assert edit == FileEdit("/w/a.py", before="OLD = 1", after="NEW = 1", call_id=edit.call_id)
    assert edit.call_id == story.of("tool_call")[0].call_id


def test_a_tool_of_an_mcp_server_has_its_own_name_and_result() -> None:
    asked = {"mcp_server_name": "memory", "mcp_tool_name": "recall", "mcp_tool_arguments": {"q": "x"}}
    story = Story(
        "hooks", [payload("pre_mcp_tool_use", **asked), payload("post_mcp_tool_use", **asked, mcp_result="found")]
    )
    call = story.one("tool_call")
    assert (call.name, call.canonical, call.arguments) == ("recall", "mcp", {"q": "x"})
    assert story.one("tool_result").text == "found"


def test_a_session_begins_and_ends_where_the_build_says_so() -> None:
    story = Story("hooks", [payload("session_start", cwd="/w"), payload("session_end", reason="closed")])
    assert story.one("session_start").cwd == "/w"
    assert story.one("session_end").reason == "closed"


def test_worktrees_models_and_transcripts_are_told() -> None:
    second = {**payload("pre_user_prompt", user_prompt="Hi."), "model_name": "model-y"}
    lines = [
        payload("post_setup_worktree", worktree_path="/w/2"),
        second,
        payload("post_cascade_response_with_transcript", transcript_path="/t"),
    ]
    found = [(e.name, e.cwd, e.model, e.text) for e in Story("hooks", lines).of("lifecycle")]
    assert found == [
        ("cwd", "/w/2", "", ""),
        ("model", "", "model-y", ""),
        ("model", "", "model-x", ""),
        ("hook", "", "", "/t"),
    ]


def test_unknown_actions_and_fields_are_kept_and_counted() -> None:
    story = Story("hooks", [payload("pre_dream", of="sheep"), {**payload("session_end"), "novelty": "x"}])
    assert story.drift == ["pre_dream", "payload.novelty"]
    assert "sheep" in story.of("unknown")[0].text


def test_a_payload_without_what_it_is_about_is_kept() -> None:
    assert "odd" in Story("hooks", [payload("pre_user_prompt", odd="odd")]).one("unknown").text


def test_a_session_is_begun_once_however_often_its_file_is_read_on() -> None:
    story = Story("hooks", [payload("pre_user_prompt", turn=f"ex{i}", user_prompt="Hi.") for i in range(3)])
    assert story.ids("session_start") == ["start"]
    assert len(set(story.ids("user_message"))) == 3
    assert TRAJECTORY not in str(story.ids("user_message"))


def test_words_have_the_names_that_the_transcript_gives_them() -> None:
    hooks = [
        payload("pre_user_prompt", session=OTHER, user_prompt="Hi."),
        payload("pre_user_prompt", user_prompt="Hi."),
        payload("post_cascade_response", response="Hello."),
    ]
    steps = [step("user_input", user_response="Hi."), step("planner_response", response="Hello.")]
    told, written = Story("hooks", hooks), Story("transcript", steps)
    assert told.ids("user_message")[1:] == written.ids("user_message")
    assert told.ids("assistant_message") == written.ids("assistant_message")
