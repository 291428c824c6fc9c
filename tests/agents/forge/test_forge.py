"""The traps of Forge's conversations, one by one, the stories of the fixtures, and any content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.forge.parse import ForgeAdapter
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.model.text import searchable, summary_of
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_json
from tests.agents.hermes.databases import FIXTURES, Story, parse, scripts

ADAPTER = ForgeAdapter()
SESSION = "7d1f0a52-8d3e-4c1f-9a6b-1c2d3e4f5a6b"
CHILD = "1b2c3d4e-5f60-4718-9293-a4b5c6d7e8f9"
INFO = SourceInfo("forge", "conversation", ".forge.db", SESSION, SESSION)


def story(scenario: str, version: str = "2026-02") -> Story:
    return Story(ADAPTER, FIXTURES / "forge" / version / scenario / ".forge.db.sql")


def drafts(*messages: Any) -> list[Any]:
    row = {"conversation_id": SESSION, "context": {"messages": list(messages)}, "created_at": "2026-02-20 09:00:00.5"}
    return parse(ADAPTER, INFO, [Record(row, b"", 0, "conversations")])[0][1:]


def payloads(*messages: Any) -> list[Any]:
    return [d.payload for d in drafts(*messages)]


def said(role: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"message": {"text": {"role": role, "content": content, **fields}}}


def call(name: str, arguments: Any) -> dict[str, Any]:
    return said("Assistant", "", tool_calls=[{"name": name, "call_id": "c1", "arguments": arguments}])


def result(*values: Any, is_error: bool = False) -> dict[str, Any]:
    return {
        "message": {"tool": {"name": "x", "call_id": "c1", "output": {"is_error": is_error, "values": list(values)}}}
    }


@pytest.mark.parametrize("script", scripts("forge"), ids=lambda p: f"{p.parts[-3]}/{p.parts[-2]}")
def test_every_database_is_read_without_defects_and_names_each_event_once(script: Path):
    told = Story(ADAPTER, script)
    assert told.defects == []
    assert bool(told.drift) == ("unknown_record" in str(script))
    for found in told.sessions.values():
        names = [d.native_id for d in found]
        assert None not in names
        assert len(names) == len(set(names))


def test_the_fixtures_show_every_kind_that_is_declared_and_no_other():
    kinds = set().union(*(Story(ADAPTER, script).kinds for script in scripts("forge")))
    assert kinds == set(ADAPTER.facts.capabilities.kinds)


def test_rows_of_both_generations_tell_the_same():
    for scenario in ("dialogue", "tool"):
        assert story(scenario).talk() == story(scenario, "2025-09").talk()


def test_a_prompt_is_told_without_the_tags_that_forge_puts_around_it():
    for fields in ({"raw_content": {"Text": "Go on."}}, {}):
        (prompt,) = payloads(said("User", "<task>Go on.</task>\n<system_date>2026-02-20</system_date>", **fields))
        assert (prompt.text, prompt.origin) == ("Go on.", "human")


def test_what_forge_may_drop_again_is_no_persons():
    (found,) = payloads(said("User", "Tool call failed.", droppable=True))
    assert found.origin == "injected"


def test_a_failed_command_that_is_not_called_an_error_is_a_failure():
    (found,) = story("failed_tool").of("tool_result")
    assert (found.ok, found.exit_code, found.text) == (False, 1, "1 failed")


def test_a_shell_result_that_was_cut_stays_as_it_is():
    cut = '<shell_output exit_code="0">\n<stdout><head display_lines="1-2">a</head></stdout>\n</shell_output>'
    assert payloads(result({"text": cut}))[0].text == cut


def test_a_refused_edit_is_none_and_a_removal_is_one():
    asked = call("write", {"file_path": "a.py", "content": "NEW = 1"})
    assert [kind_of(p) for p in payloads(asked, result({"text": "denied"}, is_error=True))] == [
        "tool_call",
        "tool_result",
    ]
    edit = payloads(asked, result({"text": "ok"}))[2]
    assert (edit.path, edit.after) == ("a.py", "NEW = 1")
    removal = payloads(call("remove", {"path": "a.py"}), result({"text": "ok"}))[2]
    assert (removal.path, removal.operation) == ("a.py", "delete")


def test_older_patch_tools_call_the_new_text_content():
    asked = call("forge_tool_fs_patch", {"path": "a.py", "search": "OLD", "operation": "replace", "content": "NEW"})
    edit = payloads(asked, result({"text": "ok"}))[2]
    assert (edit.before, edit.after) == ("OLD", "NEW")


def test_values_of_older_versions_are_read():
    assert payloads(result({"markdown": "x"}, {"pair": [{"text": "y"}, "empty"]}, "empty"))[0].text == "x\ny"


def test_an_agent_that_a_tool_started_is_a_child_of_the_conversation():
    told = story("subagent")
    starts = told.of("session_start", CHILD)
    assert {(s.parent_session, s.agent_name) for s in starts} == {("", ""), (SESSION, "sage")}
    assert told.talk(CHILD) == ["Find the answer.", "Forty-two."]


def test_a_summary_stands_for_what_was_dropped_and_nobody_said_it():
    told = story("dropped_history")
    assert len(told.of("compaction")) == 1
    assert told.talk() == ["Second.", "Two."]


def test_dropping_the_first_messages_renames_nothing():
    first, second = said("User", "First."), said("User", "Second.")
    assert drafts(first, second)[1].native_id == drafts(second)[0].native_id


def test_the_same_words_twice_are_two_messages():
    assert len({d.native_id for d in drafts(said("User", "Go on."), said("User", "Go on."))}) == 2


def test_input_is_told_without_its_cached_part_and_estimates_count_nothing():
    (usage,) = story("usage").of("token_usage")
    assert (usage.input_tokens, usage.cache_read_tokens, usage.is_additive, usage.cost_usd) == (150, 900, True, 0.0042)
    counts = {"prompt_tokens": {"approx": 10}, "completion_tokens": {"approx": 2}, "cached_tokens": {"actual": 0}}
    assert payloads({**said("Assistant", "x"), "usage": counts})[1].is_additive is False


def test_messages_have_the_session_s_time_and_say_so():
    (draft,) = drafts(said("User", "First."))
    assert (draft.ts, draft.ts_quality) == (1771578000_500000, "inferred")


MESSAGE = st.builds(
    lambda kind, fields, usage: {"message": {kind: fields}, "usage": usage},
    st.sampled_from(("text", "tool", "image", "document", "odd")),
    st.dictionaries(
        st.sampled_from("role content raw_content tool_calls reasoning_details name call_id output url data".split()),
        st.sampled_from(("User", "Assistant", "\ud800")) | any_json(),
    )
    | any_json(),
    any_json(),
)


@given(messages=st.lists(MESSAGE | any_json(), max_size=5), metrics=any_json())
def test_conversations_with_anything_in_them_keep_the_contract(messages: list[Any], metrics: Any):
    row = {"conversation_id": "c", "context": {"messages": messages}, "metrics": metrics, "title": messages}
    assert check_adapter(ADAPTER, INFO, [row]) == []
    for payload in payloads(*messages):
        searchable(payload)
        summary_of(payload)
