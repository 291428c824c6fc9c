"""What the parser does not know of the format is counted, and the events stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.model.payloads import kind_of
from recollect.model.records import Drift, Record
from tests.agents.claude.transcripts import ADAPTER, SESSION, assistant, call, envelope, result, said, source, user


def drift_of(*records: Any, role: str = "transcript") -> list[Drift]:
    state = ADAPTER.begin(source(role))
    found: list[Drift] = []
    for index, value in enumerate(records):
        parsed = ADAPTER.parse(Record(value, b"", index), state)
        state = parsed.state
        found += parsed.drift
    return found


def bare(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "sessionId": SESSION, **fields}


def test_a_conversation_as_it_is_known_shows_no_drift() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_creation": {"ephemeral_5m_input_tokens": 0}}
    records = [
        user("hello", promptSource="typed", origin={"kind": "human"}),
        assistant(said("hi"), message={"usage": usage, "stop_reason": "end_turn"}),
        assistant(call("Bash", {"command": "ls"})),
        result([{"type": "text", "text": "a.py"}], {"stdout": "a.py", "stderr": "", "interrupted": False}),
        bare("ai-title", aiTitle="Hello"),
        bare("bridge-session", bridgeSessionId="b"),
    ]
    assert drift_of(*records) == []


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (bare("from_the_future"), "from_the_future"),
        ({"sessionId": SESSION}, "(none)"),
        (assistant({"type": "hologram", "text": "?"}), "assistant/hologram"),
        (user([{"type": "hologram", "text": "?"}]), "user/hologram"),
        (result([{"type": "hologram"}]), "tool_result/hologram"),
        (envelope("attachment", "u-9", attachment={"type": "hologram"}), "attachment/hologram"),
        (envelope("progress", "u-9", data={"type": "hologram"}), "progress/hologram"),
    ],
)
def test_an_unknown_type_of_record_or_block_is_counted(record: Any, name: str) -> None:
    assert drift_of(record) == [Drift("type", name)]


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (user("hello", novelty="x"), "user.novelty"),
        (assistant(said("hi"), message={"novelty": "x"}), "assistant.message.novelty"),
        (assistant({**call("Bash", {}), "novelty": "x"}), "tool_use.novelty"),
        (assistant(said("hi"), message={"usage": {"output_tokens": 1, "novelty": 7}}), "usage.novelty"),
        (
            assistant(said("hi"), message={"usage": {"cache_creation": {"ephemeral_24h_input_tokens": 7}}}),
            "usage.cache_creation.ephemeral_24h_input_tokens",
        ),
        (bare("ai-title", aiTitle="Hello", novelty="x"), "ai-title.novelty"),
        (bare("cost-state", modelUsage={"claude-x": {"novelty": 7}}), "cost-state.modelUsage.novelty"),
        (
            envelope("attachment", "u-9", attachment={"type": "queued_command", "prompt": "go", "novelty": "x"}),
            "queued_command.novelty",
        ),
    ],
)
def test_an_unknown_field_that_says_something_is_counted(record: Any, name: str) -> None:
    assert drift_of(record) == [Drift("field", name)]


def test_an_unknown_field_without_a_value_is_no_drift() -> None:
    assert drift_of(user("hello", novelty=None, more=[])) == []


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (envelope("system", "u-9", subtype="hologram"), "system.subtype=hologram"),
        (
            envelope("system", "u-9", subtype="compact_boundary", compactMetadata={"trigger": "moon"}),
            "system.trigger=moon",
        ),
        (user("hello", promptSource="telepathy"), "user.promptSource=telepathy"),
        (user("hello", origin={"kind": "ghost"}), "user.origin.kind=ghost"),
        (assistant(said("hi"), message={"stop_reason": "bored"}), "assistant.message.stop_reason=bored"),
        (bare("queue-operation", operation="shuffle"), "queue-operation.operation=shuffle"),
    ],
)
def test_an_unknown_value_that_decides_something_is_counted(record: Any, name: str) -> None:
    assert drift_of(record) == [Drift("value", name)]


def test_fields_and_states_of_sidecars_are_counted_by_their_role() -> None:
    todo = {"content": "write", "status": "dreaming", "novelty": "x"}
    assert drift_of(todo, role="todos") == [Drift("value", "todo.status=dreaming"), Drift("field", "todos.novelty")]
    pasted = {"display": "hi", "pastedContents": {"1": {"type": "text", "contentHash": "0f"}}}
    assert drift_of(pasted, role="history") == [Drift("field", "history.pastedContents.contentHash")]


def test_a_known_record_that_says_nothing_is_kept_and_is_no_drift() -> None:
    parsed = ADAPTER.parse(Record(envelope("user", "u-9"), b"", 0), ADAPTER.begin(source()))
    assert [kind_of(event.payload) for event in parsed.events] == ["session_start", "unknown"]
    assert parsed.drift == ()


def test_names_of_drift_are_short() -> None:
    assert {len(d.name) for d in drift_of(bare("x" * 500), user("hello", **{"y" * 500: 1}))} == {80}
