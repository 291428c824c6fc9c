"""Promises that hold for any content: nothing raises, nothing is lost, nothing depends on where parsing stopped."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.claude.state import ClaudeState
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Parsed, Record
from tests.agents.claude.test_goldens import TRAPS
from tests.agents.claude.transcripts import ADAPTER, FOLDER, SESSION, Told, lines_of, source
from tests.agents.kit.bent import bent

RECORDS = [record for trap in TRAPS for record in lines_of(f"{trap}.jsonl")]
ROLES = [place.role for place in ADAPTER.facts.places]
MAX_STATE_BYTES = 8 * 1024

_texts = st.text(max_size=12) | st.sampled_from(
    ["user", "tool_result", "image", "base64", "<system-reminder>", "</system-reminder>", "<command-name>", "12", "NaN"]
)
_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts
any_json = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3), max_leaves=8
)


def _parse(value: Any, state: ClaudeState) -> Parsed[ClaudeState]:
    return ADAPTER.parse(Record(value, b"", 0), state)


@given(st.lists(bent(RECORDS), min_size=1, max_size=4), st.sampled_from(["transcript", "subagent"]))
def test_any_value_in_any_field_gives_events_and_never_raises(records: list[Any], role: str) -> None:
    state = ADAPTER.begin(source(role))
    for value in records:
        parsed = _parse(value, state)
        assert parsed.events
        msgspec.json.encode(parsed.events)
        state = parsed.state


@given(any_json, st.sampled_from(ROLES))
def test_any_json_in_any_kind_of_source_gives_an_event(value: Any, role: str) -> None:
    assert _parse(value, ADAPTER.begin(source(role))).events


@given(st.lists(bent(RECORDS), max_size=4))
def test_any_records_are_judged_without_raising(records: list[Any]) -> None:
    head = b"\n".join(msgspec.json.encode(r) for r in records)
    ADAPTER.recognise("x.jsonl", head)
    assert all(ADAPTER.identify(source(role, "x.jsonl"), head) for role in ROLES)


@given(st.lists(st.sampled_from(RECORDS), max_size=30))
def test_the_events_are_the_same_wherever_parsing_stopped(records: list[Any]) -> None:
    straight = Told(records)
    state = ADAPTER.begin(source())
    events: list[tuple[Draft, ...]] = []
    for i, value in enumerate(records):
        kept = msgspec.json.encode(state)
        assert len(kept) < MAX_STATE_BYTES
        state = msgspec.json.decode(kept, type=ClaudeState)
        parsed = ADAPTER.parse(Record(value, b"", i), state)
        events.append(parsed.events)
        state = parsed.state
    assert events == straight.by_record


@given(st.lists(bent(RECORDS), max_size=3))
def test_a_replaced_event_is_one_that_was_told(records: list[Any]) -> None:
    told = Told([*lines_of("growing_snapshots.jsonl"), *records])
    places = {(d.native_id, part) for drafts in told.by_record for part, d in enumerate(drafts)}
    assert all(d.replaces in places for d in told.drafts if d.replaces)


@pytest.mark.parametrize("field", ["uuid", "parentUuid", "cwd", "version", "message"])
def test_a_known_field_of_a_wrong_type_is_a_counted_defect(field: str) -> None:
    record = {**lines_of("rewound.jsonl")[0], field: [1]}
    told = Told([record])
    assert told.drafts
    assert [(d.code, d.detail) for d in told.defects] == [("wrong_type", field)]


def test_the_declared_kinds_are_those_that_the_fixtures_show() -> None:
    shown = {kind for trap in TRAPS for kind in Told(lines_of(f"{trap}.jsonl")).kinds}
    assert shown == set(ADAPTER.facts.capabilities.kinds)


def test_every_fixture_has_its_reviewed_events() -> None:
    assert [t for t in TRAPS if not (FOLDER / f"{t}.events.jsonl").is_file()] == []


@pytest.mark.corpus
def test_shared_transcripts_give_events_for_every_record_and_the_usage_they_state(shared: Any) -> None:
    paths = sorted((shared / "corpus" / "claude-code").rglob("*.jsonl"), key=lambda p: p.stat().st_size)[:80]
    for path in paths:
        records = [r for r in map(_decoded, path.read_bytes().splitlines()) if isinstance(r, dict)]
        told = Told(records, source(session=SESSION))
        assert all(told.by_record)
        counted: dict[str, int] = {}
        for usage in told.all("token_usage"):
            if usage.is_additive:
                counted[usage.dedupe_key] = max(counted.get(usage.dedupe_key, 0), usage.output_tokens)
        assert sum(counted.values()) == sum(_stated_output(records).values()), path


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None


def _stated_output(records: list[dict[str, Any]]) -> dict[tuple[Any, Any], int]:
    """Count output tokens the plain way: the most per (message id, request id)."""
    stated: dict[tuple[Any, Any], int] = {}
    for record in records:
        message = record.get("message")
        if record.get("type") != "assistant" or not isinstance(message, dict) or message.get("model") == "<synthetic>":
            continue
        usage = message.get("usage")
        if isinstance(usage, dict):
            key = (message.get("id"), record.get("requestId"))
            stated[key] = max(stated.get(key, 0), int(usage.get("output_tokens") or 0))
    return stated


def test_a_deep_record_is_read_without_a_limit_of_its_own() -> None:
    deep: Any = "bottom"
    for _ in range(200):
        deep = {"x": deep}
    told = Told([{"type": "comet", "sessionId": SESSION, "tail": deep}])
    assert kind_of(told.drafts[0].payload) == "unknown"
    assert "bottom" in told.one("unknown").text
