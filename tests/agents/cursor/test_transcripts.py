"""Transcripts below `projects/`: lines and, in older versions, one text. They leave out times, ids and results."""

from __future__ import annotations

from recollect.model.payloads import FileEdit
from tests.agents.cursor.rows import CHILD, COMPOSER, Story, line, said, transcript

TEXT = f"projects/w-demo/agent-transcripts/{COMPOSER}.txt"


def text(body: str) -> Story:
    return Story(transcript(TEXT, "transcript_text"), [body])


def test_a_question_is_taken_out_of_its_wrapping() -> None:
    wrapped = "<timestamp>Saturday, Aug 1, 2026, 9:00 AM (UTC+2)</timestamp>\n<user_query>\nHi.\n</user_query>"
    story = Story(transcript(), [line("user", said(wrapped))])
    assert story.one("user_message").text == "Hi."
    assert story.draft("user_message").ts == 1_785_567_600_000_000
    assert story.read.defects == ()


def test_what_the_harness_wrote_beside_a_question_is_injected() -> None:
    wrapped = "<system_reminder>Be brief.</system_reminder>\n<user_query>Hi.</user_query>"
    injected, human = Story(transcript(), [line("user", said(wrapped))]).of("user_message")
    assert (injected.origin, human.origin, human.text) == ("injected", "human", "Hi.")
    assert "Be brief." in injected.text


def test_a_question_without_wrapping_is_the_persons() -> None:
    assert (
        Story(transcript(), [{"role": "user", "message": {"content": "Hi <b>."}}]).one("user_message").text == "Hi <b>."
    )


def test_a_time_that_nobody_can_read_is_a_defect() -> None:
    wrapped = "<timestamp>yesterday</timestamp>\n<user_query>Hi.</user_query>"
    assert Story(transcript(), [line("user", said(wrapped))]).read.defects == ("bad_timestamp",)


def test_a_thought_that_is_left_out_is_marked_and_not_said() -> None:
    story = Story(
        transcript(), [line("assistant", said("Looking.\n\n[REDACTED]")), line("assistant", said("[REDACTED]"))]
    )
    assert [m.text for m in story.of("assistant_message")] == ["Looking."]
    assert [t.is_encrypted for t in story.of("thinking")] == [True, True]
    assert len(set(story.ids("thinking"))) == 2


def test_a_call_without_an_id_is_named_by_what_it_asks_for() -> None:
    use = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
    story = Story(transcript(), [line("assistant", use), line("assistant", use)])
    first, second = story.ids("tool_call")
    assert second == f"{first}/2"
    assert story.of("tool_call")[0].canonical == "shell"


def test_no_edit_is_told_of_a_call_whose_result_is_left_out() -> None:
    use = {"type": "tool_use", "name": "Write", "input": {"path": "a.py", "contents": "NEW = 1"}}
    story = Story(transcript(), [line("assistant", use)])
    assert story.of("file_edit") == []
    assert story.one("tool_call").arguments["contents"] == "NEW = 1"


def test_an_edit_is_told_where_a_result_is_written() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"path": "a.py", "contents": "NEW = 1"}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": [said("Done.")], "is_error": False}
    story = Story(transcript(), [line("assistant", use), line("tool", done)])
    assert story.one("file_edit") == FileEdit("a.py", after="NEW = 1", call_id="t1")
    assert (story.one("tool_result").ok, story.one("tool_result").name) == (True, "Write")


def test_a_result_in_the_users_role_is_no_question() -> None:
    done = {"type": "tool_result", "tool_use_id": "t1", "content": [said("a.py")]}
    story = Story(transcript(), [line("user", done)])
    assert story.of("user_message") == []
    assert story.one("tool_result").ok is None


