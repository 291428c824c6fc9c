"""Shelley's traps, one by one."""

from __future__ import annotations

from typing import Any

from recollect.agents.shelley.parse import ShelleyAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = ShelleyAdapter()


def drafts(role: str, values: list[Any], at: str = "", path: str = "shelley.db") -> list[Draft]:
    info = SourceInfo("shelley", role, path)
    info = SourceInfo("shelley", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


def content(kind: int, **fields: Any) -> dict[str, Any]:
    return {"ID": "", "Type": kind, "Text": "", **fields}


def row(number: int, kind: str, blocks: list[Any], **fields: Any) -> dict[str, Any]:
    llm = {"Role": 0, "Content": blocks, **fields.pop("llm", {})}
    base = {"message_id": f"m{number}", "conversation_id": "c1", "sequence_id": number, "type": kind, "llm_data": llm}
    return {**base, "created_at": f"2026-08-01 09:00:{number:02d}", **fields}


def test_content_types_are_numbers_that_begin_at_two():
    blocks = [content(3, Thinking="Hm."), content(2, Text="Hello."), content(5, ID="t1", ToolName="bash", ToolInput={})]
    found = drafts("messages", [row(1, "agent", blocks)])
    assert [kind_of(d.payload) for d in found] == ["thinking", "assistant_message", "tool_call"]


def test_a_row_of_nothing_but_results_starts_no_turn():
    found = drafts("messages", [row(1, "user", [content(6, ToolUseID="t1", ToolResult=[content(2, Text="ok")])])])
    assert [kind_of(d.payload) for d in found] == ["tool_result"]
    assert found[0].payload.ok is True


def test_a_tool_error_is_a_failure_and_its_edit_is_none():
    call = content(5, ID="t1", ToolName="patch", ToolInput={"path": "a", "patches": [{"oldText": "x", "newText": "y"}]})
    result = content(6, ToolUseID="t1", ToolError=True, ToolResult=[content(2, Text="no such text")])
    found = drafts("messages", [row(1, "agent", [call]), row(2, "user", [result])])
    assert of("tool_result", found)[0].ok is False
    assert of("file_edit", found) == []


def test_the_diff_that_a_tool_showed_is_the_edit():
    call = content(5, ID="t1", ToolName="patch", ToolInput={"path": "a", "patches": [{"oldText": "x", "newText": "y"}]})
    result = content(6, ToolUseID="t1", ToolResult=[content(2, Text="ok")])
    shown = [{"tool_use_id": "t1", "display": {"path": "/w/a", "diff": "-x\n+y"}}]
    found = drafts("messages", [row(1, "agent", [call]), row(2, "user", [result], display_data=shown)])
    edit = of("file_edit", found)[0]
    assert (edit.path, edit.diff, edit.call_id) == ("/w/a", "-x\n+y", "t1")


def test_without_a_shown_diff_the_arguments_tell_the_edit():
    call = content(5, ID="t1", ToolName="patch", ToolInput={"path": "a", "patches": [{"oldText": "x", "newText": "y"}]})
    found = drafts("messages", [row(1, "agent", [call]), row(2, "user", [content(6, ToolUseID="t1", ToolResult=[])])])
    edit = of("file_edit", found)[0]
    assert (edit.path, edit.before, edit.after) == ("a", "x", "y")


def test_the_summary_of_a_distillation_stands_beside_the_placeholder():
    about = {"distilled": "true", "distillation_content": "You were busy.", "distillation_file": "/tmp/x.md"}
    found = drafts(
        "messages", [row(1, "user", [content(2, Text="Distillation written to /tmp/x.md")], user_data=about)]
    )
    assert [d.payload.summary for d in found] == ["You were busy."]


def test_messages_copied_behind_a_summary_are_no_new_turns():
    said = [content(2, Text="First.")]
    about = {"distilled": "true", "distillation_content": "s"}
    rows = [row(1, "user", said), row(2, "user", [content(2, Text="d")], user_data=about), row(3, "user", said)]
    found = drafts("messages", [*rows, row(4, "user", [content(2, Text="New.")]), row(5, "user", said)])
    assert [p.text for p in of("user_message", found)] == ["First.", "New.", "First."]
    assert [p.name for p in of("lifecycle", found)] == ["copied_message"]


def test_usage_of_nothing_is_none_and_a_cost_of_nothing_is_not_stated():
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cost_usd": 0}
    zero = dict.fromkeys(usage, 0)
    values = [row(1, "user", [], usage_data=zero), row(2, "agent", [content(2, Text="x")], usage_data=usage)]
    counted = of("token_usage", drafts("messages", values))
    assert [(c.input_tokens, c.cache_read_tokens, c.cost_usd) for c in counted] == [(1, 3, None)]


def test_a_forked_copy_has_the_name_of_the_message_it_was_copied_from():
    found = drafts("messages", [row(9, "user", [content(2, Text="Hi")], forked_from_message_id="m1")])
    assert [d.native_id for d in found] == ["m1"]


def test_a_message_that_waits_is_queued():
    found = drafts("messages", [row(1, "user", [content(2, Text="Later.")], excluded_from_context=1)])
    assert of("user_message", found)[0].origin == "queued"


def test_only_a_conversation_that_nobody_began_is_a_subagent():
    base = {
        "conversation_id": "c2",
        "parent_conversation_id": "c1",
        "slug": "finder",
        "created_at": "2026-08-01 09:00:00",
    }
    child = of("session_start", drafts("session", [{**base, "user_initiated": 0}]))[0]
    later = of("session_start", drafts("session", [{**base, "user_initiated": 1}]))[0]
    assert (child.parent_session, child.agent_name) == ("c1", "finder")
    assert (later.parent_session, later.resumed_from) == ("", "c1")


def test_errors_and_stops_are_not_said_by_the_model():
    error = row(1, "agent", [content(2, Text="overloaded")], llm={"ErrorType": "llm_request"})
    stop = row(2, "agent", [content(2, Text="[Operation cancelled]")])
    found = drafts("messages", [error, stop])
    assert [p.name for p in of("lifecycle", found)] == ["api_error", "interrupted"]
    assert of("assistant_message", found) == []


def test_images_become_a_hash():
    block = content(2, MediaType="image/png", Data="aGk=")
    part = of("user_message", drafts("messages", [row(1, "user", [block])]))[0].parts[0]
    assert (part.media_type, part.bytes, len(part.sha256)) == ("image/png", 2, 64)


def test_credentials_and_addresses_are_never_read():
    messages, conversations = (place.tables[0] for place in ADAPTER.facts.places)
    assert {place.tables[0].name for place in ADAPTER.facts.places} == {"messages", "conversations"}
    assert {"user_email", "llm_api_url"} <= set(messages.exclude)
    assert {"conversation_options", "draft", "queued_messages"} <= set(conversations.exclude)
