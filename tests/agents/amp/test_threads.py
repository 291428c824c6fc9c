"""Amp's threads: one test for each trap of the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.amp.parse import AmpAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolResult,
    Unknown,
    UserMessage,
)
from tests.agents.cline.reading import give, info_of, mangled, payloads, problems_of, record

ADAPTER = AmpAdapter()
INFO = info_of(ADAPTER, "thread", "threads/T-1.json")
USAGE = {
    "model": "claude-opus-4-6",
    "inputTokens": 3,
    "outputTokens": 30,
    "cacheCreationInputTokens": 117,
    "cacheReadInputTokens": 900,
}


def messages(*values: Any) -> list[Draft]:
    return give(ADAPTER, INFO, *values, at="messages")


def around(**members: Any) -> list[Draft]:
    return give(ADAPTER, INFO, members)


def user(*blocks: Any, number: int = 0) -> dict[str, Any]:
    return {"role": "user", "messageId": number, "content": list(blocks)}


def model(*blocks: Any, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "messageId": number, "content": list(blocks), **fields}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "complete": True, "id": "t1", "name": name, "input": arguments}


def run(**fields: Any) -> dict[str, Any]:
    return user({"type": "tool_result", "toolUseID": "t1", "run": fields}, number=2)


SOUND = [
    user(text("x"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
    model(
        {"type": "thinking", "thinking": "Hm.", "signature": "QQ=="},
        text("y"),
        call("apply_patch", {"patchText": "x"}),
        usage=USAGE,
    ),
    run(status="done", result={"output": "z", "exitCode": 1, "diff": "d"}, trackFiles=["file:///a.py"]),
    {
        "v": 1,
        "id": "T-1",
        "env": {"initial": {"trees": [{"uri": "file:///w", "repository": {}}]}},
        "relationships": [{"threadID": "T-2"}],
    },
]


@given(values=mangled(SOUND), at=st.sampled_from(["messages", ""]))
def test_messages_gone_wrong_keep_the_contract(values: list[Any], at: str) -> None:
    assert problems_of(ADAPTER, INFO, [record(v, i, at) for i, v in enumerate(values)]) == []


@pytest.mark.parametrize(
    ("status", "ok"), [("done", True), ("error", False), ("cancelled", False), ("rejected-by-user", False)]
)
def test_a_run_says_how_it_ended(status: str, ok: bool) -> None:
    assert [r.ok for r in payloads(messages(run(status=status, result="x")), ToolResult)] == [ok]


def test_a_command_that_failed_is_told_by_its_exit_code() -> None:
    result = payloads(messages(run(status="done", result={"output": "no rule", "exitCode": 2})), ToolResult)[0]
    assert (result.ok, result.exit_code, result.text) == (False, 2, "no rule")


def test_a_run_that_goes_on_has_no_result_yet() -> None:
    assert payloads(messages(run(status="in-progress", progress={"output": "…"})), ToolResult) == []


def test_an_error_without_a_result_says_its_message() -> None:
    assert [r.text for r in payloads(messages(run(status="error", error={"message": "no such file"})), ToolResult)] == [
        "no such file"
    ]


def test_a_result_in_the_apis_own_form_is_read() -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True}
    assert [(r.call_id, r.ok) for r in payloads(messages(user(block)), ToolResult)] == [("t1", False)]


def test_an_edit_is_told_from_its_run() -> None:
    edit = model(call("edit_file", {"path": "a.py", "old_str": "a", "new_str": "b"}))
    assert payloads(messages(edit, run(status="rejected-by-user")), FileEdit) == []
    done = messages(edit, run(status="done", result={"diff": "```diff\n@@\n-a\n+b\n```"}))
    assert payloads(done, FileEdit) == [FileEdit("a.py", "modify", "a", "b", call_id="t1")]


def test_an_edit_without_texts_takes_the_diff_that_the_run_shows() -> None:
    drafts = messages(
        model(call("undo_edit", {"path": "a.py"})), run(status="done", result={"diff": "```diff\n@@\n-a\n+b\n```"})
    )
    assert payloads(drafts, FileEdit) == [FileEdit("a.py", "modify", diff="@@\n-a\n+b", call_id="t1")]


def test_a_patch_is_an_edit_of_each_of_its_files() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n@@\n-y\n+z\n"
        "*** Delete File: d.py\n*** End Patch"
    )
    drafts = messages(model(call("apply_patch", {"patchText": patch})), run(status="done", result="ok"))
    assert [(e.path, e.operation, e.new_path) for e in payloads(drafts, FileEdit)] == [
        ("a.py", "create", ""),
        ("b.py", "rename", "c.py"),
        ("d.py", "delete", ""),
    ]


def test_a_prompt_that_bills_no_cache_writes_stands_in_their_field() -> None:
    spent = {**USAGE, "model": "gpt-5", "inputTokens": 0}
    usage = payloads(messages(model(text("x"), usage=spent)), TokenUsage)[0]
    assert (usage.input_tokens, usage.cache_write_5m_tokens, usage.cache_read_tokens) == (117, 0, 900)
    usage = payloads(messages(model(text("x"), usage=USAGE)), TokenUsage)[0]
    assert (usage.input_tokens, usage.cache_write_5m_tokens, usage.dedupe_key) == (3, 117, "T-1:m1")


def test_blank_text_between_blocks_is_no_message_and_signatures_no_text() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "Q" * 200, "provider": "anthropic"}
    drafts = messages(model(text("\n\n"), thought, text("y")))
    assert [(d.native_id, type(d.payload)) for d in drafts] == [("m1/thinking", Thinking), ("m1", AssistantMessage)]


def test_what_the_editor_shows_is_not_what_the_person_said() -> None:
    drafts = messages({**user(text("x")), "userState": {"currentlyVisibleFiles": ["file:///a.py"]}})
    assert [p.text for p in payloads(drafts, UserMessage)] == ["x"]
    assert ["a.py" in p.text for p in payloads(drafts, Unknown)] == [True]


def test_a_broken_off_answer_is_an_interruption() -> None:
    drafts = messages(model(text("Work"), state={"type": "cancelled"}))
    assert [p.name for p in payloads(drafts, Lifecycle)] == ["interrupted"]


def test_a_streamed_answer_keeps_its_names_when_it_grows() -> None:
    short = messages(model(text("Wor"), state={"type": "streaming"}))
    long = messages(model(text("Work done."), state={"type": "complete", "stopReason": "end_turn"}))
    assert [d.native_id for d in short] == [d.native_id for d in long] == ["m1"]


def test_a_handoff_goes_on_from_its_parents_summary() -> None:
    drafts = around(relationships=[{"type": "handoff", "role": "parent", "threadID": "T-0", "comment": "So far."}])
    assert [p.resumed_from for p in payloads(drafts, SessionStart)] == ["T-0"]
    assert payloads(drafts, Compaction) == [Compaction("handoff", "So far.")]
    parent = around(relationships=[{"type": "handoff", "role": "child", "threadID": "T-2"}])
    assert payloads(parent, Compaction) == []
    assert [p.name for p in payloads(parent, Lifecycle)] == ["handoff"]


def test_what_identifies_the_machine_is_not_taken() -> None:
    platform = {"os": "linux", "installationID": "synthetic-id", "deviceFingerprint": "synthetic-fingerprint"}
    drafts = around(
        env={"initial": {"trees": [{"uri": "file:///w"}], "platform": platform}}, meta={"traces": [{"id": "x"}]}
    )
    assert "synthetic" not in str(drafts)
    assert payloads(drafts, SessionStart)[0].cwd == "/w"


def test_only_threads_are_opened() -> None:
    assert [p for place in ADAPTER.facts.places for p in place.patterns] == ["threads/T-*.json"]


def test_a_thread_is_told_by_its_content() -> None:
    head = json.dumps({"v": 3, "id": "T-1", "created": 1785574800000, "messages": []}).encode()
    assert ADAPTER.recognise("x.json", head) == "thread"
    assert ADAPTER.recognise("x.json", b'{"id": "T-1", "messages": []}') is None
    assert ADAPTER.recognise("x.json", b'{"v": 3, "id": "x", "created": 1, "messages": []}') is None


@pytest.mark.corpus
def test_captured_threads_are_read_without_defect_or_drift(shared: Path) -> None:
    for path in sorted((shared / "corpus/amp").rglob("T-*.json")):
        document = json.loads(path.read_text("utf-8"))
        rest = {k: v for k, v in document.items() if k != "messages"}
        records = [record(m, i, "messages") for i, m in enumerate(document["messages"])]
        state = ADAPTER.begin(INFO)
        for one in (*records, record(rest)):
            parsed = ADAPTER.parse(one, state)
            state = parsed.state
            assert (parsed.defects, parsed.drift) == ((), ())
        assert state.waiting == ()
