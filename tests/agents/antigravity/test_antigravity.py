"""Antigravity: steps without ids of calls, arguments inside texts, and prompts inside tags."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.antigravity.parse import AntigravityAdapter
from recollect.agents.facts import facts_of
from recollect.model.events import Draft
from recollect.model.payloads import (
    Compaction,
    FileEdit,
    Lifecycle,
    Payload,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = AntigravityAdapter()
BRAIN = "brain/5c5b5a59"
INFO = SourceInfo("antigravity", "transcript", f"{BRAIN}/.system_generated/logs/transcript.jsonl", "5c5b5a59")
NOTES = SourceInfo("antigravity", "plan", f"{BRAIN}/task.md", "5c5b5a59")
PROMPTS = SourceInfo("antigravity", "history", "history.jsonl", "history")


def step(index: int, kind: str, content: str = "", source: str = "MODEL", **fields: Any) -> dict[str, Any]:
    when = f"2026-07-28T09:00:{index:02d}Z"
    body = {"content": content} if content else {}
    return {"step_index": index, "source": source, "type": kind, "status": "DONE", "created_at": when, **body, **fields}


def asked(index: int, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    told = [{"name": n, "args": {k: json.dumps(v) for k, v in a.items()}} for n, a in calls]
    return step(index, "PLANNER_RESPONSE", tool_calls=told)


PROMPT = step(
    0,
    "USER_INPUT",
    "<USER_REQUEST>\nHi\n<ADDITIONAL_METADATA>noon</ADDITIONAL_METADATA>\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\n"
    "The user changed setting `Model Selection` from None to Gemini 3.5 Flash.\n</USER_SETTINGS_CHANGE>",
    "USER_EXPLICIT",
)
EDIT = {"TargetFile": "/w/a.py", "TargetContent": "1", "ReplacementContent": "2"}
RECORDS: list[Any] = [
    PROMPT,
    asked(1, ("run_command", {"CommandLine": "ls"}), ("replace_file_content", EDIT)),
    step(2, "RUN_COMMAND", "The command failed with exit code: 1"),
    step(3, "CODE_ACTION", "done", truncated_fields=["content"]),
    step(4, "CHECKPOINT", "so far", "SYSTEM", status="CANCELED"),
    {"display": "Hi", "timestamp": 1785229200000, "workspace": "/w", "conversationId": "5c5b5a59"},
]


def drafts(*values: Any, info: SourceInfo = INFO) -> list[Draft]:
    return [d for found in read(ADAPTER, info, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any, info: SourceInfo = INFO) -> list[Any]:
    return [d.payload for d in drafts(*values, info=info) if isinstance(d.payload, kind)]


def test_only_what_stands_in_the_request_is_the_persons() -> None:
    found = given_by(UserMessage, PROMPT)
    assert [(m.origin, m.text) for m in found if m.origin == "human"] == [("human", "Hi")]
    assert "noon" in found[1].text
    assert [e.model for e in given_by(Lifecycle, PROMPT) if e.name == "model"] == ["Gemini 3.5 Flash"]


def test_arguments_are_decoded_twice() -> None:
    calls = given_by(ToolCall, RECORDS[1])
    assert [c.arguments for c in calls] == [{"CommandLine": "ls"}, EDIT]


def test_a_result_answers_the_oldest_call_of_its_type() -> None:
    calls = given_by(ToolCall, RECORDS[1])
    found = given_by(ToolResult, RECORDS[1], RECORDS[3], RECORDS[2])
    assert [r.call_id for r in found] == [calls[1].call_id, calls[0].call_id]
    assert [(r.ok, r.exit_code) for r in found] == [(True, None), (False, 1)]
    assert given_by(ToolResult, step(5, "VIEW_FILE", "text"))[0].call_id == ""


def test_an_edit_is_told_by_its_result() -> None:
    (edit,) = given_by(FileEdit, RECORDS[1], RECORDS[3])
    assert (edit.path, edit.before, edit.after) == ("/w/a.py", "1", "2")
    assert not given_by(FileEdit, RECORDS[1], step(3, "CODE_ACTION", "Encountered error in step execution"))


def test_a_step_that_is_logged_again_is_the_same_step() -> None:
    first, second = drafts(step(1, "PLANNER_RESPONSE", "Hel")), drafts(step(1, "PLANNER_RESPONSE", "Hello"))
    assert [d.native_id for d in first] == [d.native_id for d in second]


def test_a_checkpoint_is_a_compaction_and_a_cut_content_is_told() -> None:
    assert given_by(Compaction, RECORDS[4])[0].summary == "so far"
    names = [e.name for e in given_by(Lifecycle, RECORDS[3], RECORDS[4])]
    assert names == ["truncated", "interrupted"]


def test_a_plan_is_text_of_its_conversation() -> None:
    (plan,) = given_by(Lifecycle, "# Task", info=NOTES)
    assert (plan.name, plan.text, ADAPTER.identify(NOTES, b"")) == ("plan", "# Task", "5c5b5a59")


def test_the_prompt_history_says_the_folder() -> None:
    found = drafts(RECORDS[5], info=PROMPTS)
    assert {d.session for d in found} == {"5c5b5a59"}
    assert [e.cwd for e in given_by(Lifecycle, RECORDS[5], info=PROMPTS)] == ["/w"]


def test_encrypted_conversations_match_no_pattern() -> None:
    patterns = [pattern for place in facts_of("antigravity").places for pattern in place.patterns]
    for path in ("conversations/x.pb", "conversations/x.db", "implicit/x.pb", "brain/x/.system_generated/x.db"):
        assert not any(fnmatch(path, pattern) for pattern in patterns), path


def test_steps_are_known_by_their_producers() -> None:
    assert ADAPTER.recognise("x.jsonl", json.dumps(PROMPT).encode()) == "transcript"
    assert ADAPTER.recognise("x.jsonl", b'{"source": "MODEL"}') is None
    assert ADAPTER.recognise("x.jsonl", b'{"source": [], "created_at": ""}') is None


@given(values=any_values() | st.lists(bent(RECORDS), max_size=8))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    for info in (INFO, NOTES, PROMPTS):
        assert check_adapter(ADAPTER, info, values) == []


@pytest.mark.corpus
def test_the_shared_transcripts_are_read_without_a_defect(shared: Path) -> None:
    paths = [
        *(shared / "corpus/antigravity").rglob("cli_small.jsonl"),
        *(shared / "corpus/multi-synthetic").rglob("registry/antigravity/**/transcript.jsonl"),
    ]
    assert len(paths) == 2
    for path in paths:
        found = read(ADAPTER, INFO, records_of(json.loads(line) for line in path.read_text().splitlines()))
        assert set(found.defects) <= {"bad_timestamp"}, path  # whoever shortened it wrote "[trimmed]" for a time
        assert "user_message" in found.kinds
        assert "unknown" not in found.kinds
