"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.goose.parse import SESSION_FIELDS, GooseAdapter
from recollect.model.records import Record, SourceInfo
from recollect.model.text import searchable, summary_of
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_json
from tests.agents.hermes.databases import parse

ADAPTER = GooseAdapter()
ROLES = tuple(place.role for place in ADAPTER.facts.places)
TYPES = st.sampled_from(
    """text image thinking reasoning redactedThinking toolRequest frontendToolRequest toolResponse
    toolConfirmationRequest actionRequired systemNotification conversationCompacted contextLengthExceeded odd""".split()
)
PARTS = ("id", "text", "thinking", "toolCall", "toolResult", "data", "msg", "arguments", "prompt", "_meta")
INNER = st.dictionaries(
    st.sampled_from(("status", "value", "error", "name", "arguments", "content", "type")), any_json()
)
BLOCK = st.builds(
    lambda kind, fields: {**fields, "type": kind}, TYPES, st.dictionaries(st.sampled_from(PARTS), INNER | any_json())
)
ROW = st.builds(
    lambda role, content, fields: {**fields, "role": role, "content_json": content, "content": content},
    st.sampled_from(("user", "assistant")) | any_json(),
    st.lists(BLOCK, max_size=4) | any_json(),
    st.dictionaries(st.sampled_from(sorted(SESSION_FIELDS | {"metadata_json", "message_id", "created"})), any_json()),
)


@given(values=st.lists(ROW, max_size=5))
def test_rows_with_anything_in_their_blocks_keep_the_contract(values: list[Any]):
    for role in ROLES:
        assert check_adapter(ADAPTER, SourceInfo("goose", role, "a/sessions.db", session="s"), values) == [], role
        for at in ("", "usage_ledger"):
            records = [Record(v, b"", i, at) for i, v in enumerate(values)]
            for draft in parse(ADAPTER, SourceInfo("goose", role, "sessions.db", "s"), records)[0]:
                searchable(draft.payload)
                summary_of(draft.payload)


def test_no_text_makes_the_state_large_or_impossible_to_encode():
    state = ADAPTER.begin(SourceInfo("goose", "messages", "sessions.db", "s"))
    for text in ("\ud800", "\U0001f600" * 300_000):
        asked = {"status": "success", "value": {"name": "write", "arguments": {"path": text, "content": text}}}
        block = {"type": "toolRequest", "id": text, "toolCall": asked}
        for i in range(40):
            row = {"role": "assistant", "message_id": f"{text}{i}", "content_json": [block], "created_timestamp": i}
            state = ADAPTER.parse(Record(row, b"", i, "messages"), state).state
        assert len(msgspec.msgpack.encode(state)) < 1 << 20
