"""The traps of CodeWhale's documents, one test each."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    Rewind,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read
from tests.agents.codewhale.documents import ADAPTER, SESSION, document, drafts, entry, message, payloads

ONE = [message("user", "First."), message("assistant", "One.")]
CALL = {"type": "tool_use", "id": "t1", "name": "edit_file", "input": {"path": "a.py", "search": "x", "replace": "y"}}


def result(said="ok", **fields):
    return message("user", {"type": "tool_result", "tool_use_id": "t1", "content": said, **fields})


def names(value):
    return {d.native_id for d in drafts(value)}


def test_a_later_save_with_more_messages_renames_nothing():
    assert names(document(ONE)) <= names(document([*ONE, message("user", "Second.")]))


def test_journal_ids_that_change_with_every_save_change_no_name():
    first = document(ONE, entries=[entry("a", "", message=ONE[0]), entry("b", "a", message=ONE[1])], leaf="b")
    again = document(ONE, entries=[entry("x", "", message=ONE[0]), entry("y", "x", message=ONE[1])], leaf="y")
    assert [(d.native_id, d.payload) for d in drafts(first)] == [(d.native_id, d.payload) for d in drafts(again)]


def test_entries_that_the_messages_hold_too_are_given_once():
    linear = [entry("a", "", message=ONE[0]), entry("b", "a", message=ONE[1])]
    assert drafts(document(ONE, entries=linear, leaf="b")) == drafts(document(ONE))


def test_equal_long_messages_are_two():
    said = "please run the whole test suite again and tell me what fails, with the names of all the tests"
    value = document([message("user", said), message("assistant", "Nothing."), message("user", said)])
    assert len({d.native_id for d in drafts(value) if isinstance(d.payload, UserMessage)}) == 2


def test_the_same_few_words_after_a_compaction_are_a_new_message():
    before = document([*ONE, message("user", "continue"), message("assistant", "Two.")])
    summary = message("system", "[compaction summary] Two things were done.")
    after = document([summary, message("user", "go"), message("assistant", "Three."), message("user", "continue")])
    new = {d.native_id for d in drafts(after) if d.payload == UserMessage("continue")}
    assert not new & names(before)


def test_a_long_message_kept_by_a_compaction_keeps_its_name():
    kept = message("assistant", "The loop in the reader is quadratic because every line is compared with all others.")
    before = document([*ONE, message("user", "Why?"), kept])
    after = document([message("system", "[compaction summary] Asked why."), kept])
    shared = names(before) & names(after)
    assert any(str(name).startswith("reply:") for name in shared)


def test_a_shorter_save_has_no_names_of_its_own():
    assert names(document(ONE[:1])) < names(document(ONE))


def test_cache_marks_and_signatures_added_later_rename_nothing():
    plain = message("assistant", {"type": "thinking", "thinking": "Hm."}, "Yes.")
    marked = message(
        "assistant",
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "Yes.", "cache_control": {"type": "ephemeral"}},
    )
    after = message("user", "ok")
    assert names(document([plain, after])) == names(document([marked, after]))


def test_sessions_that_say_the_same_have_other_names_and_a_fork_the_names_of_its_parent():
    other = document(ONE, id="other")
    fork = document(ONE, id="fork", parent_session_id=SESSION, forked_from_message_count=2)
    said = {n for n in names(document(ONE)) if str(n).startswith(("prompt", "reply"))}
    assert said
    assert not said & names(other)
    assert said <= names(fork)


def test_times_are_inferred_and_rise_between_the_start_and_the_last_save():
    found = [d for d in drafts(document([*ONE, *ONE])) if isinstance(d.payload, UserMessage | AssistantMessage)]
    assert {d.ts_quality for d in found} == {"inferred"}
    times = [d.ts for d in found]
    assert times == sorted(times)
    assert (times[-1] - times[0]) == 600 * 1_000_000


def test_messages_copied_from_the_parent_are_not_later_than_the_fork():
    value = document([*ONE, message("user", "Second.")], parent_session_id="p", forked_from_message_count=2)
    found = [d.ts for d in drafts(value) if isinstance(d.payload, UserMessage | AssistantMessage)]
    assert found[0] == found[1] < found[2]


def test_a_fork_names_its_origin_and_counts_with_it():
    value = document(ONE, parent_session_id="origin", forked_from_message_count=2, total_tokens=90)
    assert payloads(value, SessionStart)[0].forked_from == "origin"
    assert payloads(value, TokenUsage)[0].dedupe_key == "codewhale:origin"
    parent = document(ONE, id="origin", total_tokens=50)
    assert payloads(parent, TokenUsage)[0].dedupe_key == "codewhale:origin"


def test_tokens_and_cost_are_one_sighting_that_a_later_save_replaces():
    def usage(tokens, usd):
        value = document(ONE, total_tokens=tokens, cost={"session_cost_usd": usd, "subagent_cost_usd": 0.25})
        return next(d for d in drafts(value) if isinstance(d.payload, TokenUsage))

    first, second = usage(100, 0.5), usage(150, 0.75)
    assert first.native_id == second.native_id
    assert second.payload == TokenUsage("deepseek-v4-pro", 150, cost_usd=1.0, dedupe_key=f"codewhale:{SESSION}")


def test_a_cost_of_nothing_is_unknown():
    assert payloads(document(ONE, total_tokens=5, cost={"session_cost_usd": 0.0}), TokenUsage)[0].cost_usd is None


def test_an_edit_is_given_when_the_result_says_that_it_was_applied():
    assert payloads(document([message("assistant", CALL)]), FileEdit) == []
    assert payloads(document([message("assistant", CALL), result("no match", is_error=True)]), FileEdit) == []
    (edit,) = payloads(document([message("assistant", CALL), result()]), FileEdit)
    assert edit == FileEdit("a.py", "modify", "x", "y", call_id="t1")


@pytest.mark.parametrize(
    "patch",
    [
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-1\n+2\n",
        "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** Update File: b.py\n-1\n+2\n*** End Patch",
    ],
)
def test_a_patch_of_several_files_is_an_edit_of_each(patch):
    call = {"type": "tool_use", "id": "t1", "name": "apply_patch", "input": {"patch": patch}}
    edits = payloads(document([message("assistant", call), result()]), FileEdit)
    assert [e.path for e in edits] == ["a.py", "b.py"]
    assert "+y" in edits[0].diff
    assert "+2" in edits[1].diff


def test_a_failed_result_is_a_failure_and_a_result_without_a_mark_a_success():
    value = document([message("assistant", CALL), result("1 failed", is_error=True)])
    assert payloads(value, ToolResult)[0].ok is False
    assert payloads(document([result()]), ToolResult)[0].ok is True


def test_code_that_ran_at_the_provider_and_failed_is_a_failure():
    block = {"type": "code_execution_tool_result", "tool_use_id": "s", "content": {"stderr": "boom", "return_code": 2}}
    (found,) = payloads(document([message("user", block)]), ToolResult)
    assert (found.ok, found.exit_code, found.text) == (False, 2, "boom")


def test_calls_that_share_an_id_are_two():
    value = document([message("assistant", CALL), result(), message("assistant", CALL), result()])
    assert len({d.native_id for d in drafts(value) if isinstance(d.payload, ToolCall)}) == 2


def test_a_call_without_a_result_is_a_call():
    (found,) = payloads(document([message("assistant", CALL)]), ToolCall)
    assert (found.call_id, found.canonical) == ("t1", "edit")


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("exec_shell", "shell"),
        ("Bash", "shell"),
        ("mcp_recollect_search", "mcp"),
        ("write_file", "edit"),
        ("Web", "fetch"),
    ],
)
def test_tools_of_every_version_have_canonical_names(name, canonical):
    call = {"type": "tool_use", "id": "t", "name": name, "input": {}}
    assert payloads(document([message("assistant", call)]), ToolCall)[0].canonical == canonical


def test_the_turns_facts_around_a_prompt_are_not_the_persons():
    value = document([message("user", "Why?", "<turn_meta>\nbranch: main\n</turn_meta>")])
    assert [(m.text, m.origin) for m in payloads(value, UserMessage)] == [
        ("<turn_meta>\nbranch: main\n</turn_meta>", "injected"), ("Why?", "human")
    ]  # fmt: skip


def test_an_interrupted_reply_is_a_reply_and_an_interruption():
    value = document([message("assistant_interrupted", "Working")])
    assert payloads(value, AssistantMessage)[0].stop_reason == "interrupted"
    assert "interrupted" in [p.name for p in payloads(value, Lifecycle)]


def test_reasoning_that_is_only_signed_is_encrypted():
    value = document([message("assistant", {"type": "thinking", "thinking": "", "signature": "sig"})])
    assert payloads(value, Thinking) == [Thinking(is_encrypted=True)]


def test_a_summary_message_is_a_compaction_and_the_journals_counts_come_beside_it():
    summary = message("system", "[compaction summary] Before: much.")
    entries = [entry("a", "", "compaction", summary="Before: much.", tokens_before=80, tokens_after=2)]
    value = document([summary], entries=entries, leaf="a")
    assert payloads(value, Compaction) == [Compaction(summary="Before: much.")]
    counts = [p.detail for p in payloads(value, Lifecycle) if p.name == "compaction_counts"]
    assert counts == [{"tokens_before": 80, "tokens_after": 2}]


def test_a_summary_in_the_system_prompt_is_a_compaction_once():
    prompt = "Be kind.\n<!-- compaction-summary:begin -->\nBefore: much.\n<!-- compaction-summary:end -->"
    value = document(ONE, system_prompt=prompt)
    assert payloads(value, Compaction) == [Compaction(summary="Before: much.")]
    assert payloads(value, Instructions) == [Instructions("Be kind.", "system_prompt")]
    both = document([message("system", "[compaction summary] Before: much.")], system_prompt=prompt)
    assert len(payloads(both, Compaction)) == 1


def test_what_stood_before_a_summary_is_history_and_no_branch():
    summary = message("system", "[compaction summary] Said first.")
    entries = [
        entry("a", "", message=ONE[0]), entry("b", "a", message=ONE[1]),
        entry("c", "b", "compaction", summary="Said first."), entry("d", "c", message=message("user", "Second.")),
    ]  # fmt: skip
    value = document([summary, message("user", "Second.")], entries=entries, leaf="d")
    found = {d.payload.text: d.is_sidechain for d in drafts(value) if isinstance(d.payload, UserMessage)}
    assert found == {"Second.": False, "First.": False}
    assert payloads(value, Rewind) == []


def test_a_branch_that_was_left_is_marked_and_its_root_is_the_rewinds_target():
    entries = [
        entry("a", "", message=ONE[0]), entry("b", "a", message=ONE[1]),
        entry("c", "b", message=message("user", "Wrong turn.")), entry("d", "c", message=message("assistant", "Oops.")),
        entry("e", "b", message=message("user", "Second.")),
    ]  # fmt: skip
    value = document([*ONE, message("user", "Second.")], entries=entries, leaf="e")
    found = drafts(value)
    assert [d.payload.text for d in found if d.is_sidechain] == ["Wrong turn.", "Oops."]
    (rewind,) = [d.payload for d in found if isinstance(d.payload, Rewind)]
    assert rewind.to_event == next(
        d.native_id for d in found if d.payload == AssistantMessage("One.", "deepseek-v4-pro")
    )


def test_a_leaf_moved_back_off_the_newest_entry_is_a_rewind():
    entries = [
        entry("a", "", message=ONE[0]), entry("b", "a", message=ONE[1]),
        entry("c", "b", message=message("user", "Wrong turn.")),
    ]  # fmt: skip
    assert len(payloads(document(ONE, entries=entries, leaf="b"), Rewind)) == 1


def test_the_summary_of_a_branch_is_kept_with_a_rewind():
    entries = [entry("a", "", message=ONE[0]), entry("s", "a", "branch_summary", branch_id="x", summary="It failed.")]
    value = document(ONE[:1], entries=entries, leaf="s")
    assert [p.text for p in payloads(value, Lifecycle) if p.name == "branch_summary"] == ["It failed."]
    assert len(payloads(value, Rewind)) == 1


def test_short_entries_of_the_journal_are_messages():
    entries = [entry("a", "", "user", text="First."), entry("b", "a", "assistant", text="One.")]
    assert drafts(document(ONE, entries=entries, leaf="b")) == drafts(document(ONE))


def test_unknown_entries_members_roles_and_fields_are_kept():
    value = document([{"role": "oracle", "content": [], "novelty": "x"}], entries=[entry("a", "", "from_the_future")])
    value["strange"] = "member"
    kept = "\n".join(f"{p.type} {p.text}" for p in payloads(value, Unknown))
    for word in ("oracle", "novelty: x", "journal/from_the_future", "strange: member"):
        assert word in kept


def test_a_document_that_was_not_split_gives_the_same_events():
    value = document(ONE, entries=[entry("a", "", message=ONE[0])], leaf="a")
    info = SourceInfo("codewhale", "session", "sessions/s.json", session=SESSION)
    (events,) = read(ADAPTER, info, [Record(value, b"", 0)]).events
    assert {d.native_id for d in events} == names(value)


def test_a_placeholder_is_no_title():
    assert [p.title for p in payloads(document(ONE, title="New Session"), Lifecycle) if p.name == "title"] == []


def test_receipts_have_one_name_in_the_document_and_beside_it():
    receipt = {"phase": "asked", "approval_id": "t1", "tool_call_id": "t1", "created_at": "2026-08-01T09:01:00Z"}
    info = SourceInfo("codewhale", "approvals", f"sessions/{SESSION}/approval_receipts.jsonl", session=SESSION)
    ((beside,),) = read(ADAPTER, info, [Record(receipt, b"", 0)]).events
    assert beside.native_id in names(document(ONE, approval_receipts=[receipt]))


def test_a_spilled_output_is_a_result_of_its_call():
    info = SourceInfo("codewhale", "artifact", f"sessions/{SESSION}/artifacts/art_t1.txt", session=SESSION)
    ((found,),) = read(ADAPTER, info, [Record("all of it", b"", 0)]).events
    assert found.payload == ToolResult("t1", text="all of it", structured={"spilled_to": "art_t1.txt"})


@pytest.mark.parametrize(
    "name",
    ["credentials", "config.toml", "telemetry/x.json", "memory.md", "mcp.json", "sessions/session_boot_owners.json",
     "sessions/checkpoints/latest.json", "sessions/checkpoints/offline_queue.json", "sessions/.goals/a.json",
     "sessions/.work-graph-import-archive/a.json"],
)  # fmt: skip
def test_what_must_not_be_read_matches_no_place(name):
    places = ADAPTER.facts.places
    for place in places:
        taken = any(fnmatch(name, p) for p in place.patterns if p.count("/") == name.count("/"))
        assert not taken or name in place.exclude


def test_a_document_is_recognised_by_its_metadata_and_named_by_its_id():
    head = b'{\n  "schema_version": 1,\n  "metadata": {\n    "id": "abc-1", "title": "x", "updated_at": "t",'
    head += b' "message_count": 1, "total_tokens": 2, "workspace": "/w" }, "messages": [ {"role": "us'
    assert ADAPTER.recognise("x.json", head) == "session"
    assert ADAPTER.identify(SourceInfo("codewhale", "session", "sessions/other.json"), head) == "abc-1"
    assert ADAPTER.identify(SourceInfo("codewhale", "session", "sessions/other.json"), b"{}") == "other"
    assert ADAPTER.identify(SourceInfo("codewhale", "approvals", "sessions/abc/approval_receipts.jsonl"), b"") == "abc"
    assert ADAPTER.recognise("x.json", b'{"schema_version": 1, "messages": []}') is None
