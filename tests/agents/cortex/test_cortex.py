"""Cortex Code's traps, one by one."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = FormatAdapter("cortex")


def drafts(role: str, values: list[Any], at: str = "", path: str = "u-1.json") -> list[Draft]:
    info = SourceInfo("cortex", role, path)
    info = SourceInfo("cortex", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


def message(number: int, role: str, blocks: list[Any], **fields: Any) -> dict[str, Any]:
    return {"role": role, "id": f"msg-{number}", "content": blocks, **fields}


def test_blocks_for_the_model_alone_are_not_said_by_anybody():
    blocks = [
        {"type": "text", "text": "<system-reminder>x</system-reminder>"},
        {"type": "text", "text": "Hidden", "internalOnly": True},
        {"type": "text", "text": "Question", "internalOnly": False},
    ]
    found = of("user_message", drafts("conversation", [message(1, "user", blocks)], "history"))
    assert [(p.text, p.origin) for p in found if p.origin == "human"] == [("Question", "human")]
    assert len([p for p in found if p.origin == "injected"]) == 2


def test_calls_and_results_lie_in_an_object_of_their_blocks_name():
    asked = {"tool_use_id": "t1", "name": "edit", "input": {"file_path": "a", "old_string": "x", "new_string": "y"}}
    answer = {"tool_use_id": "t1", "name": "edit", "content": [{"type": "text", "text": "ok"}], "status": "success"}
    values = [
        message(1, "assistant", [{"type": "tool_use", "tool_use": asked}]),
        message(2, "user", [{"type": "tool_result", "tool_result": answer}]),
    ]
    found = drafts("conversation", values, "history")
    assert [kind_of(d.payload) for d in found] == ["tool_call", "tool_result", "file_edit"]
    assert of("tool_result", found)[0].ok is True


def test_a_status_other_than_success_is_a_failure_only_if_it_says_error():
    def ok(status: str) -> Any:
        answer = {"tool_use_id": "t1", "name": "bash", "content": [], "status": status}
        block = {"type": "tool_result", "tool_result": answer}
        return of("tool_result", drafts("history", [message(1, "user", [block])]))[0].ok

    assert [ok(s) for s in ("success", "error", "odd")] == [True, False, None]


def test_messages_have_the_same_name_in_both_files():
    value = message(1, "user", [{"type": "text", "text": "a"}])
    inside = drafts("conversation", [value], "history")
    outside = drafts("history", [value], path="u-1.history.jsonl")
    assert [d.native_id for d in inside] == [d.native_id for d in outside] == ["m:msg-1"]
    assert ADAPTER.identify(SourceInfo("cortex", "history", "u-1.history.jsonl"), b"") == "u-1"


def test_the_title_that_every_conversation_has_is_none():
    found = drafts("conversation", [{"session_id": "u-1", "title": "Chat for session: u-1"}])
    assert of("lifecycle", found) == []


def test_only_prompts_have_a_time():
    value = message(1, "user", [{"type": "text", "text": "a"}], user_sent_time="2026-08-01T09:00:00Z")
    found = drafts("conversation", [value, message(2, "assistant", [{"type": "text", "text": "b"}])], "history")
    assert [d.ts_quality for d in found] == ["exact", "inferred"]


def test_backups_are_not_read():
    assert "*.back.*.json" in ADAPTER.facts.places[0].exclude
