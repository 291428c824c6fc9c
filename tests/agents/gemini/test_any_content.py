"""Promises that hold for any content, in every kind of source."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter
from tests.agents.gemini.recordings import ADAPTER, HEADER, PATHS, SESSION, call, reply, user
from tests.agents.kit.bent import bent

ROLES = [place.role for place in ADAPTER.facts.places]
RECORDS: list[Any] = [
    HEADER,
    {**HEADER, "messages": [user("m1", "Hi")], "directories": ["/w"], "summary": "T"},
    user("m1", [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}], displayContent="Hi"),
    user("m2", [{"functionResponse": {"id": "glob-1", "name": "glob", "response": {"output": "a"}}}]),
    reply("m3", [{"text": "x", "thought": True}, {"functionCall": {"id": "c", "name": "glob", "args": {}}}]),
    reply(
        "m4",
        "Done.",
        toolCalls=[
            call("run_shell_command", {"command": "x"}, "Output: a\nExit Code: 1"),
            call("replace", {"file_path": "/w/a"}, "x", resultDisplay={"fileDiff": "d", "fileName": "a"}, agentId="a"),
        ],
        thoughts=[{"subject": "s", "description": "d", "timestamp": "2026-08-01T09:00:00Z"}],
        tokens={"input": 9, "output": 2, "cached": 6, "thoughts": 1, "tool": 0, "total": 12},
    ),
    {"$set": {"messages": [user("m1", "Hi"), user("n1", "new")], "summary": "T", "sessionId": "other"}},
    {"$rewindTo": "m1"},
    {"history": [{"role": "user", "parts": [{"text": "x"}]}]},
    {"role": "model", "parts": [{"text": "x"}]},
    {"sessionId": "s", "messageId": 0, "type": "user", "message": "Hi", "timestamp": "2026-08-01T09:00:00Z"},
    {"projects": {"/w": "w"}},
]


@given(values=st.lists(bent(RECORDS), max_size=4))
def test_any_value_in_any_field_keeps_the_contract(values: list[Any]) -> None:
    for role in ROLES:
        assert check_adapter(ADAPTER, SourceInfo("gemini", role, PATHS[role], SESSION), values) == [], role
