"""The traps of Hermes's records, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.agents.hermes.parse import HermesAdapter
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from tests.agents.hermes.databases import parse

ADAPTER = HermesAdapter()
T0 = 1785574800.0


def rows(*values: dict[str, Any], role: str = "messages", at: str = "messages") -> tuple[list[Any], list[str]]:
    records = [
        Record({"id": i, "session_id": "s", "timestamp": T0 + i, **v} if at == "messages" else v, b"", i, at)
        for i, v in enumerate(values)
    ]
    drafts, defects, _ = parse(ADAPTER, SourceInfo("hermes", role, "state.db", "s", "s"), records)
    return drafts, defects


def payloads(*values: dict[str, Any], **where: str) -> list[Any]:
    return [d.payload for d in rows(*values, **where)[0]]


def call(name: str, arguments: dict[str, Any], call_id: str = "c1") -> dict[str, Any]:
    asked = {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": "", "tool_calls": [asked]}


def result(content: Any, call_id: str = "c1") -> dict[str, Any]:
    written = content if isinstance(content, str) else json.dumps(content)
    return {"role": "tool", "content": written, "tool_call_id": call_id, "tool_name": "x"}


@pytest.mark.parametrize("dash", ["-", "\u2013", "\u2014"])
def test_a_summary_is_known_by_its_first_words_whatever_the_dash(dash: str):
    (found,) = payloads({"role": "user", "content": f"[CONTEXT COMPACTION {dash} REFERENCE ONLY] All was well."})
    assert kind_of(found) == "compaction"


def test_a_summary_of_the_first_versions_is_one_too():
    (found,) = payloads({"role": "assistant", "content": "[CONTEXT SUMMARY]: All was well."})
    assert kind_of(found) == "compaction"


def test_a_prompt_behind_a_summary_in_one_row_is_still_a_persons():
    end = "--- END OF CONTEXT SUMMARY \u2014 respond to the message below, not the summary above ---"
    content = f"[CONTEXT COMPACTION \u2014 REFERENCE ONLY] All was well.\n\n{end}\n\nGo on with b.py."
    compaction, prompt = payloads({"role": "user", "content": content})
    assert compaction.summary.endswith("All was well.")
    assert (prompt.text, prompt.origin) == ("Go on with b.py.", "human")


def test_a_reply_before_a_summary_in_one_row_stays_a_reply():
    content = (
        "[PRIOR CONTEXT \u2014 for reference only; not a new message]\nDone with a.py.\n"
        "[END OF PRIOR CONTEXT \u2014 COMPACTION SUMMARY BELOW]\n"
        "[CONTEXT COMPACTION \u2014 REFERENCE ONLY] All was well."
    )
    compaction, reply = payloads({"role": "assistant", "content": content})
    assert compaction.summary.startswith("[CONTEXT COMPACTION")
    assert reply.text == "Done with a.py."


def test_an_invoked_skill_is_a_command_and_its_text_is_the_harness_s():
    content = (
        '[IMPORTANT: The user has invoked the "release" skill, indicating they want you to follow its instructions. '
        "The full skill content is loaded below.]\n\n# Release\n\nThe user has provided the following instruction "
        "alongside the skill invocation: cut 1.2\n\n[Runtime note: synthetic]"
    )
    scaffold, command = payloads({"role": "user", "content": content})
    assert (command.text, command.origin) == ("/release cut 1.2", "command")
    assert scaffold.origin == "injected"


@pytest.mark.parametrize(
    "row",
    [
        {"content": "Review the conversation above and update the skill library."},
        {"content": "[System note: the last turn was cut.]"},
        {"content": "Hello", "display_kind": "hidden"},
        {"content": "said by somebody else in the room", "observed": 1},
    ],
)
def test_text_of_the_harness_in_the_users_role_is_not_a_persons(row: dict[str, Any]):
    (found,) = payloads({"role": "user", **row})
    assert found.origin == "injected"


def test_a_row_that_a_compaction_copied_is_the_same_message():
    first = {"role": "user", "content": "First.", "timestamp": T0}
    drafts, _ = rows({**first, "active": 0, "compacted": 1}, {**first, "active": 1, "compacted": 0})
    assert len({d.native_id for d in drafts}) == 1


def test_the_same_words_at_another_time_are_another_message():
    drafts, _ = rows({"role": "user", "content": "Go on."}, {"role": "user", "content": "Go on."})
    assert len({d.native_id for d in drafts}) == 2


def test_reasoning_that_stands_in_several_columns_is_given_once():
    row = {
        "role": "assistant", "content": "Because.", "reasoning": "A loop.", "reasoning_content": "A loop.",
        "reasoning_details": [{"type": "reasoning.text", "text": "A loop."}],
    }  # fmt: skip
    thinking, _ = payloads(row)
    assert thinking.text == "A loop."


def test_reasoning_that_is_only_encrypted_says_so_and_shows_nothing():
    row = {
        "role": "assistant",
        "content": "Yes.",
        "codex_reasoning_items": [{"encrypted_content": "c3ludGhldGlj" * 20}],
    }
    thinking, _ = payloads(row)
    assert (thinking.text, thinking.is_encrypted) == ("", True)


def test_an_error_that_hides_in_the_result_is_a_failure():
    for content in (
        {"output": "", "exit_code": -1, "error": "no such shell"},
        {"success": False, "message": "no match"},
    ):
        assert payloads(call("terminal", {}), result(content))[1].ok is False


def test_a_command_that_failed_is_a_failure_with_its_exit_code():
    found = payloads(call("terminal", {"command": "x"}), result({"output": "1 failed", "exit_code": 2, "error": None}))[
        1
    ]
    assert (found.ok, found.exit_code, found.text) == (False, 2, "1 failed")


def test_a_result_that_says_nothing_of_success_leaves_it_open():
    assert payloads(call("read_file", {}), result("text of a file"))[1].ok is None


def test_an_edit_that_was_refused_is_none():
    asked = call("write_file", {"path": "a.py", "content": "NEW = 1"})
    assert "file_edit" not in [kind_of(p) for p in payloads(asked, result({"error": "denied by the user"}))]
    edit = payloads(asked, result({"bytes_written": 7}))[2]
    assert (edit.path, edit.after) == ("a.py", "NEW = 1")


def test_a_patch_of_several_files_is_told_by_the_result():
    asked = call("patch", {"mode": "patch", "patch": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"})
    edit = payloads(asked, result({"success": True, "diff": "--- a/a.py", "files_modified": ["a.py", "b.py"]}))[2]
    assert (edit.path, edit.diff) == ("a.py", "--- a/a.py")


def test_content_with_images_is_decoded_and_the_bytes_become_a_hash():
    url = "data:image/png;base64,c3ludGhldGlj"
    content = "\x00json:" + json.dumps(
        [{"type": "text", "text": "See."}, {"type": "image_url", "image_url": {"url": url}}]
    )
    (found,) = payloads({"role": "user", "content": content})
    assert found.text == "See."
    assert (found.parts[0].media_type, found.parts[0].bytes) == ("image/png", 9)


def test_a_time_from_a_damaged_page_is_a_defect_and_no_time():
    drafts, defects = rows({"role": "user", "content": "Hello", "timestamp": 5e246})
    assert defects == ["bad_timestamp"]
    assert drafts[0].ts_quality == "missing"


@pytest.mark.parametrize(
    ("marker", "source", "field"),
    [
        ("_branched_from", "cli", "forked_from"),
        ("_delegate_from", "cli", "parent_session"),
        ("", "tool", "parent_session"),
        ("", "cli", "resumed_from"),
    ],
)
def test_the_marker_that_names_the_parent_says_how_a_session_came(marker: str, source: str, field: str):
    row = {"id": "s", "parent_session_id": "p", "source": source, "model_config": {marker: "p"}, "started_at": T0}
    start = payloads(row, role="session", at="sessions")[0]
    found = {name for name in ("forked_from", "parent_session", "resumed_from") if getattr(start, name) == "p"}
    assert found == {field}


def test_a_marker_inherited_from_a_grandparent_says_nothing():
    row = {
        "id": "s",
        "parent_session_id": "p",
        "source": "cli",
        "model_config": {"_delegate_from": "g"},
        "started_at": T0,
    }
    start = payloads(row, role="session", at="sessions")[0]
    assert (start.parent_session, start.resumed_from) == ("", "p")


def test_a_reset_is_a_conversation_of_its_own():
    row = {"id": "s", "parent_session_id": "p", "model_config": {"_reset_from": "p"}, "started_at": T0}
    start, reset = payloads(row, role="session", at="sessions")[:2]
    assert start.resumed_from == start.forked_from == start.parent_session == ""
    assert (reset.name, reset.detail) == ("reset", {"previous_session": "p"})


def test_names_and_chats_of_people_match_no_column():
    for place in ADAPTER.facts.places:
        for table in place.tables:
            if table.name == "sessions":
                assert {"user_id", "chat_id", "session_key", "display_name", "origin_json"} <= set(table.exclude)
            assert table.name in {"messages", "sessions", "session_model_usage", "system_prompts"}


def test_the_same_words_twice_in_a_file_without_ids_are_two_messages():
    info = SourceInfo("hermes", "lines", "sessions/20260101_090000_ab.jsonl", "s")
    records = [Record({"role": "user", "content": "Go on."}, b"", i) for i in range(3)]
    names = [d.native_id for d in parse(ADAPTER, info, records)[0]]
    assert names == [names[0], f"{names[0]}/2", f"{names[0]}/3"]


def test_a_file_of_another_agent_is_not_taken():
    assert ADAPTER.recognise("x", b'{"type":"session","id":"1","cwd":"/work"}\n') is None
    assert ADAPTER.recognise("x", b'{"role":"user","content":"hello"}\n') is None
    assert ADAPTER.recognise("x", b'{"role":"session_meta","model":"m","platform":"cli","tools":[]}\n') == "lines"
    assert ADAPTER.recognise("x", b'{\n "session_id": "a", "platform": "cli", "session_start": "2026"') == "file"
