"""Reasonix's traps, one by one."""

from __future__ import annotations

from typing import Any

from recollect.agents.reasonix.parse import ReasonixAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = ReasonixAdapter()


def drafts(role: str, values: list[Any], at: str = "", path: str = "sessions/s1.events.jsonl") -> list[Draft]:
    info = SourceInfo("reasonix", role, path)
    info = SourceInfo("reasonix", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


def event(number: int, kind: str, messages: list[Any], **fields: Any) -> dict[str, Any]:
    return {"schema_version": 1, "type": kind, "revision": number, "messages": messages, **fields}


def user(said: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": said, **fields}


def test_a_transcript_written_again_gives_nothing_twice():
    found = drafts("events", [event(1, "append", [user("a"), user("b")]), event(2, "replace", [user("a"), user("b")])])
    assert [p.text for p in of("user_message", found)] == ["a", "b"]
    assert of("rewind", found) == []


def test_what_a_replaced_transcript_has_no_more_was_taken_back():
    found = drafts("events", [event(1, "append", [user("a"), user("b"), user("c")]), event(2, "replace", [user("a")])])
    rewind = of("rewind", found)[0]
    first = next(d for d in found if kind_of(d.payload) == "user_message")
    assert (rewind.turns_dropped, rewind.to_event) == (2, first.native_id)


def test_a_transcript_that_the_agent_made_shorter_was_compacted():
    found = drafts("events", [event(1, "append", [user("a")]), event(2, "replace", [], reason="compact_auto")])
    assert [p.trigger for p in of("compaction", found)] == ["compact_auto"]
    assert of("rewind", found) == []


def test_equal_messages_are_told_apart_by_counting():
    found = drafts("events", [event(1, "append", [user("yes"), user("yes")]), event(2, "append", [user("yes")])])
    names = [d.native_id for d in found]
    assert len(set(names)) == 3
    assert names[1].endswith("/2")


def test_event_log_and_checkpoint_give_a_message_the_same_name():
    message = user("a", createdAt=1785574801000)
    logged = drafts("events", [event(1, "append", [message])])
    kept = drafts("checkpoint", [message], path="sessions/s1.jsonl")
    assert [d.native_id for d in logged] == [d.native_id for d in kept]


def test_notes_that_come_later_do_not_rename_a_message():
    plain = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "bash", "arguments": "{}"}]}
    noted = {**plain, "workDurationMs": 5, "tool_calls": [{**plain["tool_calls"][0], "diff": "x", "added": 1}]}
    found = drafts("events", [event(1, "append", [plain]), event(2, "replace", [noted])])
    assert len(of("tool_call", found)) == 1


def test_an_exit_code_beside_the_result_tells_a_failure():
    result = {"role": "tool", "tool_call_id": "c1", "content": "x", "tool_execution": {"exitCode": 2, "durationMs": 7}}
    found = of("tool_result", drafts("checkpoint", [result]))[0]
    assert (found.ok, found.exit_code, found.duration_ms) == (False, 2, 7)


def test_a_result_that_never_came_is_an_interruption():
    said = "[no result: the previous turn was interrupted before this tool call completed]"
    found = drafts("checkpoint", [{"role": "tool", "tool_call_id": "c1", "content": said}])
    assert of("tool_result", found)[0].ok is False
    assert [p.name for p in of("lifecycle", found)] == ["interrupted"]


def test_what_the_host_put_into_the_users_role_is_injected():
    found = drafts("checkpoint", [user("Go on.", origin="host_reminder"), user("Hi", origin="user")])
    assert [p.origin for p in of("user_message", found)] == ["injected", "human"]


def test_the_whole_text_stands_beside_the_one_that_was_cut():
    found = drafts("checkpoint", [user("Lo…", raw_content="Long text")])
    assert of("user_message", found)[0].text == "Long text"


def test_what_only_the_user_saw_is_no_tool_result():
    local = {"role": "tool", "tool_call_id": "__reasonix_local_only__", "local_only": True, "content": "Half an ans"}
    found = drafts("checkpoint", [{**local, "interrupted_turn": {"pending": True}}])
    assert [(p.name, p.text) for p in of("lifecycle", found)] == [("interrupted", "Half an ans")]
    assert of("tool_result", found) == []


def test_without_a_replacement_in_the_arguments_the_preview_is_the_edit():
    call = {"id": "c1", "name": "edit_file", "arguments": '{"path": "a.py"}', "diff": "-x\n+y"}
    found = drafts("checkpoint", [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1"}])
    assert [(e.path, e.diff) for e in of("file_edit", found)] == [("a.py", "-x\n+y")]


def test_a_users_decision_is_kept():
    receipt = {"id": "r1", "kind": "plan", "outcome": "approved"}
    found = drafts("checkpoint", [{"role": "assistant", "content": "x", "decision_receipts": [receipt]}])
    assert [(p.name, p.text) for p in of("lifecycle", found)] == [("permission", "approved")]


def test_sidecars_tell_lineage():
    branch = of("session_start", drafts("meta", [{"id": "s2", "parent_id": "s1"}], path="sessions/s2.jsonl.meta"))[0]
    meta = {"ref": "sa_1", "parentSession": "s1", "name": "finder", "status": "completed"}
    child = of("session_start", drafts("subagent_meta", [meta], path="sessions/subagents/sa_1.meta.json"))[0]
    assert branch.forked_from == "s1"
    assert (child.parent_session, child.agent_name) == ("s1", "finder")


def test_all_files_of_a_session_have_one_name():
    names = ("s1.jsonl", "s1.events.jsonl", "s1.jsonl.meta", "s1.meta.json")
    assert {ADAPTER.identify(SourceInfo("reasonix", "events", f"sessions/{n}"), b"") for n in names} == {"s1"}
