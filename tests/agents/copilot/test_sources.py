"""Where Copilot CLI writes: folders, flat files, the oldest documents, and the texts beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Lifecycle,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
    kind_of,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json
from tests.agents.copilot.streams import (
    ADAPTER,
    SESSION,
    call,
    document,
    drafts,
    event,
    info,
    of,
    reply,
    shutdown,
    stream,
    user,
)
from tests.examples import tried

ROLES = tuple(place.role for place in ADAPTER.facts.places)
TYPES = st.sampled_from(
    "session.start session.resume session.shutdown session.compaction_complete session.snapshot_rewind user.message "
    "assistant.message tool.execution_start tool.execution_complete subagent.started skill.invoked hook.start".split()
)
KEYS = st.sampled_from(
    "content toolCallId toolName name arguments result success toolRequests messageId modelMetrics context cwd prompt "
    "transformedContent attachments parentToolCallId usage inputTokens agentName upToEventId eventIds contents".split()
)
DATA = st.recursive(
    any_json() | st.sampled_from(["\ud800", "x" * 9000, "c1", "task"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)
EVENTS = st.builds(lambda k, d, a: event(k, d, "e", agentId=a), TYPES, DATA, DATA)


@pytest.mark.parametrize(
    ("path", "session"),
    [
        (f"session-state/{SESSION}/events.jsonl", SESSION),
        (f"session-state/{SESSION}.jsonl", SESSION),
        (f"session-state/{SESSION}/workspace.yaml", SESSION),
        (f"session-state/{SESSION}/checkpoints/001-x.md", SESSION),
    ],
)
def test_a_session_is_named_by_its_folder_or_file(path, session):
    role = "workspace" if path.endswith("yaml") else "checkpoint" if path.endswith("md") else "events"
    assert ADAPTER.identify(SourceInfo("copilot", role, path), b"") == session


def test_a_loose_stream_is_named_by_its_first_event():
    head = json.dumps(event("session.start", {"sessionId": "named"})).encode()
    assert ADAPTER.identify(SourceInfo("copilot", "events", "copy.jsonl"), head) == "named"


def test_a_stream_is_recognised_also_when_its_first_line_is_cut():
    head = json.dumps(
        event("session.start", {"sessionId": "s", "producer": "copilot-agent", "context": {"cwd": "x" * 99}})
    )
    assert ADAPTER.recognise("a", head.encode()) == "events"
    assert ADAPTER.recognise("a", head.encode()[:120]) == "events"


def test_the_stream_of_an_editor_is_not_the_clis():
    head = json.dumps(event("session.start", {"sessionId": "s", "producer": "copilot-agent", "vscodeVersion": "1.119"}))
    assert ADAPTER.recognise("a", head.encode()) is None


def test_transcripts_of_others_are_not_recognised():
    for head in (b'{"type":"user","uuid":"1"}', b"", b"[]", b'{"type":"session","id":"x"}', b'{"sessionId":"x"}'):
        assert ADAPTER.recognise("a", head) is None


def test_the_workspace_file_names_the_session():
    lines = (
        "cwd: /w/demo",
        "branch: main",
        "name: 'It''s done'",
        "summary_count: 2",
        "updated_at: 2026-08-01T09:00:00Z",
    )
    body = "\n".join((f"id: {SESSION}", *lines))
    found = read(ADAPTER, info("workspace"), records_of([body]))
    title, workspace = of(found, Lifecycle)
    assert title.title == "It's done"
    assert (workspace.cwd, workspace.branch, workspace.detail["summary_count"]) == ("/w/demo", "main", "2")
    assert {d.ts_quality for d in drafts(found)} == {"exact"}


def test_a_workspace_file_that_is_no_yaml_is_kept():
    found = read(ADAPTER, info("workspace"), records_of(["nothing here"]))
    assert "not_yaml" in found.defects
    assert "unknown" in found.kinds


def test_plan_and_checkpoints_are_kept():
    for role in ("plan", "checkpoint"):
        assert [e.text for e in of(read(ADAPTER, info(role), records_of(["# Text"])), Lifecycle)] == ["# Text"]


def test_no_file_with_credentials_is_read():
    patterns = [p for place in ADAPTER.facts.places for p in place.patterns]
    assert all(p.startswith(("session-state/", "history-session-state/")) for p in patterns)


OLD = [
    {"role": "user", "content": "Rename it."},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "str_replace_editor", "arguments": json.dumps(
            {"command": "str_replace", "path": "/w/a.py", "old_str": "OLD", "new_str": "NEW"})}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    {"role": "assistant", "content": "Renamed."},
]  # fmt: skip


def test_the_messages_of_an_old_document_are_read():
    found = document("chatMessages", *OLD)
    assert [type(d.payload) for d in drafts(found)] == [UserMessage, ToolCall, ToolResult, FileEdit, AssistantMessage]


def test_messages_without_ids_keep_their_names_when_one_is_put_before_them():
    names = [d.native_id for d in drafts(document("chatMessages", *OLD))]
    later = [d.native_id for d in drafts(document("chatMessages", {"role": "user", "content": "Wait."}, *OLD))]
    assert later[1:] == names


def test_equal_messages_have_different_names():
    first, second = drafts(document("chatMessages", OLD[0], OLD[0]))
    assert first.native_id != second.native_id


def test_the_start_of_an_old_document_is_told():
    found = document("", {"sessionId": SESSION, "startTime": "2025-10-08T21:10:16.398Z"})
    assert [d.ts_quality for d in drafts(found) if isinstance(d.payload, SessionStart)] == ["exact"]


def test_the_timeline_keeps_its_times():
    entry = {"id": "t1", "timestamp": "2025-10-08T21:10:17.000Z", "type": "info", "text": "Welcome."}
    (shown,) = drafts(document("timeline", entry))
    assert (shown.native_id, shown.ts_quality) == ("timeline:t1", "exact")


@settings(max_examples=tried(200))
@given(values=st.lists(EVENTS | DATA, max_size=5), role=st.sampled_from(ROLES))
def test_any_content_keeps_the_contract(values: list[Any], role: str) -> None:
    assert check_adapter(ADAPTER, info(role), values) == []


@settings(max_examples=tried(100))
@given(values=st.lists(st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "type"]), DATA), max_size=4))
def test_any_old_document_is_read(values: list[Any]) -> None:
    document("chatMessages", *values)
    document("timeline", *values)


def test_a_hostile_stream_does_not_grow_the_state():
    wide = "\U0001f600" * 2000
    values = [reply("", call(f"c{n}", "task", {"prompt": wide[:1400] + str(n)}), name=str(n)) for n in range(100)]
    values += [
        reply("", call(f"d{n}", "edit", {"path": wide[:100], "old_str": wide[:900]}), name=str(n)) for n in range(100)
    ]
    values += [user("x", wide + str(n)) for n in range(600)]
    values += [event("subagent.started", {"toolCallId": wide + str(n)}, agentId=wide) for n in range(80)]
    values += [shutdown(**{wide + str(n): (1, 1, 1, 1)}) for n in range(40)]
    assert check_adapter(ADAPTER, info(), values) == []


@pytest.mark.corpus
def test_recorded_streams_have_no_drift_and_no_unknown_records(shared: Path) -> None:
    paths = sorted((shared / "corpus" / "copilot-cli").rglob("*.jsonl"))
    assert paths
    for path in paths:
        raw = path.read_bytes()
        assert ADAPTER.recognise(path.name, raw[:65536]) == "events"
        found = stream(*(json.loads(line) for line in raw.splitlines()))
        assert [d.payload for d in drafts(found) if kind_of(d.payload) == "unknown"] == [], path.name


@pytest.mark.corpus
def test_no_transcript_of_another_agent_is_taken_for_copilots(shared: Path) -> None:
    for agent in ("claude-code", "codex", "pi", "qwen-code", "droid", "gemini-cli", "vscode-copilot"):
        for path in (shared / "corpus" / agent).rglob("*.json*"):
            with path.open("rb") as file:
                head = file.read(65_536)
            if agent != "vscode-copilot" or b'"vscodeVersion"' in head:
                assert ADAPTER.recognise(path.name, head) is None, path
