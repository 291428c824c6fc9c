"""Whatever the files of the family hold, the adapters keep their contract."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.base import Adapter
from recollect.agents.kit.cline.adapter import ClineFamily
from tests.agents.cline.reading import info_of, mangled, problems_of, record

ADAPTERS: list[Adapter] = [ClineFamily("cline"), ClineFamily("roo"), ClineFamily("kilo")]
ROWS: list[Any] = [
    {
        "ts": 1785574800000,
        "type": "say",
        "say": "task",
        "text": "Add tests.",
        "images": ["data:image/png;base64,iVBORw0KGgo="],
    },
    {
        "ts": 1785574801000,
        "type": "say",
        "say": "api_req_started",
        "text": '{"tokensIn": 9, "cost": 0.1, "cancelReason": "x"}',
    },
    {"ts": 1785574802000, "type": "ask", "ask": "followup", "text": '{"question": "Which?", "options": ["a"]}'},
    {
        "ts": 1785574803000,
        "type": "say",
        "say": "condense_context",
        "contextCondense": {"cost": 0.1, "summary": "So far."},
    },
    {
        "ts": 1785574804000,
        "type": "say",
        "say": "tool",
        "text": '{"tool": "readFile", "path": "a.py"}',
        "modelInfo": {"modelId": "m"},
    },
]
MESSAGES: list[Any] = [
    {"role": "user", "content": [{"type": "text", "text": "<task>\nAdd tests.\n</task>"}], "ts": 1785574800000},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "<read_file>\n<path>a.py</path>\n</read_file>"},
            {"type": "tool_use", "id": "t1", "name": "apply_diff", "input": {"path": "a.py", "diff": "x"}},
        ],
        "metrics": {"inputTokens": 9, "outputTokens": 3},
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "ok"}]}],
    },
    {"role": "user", "id": "m4", "content": [{"type": "text", "text": "x"}], "metadata": {"kind": "compaction"}},
]


@given(rows=mangled(ROWS), adapter=st.sampled_from(ADAPTERS))
def test_rows_gone_wrong_keep_the_contract(rows: list[Any], adapter: Adapter) -> None:
    info = info_of(adapter, "ui", "tasks/1785574800000/ui_messages.json")
    assert problems_of(adapter, info, [record(row, index) for index, row in enumerate(rows)]) == []


@given(messages=mangled(MESSAGES), role=st.sampled_from(["api", "sdk", "sdk_context"]))
def test_messages_gone_wrong_keep_the_contract(messages: list[Any], role: str) -> None:
    info = info_of(ADAPTERS[0], role, "sessions/s1/s1.messages.json")
    at = "" if role == "api" else "messages"
    assert problems_of(ADAPTERS[0], info, [record(m, index, at) for index, m in enumerate(messages)]) == []


def test_the_state_stays_small_whatever_the_calls_hold() -> None:
    info = info_of(ADAPTERS[0], "api", "tasks/1785574800000/api_conversation_history.json")
    calls = [
        {
            "type": "tool_use",
            "id": f"t{n}",
            "name": "write_to_file",
            "input": {"path": f"{n}.py", "content": "ж" * 30_000},
        }
        for n in range(200)
    ]
    assert problems_of(ADAPTERS[0], info, [record({"role": "assistant", "content": calls})]) == []
