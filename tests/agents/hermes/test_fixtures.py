"""The fixtures tell one story in the agent's own tables; here: what the parser makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.agents.hermes.parse import HermesAdapter
from recollect.model.records import Record, SourceInfo
from tests.agents.hermes.databases import FIXTURES, Story, scripts

ADAPTER = HermesAdapter()
SESSION = "20260801_090000_ab12cd34"


def story(scenario: str, version: str = "schema-30") -> Story:
    return Story(ADAPTER, FIXTURES / "hermes" / version / scenario / "state.db.sql")


def document(scenario: str) -> Story:
    path = FIXTURES / "hermes" / "session-json" / scenario / f"sessions/session_{SESSION}.json"
    value = json.loads(path.read_text())
    messages = value.pop("messages")
    info = SourceInfo("hermes", "file", f"sessions/{path.name}", SESSION)
    told = Story.__new__(Story)
    told.sessions, told.defects, told.drift = {}, [], []
    records = [Record(value, b"", 0), *(Record(m, b"", i, "messages") for i, m in enumerate(messages, 1))]
    told.take(ADAPTER, info, records)
    return told


@pytest.mark.parametrize("script", scripts("hermes"), ids=lambda p: f"{p.parts[-3]}/{p.parts[-2]}")
def test_every_database_is_read_without_defects_and_names_each_event_once(script: Path):
    told = Story(ADAPTER, script)
    assert told.defects == []
    assert bool(told.drift) == ("unknown_record" in str(script))
    for drafts in told.sessions.values():
        names = [d.native_id for d in drafts]
        assert None not in names
        assert len(names) == len(set(names))


def test_the_fixtures_show_every_kind_that_is_declared_and_no_other():
    kinds = set().union(*(Story(ADAPTER, script).kinds for script in scripts("hermes")))
    assert kinds == set(ADAPTER.facts.capabilities.kinds)


def test_rewound_rows_stay_and_the_rewind_names_where_the_session_went_on():
    told = story("rewind")
    assert told.talk() == ["First.", "One.", "Wrong turn.", "Oops.", "Second.", "Two."]
    (rewind,) = told.of("rewind")
    assert rewind.turns_dropped == 1
    names = [d.native_id for d in told.drafts if d.payload.__class__.__name__ == "AssistantMessage"]
    assert rewind.to_event == names[0]


def test_a_compaction_in_place_keeps_what_it_sums_up():
    told = story("compaction")
    assert told.talk() == ["First.", "One.", "Second.", "Two."]
    (compaction,) = told.of("compaction")
    assert "First led to one." in compaction.summary
    assert "END OF CONTEXT SUMMARY" not in compaction.summary
    assert told.of("rewind") == []


def test_a_compaction_that_starts_a_session_links_it_to_the_one_before():
    told = story("compaction_new_session")
    child = "20260801_091000_cd34ef56"
    assert told.of("session_start", child)[0].resumed_from == SESSION
    assert told.of("session_start", child)[0].parent_session == ""
    assert told.of("session_end", SESSION)[0].reason == "compression"
    assert [c.trigger for c in told.of("compaction", SESSION)] == ["compression"]


def test_a_branch_and_a_delegate_are_other_kinds_of_children():
    assert story("fork").of("session_start", "20260801_092000_0a1b2c3d")[0].forked_from == SESSION
    assert story("subagent").of("session_start", "20260801_090010_ef56ab78")[0].parent_session == SESSION


def test_rows_copied_into_a_branch_keep_their_names():
    told = story("fork")
    first, second = told.sessions.values()
    assert [d.native_id for d in first[:2]] == [d.native_id for d in second[:2]]


def test_the_counters_of_a_session_count_only_where_no_row_per_model_does():
    usages = story("usage").of("token_usage")
    assert [u.is_additive for u in usages] == [True, False]
    assert (usages[0].input_tokens, usages[0].cache_read_tokens, usages[0].cost_usd) == (120, 900, 0.0042)
    assert [u.is_additive for u in story("tool", "schema-4").of("token_usage")] == [True]


def test_a_shared_system_prompt_goes_to_the_sessions_that_name_it():
    (prompt,) = story("dialogue").of("instructions", SESSION)
    assert (prompt.text, prompt.source) == ("You are Hermes.", "system_prompt")


def test_an_older_database_without_most_columns_is_read():
    told = story("dialogue", "schema-4")
    assert told.talk() == ["Which files are here?", "There are two: a.py and b.py."]
    assert told.of("instructions")[0].text == "You are Hermes."
    assert told.of("session_end")[0].reason == "cli_close"


def test_a_session_document_tells_the_same_as_the_database():
    for scenario in ("dialogue", "tool", "failed_tool", "edit", "thinking", "unicode"):
        assert document(scenario).talk() == story(scenario).talk()
    assert document("failed_tool").of("tool_result")[0].exit_code == 1
    (edit,) = document("edit").of("file_edit")
    assert (edit.path, edit.before, edit.after) == ("a.py", "OLD = 1", "NEW = 1")
    assert {d.name for d in document("unknown_record").drift} == {"message.novelty", "message.from_the_future"}


def test_a_line_of_a_batch_run_is_a_session_of_its_own():
    path = FIXTURES / "hermes" / "trajectories" / "tool" / "trajectories/001.jsonl"
    told = Story.__new__(Story)
    told.sessions, told.defects, told.drift = {}, [], []
    info = SourceInfo("hermes", "trajectories", "trajectories/001.jsonl", "001")
    told.take(ADAPTER, info, [Record(json.loads(path.read_text()), b"", 0)])
    (name,) = told.sessions
    assert name.startswith("001/7-")
    assert told.talk() == ["Run the tests.", "All three pass."]
    assert told.of("tool_call")[0].arguments == {"command": "pytest -q"}
    assert told.of("tool_result")[0].text == "3 passed"
