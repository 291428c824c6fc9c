"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.hermes.messages import KNOWN_FIELDS
from recollect.agents.hermes.parse import SESSION_FIELDS, HermesAdapter
from recollect.model.records import Record, SourceInfo
from recollect.model.text import searchable, summary_of
from recollect.testing.strategies import any_json
from tests.agents.hermes.databases import parse

ADAPTER = HermesAdapter()
ROLES = tuple(place.role for place in ADAPTER.facts.places)
FIELDS = sorted(KNOWN_FIELDS | SESSION_FIELDS | {"conversations", "messages", "prompt", "hash", "last_seen"})
SAID = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "session_meta",
        "\ud800",
        "x" * 70_000,
        "[CONTEXT SUMMARY]: x",
        '{"output":1}',
    ]
)
RECORDS = st.lists(st.dictionaries(st.sampled_from(FIELDS), SAID | any_json(), max_size=8), max_size=6)


@given(
    values=RECORDS, role=st.sampled_from(ROLES), at=st.sampled_from(["", "messages", "sessions", "session_model_usage"])
)
def test_rows_with_anything_in_their_columns_are_read(values: list[Any], role: str, at: str):
    records = [Record(v, b"", i, at) for i, v in enumerate(values)]
    for draft in parse(ADAPTER, SourceInfo("hermes", role, "state.db", "s"), records)[0]:
        searchable(draft.payload)
        summary_of(draft.payload)


@pytest.mark.parametrize("role", ROLES)
def test_no_text_makes_the_state_large_or_impossible_to_encode(role: str):
    state = ADAPTER.begin(SourceInfo("hermes", role, "state.db", "s"))
    for text in ("\ud800", "\U0001f600" * 30_000):
        asked = [
            {"id": text, "function": {"name": "write_file", "arguments": json.dumps({"path": text, "content": text})}}
        ]
        for i in range(40):
            for at in ("messages", "system_prompts", "sessions"):
                row = {
                    "role": "assistant",
                    "content": text,
                    "tool_calls": asked,
                    "hash": text,
                    "prompt": text,
                    "id": text,
                }
                state = ADAPTER.parse(Record({**row, "timestamp": i}, b"", i, at), state).state
        assert len(msgspec.msgpack.encode(state)) < 1 << 20


@pytest.mark.corpus
def test_published_session_files_are_recognised_and_read(shared: Path):
    found = [
        *shared.glob("corpus/hermes/**/*.json"),
        *shared.glob("corpus/peers/moraine/fixtures/hermes/sessions/*.json"),
    ]
    for path in found:
        raw = path.read_bytes()
        assert ADAPTER.recognise(path.name, raw[:65_536]) == "file"
        value = json.loads(raw)
        messages = value.pop("messages")
        records = [Record(value, b"", 0), *(Record(m, b"", i, "messages") for i, m in enumerate(messages, 1))]
        drafts, defects, _ = parse(ADAPTER, SourceInfo("hermes", "file", path.name, value["session_id"]), records)
        assert defects == []
        assert len(drafts) > len(messages) - 1
