"""Posit Assistant's traps, one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = FormatAdapter("posit")


def drafts(role: str, values: list[Any], at: str = "", path: str = "ws/conv1/lm-messages.jsonl") -> list[Draft]:
    info = SourceInfo("posit", role, path)
    info = SourceInfo("posit", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


def line(number: int, role: str, content: Any, **own: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, "providerOptions": {"providerMetadata": {"positai": own}}}
    return {"id": number, "message": message}


def test_the_summary_below_an_answer_is_not_part_of_it():
    said = "Done.\n<MESSAGESUMMARY>Asked for data</MESSAGESUMMARY>"
    found = drafts("messages", [line(1, "assistant", [{"type": "text", "text": said}])])
    assert of("assistant_message", found)[0].text == "Done."
    assert [(p.name, p.text) for p in of("lifecycle", found)] == [("message_summary", "Asked for data")]


def test_a_line_with_the_number_of_an_earlier_one_is_a_new_version_of_it():
    found = drafts("messages", [line(3, "user", "One"), line(3, "user", "Two")])
    assert [d.native_id for d in found] == ["lm:3", "lm:3"]


def test_cache_writes_count_by_lifetime():
    usage = {
        "inputTokens": 12,
        "outputTokens": 3,
        "cacheReadTokens": 7,
        "cacheWriteTokens": 100,
        "cacheWrite1hTokens": 40,
    }
    found = drafts("messages", [line(1, "assistant", "x", modelId="claude-sonnet-4-6", usage=usage)])
    counted = of("token_usage", found)[0]
    assert (counted.input_tokens, counted.cache_read_tokens) == (12, 7)
    assert (counted.cache_write_5m_tokens, counted.cache_write_1h_tokens) == (60, 40)


def test_models_without_paid_cache_writes_have_the_rest_of_the_prompt_there():
    usage = {"inputTokens": 1, "outputTokens": 3, "cacheReadTokens": 7, "cacheWriteTokens": 100}
    counted = of("token_usage", drafts("messages", [line(1, "assistant", "x", modelId="z/glm-5", usage=usage)]))[0]
    assert (counted.input_tokens, counted.cache_write_5m_tokens) == (101, 0)


def test_a_failed_tool_is_told_by_the_type_of_its_output():
    def result(kind: str) -> Any:
        block = {"type": "tool-result", "toolCallId": "t1", "toolName": "bash", "output": {"type": kind, "value": "x"}}
        return of("tool_result", drafts("messages", [line(1, "tool", [block])]))[0].ok

    assert [result(kind) for kind in ("text", "error-text", "error-json")] == [True, False, False]


def test_an_edit_is_told_when_its_result_is_no_failure():
    asked = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    call = line(1, "assistant", [{"type": "tool-call", "toolCallId": "t1", "toolName": "edit", "input": asked}])
    for kind, count in (("text", 1), ("error-text", 0)):
        output = {"type": kind, "value": "v"}
        block = {"type": "tool-result", "toolCallId": "t1", "toolName": "edit", "output": output}
        assert len(of("file_edit", drafts("messages", [call, line(2, "tool", [block])]))) == count


def test_a_branch_that_was_left_is_told():
    nodes = [{"id": "a", "isActive": True, "lmMessageIds": [0]}, {"id": "b", "isActive": False, "lmMessageIds": [1, 2]}]
    found = drafts("tree", nodes, "messages")
    assert [(p.name, p.detail["messages"]) for p in of("lifecycle", found)] == [("branch_left", [1, 2])]


def test_a_subagent_names_its_parent_and_its_task():
    root = {"id": "sub", "metadata": {"kind": "subagent", "parentTreeId": "conv1", "task": "Look around"}}
    start = of("session_start", drafts("tree", [{"schemaVersion": "3", "root": root}]))[0]
    assert (start.parent_session, start.agent_name) == ("conv1", "Look around")


def test_a_session_is_named_after_its_folder():
    info = SourceInfo("posit", "messages", "ws/conv1/subagents/sub2/lm-messages.jsonl")
    assert ADAPTER.identify(info, b"") == "sub2"


def test_requests_beside_the_conversation_count_once_each():
    event = {"type": "usage", "kind": "cache-keepalive", "modelId": "m", "inputTokens": 0, "outputTokens": 1}
    counted = of("token_usage", drafts("usage", [event, event]))
    assert len({c.dedupe_key for c in counted}) == 2


@pytest.mark.corpus
def test_samples_of_another_readers_tests_are_read_whole(shared: Path):
    folder = shared / "corpus/peers/agentsview/internal/parser/testdata/posit-assistant/workspaces"
    said: list[str] = []
    for path in sorted(folder.rglob("lm-messages.jsonl")):
        values = [json.loads(line) for line in path.read_text().splitlines()]
        found = drafts("messages", values)
        assert of("unknown", found) == []
        said += [p.text for p in of("user_message", found)]
    assert len(said) >= 4


def test_its_own_files_are_recognised_by_their_content():
    head = b'{"id":0,"message":{"role":"user","content":"x","providerOptions":{"providerMetadata":{"positai":{}}}}}'
    assert ADAPTER.recognise("x", head) == "messages"
    assert ADAPTER.recognise("x", b'{"role":"user","content":"x"}') is None
