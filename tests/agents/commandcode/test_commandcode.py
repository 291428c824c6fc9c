"""Command Code's traps, one by one."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = FormatAdapter("commandcode")


def drafts(role: str, values: list[Any], at: str = "", path: str = "work-demo/sess_1.jsonl") -> list[Draft]:
    info = SourceInfo("commandcode", role, path)
    info = SourceInfo("commandcode", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


def line(number: int, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    base = {"id": f"m{number}", "timestamp": f"2026-08-01T09:00:{number:02d}Z", "sessionId": "sess_1", "role": role}
    return {**base, "content": content, "metadata": {"version": 2}, **fields}


def test_the_start_is_told_once_and_then_what_changes():
    first = line(1, "user", "a", gitBranch="main", metadata={"version": 2, "cwd": "/w"})
    found = drafts("transcript", [first, line(2, "user", "b", gitBranch="main"), line(3, "user", "c", gitBranch="dev")])
    start = of("session_start", found)[0]
    assert (start.cwd, start.git_branch, start.tool_version) == ("/w", "main", "2")
    assert [(p.name, p.branch) for p in of("lifecycle", found)] == [("branch", "dev")]


def test_the_folder_may_stand_in_the_context():
    found = drafts("transcript", [line(1, "user", "a", metadata={"context": {"cwd": "/w"}})])
    assert of("session_start", found)[0].cwd == "/w"


def test_blocks_under_the_names_of_another_api_are_read_too():
    asked = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py", "is_error": True}
    thought = {"type": "thinking", "thinking": "Hm."}
    found = drafts("transcript", [line(1, "assistant", [thought, asked]), line(2, "tool", [answer])])
    assert of("thinking", found)[0].text == "Hm."
    result = of("tool_result", found)[0]
    assert (result.call_id, result.name, result.ok, result.text) == ("t1", "Bash", False, "a.py")


def test_a_result_without_a_word_on_how_it_went_says_nothing_of_it():
    block = {"type": "tool-result", "toolCallId": "t1", "toolName": "Bash", "output": {"stdout": "x"}}
    result = of("tool_result", drafts("transcript", [line(1, "tool", [block])]))[0]
    assert (result.ok, result.structured) == (None, {"stdout": "x"})


def test_the_title_stands_in_a_file_beside():
    found = drafts("meta", [{"title": "Demo", "userRenamed": True}], path="work-demo/sess_1.meta.json")
    assert [(p.title, p.detail) for p in of("lifecycle", found)] == [("Demo", {"by_user": True})]
    assert ADAPTER.identify(SourceInfo("commandcode", "meta", "w/sess_1.meta.json"), b"") == "sess_1"


def test_its_own_lines_are_recognised_and_those_of_others_are_not():
    own = b'{"id":"m1","timestamp":"t","sessionId":"s","role":"user","content":[],"metadata":{"version":2}}'
    assert ADAPTER.recognise("x", own) == "transcript"
    assert ADAPTER.recognise("x", b'{"type":"user","sessionId":"s","uuid":"u"}') is None
