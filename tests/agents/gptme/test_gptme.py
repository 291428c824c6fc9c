"""gptme: calls that are code blocks, results in the system's role, and messages without ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.gptme.parse import GptmeAdapter, pieces_of
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Instructions,
    Payload,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = GptmeAdapter()
INFO = SourceInfo("gptme", "log", "a-demo/conversation.jsonl", "a-demo")
SIDE = SourceInfo("gptme", "branch", "a-demo/branches/main-1.jsonl", "a-demo/main-1")
NESTED = {"model": "m", "cost": 0.1, "usage": {"input_tokens": 3, "output_tokens": 9, "cache_read_tokens": 40}}


def said(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "timestamp": "2026-07-28T09:00:00+00:00", **fields}


RECORDS: list[Any] = [
    said("system", "You are gptme.", pinned=True),
    said("user", "Hi", files=["a.png"], file_hashes={"a.png": "x"}),
    said("assistant", "<think>\nHm.\n</think>\n```patch a.py\n<<<<<<< ORIGINAL\n1\n=======\n2\n>>>>>>> UPDATED\n```"),
    said("system", "Patched", metadata={"tool": "patch"}),
    said("assistant", "```python\nx\n```", metadata=NESTED),
    said("tool", "3", call_id="call_1"),
]


def drafts(*values: Any, info: SourceInfo = INFO) -> list[Draft]:
    return [d for found in read(ADAPTER, info, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any, info: SourceInfo = INFO) -> list[Any]:
    return [d.payload for d in drafts(*values, info=info) if isinstance(d.payload, kind)]


@pytest.mark.parametrize(
    ("written", "tool", "arguments"),
    [
        ("Now:\n```shell\nls -l\n```", "shell", {"command": "ls -l"}),
        ("<tool-use>\n<shell>\nls &amp;&amp; pwd\n</shell>\n</tool-use>", "shell", {"command": "ls && pwd"}),
        ('@shell(call-1): {"command": "echo }"}', "shell", {"command": "echo }"}),
        ("```save a.md\n```sh\nls\n```\n```", "save", {"path": "a.md", "content": "```sh\nls\n```"}),
    ],
)
def test_calls_have_three_spellings(written: str, tool: str, arguments: Any) -> None:
    (call,) = given_by(ToolCall, said("assistant", written))
    assert (call.name, call.arguments) == (tool, arguments)
    assert all("shell" not in m.text for m in given_by(AssistantMessage, said("assistant", written)))


def test_an_example_is_a_call_only_if_something_answers_it() -> None:
    example = said("assistant", "```python\nprint(1)\n```")
    assert not given_by(ToolCall, example, said("user", "Thanks"), said("system", "x"))
    (call,) = given_by(ToolCall, example, said("system", "1"))
    assert call.name == "ipython"
    assert given_by(AssistantMessage, example)[0].text == "```python\nprint(1)\n```"


def test_a_block_without_an_end_is_no_call() -> None:
    assert not given_by(ToolCall, said("assistant", "```shell\nsleep 60"))


@pytest.mark.parametrize("beginning", ["```shell\n", "@shell(x): {\n", "<tool-use><a>", "<!-- think-sig:"])
def test_many_beginnings_without_ends_do_not_take_long(beginning: str) -> None:
    assert pieces_of(beginning * 5000).calls == ()


def test_a_result_in_the_systems_role_answers_the_oldest_call() -> None:
    both = said("assistant", "```shell\nls\n```\n```shell\npwd\n```")
    found = given_by(ToolResult, both, said("system", "a"), said("system", "Error: no\nReturn code: 2"))
    assert [(r.ok, r.exit_code) for r in found] == [(True, None), (False, 2)]
    assert len({r.call_id for r in found}) == 2


def test_before_the_first_prompt_the_system_instructs_and_after_it_the_harness_speaks() -> None:
    values = [said("system", "You are gptme."), said("user", "Hi"), said("system", "It is noon.")]
    assert [i.text for i in given_by(Instructions, *values)] == ["You are gptme."]
    assert [m.origin for m in given_by(UserMessage, *values)] == ["human", "injected"]


def test_a_patch_that_went_well_is_an_edit() -> None:
    (edit,) = given_by(FileEdit, RECORDS[2], said("system", "Patch successfully applied"))
    assert (edit.path, edit.before, edit.after) == ("a.py", "1", "2")
    assert not given_by(FileEdit, RECORDS[2], said("system", "Error during execution"))


def test_thoughts_are_no_answer() -> None:
    (thought,) = given_by(Thinking, RECORDS[2])
    assert thought.text == "Hm."
    assert not given_by(AssistantMessage, RECORDS[2])


def test_a_branch_is_a_fork_whose_messages_keep_their_names_and_keys() -> None:
    first, second = drafts(*RECORDS[1:2], RECORDS[4]), drafts(*RECORDS[1:2], RECORDS[4], info=SIDE)
    assert [d.native_id for d in first] == [d.native_id for d in second]
    assert given_by(SessionStart, RECORDS[1], info=SIDE)[0].forked_from == "a-demo"
    keys = [d.payload.dedupe_key for d in (*first, *second) if isinstance(d.payload, TokenUsage)]
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_tokens_stand_in_the_metadata_or_one_step_deeper() -> None:
    flat = said("assistant", "Hi", metadata={"model": "m", "input_tokens": 3, "output_tokens": 9})
    found = given_by(TokenUsage, flat, said("assistant", "Ho", metadata=NESTED))
    assert [(u.input_tokens, u.output_tokens, u.cache_read_tokens) for u in found] == [(3, 9, 0), (3, 9, 40)]
    assert found[1].cost_usd == 0.1


def test_equal_messages_are_two() -> None:
    names = [d.native_id for d in drafts(said("user", "Hi"), said("user", "Hi")) if isinstance(d.payload, UserMessage)]
    assert len(set(names)) == 2


def test_a_time_without_a_zone_is_inferred() -> None:
    naive = said("user", "Hi", timestamp="2024-03-01T09:00:00.000000")
    assert {d.ts_quality for d in drafts(naive)} == {"inferred"}
    assert {d.ts_quality for d in drafts(RECORDS[1])} == {"exact"}


def test_only_files_of_its_own_name_are_taken() -> None:
    line = json.dumps(RECORDS[0]).encode()
    assert ADAPTER.recognise("a-demo/conversation.jsonl", line) == "log"
    assert ADAPTER.recognise("a-demo/other.jsonl", line) is None
    assert ADAPTER.recognise("a-demo/conversation.jsonl", b'{"role": "user", "content": "Hi"}') is None


@given(values=any_values() | st.lists(bent(RECORDS), max_size=8))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    for info in (INFO, SIDE):
        assert check_adapter(ADAPTER, info, values) == []


@pytest.mark.corpus
def test_the_shared_session_is_read_without_a_defect(shared: Path) -> None:
    folder = shared / "corpus/peers/agentsview/internal/parser/testdata/gptme"
    (path,) = folder.rglob("conversation.jsonl")
    values = [json.loads(line) for line in path.read_text().splitlines()]
    found = read(ADAPTER, INFO, records_of(values))
    assert found.defects == ()
    assert {"user_message", "assistant_message"} <= found.kinds
