"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.posit.parse import PositAdapter
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_json, any_values

ADAPTER = PositAdapter()
ROLES = tuple(place.role for place in ADAPTER.facts.places)
NAMES = st.sampled_from(
    """id message role content providerOptions providerMetadata positai timestamp modelId usage inputTokens
    outputTokens cacheWriteTokens type text toolCallId toolName input output value root metadata kind
    title parentTreeId messages lmMessageIds isActive files image data mediaType""".split()
)
KINDS = st.sampled_from(
    """user assistant system tool text reasoning tool-call tool-result image file usage main subagent
    error-text content json""".split()
)
INNER = st.dictionaries(NAMES, KINDS | any_json(), max_size=5)
BLOCK = st.dictionaries(NAMES, KINDS | INNER | st.lists(INNER, max_size=2) | any_json(), max_size=6)
RECORD = st.dictionaries(NAMES, KINDS | BLOCK | st.lists(BLOCK, max_size=3) | any_json(), max_size=8)


def info(role: str) -> SourceInfo:
    return SourceInfo("posit", role, "ws/conv1/lm-messages.jsonl", session="s")


@pytest.mark.parametrize("role", ROLES)
@given(values=any_values())
def test_any_content_keeps_the_contract(role: str, values: list[Any]):
    assert check_adapter(ADAPTER, info(role), values) == []


@pytest.mark.parametrize("role", ROLES)
@given(values=st.lists(RECORD, max_size=4))
def test_known_fields_with_anything_in_them_keep_the_contract(role: str, values: list[Any]):
    assert check_adapter(ADAPTER, info(role), values) == []


@pytest.mark.parametrize("role", ROLES)
@given(values=st.lists(st.lists(RECORD, max_size=2) | RECORD, max_size=4), at=st.sampled_from(("messages", "")))
def test_elements_of_split_documents_keep_the_contract(role: str, values: list[Any], at: str):
    state = ADAPTER.begin(info(role))
    for index, value in enumerate(values):
        state = ADAPTER.parse(Record(value, b"", index, at), state).state
        assert len(msgspec.msgpack.encode(state)) < 1 << 20


@pytest.mark.parametrize("text", ["\ud800", "\U0001f600" * 20_000])
def test_no_text_makes_the_state_large_or_impossible_to_encode(text: str):
    for role in ROLES:
        state = ADAPTER.begin(info(role))
        for index in range(40):
            value = {
                "id": index,
                "message": {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool-call",
                            "toolCallId": f"{text}{index}",
                            "toolName": "edit",
                            "input": {"path": text, "old_string": text, "new_string": text},
                        }
                    ],
                },
                "kind": text,
                "type": "usage",
            }
            state = ADAPTER.parse(Record(value, b"", index, ""), state).state
        assert len(msgspec.msgpack.encode(state)) < 1 << 20


@given(head=st.binary(max_size=200), path=st.text(max_size=20))
def test_any_head_is_recognised_or_not_and_has_a_name(head: bytes, path: str):
    assert ADAPTER.recognise(path, head) in (None, *ROLES)
    for role in ROLES:
        assert ADAPTER.identify(SourceInfo("posit", role, path), head)
