"""Qoder CLI: Claude Code's records, subagents in folders of their own, and a sidecar with title and lineage."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.payloads import FileEdit, Lifecycle, Payload, SessionStart, ToolResult, Unknown, UserMessage
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = FormatAdapter("qoder")
SESSION = "6d6c6b6a-1111-4222-8333-444455556666"
PATHS = {
    "transcript": f"projects/-w/{SESSION}.jsonl",
    "subagent": f"projects/-w/{SESSION}/subagents/agent-7f3c.jsonl",
    "meta": f"projects/-w/{SESSION}-session.json",
}
META = {"title": "Forked work", "working_dir": "/w", "fork_from": "old", "parent_session_id": ""}


def record(uuid: str, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {
        "uuid": uuid,
        "sessionId": SESSION,
        "timestamp": "2026-06-04T09:47:27.966Z",
        "type": kind,
        "message": message,
        **fields,
    }


RECORDS: list[Any] = [
    {"type": "agent-setting", "agentSetting": "triage", "sessionId": SESSION},
    record("u1", "user", "Hi", cwd="/w"),
    record("a1", "assistant", [{"type": "tool_use", "id": "c1", "name": "Agent", "input": {"prompt": "x"}}]),
    record(
        "u2", "user", [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}],
        toolUseResult={"agentId": "7f3c", "filePath": "/w/a", "oldString": "a", "newString": "b"},
    ),
    META,
]  # fmt: skip


def given_by(kind: type[Payload], *values: Any, role: str = "transcript") -> list[Any]:
    info = SourceInfo("qoder", role, PATHS[role], SESSION)
    found = read(ADAPTER, info, records_of(values)).events
    return [d.payload for drafts in found for d in drafts if isinstance(d.payload, kind)]


def test_a_subagent_is_a_session_below_the_one_that_started_it() -> None:
    info = SourceInfo("qoder", "subagent", PATHS["subagent"])
    assert ADAPTER.identify(info, b"") == f"{SESSION}/agent-7f3c"
    (start,) = given_by(SessionStart, record("u1", "user", "Find it", agentId="7f3c"), role="subagent")
    assert (start.parent_session, start.agent_name) == (SESSION, "7f3c")


def test_the_sidecar_belongs_to_its_transcript_and_says_what_that_does_not() -> None:
    names = {ADAPTER.identify(SourceInfo("qoder", role, PATHS[role]), b"") for role in ("transcript", "meta")}
    assert names == {SESSION}
    (start,) = given_by(SessionStart, META, role="meta")
    assert (start.cwd, start.forked_from) == ("/w", "old")
    assert given_by(Lifecycle, META, role="meta")[0].title == "Forked work"


def test_a_result_that_names_a_subagent_says_so_and_failures_are_failures() -> None:
    assert given_by(Lifecycle, RECORDS[3])[0].detail == {"agent_id": "7f3c"}
    failed = record("u2", "user", [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}])
    assert given_by(ToolResult, failed)[0].ok is False
    coded = {**RECORDS[3], "toolUseResult": {"exitCode": 2}}
    assert (given_by(ToolResult, coded)[0].ok, given_by(ToolResult, coded)[0].exit_code) == (False, 2)


def test_an_edit_is_told_by_the_structured_result() -> None:
    (edit,) = given_by(FileEdit, RECORDS[3])
    assert (edit.path, edit.before, edit.after) == ("/w/a", "a", "b")


def test_settings_are_kept_and_do_not_start_the_session() -> None:
    assert given_by(Unknown, RECORDS[0])[0].type == "agent-setting"
    assert given_by(SessionStart, *RECORDS[:2])[0].cwd == "/w"
    assert given_by(UserMessage, *RECORDS[:2])[0].origin == "human"


def test_files_are_known_by_their_place_only() -> None:
    assert ADAPTER.recognise("x.jsonl", b'{"type":"user","uuid":"u1"}') is None


@pytest.mark.parametrize("role", list(PATHS))
@given(values=any_values() | st.lists(bent(RECORDS), max_size=4))
def test_any_content_keeps_the_contract(role: str, values: list[Any]) -> None:
    assert check_adapter(ADAPTER, SourceInfo("qoder", role, PATHS[role], SESSION), values) == []
