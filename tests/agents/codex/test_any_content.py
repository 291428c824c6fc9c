"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents.codex.step import State
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.model.text import searchable, summary_of
from tests.agents.codex.records import ADAPTER, NAME, Reading, context, event, item, meta
from tests.agents.kit.bent import ODD, places_in
from tests.examples import tried

SESSION = Path(__file__).with_name("whole_session.jsonl")
RECORDS = [msgspec.json.decode(line) for line in SESSION.read_bytes().splitlines()]
ROLES = tuple(place.role for place in ADAPTER.facts.places)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def bent_sessions(draw: st.DrawFn) -> list[Any]:
    records = msgspec.json.decode(msgspec.json.encode(RECORDS))
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(records) - 1))
        places = places_in(records[at])
        if not places or draw(st.integers(0, 9)) == 0:
            records[at] = deepcopy(draw(ODD))
        else:
            container, key = draw(st.sampled_from(places))
            container[key] = deepcopy(draw(ODD))
    return records


@settings(max_examples=tried(200))
@given(records=bent_sessions(), role=st.sampled_from(ROLES))
def test_no_content_makes_the_parser_raise(records, role):
    reading = Reading(records, role)
    for payload in reading.payloads:
        searchable(payload)
        summary_of(payload)
    assert len(msgspec.msgpack.encode(reading.state)) < 131_072


@pytest.mark.parametrize("text", ["\ud800", "x" * 3_000_000, "\U0001f600" * 5_000])
def test_no_text_makes_the_state_large_or_impossible_to_encode(text):
    records = [
        meta(text, forked_from_id=text, cwd=text),
        context(text, model=text, cwd=text),
        event("user_message", message=text),
    ]
    records += [item("function_call", name="shell", arguments="{}", call_id=f"{text}{i}") for i in range(3)]
    records += [item("function_call_output", output="Exit code: 0", call_id=f"{text}{i}") for i in range(3)]
    assert len(msgspec.msgpack.encode(Reading(records).state)) < 131_072


@given(value=JSON, role=st.sampled_from(ROLES))
def test_any_json_value_is_a_record(value, role):
    Reading([value], role)


@given(records=bent_sessions())
def test_the_same_records_give_the_same_events(records):
    def without_encoding() -> list[Any]:
        state = ADAPTER.begin(SourceInfo("codex", "transcript", NAME))
        events = []
        for index, value in enumerate(records):
            parsed = ADAPTER.parse(Record(value, b"", index), state)
            state = parsed.state
            events += [(d.ts, d.role, d.session, repr(d.payload)) for d in parsed.events]
        return events

    # `Reading` encodes and decodes the state between any two records, as if the stream had been cut there.
    stepwise = [(d.ts, d.role, d.session, repr(d.payload)) for d in Reading(records).drafts]
    assert without_encoding() == stepwise


def test_the_state_has_one_form_whatever_its_past():
    state = Reading(RECORDS).state
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=State) == state


def test_one_session_shows_every_kind_that_is_claimed_and_no_other():
    kinds = {kind_of(p) for p in Reading(RECORDS).payloads}
    assert kinds == set(ADAPTER.facts.capabilities.kinds)


def test_a_known_record_is_read_without_defects():
    assert not Reading(RECORDS).defects


@pytest.mark.corpus
def test_rollouts_of_real_builds_have_few_unknown_records(shared: Path):
    rollouts = sorted(shared.glob("corpus/codex/**/rollout-*.jsonl"))
    payloads = [
        p for f in rollouts for p in Reading([msgspec.json.decode(x) for x in f.read_bytes().splitlines()]).payloads
    ]
    unknown = sum(kind_of(p) == "unknown" for p in payloads)
    assert unknown <= len(payloads) // 100


@pytest.mark.corpus
def test_no_transcript_of_another_agent_is_taken_for_codex(shared: Path):
    for path in (shared / "corpus" / "claude-code").rglob("*.jsonl"):
        with path.open("rb") as file:
            assert ADAPTER.recognise(path.name, file.read(65_536)) is None, path
