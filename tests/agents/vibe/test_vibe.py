"""Mistral Vibe: rows without times, failures that are tags, and totals that go on from session to session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.vibe.parse import VibeAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
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
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = VibeAdapter()
FOLDER = "logs/session/session_20260728_090000_7d0c1b2a"
INFO = SourceInfo("vibe", "messages", f"{FOLDER}/messages.jsonl", "7d0c1b2a")
BESIDE = SourceInfo("vibe", "meta", f"{FOLDER}/meta.json", "7d0c1b2a")
TOTAL = {"session_prompt_tokens": 200, "session_completion_tokens": 50, "session_cached_tokens": 120, "steps": 2}
DOCUMENT = {
    "session_id": "7d0c1b2a-1111-4222-8333-444455556666",
    "parent_session_id": "9a8b7c6d-2222-4222-8333-444455556666",
    "start_time": "2026-07-28T09:00:00+00:00",
    "git_branch": "main",
    "environment": {"working_directory": "/w"},
    "title": "A demo",
    "stats": TOTAL,
    "config": {"active_model": "devstral-2", "mcp_servers": [{"headers": {"Authorization": "Bearer of-the-server"}}]},
}


def row(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "injected": False, "message_id": f"m-{role}", **fields}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": "c1", "index": 0, "function": {"name": name, "arguments": json.dumps(arguments)}, "type": "function"}


def answer(said: str) -> dict[str, Any]:
    return {"role": "tool", "content": said, "name": "bash", "tool_call_id": "c1"}


RECORDS: list[Any] = [
    row("user", "Hi"),
    row("assistant", "", reasoning_content="Hm.", tool_calls=[call("write_file", path="a.py", content="x")]),
    answer("<tool_error>no</tool_error>"),
    row("user", "<vibe_warning>x</vibe_warning>"),
    row("assistant", "Done <vibe_stop_event>limit</vibe_stop_event>"),
    DOCUMENT,
]


def drafts(*values: Any, info: SourceInfo = INFO) -> list[Draft]:
    return [d for found in read(ADAPTER, info, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any, info: SourceInfo = INFO) -> list[Any]:
    return [d.payload for d in drafts(*values, info=info) if isinstance(d.payload, kind)]


def test_the_session_and_the_time_are_the_folders() -> None:
    assert ADAPTER.identify(INFO, b"") == "7d0c1b2a"
    (draft,) = drafts(RECORDS[0])
    assert (draft.ts, draft.ts_quality) == (1_785_229_200_000_000, "inferred")


def test_a_subagent_names_its_parent_by_the_same_short_id() -> None:
    info = SourceInfo("vibe", "meta", f"{FOLDER}/agents/worker_20260728_090005_c0ffee00/meta.json", "c0ffee00")
    (start,) = given_by(SessionStart, {**DOCUMENT, "session_id": "c0ffee00-1111-4222-8333-444455556666"}, info=info)
    assert (start.parent_session, start.agent_name, start.forked_from) == ("7d0c1b2a", "worker", "")


def test_a_continuation_names_the_session_before_it_and_shares_its_total() -> None:
    (start,) = given_by(SessionStart, DOCUMENT, info=BESIDE)
    assert (start.cwd, start.model, start.forked_from) == ("/w", "devstral-2", "9a8b7c6d")
    (usage,) = given_by(TokenUsage, DOCUMENT, info=BESIDE)
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (80, 120, 50)
    assert usage.dedupe_key == "vibe:444455556666"


def test_nothing_of_the_configuration_but_the_model_is_given() -> None:
    assert "of-the-server" not in repr(drafts(DOCUMENT, info=BESIDE))


@pytest.mark.parametrize(
    ("said", "ok", "code"),
    [
        ("command: ls\nreturncode: 0", True, 0),
        ("<tool_error>bash failed\nReturn code: 1\nStdout: x</tool_error>", False, 1),
        ("<user_cancellation>Tool execution interrupted by user.</user_cancellation>", False, None),
    ],
)
def test_a_failure_is_a_tag_around_the_result(said: str, ok: bool, code: int | None) -> None:
    (found,) = given_by(ToolResult, row("assistant", "", tool_calls=[call("bash", command="ls")]), answer(said))
    assert (found.ok, found.exit_code, found.call_id) == (ok, code, "c1")


def test_a_cancellation_is_an_event_of_its_own() -> None:
    (found,) = given_by(Lifecycle, answer("<user_cancellation>Tool execution interrupted by user.</user_cancellation>"))
    assert found.name == "interrupted"


def test_an_edit_is_given_when_it_went_well() -> None:
    asked = row("assistant", "", tool_calls=[call("search_replace", file_path="a.py", content="<<<<<<< SEARCH\n1")])
    assert [e.path for e in given_by(FileEdit, asked, answer("ok"))] == ["a.py"]
    assert not given_by(FileEdit, asked, answer("<tool_error>no</tool_error>"))


def test_what_the_harness_says_is_no_person() -> None:
    found = given_by(UserMessage, row("user", "Hi"), row("user", "x", injected=True), RECORDS[3])
    assert [m.origin for m in found] == ["human", "injected", "injected"]


def test_sealed_reasoning_is_marked() -> None:
    (found,) = given_by(Thinking, row("assistant", "Hi", reasoning_state=["b64"]))
    assert (found.text, found.is_encrypted) == ("", True)


def test_only_files_of_its_own_name_are_taken() -> None:
    rows = "\n".join(map(json.dumps, RECORDS[:3])).encode()
    assert ADAPTER.recognise("x/messages.jsonl", rows) == "messages"
    assert ADAPTER.recognise("x/other.jsonl", rows) is None
    assert ADAPTER.recognise("x/messages.jsonl", b'{"role": "user", "content": "Hi"}') is None
    assert ADAPTER.recognise("x/meta.json", json.dumps(DOCUMENT).encode()) == "meta"
    assert ADAPTER.recognise("x/messages.jsonl", b'{"role": [], "message_id": "m"}') is None


@given(values=any_values() | st.lists(bent(RECORDS), max_size=8))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    for info in (INFO, BESIDE):
        assert check_adapter(ADAPTER, info, values) == []


@pytest.mark.corpus
def test_the_shared_sessions_are_read_without_a_defect(shared: Path) -> None:
    folder = shared / "corpus/peers/agentsview/internal/parser/testdata/vibe/session_with_tools"
    values = [json.loads(line) for line in (folder / "messages.jsonl").read_text().splitlines()]
    found = read(ADAPTER, INFO, records_of(values))
    assert found.defects == ()
    assert {"user_message", "tool_call", "tool_result"} <= found.kinds
