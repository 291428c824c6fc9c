"""QwenPaw's traps, one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = FormatAdapter("copaw")


def drafts(role: str, values: list[Any], at: str = "", path: str = "workspaces/w/sessions/s1.json") -> list[Draft]:
    info = SourceInfo("copaw", role, path)
    info = SourceInfo("copaw", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


def entry(number: int, role: str, blocks: list[Any], marks: Any = (), **fields: Any) -> list[Any]:
    base = {"id": f"id{number}", "name": role, "role": role, "content": blocks, "metadata": {}}
    return [{**base, "timestamp": f"2026-08-01 09:00:{number:02d}.250", **fields}, list(marks)]


def said(text: str) -> list[Any]:
    return [{"type": "text", "text": text}]


def remembered(*entries: Any) -> list[Draft]:
    return drafts("session", list(entries), "agent.memory.content")


def test_local_times_without_a_zone_are_inferred():
    assert [d.ts_quality for d in remembered(entry(1, "user", said("Hi")))] == ["inferred"]


def test_results_ride_in_the_systems_role():
    block = {"type": "tool_result", "id": "c1", "name": "read_file", "output": said("text")}
    found = remembered(entry(1, "system", [block]))
    assert [(kind_of(d.payload), d.payload.text) for d in found] == [("tool_result", "text")]


def test_a_failed_command_is_told_by_its_words_alone():
    output = said("Command failed with exit code 3.\n[stderr]\nno")
    block = {"type": "tool_result", "id": "c1", "name": "execute_shell_command", "output": output}
    result = of("tool_result", remembered(entry(1, "system", [block])))[0]
    assert (result.ok, result.exit_code) == (False, 3)


def test_a_compaction_stands_before_the_first_message_that_was_not_put_away():
    marked = ["compressed"]
    found = remembered(entry(1, "user", said("a"), marked), entry(2, "user", said("b")), entry(3, "user", said("c")))
    assert [kind_of(d.payload) for d in found] == ["user_message", "compaction", "user_message", "user_message"]
    assert of("compaction", found)[0].continues_at == "id2"


def test_a_hint_is_not_said_by_a_person():
    assert of("user_message", remembered(entry(1, "user", said("Mind the plan."), ["hint"])))[0].origin == "injected"


def test_older_entries_are_the_message_alone():
    assert [d.payload.text for d in remembered(entry(1, "user", said("Hi"))[0])] == ["Hi"]


def test_arguments_are_taken_from_their_raw_text_where_they_are_empty():
    block = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}, "raw_input": '{"file_path": "a"}'}
    assert of("tool_call", remembered(entry(1, "assistant", [block])))[0].arguments == {"file_path": "a"}


def test_what_stands_around_the_messages_is_kept():
    around = {"_compressed_summary": "s"}
    found = drafts("session", [around], "agent.memory") + drafts(
        "session", [{"name": "Friday", "_sys_prompt": "p"}], "agent"
    )
    assert [kind_of(d.payload) for d in found] == ["lifecycle", "session_start", "instructions"]


def test_one_file_name_in_two_workspaces_is_two_sessions():
    paths = ("workspaces/a/sessions/m.json", "workspaces/b/sessions/m.json", "workspaces/a/sessions/console/m.json")
    assert len({ADAPTER.identify(SourceInfo("copaw", "session", p), b"") for p in paths}) == 3


@pytest.mark.corpus
def test_samples_of_another_readers_tests_are_read_whole(shared: Path):
    folder = shared / "corpus/peers/agentsview/internal/parser/testdata/qwenpaw"
    found: list[Draft] = []
    for path in sorted(folder.rglob("*.json")):
        assert ADAPTER.recognise(path.name, path.read_bytes()) == "session"
        found += remembered(*json.loads(path.read_text())["agent"]["memory"]["content"])
    assert of("unknown", found) == []
    assert len(of("user_message", found)) == len([p for p in of("user_message", found) if p.origin == "human"]) >= 4


def test_a_file_is_recognised_by_how_it_begins():
    assert ADAPTER.recognise("x", b'{"agent": {"memory": {"content": [[]]}}}') == "session"
    assert ADAPTER.recognise("x", b'{"agent": "x", "messages": []}') is None
