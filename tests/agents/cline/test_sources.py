"""Where the family's files lie, whose they are, and what the files beside the logs give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.kit.cline.adapter import ClineFamily
from recollect.model.events import Draft
from recollect.model.payloads import (
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    SessionEnd,
    SessionStart,
    TokenUsage,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import read
from tests.agents.cline.reading import give, info_of, payloads, record

CLINE, ROO, KILO = ClineFamily("cline"), ClineFamily("roo"), ClineFamily("kilo")
SDK = "sessions/s1/s1.messages.json"


def sdk(*messages: Any, path: str = SDK, role: str = "sdk") -> list[Draft]:
    return give(CLINE, info_of(CLINE, role, path), *messages, at="messages")


def test_no_place_reaches_secrets_or_settings() -> None:
    for adapter in (CLINE, ROO, KILO):
        for place in adapter.facts.places:
            for pattern in place.patterns:
                assert "**" not in pattern
                assert not any(word in pattern for word in ("secret", "settings", "checkpoints", "vscdb"))


def test_a_task_keeps_its_name_in_every_editor() -> None:
    here = SourceInfo("cline", "ui", "tasks/1785574800000/ui_messages.json")
    assert CLINE.source_key(here) == "1785574800000/ui_messages.json"
    assert CLINE.identify(here, b"") == "1785574800000"


def test_an_agent_of_the_sdk_is_a_session_below_its_folder() -> None:
    info = info_of(CLINE, "sdk", "sessions/s1/researcher.messages.json", head=b'{"sessionId": "s1"}')
    assert info.session == "s1__researcher"
    assert info_of(CLINE, "sdk", "sessions/s1/r.messages.json", head=b'{"sessionId": "own"}').session == "own"
    start = payloads(give(CLINE, info, {"version": 1, "agent": "researcher", "sessionId": "s1"}), SessionStart)[0]
    assert (start.parent_session, start.agent_name) == ("s1", "researcher")


def test_the_relatives_logs_are_told_apart() -> None:
    row = {"ts": 1785574800000, "type": "say", "say": "text", "text": "x"}
    request = {"ts": 1785574801000, "type": "say", "say": "api_req_started", "text": '{"apiProtocol": "anthropic"}'}
    kilo = {"ts": 1785574801000, "type": "say", "say": "api_req_started", "text": '{"inferenceProvider": "x"}'}
    for rows, wanted in (
        ([row], [True, False, False]),
        ([row, request], [False, True, False]),
        ([row, kilo], [False, False, True]),
    ):
        head = json.dumps(rows).encode()
        assert [a.recognise("ui_messages.json", head) == "ui" for a in (CLINE, ROO, KILO)] == wanted


@pytest.mark.parametrize("head", [b"", b"[]", b'[{"role": "user", "content": "hi"}]', b'{"type": "user"}', b"\xff\x00"])
def test_other_files_are_nobodys(head: bytes) -> None:
    assert [a.recognise("x.json", head) for a in (CLINE, ROO, KILO)] == [None, None, None]


def test_the_sdks_input_holds_the_cached_tokens() -> None:
    metrics = {"inputTokens": 1020, "outputTokens": 30, "cacheReadTokens": 900, "cacheWriteTokens": 100, "cost": 0.1}
    message = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "x"}], "metrics": metrics}
    usage = payloads(sdk(message), TokenUsage)[0]
    assert (usage.input_tokens, usage.cache_read_tokens, usage.dedupe_key, usage.is_additive) == (
        20,
        900,
        "message:m1",
        True,
    )


def test_a_forks_copy_of_a_response_counts_once() -> None:
    message = {"id": "m1", "role": "assistant", "content": "x", "metrics": {"inputTokens": 9, "outputTokens": 3}}
    one, two = sdk(message), sdk(message, path="sessions/s2/s2.messages.json")
    assert payloads(one, TokenUsage) == payloads(two, TokenUsage)


def test_a_failed_command_marked_only_in_its_report_is_a_failure() -> None:
    report = [{"query": "make", "result": "no rule", "success": False}]
    back = {"id": "m2", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": report}]}
    result = payloads(sdk(back), ToolResult)[0]
    assert (result.ok, result.text) == (False, "no rule")


def test_a_report_written_as_text_is_read() -> None:
    report = json.dumps({"query": "edit:a.py", "result": "Edited a.py", "success": True}, separators=(",", ":"))
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "editor",
        "input": {"path": "a.py", "old_text": "a", "new_text": "b"},
    }
    drafts = sdk(
        {"id": "m1", "role": "assistant", "content": [call]},
        {"id": "m2", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": report}]},
    )
    assert payloads(drafts, ToolResult)[0].text == "Edited a.py"
    assert payloads(drafts, FileEdit) == [FileEdit("a.py", "modify", "a", "b", call_id="t1")]


def test_a_file_that_the_person_attached_is_not_what_they_said() -> None:
    blocks = [{"type": "text", "text": "See this."}, {"type": "file", "path": "a.py", "content": "OLD = 1"}]
    said = payloads(sdk({"id": "m1", "role": "user", "content": blocks}), UserMessage)
    assert [(m.text, m.origin) for m in said] == [("See this.", "human"), ("OLD = 1", "injected")]
    assert [part.path for part in said[0].parts] == ["a.py"]


def test_the_compacted_context_gives_its_compactions_and_no_copies() -> None:
    notice = {"type": "text", "text": "<SYSTEM_NOTICE>\nEarlier context was compacted.\n</SYSTEM_NOTICE>"}
    first = {
        "id": "m1",
        "role": "user",
        "content": [{"type": "text", "text": "x"}, notice],
        "metadata": {"kind": "compaction", "reason": "manual_compaction", "usageBefore": {"inputTokens": 99}},
    }
    drafts = sdk(
        first,
        {"id": "m2", "role": "assistant", "content": "y"},
        path="sessions/s1/s1.compaction.json",
        role="sdk_context",
    )
    assert payloads(drafts, Compaction) == [Compaction("manual_compaction", "Earlier context was compacted.", 99)]
    assert [m.origin for m in payloads(drafts, UserMessage)] == ["injected"]


def test_the_system_prompt_is_no_turn() -> None:
    drafts = give(CLINE, info_of(CLINE, "sdk", SDK), {"system_prompt": "You are Cline."})
    assert payloads(drafts, Instructions) == [Instructions("You are Cline.", "system_prompt")]
    assert payloads(drafts, UserMessage) == []


def test_a_manifest_gives_folder_lineage_title_and_end() -> None:
    manifest = {
        "session_id": "s2",
        "cwd": "/w",
        "started_at": "2026-08-01T09:00:00.000Z",
        "ended_at": "2026-08-01T09:05:00.000Z",
        "status": "completed",
        "pid": 1,
        "metadata": {"title": "T", "fork": {"forkedFromSessionId": "s1"}},
    }
    drafts = give(CLINE, info_of(CLINE, "manifest", "sessions/s2/s2.json"), manifest)
    start = payloads(drafts, SessionStart)[0]
    assert (start.cwd, start.forked_from) == ("/w", "s1")
    assert [p.title for p in payloads(drafts, Lifecycle) if p.title] == ["T"]
    assert payloads(drafts, SessionEnd) == [SessionEnd("completed")]
    assert payloads(drafts, Unknown) == []


def test_the_index_of_tasks_speaks_for_other_sessions() -> None:
    item = {"id": "17855", "ts": 1785574800000, "task": "Add tests.", "tokensIn": 9, "tokensOut": 2, "novelty": "x"}
    info = info_of(CLINE, "index", "state/taskHistory.json")
    found = read(CLINE, info, [record(item)])
    assert {d.session for d in found.events[0]} == {"17855"}
    assert [u.is_additive for u in payloads(list(found.events[0]), TokenUsage)] == [False]


def test_a_subtask_names_its_parent() -> None:
    drafts = give(
        ROO, info_of(ROO, "item", "tasks/b/history_item.json"), {"id": "b", "parentTaskId": "a", "status": "completed"}
    )
    assert payloads(drafts, SessionStart)[0].parent_session == "a"
    assert payloads(drafts, SessionEnd) == [SessionEnd("completed")]


def test_edits_of_the_context_are_kept() -> None:
    drafts = give(
        CLINE,
        info_of(CLINE, "context", "tasks/a/context_history.json"),
        [1, [0, [[0, [[5, "text", ["[NOTE] cut"], []]]]]]],
    )
    assert "[NOTE] cut" in payloads(drafts, Unknown)[0].text


@pytest.mark.corpus
def test_recorded_sessions_of_the_sdk_are_read_without_defect_or_drift(shared: Path) -> None:
    folder = shared / "corpus/cline/cline__cline/sdk/packages/core/fixtures/session"
    for name, role in (
        ("session.messages.json", "sdk"),
        ("basic.compaction.json", "sdk_context"),
        ("agentic.compaction.json", "sdk_context"),
    ):
        document = json.loads((folder / name).read_text("utf-8"))
        info = info_of(CLINE, role, SDK)
        state = CLINE.begin(info)
        for index, message in enumerate(document["messages"]):
            parsed = CLINE.parse(record(message, index, "messages"), state)
            state = parsed.state
            assert (parsed.defects, parsed.drift) == ((), ())
