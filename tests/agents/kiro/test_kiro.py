"""Kiro, CLI and IDE: one test for each trap of the formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents.kiro.parse import KiroAdapter, folder_in
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import read
from tests.agents.cline.reading import give, info_of, mangled, payloads, problems_of, record
from tests.examples import tried

ADAPTER = KiroAdapter()
CLI = info_of(ADAPTER, "cli", "sessions/cli/k1.jsonl")
ID = "7a7b7c7d-1111-4222-8333-444455556666"
PATHS = {
    "cli": "sessions/cli/k1.jsonl",
    "sidecar": "sessions/cli/k1.json",
    "conversation": "data.sqlite3",
    "ide": "workspace-sessions/L3c/k1.json",
    "ide_index": "workspace-sessions/L3c/sessions.json",
    "chat": "ws/e1.chat",
}


def lines(*values: Any) -> list[Draft]:
    return give(ADAPTER, CLI, *values)


def line(kind: str, *content: Any, **data: Any) -> dict[str, Any]:
    return {"version": "v1", "kind": kind, "data": {"message_id": "m1", "content": list(content), **data}}


def result(*content: Any, status: str = "success") -> dict[str, Any]:
    return {"kind": "toolResult", "data": {"toolUseId": "t1", "content": list(content), "status": status}}


def use(name: str, arguments: Any) -> dict[str, Any]:
    return line("AssistantMessage", {"kind": "toolUse", "data": {"toolUseId": "t1", "name": name, "input": arguments}})


def row(*history: Any, **fields: Any) -> dict[str, Any]:
    return {
        "key": "/w",
        "conversation_id": ID,
        "value": {"conversation_id": ID, "history": list(history)},
        "updated_at": 5,
        **fields,
    }


def exchange(content: Any, answer: Any, **user: Any) -> dict[str, Any]:
    return {"user": {"content": content, **user}, "assistant": answer, "request_metadata": {"model_id": "m"}}


def rows(*values: Any, document: str = ID) -> list[Draft]:
    head = json.dumps(values[0]).encode() if values else b""
    return give(ADAPTER, info_of(ADAPTER, "conversation", "data.sqlite3", document, head), *values)


SOUND = [
    line(
        "Prompt",
        {"kind": "text", "data": "x"},
        {"kind": "image", "data": {"format": "png", "source": "AAAA"}},
        meta={"timestamp": 1},
    ),
    use("fs_write", {"command": "create", "path": "a.py", "file_text": "x"}),
    line(
        "ToolResults",
        result({"kind": "json", "data": {"exit_status": "1"}}),
        results={"t1": {"tool": {"kind": {"Mcp": {}}}}},
    ),
    row(
        exchange(
            {"Prompt": {"prompt": "x"}},
            {"ToolUse": {"message_id": "m", "tool_uses": [{"id": "t1", "name": "n", "args": {}}]}},
        )
    ),
    {
        "session_state": {
            "conversation_metadata": {
                "user_turn_metadatas": [{"input_token_count": 9, "metering_usage": [{"value": 1}]}]
            }
        }
    },
    {
        "message": {"role": "user", "content": [{"type": "text", "text": "x"}], "id": "i"},
        "contextItems": [{"content": "f"}],
    },
    {"role": "human", "content": "x"},
    {"metadata": {"modelId": "m", "startTime": 1785574800000}, "executionId": "e", "context": [{"a": 1}]},
]


@given(values=mangled(SOUND), role=st.sampled_from(list(PATHS)), at=st.sampled_from(["history", "chat", ""]))
@settings(max_examples=tried(300))
def test_records_gone_wrong_keep_the_contract(values: list[Any], role: str, at: str) -> None:
    info = info_of(ADAPTER, role, PATHS[role], ID if role == "conversation" else "")
    assert problems_of(ADAPTER, info, [record(v, i, at) for i, v in enumerate(values)]) == []


@pytest.mark.parametrize("written", [1785574800, "1785574800", 1785574800.0, "1785574800.0"])
def test_a_prompts_time_is_in_seconds_however_it_is_written(written: Any) -> None:
    drafts = lines(line("Prompt", {"kind": "text", "data": "x"}, meta={"timestamp": written}))
    assert {(d.ts, d.ts_quality) for d in drafts} == {(1785574800000000, "exact")}


def test_what_has_no_time_takes_that_of_the_prompt_before() -> None:
    drafts = lines(
        line("Prompt", {"kind": "text", "data": "x"}, meta={"timestamp": 1785574800}),
        line("AssistantMessage", {"kind": "text", "data": "y"}),
    )
    assert (drafts[-1].ts, drafts[-1].ts_quality) == (1785574800000000, "inferred")


def test_thinking_stands_in_an_object() -> None:
    drafts = lines(
        line("AssistantMessage", {"kind": "thinking", "data": {"text": "Hm."}}, {"kind": "text", "data": "y"})
    )
    assert [(p.text, p.message_id) for p in payloads(drafts, Thinking)] == [("Hm.", "m1")]
    assert [d.native_id for d in drafts[1:]] == ["m1/thinking", "m1"]


def test_a_failed_command_marked_only_by_its_exit_status_is_a_failure() -> None:
    report = {"kind": "json", "data": {"exit_status": "2", "stdout": "", "stderr": "no rule"}}
    found = payloads(lines(line("ToolResults", result(report))), ToolResult)[0]
    assert (found.ok, found.exit_code, found.text) == (False, 2, "no rule")


def test_a_failed_or_refused_write_is_no_edit() -> None:
    write = use("fs_write", {"command": "create", "path": "a.py", "file_text": "x"})
    assert payloads(lines(write, line("ToolResults", result(status="error"))), FileEdit) == []
    done = lines(write, line("ToolResults", result()))
    assert payloads(done, FileEdit) == [FileEdit("a.py", "create", after="x", call_id="t1")]


@pytest.mark.parametrize(
    ("arguments", "edit"),
    [
        (
            {"command": "str_replace", "old_str": "a", "new_str": "b"},
            FileEdit("a.py", "modify", "a", "b", call_id="t1"),
        ),
        ({"command": "insert", "insert_line": 1, "new_str": "b"}, FileEdit("a.py", diff="+b", call_id="t1")),
        ({"command": "append", "new_str": "b"}, FileEdit("a.py", diff="+b", call_id="t1")),
    ],
)
def test_each_command_of_a_write_is_an_edit(arguments: dict[str, Any], edit: FileEdit) -> None:
    drafts = lines(use("fs_write", {"path": "a.py", **arguments}), line("ToolResults", result()))
    assert payloads(drafts, FileEdit) == [edit]


def test_counters_of_nothing_are_no_usage_and_credits_no_money() -> None:
    turns = [
        {
            "loop_id": {"rand": 1},
            "input_token_count": 0,
            "output_token_count": 0,
            "metering_usage": [{"value": 0.25, "unit": "credit"}],
        },
        {"loop_id": {"rand": 2}, "input_token_count": 9, "output_token_count": 3, "model": "auto"},
    ]
    sidecar = {
        "session_id": "k1",
        "cwd": "/w",
        "session_state": {"conversation_metadata": {"user_turn_metadatas": turns}},
    }
    drafts = give(ADAPTER, info_of(ADAPTER, "sidecar", "sessions/cli/k1.json"), sidecar)
    assert [(u.output_tokens, u.cost_usd) for u in payloads(drafts, TokenUsage)] == [(3, None)]
    assert [p.name for p in payloads(drafts, Lifecycle)] == ["credits"]


def test_both_forms_of_an_exchange_are_read() -> None:
    prompt, answer = {"content": {"Prompt": {"prompt": "x"}}}, {"Response": {"message_id": "m1", "content": "y"}}
    new = rows(row({"user": prompt, "assistant": answer}))
    old = rows(row([prompt, answer]))
    assert [d.native_id for d in new] == [d.native_id for d in old]
    assert [p.text for p in payloads(old, AssistantMessage)] == ["y"]


def test_a_conversation_under_two_folders_is_named_alike_in_both() -> None:
    drafts = rows(
        row(exchange({"Prompt": {"prompt": "x"}}, {})), row(exchange({"Prompt": {"prompt": "x"}}, {}), key="/v")
    )
    assert len({d.native_id for d in drafts if isinstance(d.payload, UserMessage)}) == 1


def test_the_old_table_names_its_conversation_inside() -> None:
    value = {"conversation_id": ID, "history": [exchange({"Prompt": {"prompt": "x"}}, {})]}
    written = {"key": "/w", "value": value}
    assert info_of(ADAPTER, "conversation", "data.sqlite3", "/w", json.dumps(written).encode()).session == ID
    as_text = json.dumps({"key": "/w", "value": json.dumps(value)}).encode()
    assert info_of(ADAPTER, "conversation", "data.sqlite3", "/w", as_text).session == ID
    other = {**value, "conversation_id": "another"}
    assert {d.session for d in rows(written, {"key": "/w", "value": other}, document="/w")} == {None, "another"}


def test_a_cancelled_tool_is_an_interruption_and_its_prompt_the_persons() -> None:
    results = [{"tool_use_id": "t1", "content": [{"Text": "cancelled"}], "status": "Error"}]
    drafts = rows(row(exchange({"CancelledToolUses": {"prompt": "Stop.", "tool_use_results": results}}, {})))
    assert [p.text for p in payloads(drafts, UserMessage)] == ["Stop."]
    assert [p.ok for p in payloads(drafts, ToolResult)] == [False]
    assert "interrupted" in [p.name for p in payloads(drafts, Lifecycle)]


def test_a_summary_is_a_compaction_in_either_form() -> None:
    for written in ("So far.", ["So far.", {"request_id": "r"}]):
        value = {"conversation_id": ID, "history": [], "latest_summary": written}
        assert payloads(rows({"key": "/w", "value": value}), Compaction) == [Compaction("summary", "So far.")]


def test_context_that_goes_with_a_prompt_is_injected() -> None:
    drafts = rows(row(exchange({"Prompt": {"prompt": "x"}}, {}, additional_context="--- CONTEXT ENTRY BEGIN ---")))
    assert [(p.text, p.origin) for p in payloads(drafts, UserMessage)][1] == ("x", "human")
    assert payloads(drafts, UserMessage)[0].origin == "injected"


def test_credentials_match_no_place_and_no_table() -> None:
    tables = {t.name for place in ADAPTER.facts.places for t in place.tables}
    assert tables == {"conversations_v2", "conversations"}
    assert not any("sso" in p or "token" in p for place in ADAPTER.facts.places for p in place.patterns)


def test_an_execution_that_repeats_the_history_gives_it_the_same_names() -> None:
    first = [{"role": "human", "content": "x"}, {"role": "bot", "content": "y"}]
    info = info_of(ADAPTER, "chat", "ws/e1.chat")
    assert info.session == "ws:e1"
    names = [d.native_id for d in give(ADAPTER, info, *first, at="chat")]
    more = give(ADAPTER, info_of(ADAPTER, "chat", "ws/e2.chat"), *first, {"role": "human", "content": "z"}, at="chat")
    assert [d.native_id for d in more][:2] == names


def test_what_the_ide_puts_into_the_persons_role_is_not_theirs() -> None:
    texts = ["<identity>\nYou are Kiro.", "## Included Rules\nx", "<kiro-ide-message>\nHello\n</kiro-ide-message>"]
    chat = [{"role": "human", "content": text} for text in texts]
    drafts = give(
        ADAPTER,
        info_of(ADAPTER, "chat", "ws/e1.chat"),
        *chat,
        {"role": "bot", "content": "I will follow these instructions."},
        at="chat",
    )
    assert len(payloads(drafts, Instructions)) == 2
    assert [p.text for p in payloads(drafts, UserMessage)] == ["Hello"]
    assert payloads(drafts, AssistantMessage) == []


def test_a_workspaces_folder_is_named_in_base64() -> None:
    assert folder_in("L2hvbWUvZGV2L2RlbW8_") == "/home/dev/demo"
    assert folder_in("L2hvbWUvZGV2") == "/home/dev"
    assert folder_in("é") == ""
    info = info_of(ADAPTER, "ide", "workspace-sessions/L2hvbWUvZGV2/k1.json")
    assert payloads(give(ADAPTER, info, {"sessionId": "k1", "history": []}), SessionStart)[0].cwd == "/home/dev"


def test_a_kind_of_line_that_nobody_knows_is_kept_and_counted() -> None:
    found = ADAPTER.parse(
        record({"version": "v1", "kind": "FutureRecord", "data": {"message": "x"}}), ADAPTER.begin(CLI)
    )
    assert [d.name for d in found.drift] == ["FutureRecord"]
    assert [p.type for p in payloads(list(found.events), Unknown)] == ["FutureRecord"]


def test_its_files_are_told_by_their_content() -> None:
    first = json.dumps(line("Prompt", {"kind": "text", "data": "x"})).encode()
    assert ADAPTER.recognise("k.jsonl", first) == "cli"
    assert ADAPTER.recognise("e.chat", b'{"executionId":"e","chat":[{"role":"human","content":"x"}]}') == "chat"
    assert ADAPTER.recognise("k.jsonl", b'{"type":"user","message":{"role":"user","content":"x"}}') is None


def test_a_source_without_a_name_still_has_a_session() -> None:
    assert ADAPTER.identify(SourceInfo("kiro", "cli", ""), b'{"kind":"Prompt"}').startswith("file-")


@pytest.mark.corpus
def test_other_readers_samples_are_read(shared: Any) -> None:
    path = shared / "corpus/peers/moraine/fixtures/kiro/session.jsonl"
    values = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
    found = read(ADAPTER, CLI, [record(value, index) for index, value in enumerate(values)])
    assert {
        "user_message",
        "assistant_message",
        "thinking",
        "tool_call",
        "tool_result",
        "compaction",
        "unknown",
    } <= found.kinds
