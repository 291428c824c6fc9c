"""Factory Droid: no tokens in transcripts, a user's role that many speak in, and failures told by the text alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.droid.parse import DroidAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Payload,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from tests.agents.kit.bent import bent

ADAPTER = DroidAdapter()
SESSION = "5c5b5a59-1111-4222-8333-444455556666"
INFO = SourceInfo("droid", "transcript", f"sessions/-w/{SESSION}.jsonl", SESSION)
SIDECAR = SourceInfo("droid", "settings", f"sessions/-w/{SESSION}.settings.json", SESSION)
OUTPUT = SourceInfo("droid", "stream", "run.jsonl", "sid")
START = {
    "type": "session_start",
    "id": SESSION,
    "title": "Go",
    "sessionTitle": "New Session",
    "version": 2,
    "cwd": "/w",
}
TOTAL = {"inputTokens": 3, "outputTokens": 9, "cacheCreationTokens": 1, "cacheReadTokens": 40, "thinkingTokens": 4}
DOCUMENT = {
    "model": "glm",
    "providerLockTimestamp": "2026-07-28T09:00:00.000Z",
    "tokenUsage": TOTAL,
    "autonomyMode": "x",
}


def message(name: str, role: str, *blocks: Any, **fields: Any) -> dict[str, Any]:
    body = {"role": role, "content": list(blocks), **fields}
    return {"type": "message", "id": name, "timestamp": "2026-07-28T09:00:01.000Z", "message": body}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


STREAMED: list[Any] = [
    {"type": "system", "session_id": "sid", "model": "m", "cwd": "/w", "timestamp": 1767812640310},
    {"type": "message", "session_id": "sid", "role": "user", "text": "<system-reminder>x</system-reminder>\n\nHi"},
    {"type": "tool_call", "sessionId": "sid", "id": "c1", "toolName": "Execute", "parameters": {"command": "ls"}},
    {"type": "tool_result", "sessionId": "sid", "id": "c1", "value": {"stdout": "a", "exitCode": 2}},
    {"type": "completion", "sessionId": "sid", "finalText": "Done", "usage": {"input_tokens": 3, "output_tokens": 1}},
    {"type": "error", "source": "cli", "message": "no key"},
]
RECORDS: list[Any] = [
    START,
    message(
        "m1", "user", text("Hi"), text("Contents of /w/a.py (lines 1-1 of 1):\nx"), {"type": "image", "source": {}}
    ),
    message("m2", "assistant", {"type": "thinking", "thinking": "Hm."}, use("c1", "Edit", file_path="a", old_str="x")),
    message("m3", "user", result("c1", [text("ok")], is_error=False)),
    {
        "type": "compaction_state",
        "id": "k",
        "summaryText": "s",
        "anchorMessage": {"id": "m3"},
        "systemInfo": {"pwd": 1},
    },
    {"type": "todo_state", "id": "t", "todos": {"todos": "1. x"}},
    {"type": "agent_turn_outcome", "turnId": "t1", "reason": "error"},
    {"type": "session_settings", "id": "s", "model": "other"},
]


def drafts(*values: Any, info: SourceInfo = INFO) -> list[Draft]:
    return [d for found in read(ADAPTER, info, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any, info: SourceInfo = INFO) -> list[Any]:
    return [d.payload for d in drafts(*values, info=info) if isinstance(d.payload, kind)]


def test_context_and_notices_in_the_role_of_the_user_are_no_person() -> None:
    context = message("m1", "user", text("today"), visibility="llm_only")
    notice = message("m2", "user", text("No subscription."), visibility="user_only")
    reminded = message("m3", "user", text("<system-reminder>\nx\n</system-reminder>\n\nDo it"))
    attached = message("m4", "user", text("See @a.py"), text("Contents of /w/a.py (lines 1-1 of 1):\nx = 1\n"))
    found = given_by(UserMessage, context, notice, reminded, attached)
    assert [(m.origin, m.text) for m in found if m.origin == "human"] == [("human", "Do it"), ("human", "See @a.py")]
    assert len([m for m in found if m.origin == "injected"]) == 3
    assert given_by(Lifecycle, notice)[0].text == "No subscription."


def test_a_failure_without_a_mark_is_told_by_its_text() -> None:
    said = [
        "Error: Command failed (exit code: 1)\nls: no",
        '{"success":false}',
        "fine",
        "Exit code: 1 is what it said\nok",
    ]
    found = given_by(ToolResult, *(message(f"m{i}", "user", result(f"c{i}", s)) for i, s in enumerate(said)))
    assert [(r.ok, r.exit_code) for r in found] == [(False, 1), (False, None), (True, None), (True, None)]


def test_a_mark_of_the_agent_is_believed() -> None:
    found = given_by(ToolResult, message("m1", "user", result("c1", "Error: as asked", is_error=False)))
    assert found[0].ok is True


def test_an_edit_is_told_by_its_result() -> None:
    asked = message("m1", "assistant", use("c1", "Create", file_path="/w/n.py", content="x = 1"))
    (edit,) = given_by(FileEdit, asked, message("m2", "user", result("c1", "ok")))
    assert (edit.path, edit.operation, edit.after, edit.call_id) == ("/w/n.py", "create", "x = 1", "c1")
    assert not given_by(FileEdit, asked, message("m2", "user", result("c1", "no", is_error=True)))


def test_a_patch_of_several_files_is_several_edits() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** Delete File: b.py\n*** End Patch"
    values = (
        message("m1", "assistant", use("c1", "ApplyPatch", input=patch)),
        message("m2", "user", result("c1", "ok")),
    )
    assert [(e.path, e.operation) for e in given_by(FileEdit, *values)] == [("a.py", "modify"), ("b.py", "delete")]


def test_the_total_of_a_session_is_one_sighting_that_grows() -> None:
    smaller, larger = DOCUMENT, {**DOCUMENT, "tokenUsage": {**TOTAL, "outputTokens": 90}}
    found = [d for d in drafts(smaller, larger, info=SIDECAR) if isinstance(d.payload, TokenUsage)]
    assert {d.native_id for d in found} == {"usage"}
    assert {d.payload.dedupe_key for d in found if isinstance(d.payload, TokenUsage)} == {f"droid:{SESSION}"}
    first = found[0].payload
    assert isinstance(first, TokenUsage)
    assert (first.input_tokens, first.cache_read_tokens, first.reasoning_tokens) == (3, 40, 4)
    assert found[0].ts_quality == "inferred"


def test_the_tokens_of_subagents_are_not_counted_in_the_parents() -> None:
    value = {"autonomyMode": "x", "inclusiveTokenUsage": TOTAL, "lastCallTokenUsage": TOTAL}
    assert not given_by(TokenUsage, value, info=SIDECAR)


def test_a_title_is_the_first_prompt_until_there_is_a_better_one() -> None:
    assert given_by(Lifecycle, START)[0].title == "Go"
    assert given_by(Lifecycle, {**START, "sessionTitle": "Better"})[0].title == "Better"


def test_a_header_names_the_caller_and_the_version_of_the_program() -> None:
    (start,) = given_by(SessionStart, {**START, "callingSessionId": "p", "version": "0.81.0"})
    assert (start.parent_session, start.tool_version) == ("p", "0.81.0")
    assert given_by(SessionStart, START)[0].tool_version == ""


def test_a_turn_that_is_neither_done_nor_failed_was_interrupted() -> None:
    reasons = ["completed", "error", "user_cancelled"]
    found = given_by(Lifecycle, *({"type": "agent_turn_outcome", "turnId": r, "reason": r} for r in reasons))
    assert [e.name for e in found] == ["turn_ended", "turn_aborted", "interrupted"]


def test_a_compaction_keeps_what_it_saw_of_the_system() -> None:
    (found,) = given_by(Compaction, RECORDS[4])
    assert (found.summary, found.continues_at) == ("s", "m3")


def test_sealed_reasoning_is_marked_and_not_shown() -> None:
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk" * 20}
    (found,) = given_by(Thinking, message("m1", "assistant", sealed))
    assert (found.text, found.is_encrypted) == ("", True)


def test_saved_output_of_the_command_line_is_read() -> None:
    assert ADAPTER.recognise("x.jsonl", "\n".join(map(json.dumps, STREAMED)).encode()) == "stream"
    assert ADAPTER.identify(OUTPUT, json.dumps(STREAMED[2]).encode()) == "sid"
    assert [m.text for m in given_by(UserMessage, *STREAMED, info=OUTPUT) if m.origin == "human"] == ["Hi"]
    assert [m.text for m in given_by(AssistantMessage, *STREAMED, info=OUTPUT)] == ["Done"]
    assert [(r.ok, r.exit_code) for r in given_by(ToolResult, *STREAMED, info=OUTPUT)] == [(False, 2)]


def test_other_agents_messages_are_not_taken() -> None:
    pi = {"type": "session", "id": "x", "cwd": "/w"}
    lines = "\n".join(map(json.dumps, (pi, message("m1", "user", text("Hi"))))).encode()
    assert ADAPTER.recognise("sessions/a/b.jsonl", lines) is None
    assert ADAPTER.recognise("a.jsonl", json.dumps(START).encode()) == "transcript"
    assert ADAPTER.recognise("a.settings.json", json.dumps(DOCUMENT, indent=2).encode()) == "settings"
    assert ADAPTER.recognise("a.settings.json", b'{"tokenUsage": {}}') is None


@given(values=st.lists(bent([*RECORDS, *STREAMED, DOCUMENT]), max_size=8))
def test_bent_records_keep_the_contract(values: list[Any]) -> None:
    for info in (INFO, SIDECAR, OUTPUT):
        assert check_adapter(ADAPTER, info, values) == []


@pytest.mark.corpus
def test_the_shared_sessions_are_read_without_a_defect(shared: Path) -> None:
    paths = sorted((shared / "corpus" / "droid").rglob("*.jsonl"))
    assert paths
    for path in paths:
        head = path.read_bytes()
        role = ADAPTER.recognise(path.name, head)
        assert role in ("transcript", "stream"), path
        info = SourceInfo("droid", role, path.name)
        values = [json.loads(line) for line in head.splitlines() if line.strip()]
        found = read(ADAPTER, SourceInfo("droid", role, path.name, ADAPTER.identify(info, head)), records_of(values))
        assert found.defects == ()
        assert "user_message" in found.kinds
