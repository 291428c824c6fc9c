"""Traps of Zed's threads: rewritten rows, two shapes of messages, failures in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_json
from tests.agents.zed.threads import ADAPTER, FIRST_US, agent, drafts, gave, info, named, of, row, thread, use, user
from tests.examples import tried

KEYS = st.sampled_from(
    "id summary updated_at created_at data_type data parent_id folder_paths folder_paths_order messages User Agent "
    "content Text Thinking ToolUse Mention Image tool_results output role segments tool_uses model title uri "
    "name input initial_project_snapshot worktree_snapshots cumulative_token_usage request_token_usage "
    "detailed_summary".split()
)
SHAPED = st.recursive(
    any_json() | st.sampled_from(["Resume", "edit_file", "\ud800", "user", 7]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


def old(name: Any, role: str, text: str = "", **more: Any) -> dict[str, Any]:
    segments = [{"type": "text", "text": text}] if text else []
    return {"id": name, "role": role, "segments": segments, "tool_uses": [], "tool_results": [], **more}


def test_an_answer_that_grows_keeps_its_names():
    before = named(thread(row(user("u1", "Go."), agent("Work"))))
    after = named(thread(row(user("u1", "Go."), agent("Working", use("c1", "grep", {})), user("u2", "More."))))
    assert before.keys() <= after.keys()
    assert isinstance(after["u1/1/0"], AssistantMessage)
    assert after["u1/1/0"].text == "Working"


def test_a_message_that_was_edited_away_renames_nothing_before_it():
    kept = named(thread(row(user("u1", "Go."), agent("Yes."), user("u3", "Else."), agent("No."))))
    whole = named(thread(row(user("u1", "Go."), agent("Yes."), user("u2", "Wrong."), agent("Oops."))))
    assert {k for k in whole if k.startswith("u1")} == {k for k in kept if k.startswith("u1")}
    assert {k for k in kept if k.startswith("u3")} == {"u3", "u3/1/0"}


def test_a_row_read_again_gives_the_same_events():
    written = row(user("u1", "Go."), agent("Yes."))
    found = thread(written, written)
    assert found.events[0] == found.events[1]


def test_messages_of_the_user_without_ids_are_named_by_what_they_say():
    found = [
        d.native_id for d in drafts(thread(row(user(None, "A"), user(None, "B"), user(None, "A")))) if d.role == "user"
    ]
    assert len(set(found)) == 3
    assert found[2] == f"{found[0]}/2"


def test_times_are_spread_between_the_rows_and_marked():
    found = {d.native_id: (d.ts, d.ts_quality) for d in drafts(thread(row(user("u1", "Go."), agent("Yes."))))}
    assert found["start"] == (FIRST_US, "exact")
    assert found["u1"][1] == found["u1/1/0"][1] == "inferred"
    assert FIRST_US < found["u1"][0] < found["u1/1/0"][0] < FIRST_US + 10_000_000


def test_an_old_table_without_a_first_time_has_the_last():
    bare = row(user("u1", "Go."))
    del bare["created_at"]
    assert {d.ts for d in drafts(thread(bare))} == {FIRST_US + 10_000_000}


def test_the_folder_is_that_of_the_row_in_the_users_order():
    columns = {"folder_paths": "/w/a\n/w/b", "folder_paths_order": "1,0"}
    snapshot = {"worktree_snapshots": [{"worktree_path": "/w/c", "git_state": {"current_branch": "main"}}]}
    (told,) = of(thread(row(columns=columns, initial_project_snapshot=snapshot)), SessionStart)
    (guessed,) = of(thread(row(initial_project_snapshot=snapshot)), SessionStart)
    assert (told.cwd, told.git_branch, guessed.cwd) == ("/w/b", "main", "/w/c")


@pytest.mark.parametrize(
    "how", [{"columns": {"parent_id": "t0"}}, {"subagent_context": {"parent_thread_id": "t0", "depth": 1}}]
)
def test_a_subagent_names_its_parent(how):
    assert [s.parent_session for s in of(thread(row(**how)), SessionStart)] == ["t0"]


def test_the_total_is_one_event_whose_newest_version_counts():
    one, two = ({"input_tokens": n, "output_tokens": 1, "cache_read_input_tokens": 2} for n in (10, 30))
    found = thread(row(cumulative_token_usage=one), row(cumulative_token_usage=two))
    usage = [d for d in drafts(found) if isinstance(d.payload, TokenUsage)]
    assert {d.native_id for d in usage} == {"usage"}
    assert [d.payload.input_tokens for d in usage if isinstance(d.payload, TokenUsage)] == [10, 30]
    assert {d.payload.dedupe_key for d in usage if isinstance(d.payload, TokenUsage)} == {"thread:t1"}


def test_tokens_of_a_turn_are_not_added():
    usage = {"input_tokens": 5, "output_tokens": 1}
    found = thread(row(user("u1", "Go."), request_token_usage={"u1": usage}, cumulative_token_usage=usage))
    assert [u.is_additive for u in of(found, TokenUsage)] == [False, True]


def test_a_failed_command_is_told_in_words_only():
    results = gave("c1", "terminal", [{"Text": 'Command "pytest" failed with exit code 2.\n\n1 failed'}])
    (result,) = of(thread(row(user("u1", "Go."), agent(use("c1", "terminal", {}), results=results))), ToolResult)
    assert (result.ok, result.exit_code) == (False, 2)


@pytest.mark.parametrize("content", ["ok", {"Text": "ok"}, [{"Text": "ok"}], {"type": "text", "text": "ok"}])
def test_a_results_content_has_many_forms(content):
    results = gave("c1", "grep", content)
    assert [r.text for r in of(thread(row(agent(use("c1", "grep", {}), results=results))), ToolResult)] == ["ok"]


def test_results_are_a_map_a_list_or_bare_ids():
    told = list(gave("c1", "grep", "ok").values())
    assert [r.call_id for r in of(thread(row(agent(results=told))), ToolResult)] == ["c1"]
    assert not of(thread(row(agent(results=["c1"]))), ToolResult | Unknown)


def test_a_canceled_tool_is_an_interruption():
    results = gave("c1", "terminal", "Tool canceled by user", is_error=True)
    found = thread(row(agent(use("c1", "terminal", {}), results=results)))
    assert [e.call_id for e in of(found, Lifecycle) if e.name == "interrupted"] == ["c1"]


EDIT = {"path": "a.py", "mode": "edit"}
OUTPUT = {"input_path": "a.py", "old_text": "OLD\n", "new_text": "NEW\n", "diff": "@@ -1 +1 @@\n-OLD\n+NEW\n"}


def test_an_edit_is_told_by_its_diff():
    results = gave("c1", "edit_file", "Edited", output=OUTPUT)
    found = thread(row(agent(use("c1", "edit_file", EDIT), results=results)))
    assert [(e.path, e.diff, e.call_id) for e in of(found, FileEdit)] == [("a.py", OUTPUT["diff"], "c1")]
    assert [r.structured for r in of(found, ToolResult)] == [None]


def test_a_failed_edit_is_none():
    results = gave("c1", "edit_file", "No match", is_error=True, output={"error": "No match"})
    assert not of(thread(row(agent(use("c1", "edit_file", EDIT), results=results))), FileEdit)


@pytest.mark.parametrize(
    ("tool", "given", "operation"),
    [
        ("delete_path", {"path": "a.py"}, "delete"),
        ("move_path", {"source_path": "a.py", "destination_path": "b.py"}, "rename"),
        ("copy_path", {"source_path": "b.py", "destination_path": "a.py"}, "create"),
        ("edit_file", {"path": "a.py", "mode": "create", "content": "x"}, "create"),
    ],
)
def test_every_tool_that_changes_files_gives_an_edit(tool, given, operation):
    found = thread(row(agent(use("c1", tool, given), results=gave("c1", tool, "ok"))))
    assert [(e.path, e.operation) for e in of(found, FileEdit)] == [("a.py", operation)]


def test_mentions_are_context_and_images_are_parts():
    mention = {"Mention": {"uri": {"File": {"abs_path": "/w/a.py"}}, "content": "OLD = 1"}}
    found = thread(row(user("u1", "See ", mention, {"Image": {"source": "aGk=", "size": None}})))
    asked, context = of(found, UserMessage)
    assert [(p.type, p.path, p.bytes) for p in asked.parts] == [("file", "/w/a.py", 0), ("image", "", 2)]
    assert (asked.text, context.text, context.origin) == ("See ", "OLD = 1", "injected")


def test_thinking_is_kept_and_what_is_sealed_never_becomes_text():
    found = thread(
        row(agent({"Thinking": {"text": "Hm.", "signature": "c2ln"}}, {"RedactedThinking": "c2VjcmV0" * 20}))
    )
    assert [(t.text, t.is_encrypted) for t in of(found, Thinking)] == [("Hm.", False), ("", True)]
    assert "c2VjcmV0" not in repr(drafts(found))


def test_a_resumed_answer_is_marked():
    assert "resumed" in [e.name for e in of(thread(row(user("u1", "Go."), "Resume")), Lifecycle)]


def test_threads_before_roles_were_tags_are_read():
    uses = [{"id": "c1", "name": "grep", "input": {"regex": "x"}}]
    results = [{"tool_use_id": "c1", "is_error": False, "content": "found"}]
    found = thread(
        row(
            old(0, "system", "Be brief."),
            old(1, "user", "Find it.", context="<files/>"),
            old(2, "assistant", "Yes.", tool_uses=uses, tool_results=results),
        )
    )
    assert [type(p) for p in (d.payload for d in drafts(found)) if not isinstance(p, SessionStart | Lifecycle)] == [
        Instructions, UserMessage, UserMessage, AssistantMessage, ToolCall, ToolResult
    ]  # fmt: skip
    assert [m.origin for m in of(found, UserMessage)] == ["human", "injected"]


def test_a_hidden_message_is_injected():
    assert [m.origin for m in of(thread(row(old(1, "user", "Go on.", is_hidden=True))), UserMessage)] == ["injected"]


def test_a_summary_stands_after_the_message_that_it_was_made_of():
    messages = (old(1, "user", "First."), old(2, "assistant", "One."), old(3, "user", "Second."))
    made = {"Generated": {"text": "So far.", "message_id": 2}}
    found = [d.native_id for d in drafts(thread(row(*messages, detailed_summary_state=made)))]
    assert found.index("summary") == found.index("m3") - 1


def test_a_summary_without_a_place_stands_at_the_end():
    found = thread(row(user("u1", "Go."), detailed_summary="So far."))
    assert [c.summary for c in of(found, Compaction)] == ["So far."]


def test_drafts_and_places_on_the_screen_are_left_out():
    found = thread(row(draft_prompt=[{"type": "text", "text": "unsent"}], ui_scroll_position={"item_ix": 1}))
    assert "unsent" not in repr(drafts(found))
    assert not of(found, Unknown)


def test_a_row_that_cannot_be_read_is_kept():
    found = thread(row(columns={"data": "no json", "data_type": "lz4"}))
    assert [u.text for u in of(found, Unknown)] == ["no json"]
    assert "wrong_type" in found.defects


def test_only_the_declared_table_is_read():
    (place,) = ADAPTER.facts.places
    assert place.patterns == ("threads/threads.db",)
    assert [(t.name, t.document, t.zstd_json) for t in place.tables] == [("threads", "id", ("data",))]


def test_a_database_is_never_recognised_by_content():
    assert ADAPTER.recognise("threads.db", b"SQLite format 3\x00") is None


@settings(max_examples=tried(200))
@given(values=st.lists(SHAPED, max_size=3), messages=st.lists(SHAPED, max_size=4), more=SHAPED)
def test_any_content_keeps_the_contract(values: list[Any], messages: list[Any], more: Any) -> None:
    wild = [row(*messages), row(data=more, columns={"data": more}), row(*messages, model=more, detailed_summary=more)]
    assert check_adapter(ADAPTER, info(), [*values, *wild]) == []


@pytest.mark.corpus
def test_rows_of_the_registry_are_read_without_drift(shared: Path) -> None:
    (path,) = (shared / "corpus" / "multi-synthetic").rglob("zed/zed.sql")
    found = re.findall(r"'(\{\"version\":\"0\.2\.0\".*?\})',", path.read_text(), re.S)
    assert found
    for written in found:
        assert not of(thread(row(columns={"data": json.loads(written), "data_type": "json"})), Unknown)
