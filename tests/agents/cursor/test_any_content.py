"""Whatever the columns and lines hold, the contract is kept."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_json
from tests.agents.cursor import rows

ROLES = ("ide", "cli_store", "cli_meta", "transcript", "subagent", "transcript_text", "history", "no_such_role")
_NAMES = st.sampled_from(
    (
        "type", "text", "richText", "createdAt", "thinking", "toolFormerData", "tokenCount", "images", "conversation",
        "fullConversationHeadersOnly", "workspaceIdentifier", "subagentInfo", "usageData", "originalFileStates",
        "latestConversationSummary", "role", "content", "message", "name", "status", "toolCallId", "rawArgs", "params",
        "result", "error", "additionalData", "bubbleId", "todos", "context", "codeBlocks", "providerOptions", "id",
        "createdOnBranch", "subagentComposerIds", "conversationMap", "promptTokenBreakdown", "timingInfo",
        "lastUsedModel",
    )
)  # fmt: skip
_VALUES = (
    any_json()
    | st.integers(1, 2)
    | st.sampled_from(
        ("user", "assistant", "tool", "system", "edit_file_v2", "completed", "aborted", '{"path": "a.py"}')
    )
)
_FIELDS = st.recursive(
    st.dictionaries(_NAMES, _VALUES, max_size=6),
    lambda inner: st.dictionaries(_NAMES, inner | st.lists(inner, max_size=3) | _VALUES, max_size=6),
    max_leaves=6,
)
_BLOBS = st.binary(max_size=80).map(lambda raw: {"$blob": base64.b64encode(raw).decode()})
_KEYS = st.sampled_from(("bubbleId:c:b1", "bubbleId:c:b2", "composerData:c", "bubbleId:", "other", "")) | st.text(
    max_size=4
)
_ROWS = st.fixed_dictionaries(
    {"key": _KEYS, "value": _FIELDS | any_json() | _BLOBS, "id": any_json(), "data": _FIELDS | any_json() | _BLOBS}
)
_CONTENT = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ("text", "thinking", "tool_use", "tool-call", "tool-result", "tool_result", "image", "file", "redacted")
            )
        },
        optional={
            "text": any_json(), "toolCallId": any_json(), "toolName": any_json(), "args": _FIELDS, "result": _FIELDS,
            "content": any_json(), "data": any_json(), "source": any_json(), "experimental_content": any_json(),
        },
    )
    | any_json(),
    max_size=4,
)  # fmt: skip
_LINES = st.fixed_dictionaries(
    {"role": st.sampled_from(("user", "assistant", "tool", "system"))},
    optional={"message": st.fixed_dictionaries({"content": _CONTENT | any_json()}) | any_json(), "content": _CONTENT},
)
_TEXTS = st.lists(
    st.sampled_from(
        (
            "user:", "assistant:", "[Thinking] hm", "[Tool call] Shell", "  command=ls", '  {"a": 1',
            "[Tool result] Shell",
            "<user_query>", "</user_query>", "", "words", "<timestamp>Friday</timestamp>",
        )
    ),
    max_size=14,
).map("\n".join)  # fmt: skip


@given(values=st.lists(_ROWS | _LINES | _TEXTS | _FIELDS, max_size=6))
def test_known_fields_with_anything_in_them_keep_the_contract(values: list[Any]) -> None:
    for role in ROLES:
        path = {"ide": rows.DATABASE, "cli_store": rows.STORE, "cli_meta": rows.STORE}.get(role, rows.TRANSCRIPT)
        info = rows.SourceInfo("cursor", role, path, session="s", document="s" if role == "ide" else "")
        assert check_adapter(rows.ADAPTER, info, values) == [], role


def test_the_state_stays_small_whatever_comes() -> None:
    blobs = []
    for i in range(6_000):
        blobs.append(rows.user_blob(f"{'long ' * 50}{i}", str(i)))
        arguments = {"path": f"{'p' * 2_000}{i}", "contents": "x" * 3_000}
        blobs.append(
            rows.assistant_blob({"type": "tool-call", "toolCallId": f"t{i}", "toolName": "Write", "args": arguments})
        )
    blobs.append(rows.list_blob(*blobs[-9_000:]))
    state = rows.ADAPTER.begin(rows.store())
    for record in rows.records(blobs):
        state = rows.ADAPTER.parse(record, state).state
    assert len(rows.msgpack(state)) < 1 << 20
