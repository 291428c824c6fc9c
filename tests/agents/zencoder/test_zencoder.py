"""Zencoder's traps, one by one."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = FormatAdapter("zencoder")


def drafts(role: str, values: list[Any], at: str = "", path: str = "s1.jsonl") -> list[Draft]:
    info = SourceInfo("zencoder", role, path)
    info = SourceInfo("zencoder", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


HEADER = {"id": "s1", "creationReason": "newChat", "createdAt": "2026-08-01T09:00:00Z"}


def line(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "createdAt": "2026-08-01T09:00:01Z", **fields}


def test_tags_tell_what_the_harness_put_into_a_prompt():
    blocks = [
        {"type": "text", "text": "env", "tag": "system-reminder"},
        {"type": "text", "text": "Hi", "tag": "user-input"},
    ]
    found = of("user_message", drafts("transcript", [HEADER, line("user", blocks)]))
    assert [(p.text, p.origin) for p in found] == [("Hi", "human"), ("env", "injected")]


def test_a_skill_in_a_prompt_is_an_instruction():
    block = {"type": "skill", "name": "review", "content": "Look twice."}
    found = drafts("transcript", [HEADER, line("user", [block])])
    assert [p.source for p in of("instructions", found)] == ["skill:review"]
    assert of("user_message", found) == []


def test_the_folder_stands_in_the_prompt():
    found = drafts("transcript", [HEADER, line("system", "Env:\nWorking directory: /work/demo\nOS: linux")])
    assert [p.cwd for p in of("lifecycle", found)] == ["/work/demo"]
    assert len(of("instructions", found)) == 1


def test_what_the_harness_adds_to_a_result_is_not_the_tools():
    pieces = [{"type": "text", "text": "3 passed"}, {"type": "text", "text": "Mind the list.", "tag": "todo-reminder"}]
    block = {"type": "tool-result", "toolCallId": "c1", "toolName": "Bash", "content": pieces}
    found = drafts("transcript", [HEADER, line("tool", [block])])
    assert of("tool_result", found)[0].text == "3 passed"
    assert [(p.text, p.origin) for p in of("user_message", found)] == [("Mind the list.", "injected")]


def test_a_result_links_the_subagents_session_to_its_parent():
    pieces = [{"type": "text", "text": "done <session-id>child-1</session-id>"}]
    block = {"type": "tool-result", "toolCallId": "c1", "toolName": "Task", "content": pieces}
    found = drafts("transcript", [HEADER, line("tool", [block])])
    told = next(d for d in found if d.session == "child-1")
    assert told.payload.parent_session == "s1"


def test_a_session_goes_on_only_where_the_header_says_so():
    def start(reason: str) -> Any:
        return of("session_start", drafts("transcript", [{**HEADER, "creationReason": reason, "parentId": "s0"}]))[0]

    assert start("summarizedContinuation").resumed_from == "s0"
    assert start("newChat").resumed_from == ""


def test_a_header_written_again_is_a_new_version_of_the_start():
    found = drafts("transcript", [HEADER])
    assert [d.native_id for d in found] == ["start"]


def test_an_exit_code_in_a_piece_tells_a_failure():
    pieces = [{"type": "shell-result", "text": "1 failed", "exitCode": 1}]
    block = {"type": "tool-result", "toolCallId": "c1", "toolName": "Bash", "content": pieces}
    result = of("tool_result", drafts("transcript", [HEADER, line("tool", [block])]))[0]
    assert (result.ok, result.exit_code, result.text) == (False, 1, "1 failed")


def test_a_stopped_turn_is_told_from_one_that_ended():
    found = drafts(
        "transcript", [HEADER, line("finish", None, reason="stop"), line("finish", None, reason="cancelled")]
    )
    assert [p.name for p in of("lifecycle", found)] == ["turn_ended", "turn_aborted"]


def test_the_id_in_the_header_names_the_session():
    info = SourceInfo("zencoder", "transcript", "other.jsonl")
    assert ADAPTER.identify(info, b'{"id":"s1","creationReason":"newChat"}\n{"role":"user"}') == "s1"
    assert ADAPTER.identify(info, b"") == "other"
    assert ADAPTER.recognise("x", b'{"id":"s1","creationReason":"newChat"}\n') == "transcript"
    assert ADAPTER.recognise("x", b'{"type":"session","id":"s1"}\n') is None
