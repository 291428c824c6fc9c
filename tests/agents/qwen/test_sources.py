"""Which files are Qwen Code's, which session they belong to, and that no content breaks the contract."""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter
from tests.agents.kit.bent import bent
from tests.agents.qwen.transcripts import ADAPTER, PATHS, SESSION, call, notice, record, response

ROLES = [place.role for place in ADAPTER.facts.places]
DISPLAY = {"fileDiff": "-a\n+b", "fileName": "a.py", "originalContent": "a", "newContent": "b"}
RECORDS: list[Any] = [
    record("u1", "user", "Hi", systemPayload={"displayText": "Hi", "backgroundTask": {"status": "x"}}, gitBranch="m"),
    record("a1", "assistant", {"text": "x", "thought": True}, "y", call("c1", "edit", file_path="/w", old_string="a")),
    record("a2", "assistant", "y", usageMetadata={"promptTokenCount": 9, "totalTokenCount": 12}, model="q"),
    record("r1", "tool_result", response("c1", "edit", output="Output: x\nExit Code: 1"),
           toolCallResult={"callId": "c1", "status": "success", "resultDisplay": DISPLAY, "error": {"message": "m"}}),
    notice("n1", "chat_compression", info={"newTokenCount": 1}, compressedHistory=[{"parts": [{"text": "x"}]}]),
    notice("n2", "custom_title", customTitle="T", titleSource="auto"),
    notice("n3", "slash_command", phase="invocation", rawCommand="/x", outputHistoryItems=[{"text": "y"}]),
    notice("n4", "turn_result", state="error", error={"message": "m"}),
    notice("n5", "agent_bootstrap", history=[1], systemInstruction={"parts": [{"text": "x"}]}),
    notice("n6", "ui_telemetry", uiEvent={"event.name": "x.api_error", "error": "e"}),
    notice("n7", "rewind", truncatedCount=1),
    {"agentId": "a", "parentSessionId": "p", "createdAt": "2026-08-01T09:00:00Z", "description": "d"},
    {"id": "m1", "type": "qwen", "content": "x", "toolCalls": [{"id": "c", "name": "glob", "status": "success"}]},
]  # fmt: skip


def head(*values: object) -> bytes:
    return b"\n".join(json.dumps(v).encode() for v in values)


@pytest.mark.parametrize(
    ("name", "content", "role"),
    [
        ("x.jsonl", head(record("u1", "user", "Hi")), "transcript"),
        ("x.jsonl", head(notice("n1", "session_source", sourceType="cli")), "transcript"),
        ("agent-a.jsonl", head(record("u1", "user", "Hi")), "subagent"),
        ("x.jsonl", head(record("u1", "user", "Hi", isSidechain=True, agentId="a")), "subagent"),
        ("x.jsonl", head(record("u1", "user", "Hi" * 99))[:150] + b'"parts"', "transcript"),
        (
            "x.jsonl",
            head({"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "t", "message": {"content": "x"}}),
            None,
        ),
        ("x.jsonl", head({"sessionId": "s", "projectHash": "h", "startTime": "t"}), None),
        ("x.jsonl", head({"id": "m1", "type": "user", "content": [{"text": "x"}], "timestamp": "t"}), None),
    ],
)
def test_a_file_is_told_by_its_content(name: str, content: bytes, role: str | None) -> None:
    assert ADAPTER.recognise(name, content) == role


def test_a_transcript_is_named_by_its_file_and_a_loose_one_by_its_records() -> None:
    content = head({**record("u1", "user", "Hi"), "sessionId": "other"})
    assert ADAPTER.identify(SourceInfo("qwen", "transcript", PATHS["transcript"]), content) == SESSION
    assert ADAPTER.identify(SourceInfo("qwen", "transcript", "loose.jsonl"), content) == "other"
    assert ADAPTER.identify(SourceInfo("qwen", "transcript", "loose.jsonl"), b"") == "loose"


def test_a_subagent_and_what_stands_beside_it_are_one_session() -> None:
    names = {ADAPTER.identify(SourceInfo("qwen", r, PATHS[r]), b"") for r in ("subagent", "subagent_meta")}
    assert names == {f"{SESSION}/agent-explore-7f3c"}


@pytest.mark.parametrize(
    "path", ["oauth_creds.json", "settings.json", ".env", "projects/-w/subagents/s/agent-a.jsonl.stream"]
)
def test_credentials_and_passing_files_match_no_pattern(path: str) -> None:
    patterns = [pattern for place in ADAPTER.facts.places for pattern in place.patterns]
    assert not [p for p in patterns if fnmatch.fnmatchcase(path, p)]


@pytest.mark.parametrize("role", ROLES)
@given(values=st.lists(bent(RECORDS), max_size=4))
def test_any_value_in_any_field_keeps_the_contract(role: str, values: list[Any]) -> None:
    assert check_adapter(ADAPTER, SourceInfo("qwen", role, PATHS[role], SESSION), values) == []


@pytest.mark.corpus
def test_sanitised_transcripts_give_events_that_keep_the_contract(shared: Path) -> None:
    paths = sorted((shared / "corpus" / "qwen-code").rglob("*.jsonl"))
    assert paths
    for path in paths:
        values: list[Any] = []
        for line in path.read_text("utf-8").splitlines():
            try:
                values.append(json.loads(line))
            except ValueError:  # two objects on one line: never reaches a parser
                continue
        if values:
            assert ADAPTER.recognise(path.name, head(*values)) == "transcript"
            assert check_adapter(ADAPTER, SourceInfo("qwen", "transcript", path.name, path.stem), values) == []
