"""Whose a source is, what is never opened, and that any content keeps the contract."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_json, any_values
from tests.agents.windsurf.records import ADAPTER, TRAJECTORY, info, payload, step

PLACES = ADAPTER.facts.places
_NAMES = st.sampled_from(
    (
        "type", "status", "user_input", "planner_response", "run_command", "code_action", "view_file", "user_response",
        "response", "command", "output", "exit_code", "path", "agent_action_name", "trajectory_id", "execution_id",
        "timestamp", "tool_info", "edits", "file_path", "key", "value", "tabs", "bubbles", "requests", "text", "tabId",
        "message", "mcp_result", "user_prompt",
    )
)  # fmt: skip
_WORDS = st.sampled_from(
    (
        "user_input",
        "planner_response",
        "run_command",
        "code_action",
        "pre_user_prompt",
        "post_write_code",
        "post_mcp_tool_use",
        "session_end",
    )
)
_RECORDS = st.recursive(
    st.dictionaries(_NAMES, any_json() | _WORDS, max_size=6),
    lambda inner: st.dictionaries(_NAMES, inner | st.lists(inner, max_size=3) | _WORDS, max_size=6),
    max_leaves=8,
)


@pytest.mark.parametrize("role", ["transcript", "hooks", "workspace"])
@given(values=any_values() | st.lists(_RECORDS, max_size=6))
def test_any_content_keeps_the_contract(role: str, values: list[Any]) -> None:
    assert check_adapter(ADAPTER, info(role), values) == []


def test_a_loose_file_is_told_by_its_first_line() -> None:
    assert ADAPTER.recognise("x", msgspec.json.encode(step("user_input", user_response="Hi."))) == "transcript"
    assert ADAPTER.recognise("x", msgspec.json.encode(payload("pre_user_prompt"))) == "hooks"
    for other in (b'{"type":"user","status":"done"}', b'{"type":"user","message":{}}', b"", b"[1]", b"{"):
        assert ADAPTER.recognise("x", other) is None


def test_sessions_are_named_by_their_trajectory() -> None:
    name = f"transcripts/{TRAJECTORY}.jsonl"
    assert ADAPTER.identify(SourceInfo("windsurf", "transcript", name), b"") == TRAJECTORY
    head = msgspec.json.encode(payload("pre_user_prompt"))
    assert ADAPTER.identify(SourceInfo("windsurf", "hooks", "hooks/all.jsonl"), head) == TRAJECTORY


@pytest.mark.parametrize(
    "path",
    ["cascade/a.pb", "hooks.json", "mcp_config.json", "user_settings.pb", "config.json", "globalStorage/state.vscdb"],
)
def test_opaque_history_settings_and_credentials_match_no_place(path: str) -> None:
    assert not any(fnmatch(path, pattern) for place in PLACES for pattern in place.patterns)


def test_only_named_keys_of_the_workspaces_store_are_read() -> None:
    (table,) = next(place.tables for place in PLACES if place.role == "workspace")
    assert table.order[0] == "key"
    assert len(table.keys) == 3
    assert not any("*" in key for key in table.keys)


@pytest.mark.corpus
def test_a_shared_transcript_is_read_without_a_loss(shared: Path) -> None:
    found = list((shared / "corpus" / "windsurf").rglob("*.jsonl"))
    assert found
    for path in found:
        values = [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
        story = read(ADAPTER, info("transcript"), records_of(values))
        assert all(story.events)
        assert story.defects == ()
        assert "unknown" not in story.kinds
        assert ADAPTER.recognise(path.name, path.read_bytes()[:65536]) == "transcript"
