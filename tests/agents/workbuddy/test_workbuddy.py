"""WorkBuddy's traps, one by one."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read

ADAPTER = FormatAdapter("workbuddy")


def drafts(role: str, values: list[Any], at: str = "", path: str = "work-demo/s1.jsonl") -> list[Draft]:
    info = SourceInfo("workbuddy", role, path)
    info = SourceInfo("workbuddy", role, path, ADAPTER.identify(info, b""))
    records = [Record(value, b"", index, at) for index, value in enumerate(values)]
    return [draft for found in read(ADAPTER, info, records).events for draft in found]


def of(kind: str, found: list[Draft]) -> list[Any]:
    return [draft.payload for draft in found if kind_of(draft.payload) == kind]


def item(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"i{number}", "timestamp": 1785574800000 + number * 1000, "type": kind, "sessionId": "s1", **fields}


def answer(number: int, **provider: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": "hi"}]
    return item(number, "message", role="assistant", content=content, providerData={"model": "m", **provider})


def test_raw_counts_have_the_cached_part_in_the_prompt():
    raw = {"prompt_tokens": 20, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}}
    counted = of("token_usage", drafts("transcript", [answer(1, rawUsage=raw)]))[0]
    assert (counted.input_tokens, counted.cache_read_tokens, counted.output_tokens) == (15, 5, 4)


def test_counts_of_its_own_have_it_beside():
    usage = {"inputTokens": 20, "outputTokens": 4, "cacheReadInputTokens": 5}
    counted = of("token_usage", drafts("transcript", [answer(1, usage=usage)]))[0]
    assert (counted.input_tokens, counted.cache_read_tokens) == (20, 5)


def test_items_of_one_response_count_once():
    usage = {"inputTokens": 20, "outputTokens": 4}
    counted = of("token_usage", drafts("transcript", [answer(n, usage=usage, responseId="r1") for n in (1, 2)]))
    assert len({c.dedupe_key for c in counted}) == 1


def test_text_without_a_type_is_text():
    found = drafts("transcript", [item(1, "message", role="user", content=[{"text": "hello"}])])
    assert of("user_message", found)[0].text == "hello"


def test_a_result_is_text_or_an_object_or_a_list():
    outputs = ("a", {"type": "text", "text": "a"}, [{"type": "input_text", "text": "a"}])
    values = [item(n, "function_call_result", callId=f"c{n}", name="Bash", output=o) for n, o in enumerate(outputs)]
    assert [r.text for r in of("tool_result", drafts("transcript", values))] == ["a", "a", "a"]


def test_arguments_are_json_in_a_text():
    call = item(1, "function_call", name="Bash", callId="c1", arguments='{"command": "ls"}')
    assert of("tool_call", drafts("transcript", [call]))[0].arguments == {"command": "ls"}


def test_a_subagent_lies_below_its_session():
    path = "work-demo/s1/subagents/agent-1.jsonl"
    found = drafts("subagent", [item(1, "message", role="user", content="x", cwd="/w")], path=path)
    start = of("session_start", found)[0]
    assert (start.parent_session, start.cwd) == ("s1", "/w")
    assert ADAPTER.identify(SourceInfo("workbuddy", "subagent", path), b"") == "s1:agent-1"


def test_a_change_of_folder_is_told():
    values = [item(n, "message", role="user", content="x", cwd=cwd) for n, cwd in enumerate(("/a", "/a", "/b"))]
    assert [p.cwd for p in of("lifecycle", drafts("transcript", values))] == ["/b"]


def test_its_own_items_are_recognised_and_those_of_others_are_not():
    own = b'{"id":"a","timestamp":1785574800000,"type":"message","role":"user","content":[],"sessionId":"s"}'
    other = b'{"type":"message","id":"a","timestamp":"2026-08-01T09:00:00Z","message":{"role":"user"}}'
    assert ADAPTER.recognise("x", own) == "transcript"
    assert ADAPTER.recognise("x", other) is None
