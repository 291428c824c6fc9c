"""Messages of the AI SDK, and calls that wait for their result."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.calls import TurnState, decoded_arguments, give_call, give_result
from recollect.agents.kit.content import Speaker, output_of, read_content
from recollect.model.payloads import FileEdit, ToolCall, ToolResult, kind_of
from recollect.model.records import Record


def reading() -> Reading[Any]:
    return Reading(Record({}, b"", 0), TurnState())


@pytest.mark.parametrize(
    ("block", "text", "ok", "structured"),
    [
        ({"output": {"type": "text", "value": "a"}}, "a", True, None),
        ({"output": {"type": "error-json", "value": {"code": 1}}}, "", False, {"code": 1}),
        ({"output": {"type": "execution-denied", "reason": "no"}}, "no", False, None),
        ({"output": {"type": "content", "value": [{"type": "text", "text": "a"}]}}, "a", True, None),
        ({"result": {"stdout": "a"}}, "", None, {"stdout": "a"}),
        ({"result": "a", "isError": True}, "a", False, None),
        ({"error": "boom"}, "boom", False, None),
        ({}, "", None, None),
    ],
)
def test_an_output_says_what_came_and_how_it_went(block: dict[str, Any], text: str, ok: Any, structured: Any):
    assert output_of(block) == (text, ok, structured)


def test_texts_are_one_message_at_the_place_of_the_first():
    r = reading()
    blocks = [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    read_content(r, blocks, Speaker("assistant", "m1"))
    assert [kind_of(d.payload) for d in r.events] == ["thinking", "assistant_message"]
    assert r.events[1].payload.text == "a\nb"  # type: ignore[union-attr]  # the kind is checked above


def test_blocks_of_unknown_types_and_fields_are_kept_as_drift():
    r = reading()
    read_content(
        r, [{"type": "hologram", "x": 1}, {"type": "text", "text": "a", "novelty": "y"}], Speaker("user", "m1")
    )
    assert {d.name for d in r.drift} == {"hologram", "text.novelty"}
    assert [kind_of(d.payload) for d in r.events] == ["unknown", "user_message", "unknown"]


def test_an_edit_waits_for_its_result():
    r = reading()
    arguments = {"path": "a", "old_string": "x", "new_string": "y"}
    give_call(r, ToolCall("c1", "edit", "edit", arguments), "m1")
    give_result(r, ToolResult("c1", ok=False), "m2")
    give_call(r, ToolCall("c2", "edit", "edit", arguments), "m3")
    give_result(r, ToolResult("c2"), "m4")
    edits = [d.payload for d in r.events if isinstance(d.payload, FileEdit)]
    assert [(e.call_id, e.before, e.after) for e in edits] == [("c2", "x", "y")]
    results = [d.payload for d in r.events if isinstance(d.payload, ToolResult)]
    assert [result.name for result in results] == ["edit", "edit"]


def test_arguments_that_are_no_json_stay_text():
    assert decoded_arguments('{"a": 1}') == {"a": 1}
    assert decoded_arguments("{a") == "{a"
    assert decoded_arguments("") is None
