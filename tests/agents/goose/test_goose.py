"""The traps of goose's records, one by one, and the stories of the fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.goose.parse import GooseAdapter
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from tests.agents.hermes.databases import FIXTURES, Story, parse, scripts

ADAPTER = GooseAdapter()
SESSION = "20260801_1"


def story(scenario: str, version: str = "schema-17") -> Story:
    return Story(ADAPTER, FIXTURES / "goose" / version / scenario / "sessions.db.sql")


def drafts(*rows: dict[str, Any], role: str = "messages", at: str = "messages") -> list[Any]:
    base = {"session_id": SESSION, "created_timestamp": 1785574800} if at == "messages" else {}
    records = [Record({**base, "id": i, **row}, b"", i, at) for i, row in enumerate(rows, 1)]
    return parse(ADAPTER, SourceInfo("goose", role, "sessions.db", SESSION, SESSION), records)[0]


def payloads(*rows: dict[str, Any], **where: str) -> list[Any]:
    return [d.payload for d in drafts(*rows, **where)]


def said(role: str, *blocks: Any, **row: Any) -> dict[str, Any]:
    return {"role": role, "content_json": list(blocks), **row}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def request(name: str, arguments: Any) -> dict[str, Any]:
    return {
        "type": "toolRequest",
        "id": "t1",
        "toolCall": {"status": "success", "value": {"name": name, "arguments": arguments}},
    }


def response(value: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": "t1", "toolResult": {"status": "success", "value": value}}


@pytest.mark.parametrize("script", scripts("goose"), ids=lambda p: f"{p.parts[-3]}/{p.parts[-2]}")
def test_every_database_is_read_without_defects_and_names_each_event_once(script: Path):
    told = Story(ADAPTER, script)
    assert told.defects == []
    assert bool(told.drift) == ("unknown_record" in str(script))
    for found in told.sessions.values():
        names = [d.native_id for d in found]
        assert None not in names
        assert len(names) == len(set(names))


def test_the_fixtures_show_every_kind_that_is_declared_and_no_other():
    kinds = set().union(*(Story(ADAPTER, script).kinds for script in scripts("goose")))
    assert kinds == set(ADAPTER.facts.capabilities.kinds)


def test_what_the_model_sees_no_more_stays_and_its_summary_is_no_persons():
    told = story("compaction")
    assert told.talk() == ["First.", "One.", "Second.", "Two."]
    (compaction,) = told.of("compaction")
    assert compaction.summary == "First led to one."


def test_a_second_compaction_hides_the_first_summary_and_changes_no_name():
    hidden, gone = {"userVisible": True, "agentVisible": False}, {"userVisible": False, "agentVisible": False}
    only_model = {"userVisible": False, "agentVisible": True}
    first = said("user", text("First."), metadata_json=hidden)
    summary = said("user", text("It was first."), metadata_json=only_model)
    before = drafts(first, summary)
    after = drafts(first, {**summary, "metadata_json": gone}, said("user", text("Second."), metadata_json=hidden))
    assert [(d.native_id, d.payload) for d in after[:2]] == [(d.native_id, d.payload) for d in before]


def test_the_mark_of_older_versions_is_a_compaction():
    (found,) = payloads(said("assistant", {"type": "conversationCompacted", "msg": "Conversation compacted"}))
    assert (kind_of(found), found.summary) == ("compaction", "Conversation compacted")


def test_results_in_the_users_role_are_no_persons():
    assert [kind_of(p) for p in payloads(said("user", response([text("3 passed")])))] == ["tool_result"]


def test_what_a_tool_says_to_user_and_model_alike_comes_once():
    both = [{**text("3 passed"), "annotations": {"audience": [who]}} for who in ("assistant", "user")]
    (found,) = payloads(said("user", response({"content": both, "isError": False})))
    assert (found.text, found.ok) == ("3 passed", True)


def test_a_failed_command_marked_only_in_its_structured_result_is_a_failure():
    value = {
        "content": [text("1 failed")],
        "isError": False,
        "structuredContent": {"stdout": "1 failed", "exit_code": 1},
    }
    (found,) = payloads(said("user", response(value)))
    assert (found.ok, found.exit_code, found.structured) == (False, 1, None)


def test_an_error_instead_of_a_value_is_a_failure():
    block = {"type": "toolResponse", "id": "t1", "toolResult": {"status": "error", "error": "no such tool"}}
    (found,) = payloads(said("user", block))
    assert (found.ok, found.text) == (False, "no such tool")


def test_a_call_that_could_not_be_read_is_no_call():
    (found,) = payloads(
        said("assistant", {"type": "toolRequest", "id": "t1", "toolCall": {"status": "error", "error": "bad"}})
    )
    assert (found.name, found.text, found.call_id) == ("invalid_tool_call", "bad", "t1")


@pytest.mark.parametrize(
    ("name", "arguments", "edit"),
    [
        ("developer__edit", {"path": "a.py", "before": "OLD", "after": "NEW"}, ("OLD", "NEW")),
        ("developer__write", {"path": "a.py", "content": "NEW"}, (None, "NEW")),
        (
            "developer__text_editor",
            {"command": "str_replace", "path": "a.py", "old_str": "OLD", "new_str": "NEW"},
            ("OLD", "NEW"),
        ),
        ("developer__text_editor", {"command": "write", "path": "a.py", "file_text": "NEW"}, (None, "NEW")),
        (
            "developer__text_editor",
            {"command": "insert", "path": "a.py", "insert_line": 1, "new_str": "NEW"},
            ("", "NEW"),
        ),
    ],
)
def test_both_generations_of_editing_tools_give_their_edit(name: str, arguments: Any, edit: Any):
    found = payloads(said("assistant", request(name, arguments)), said("user", response([text("ok")])))[2]
    assert (found.path, found.before, found.after) == ("a.py", *edit)


def test_looking_at_a_file_with_the_editor_changes_nothing():
    asked = request("developer__text_editor", {"command": "view", "path": "a.py"})
    found = payloads(said("assistant", asked), said("user", response([text("OLD = 1")])))
    assert [kind_of(p) for p in found] == ["tool_call", "tool_result"]
    assert found[1].name == "developer__text_editor"


def test_an_interrupted_call_says_so_twice_and_nobody_said_it():
    told = story("interruption")
    assert told.talk() == ["Go on.", "Working"]
    assert [x.name for x in told.of("lifecycle")].count("interrupted") == 2


def test_an_id_made_up_by_an_import_does_not_tell_two_copies_apart():
    first, second = (said("user", text("First."), message_id=f"msg_20260801_1_{i}") for i in range(2))
    assert len({d.native_id for d in drafts(first, second)}) == 1


def test_one_id_on_two_different_rows_loses_neither():
    rows = [said("assistant", text(words), message_id="chatcmpl-1") for words in ("One.", "Two.")]
    assert [d.native_id for d in drafts(*rows)] == ["chatcmpl-1", "chatcmpl-1/2"]


def test_a_fork_names_its_parent_and_its_copies_keep_their_names():
    told = story("fork")
    assert told.of("session_start", "20260801_2")[0].forked_from == SESSION
    first, second = told.sessions.values()
    assert [d.native_id for d in first[:2]] == [d.native_id for d in second[:2]]


def test_a_subagent_names_its_parent():
    start = story("subagent").of("session_start", "20260801_2")[0]
    assert (start.parent_session, start.forked_from, start.agent_name) == (SESSION, "", "researcher")


def test_the_ledger_counts_and_the_session_s_own_counters_repeat_it():
    usages = story("usage").of("token_usage")
    assert [u.is_additive for u in usages] == [True, False]
    assert (usages[0].input_tokens, usages[0].cache_read_tokens, usages[0].cache_write_5m_tokens) == (120, 900, 30)


def test_what_the_ledger_has_not_got_counts_once():
    row = {"session_id": SESSION, "input_tokens": 40, "output_tokens": 4, "created_timestamp": 1785574800}
    session = {"id": SESSION, "accumulated_input_tokens": 100, "accumulated_output_tokens": 10}
    state = ADAPTER.begin(SourceInfo("goose", "session", "sessions.db", SESSION, SESSION))
    state = ADAPTER.parse(Record({**row, "id": 1}, b"", 0, "usage_ledger"), state).state
    found = ADAPTER.parse(Record(session, b"", 1, "sessions"), state).events
    (rest,) = [d.payload for d in found if kind_of(d.payload) == "token_usage"]
    assert (rest.input_tokens, rest.output_tokens, rest.is_additive) == (60, 6, True)


def test_a_session_from_before_the_ledger_counts_what_all_its_compactions_spent():
    (usage,) = story("dialogue", "schema-1").of("token_usage")
    assert (usage.input_tokens, usage.output_tokens, usage.is_additive) == (55, 15, True)


def test_times_in_milliseconds_are_read_as_such():
    found = drafts(
        said("user", text("a"), created_timestamp=1751360401000), said("user", text("b"), created_timestamp=1751360401)
    )
    assert found[0].ts == found[1].ts == 1751360401 * 1_000_000


def test_columns_that_may_hold_secrets_are_not_read():
    excluded = {name for place in ADAPTER.facts.places for table in place.tables for name in table.exclude}
    assert {"extension_data", "user_recipe_values_json"} <= excluded


def test_an_older_session_file_tells_the_same():
    path = FIXTURES / "goose" / "jsonl" / "tool" / "20250701_090000.jsonl"
    raw = path.read_bytes()
    assert ADAPTER.recognise("x", raw) == "lines"
    info = SourceInfo("goose", "lines", path.name, "20250701_090000")
    records = [Record(json.loads(line), b"", i) for i, line in enumerate(raw.splitlines())]
    found, defects, drift = parse(ADAPTER, info, records)
    assert (defects, drift) == ([], [])
    kinds = [kind_of(d.payload) for d in found]
    assert kinds[:3] == ["session_start", "lifecycle", "token_usage"]
    assert kinds[3:] == ["user_message", "tool_call", "tool_result", "assistant_message"]


def test_a_file_of_another_agent_is_not_taken():
    assert (
        ADAPTER.recognise("x", b'{"type":"session_meta","working_dir":"/work","description":"","message_count":1}\n')
        is None
    )
    assert ADAPTER.recognise("x", b'{"role":"user","content":"working_dir"}\n') is None


@pytest.mark.corpus
def test_published_fixtures_are_read_without_defects(shared: Path):
    folder = shared / "corpus/multi-synthetic/vshulcz__deja-vu/fixtures/registry/goose/sessions"
    for path in folder.glob("*.jsonl"):
        raw = path.read_bytes()
        assert ADAPTER.recognise(path.name, raw) == "lines"
        records = [Record(json.loads(line), b"", i) for i, line in enumerate(raw.splitlines())]
        found, defects, _ = parse(ADAPTER, SourceInfo("goose", "lines", path.name, path.stem), records)
        assert (defects, len(found) > 3) == ([], True)
    told = Story(ADAPTER, folder / "goose.sql")
    assert (told.defects, told.drift) == ([], [])
    assert told.talk() == ["inspect the sqlite fixture", "the sqlite rows are readable"]