def test_the_end_of_a_turn_is_told_by_its_status() -> None:
    ends = [
        {"type": "turn_ended", "status": "success"},
        {"type": "turn_ended", "status": "error", "error": "User aborted request"},
        {"type": "turn_ended", "status": "error", "error": "overloaded"},
    ]
    assert [e.name for e in Story(transcript(), ends).of("lifecycle")] == ["turn_ended", "interrupted", "api_error"]


def test_a_subagents_transcript_names_its_parent_even_where_a_better_store_has_a_start() -> None:
    path = f"projects/w-demo/agent-transcripts/{COMPOSER}/subagents/{CHILD}.jsonl"
    info = transcript(path, "subagent")
    assert info.session == CHILD
    story = Story(info, [line("user", said("Find the answer."))])
    assert story.one("session_start").parent_session == COMPOSER
    assert story.ids("session_start") == [f"start:{COMPOSER}"]


def test_times_and_models_are_taken_where_a_line_has_them() -> None:
    record = {"timestamp": "2026-08-01T09:00:00.000Z", "model": "m", **line("assistant", said("Hello."))}
    story = Story(transcript(), [record])
    assert story.draft("assistant_message").ts == 1_785_574_800_000_000
    assert story.one("assistant_message").model == "m"


def test_unknown_blocks_fields_and_lines_are_kept_and_counted() -> None:
    odd = {**line("assistant", {"type": "custom_block", "text": "Visible."}, said("Yes.")), "novelty": "x"}
    story = Story(transcript(), [odd, {"type": "from_the_future", "body": "kept"}])
    assert story.drift == ["custom_block", "message.novelty", "from_the_future"]
    assert [u.type for u in story.of("unknown")] == ["custom_block", "fields", "from_the_future"]


def test_a_whole_text_is_parted_by_its_roles_and_marks() -> None:
    story = text(
        "user:\n<user_query>\nRename it.\n</user_query>\n\nassistant:\n[Thinking] A constant, then.\n\nI rename it.\n"
        "[Tool call] StrReplace\n  path: a.py\n  old_string: OLD = 1\n  new_string: NEW = 1\n\n"
        "[Tool result] StrReplace\n\nassistant:\nRenamed.\n"
    )
    assert story.one("user_message").text == "Rename it."
    assert story.one("thinking").text == "A constant, then."
    assert [m.text for m in story.of("assistant_message")] == ["I rename it.", "Renamed."]
    call = story.one("tool_call")
    assert call.arguments == {"path": "a.py", "old_string": "OLD = 1", "new_string": "NEW = 1"}
    assert story.one("tool_result").call_id == call.call_id
    assert story.one("tool_result").ok is None
    assert (story.one("file_edit").before, story.one("file_edit").after) == ("OLD = 1", "NEW = 1")


def test_arguments_of_a_text_may_be_json_or_run_over_lines() -> None:
    story = text(
        'assistant:\n[Tool call] Shell\n  {"command": "ls"}\n[Tool call] Write\n  path=a.py\n  contents=x\n    y\n'
    )
    assert [c.arguments for c in story.of("tool_call")] == [{"command": "ls"}, {"path": "a.py", "contents": "x\n  y"}]


def test_a_text_that_grows_keeps_the_names_of_what_it_said() -> None:
    body = "user:\nFirst.\n\nassistant:\nOne.\n"
    before, after = text(body), text(f"{body}\nuser:\nFirst.\n\nassistant:\nOne.\n")
    names = [draft.native_id for draft in after.drafts]
    assert names[: len(before.drafts)] == [draft.native_id for draft in before.drafts]
    assert len(set(names)) == len(names)


def test_text_before_any_role_is_kept() -> None:
    assert text("A note.\n").one("unknown").text == "A note."


def test_a_prompt_history_has_no_session_of_its_own() -> None:
    info = transcript("prompt_history.json", "history")
    assert info.session == "prompt-history"
    story = Story(info, ["First.", "Second.", "First."])
    assert [m.text for m in story.of("user_message")] == ["First.", "Second.", "First."]
    assert len(set(story.ids("user_message"))) == 3
