"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.otel.messages import PART_FIELDS, messages_of
from recollect.agents.otel.spans import MESSAGE_EVENTS
from recollect.agents.otel.wire import KNOWN, OPERATIONS
from recollect.model.records import Record, SourceInfo
from recollect.model.text import searchable, summary_of
from recollect.testing.conformance import MAX_STATE_BYTES, check_adapter
from recollect.testing.strategies import any_json
from tests.agents.otel.exports import ADAPTER, answer, chat, request, user

KINDS = st.sampled_from(
    "text reasoning tool_call tool_call_response tool_use tool_result blob uri file image_url odd".split()
)
PART = st.builds(
    lambda kind, rest: {**rest, "type": kind}, KINDS, st.dictionaries(st.sampled_from(sorted(PART_FIELDS)), any_json())
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(("user", "assistant", "system", "tool", "odd")) | any_json()},
    optional={"parts": st.lists(PART, max_size=3) | any_json(), "content": any_json(), "tool_calls": any_json()},
)
MESSAGES = st.lists(MESSAGE, max_size=4) | st.lists(MESSAGE, max_size=3).map(json.dumps) | any_json()
ATTRIBUTES = st.dictionaries(st.sampled_from(sorted(KNOWN)), any_json(), max_size=5).flatmap(
    lambda rest: st.builds(
        lambda operation, into, out: {
            **rest,
            "gen_ai.operation.name": operation,
            "gen_ai.input.messages": into,
            "gen_ai.output.messages": out,
        },
        st.sampled_from((*sorted(OPERATIONS), "odd")) | any_json(),
        MESSAGES,
        MESSAGES,
    )
)
IDS = st.sampled_from(("1" * 32, "2" * 16, "", "\ud800", "x" * 500)) | any_json()
SPAN = st.fixed_dictionaries(
    {"attributes": ATTRIBUTES, "traceId": IDS, "spanId": IDS},
    optional={
        "parentSpanId": IDS,
        "name": any_json(),
        "startTimeUnixNano": st.integers() | any_json(),
        "endTimeUnixNano": st.integers().map(str) | any_json(),
        "status": any_json(),
        "events": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(sorted(MESSAGE_EVENTS)), "attributes": any_json()})
        ),
        "links": any_json(),
    },
)
LOG = st.fixed_dictionaries(
    {
        "eventName": st.sampled_from((*sorted(MESSAGE_EVENTS), "claude_code.api_request", "codex.user_prompt", "odd")),
        "attributes": ATTRIBUTES | any_json(),
        "body": any_json(),
    },
    optional={"traceId": IDS, "spanId": IDS, "timeUnixNano": any_json()},
)
REQUEST = st.lists(SPAN, max_size=3).map(lambda spans: request(*spans)) | st.lists(LOG, max_size=3).map(
    lambda logs: {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}
)


def info(role: str) -> SourceInfo:
    return SourceInfo("otel", role, "traces.jsonl", session="own")


@given(values=st.lists(REQUEST | SPAN | LOG | ATTRIBUTES, max_size=4))
def test_requests_with_anything_in_them_keep_the_contract(values: list[Any]):
    assert check_adapter(ADAPTER, info("lines"), values) == []
    state = ADAPTER.begin(info("lines"))
    for index, value in enumerate(values):
        got = ADAPTER.parse(Record(value, b"", index, "traces" if index % 2 else ""), state)
        state = got.state
        for draft in got.events:
            searchable(draft.payload)
            summary_of(draft.payload)


@given(messages=st.lists(MESSAGE, min_size=1, max_size=3), cut=st.integers(min_value=1))
def test_no_cut_of_messages_loses_their_text(messages: list[Any], cut: int):
    written = json.dumps(messages)
    found = messages_of(written[: cut % len(written) + 1], "user")
    assert found.messages or found.rest


def test_no_conversation_makes_the_state_large_or_impossible_to_encode():
    state = ADAPTER.begin(info("lines"))
    for number in range(400):
        name = f"{number:04d}" + "\U0001f600" * 300
        export = request(
            chat(number, [user(f"{name}{i}") for i in range(40)], [answer("\ud800")], traceId=name,
                 says={"gen_ai.conversation.id": name, "gen_ai.agent.name": name})
        )  # fmt: skip
        state = ADAPTER.parse(Record(export, b"%d" % number, number), state).state
    assert len(msgspec.msgpack.encode(state)) <= MAX_STATE_BYTES
