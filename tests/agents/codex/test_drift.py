"""What the parser does not know of the format is counted, and the events stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.model.records import Drift, Record, SourceInfo
from tests.agents.codex.records import (
    ADAPTER,
    NAME,
    THREAD,
    TURN_1,
    assistant_event,
    assistant_item,
    completed,
    context,
    event,
    item,
    meta,
    record,
    tokens,
    user_event,
    user_item,
)


def drift_of(*records: Any) -> list[Drift]:
    state = ADAPTER.begin(SourceInfo("codex", "transcript", NAME, THREAD))
    found: list[Drift] = []
    for index, value in enumerate(records):
        parsed = ADAPTER.parse(Record(value, b"", index), state)
        state = parsed.state
        found += parsed.drift
    return found


def test_a_thread_as_it_is_known_shows_no_drift() -> None:
    records = [
        meta(cli_version="0.146.0", history_mode="paginated", source={"subagent": {"thread_spawn": {"depth": 1}}}),
        context(TURN_1, effort="medium", summary="auto"),
        event("task_started", turn_id=TURN_1),
        user_item("hello"),
        user_event("hello"),
        assistant_event("hi"),
        assistant_item("hi"),
        completed("CommandExecution", command=["ls"], status="completed", exit_code=0),
        completed("CommandExecution", command=["ls"], status="inProgress"),
        tokens(10, 10),
        event("turn_aborted", reason="interrupted"),
    ]
    assert drift_of(*records) == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (record("from_the_future", {"said": "?"}), "from_the_future"),
        (item("hologram"), "response_item/hologram"),
        (record("response_item", {"said": "?"}), "response_item/(none)"),
        (event("hologram"), "event_msg/hologram"),
        (completed("Hologram"), "item_completed/Hologram"),
        ({"type": "hologram"}, "hologram"),
        ({"said": "?"}, "(none)"),
        (item("message", role="user", content=[{"type": "hologram", "text": "?"}]), "content/hologram"),
    ],
)
def test_an_unknown_type_of_record_item_or_block_is_counted(written: Any, name: str) -> None:
    assert drift_of(written) == [Drift("type", name)]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ({**assistant_item("hi"), "novelty": "x"}, "record.novelty"),
        (meta(novelty="x"), "session_meta.novelty"),
        (meta(source={"novelty": "x"}), "session_meta.source.novelty"),
        (meta(source={"subagent": {"novelty": "x"}}), "session_meta.source.subagent.novelty"),
        (context(TURN_1, novelty="x"), "turn_context.novelty"),
        (record("compacted", {"message": "short", "novelty": "x"}), "compacted.novelty"),
        (item("function_call", name="shell", arguments="{}", novelty="x"), "response_item/function_call.novelty"),
        (event("turn_complete", novelty="x"), "event_msg/turn_complete.novelty"),
        (completed("AgentMessage", content=[], novelty="x"), "item_completed/AgentMessage.novelty"),
        ({"type": "message", "role": "user", "content": "hello", "novelty": "x"}, "response_item/message.novelty"),
        (
            item("message", role="user", content=[{"type": "input_text", "text": "hi", "novelty": "x"}]),
            "content.novelty",
        ),
        (event("token_count", info={"novelty": 7}), "event_msg/token_count.info.novelty"),
        (
            event("token_count", info={"last_token_usage": {"novelty": 7}}),
            "event_msg/token_count.info.last_token_usage.novelty",
        ),
    ],
)
def test_an_unknown_field_that_says_something_is_counted(written: Any, name: str) -> None:
    assert drift_of(written) == [Drift("field", name)]


def test_an_unknown_field_without_a_value_is_no_drift() -> None:
    assert drift_of(meta(novelty=None, more=[])) == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (meta(history_mode="scattered"), "session_meta.history_mode=scattered"),
        (item("message", role="ghost", content="boo"), "response_item/message.role=ghost"),
        (event("turn_aborted", reason="bored"), "event_msg/turn_aborted.reason=bored"),
        (completed("CommandExecution", command=["ls"], status="pondering"), "tool.status=pondering"),
        (event("patch_apply_end", call_id="c", changes={"a.py": {"type": "fold"}}), "change.type=fold"),
    ],
)
def test_an_unknown_value_that_decides_something_is_counted(written: Any, name: str) -> None:
    assert drift_of(written) == [Drift("value", name)]


def test_a_record_given_as_detail_is_not_searched_for_unknown_fields() -> None:
    assert drift_of(event("guardian_assessment", novelty="x"), record("world_state", {"novelty": "x"})) == []
