"""Three ways to write one conversation, which may stand side by side: nothing twice, nothing lost."""

from __future__ import annotations

from typing import Any

from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Instructions,
    Lifecycle,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.agents.opencode.rows import T0, TOKENS, assistant, drafts, part, payloads, projected, user


def block(name: str, state: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool", "id": "c1", "name": name, "state": state, "time": {"created": T0, "completed": T0 + 500}}


def answer(*content: dict[str, Any], **more: Any) -> Any:
    return projected(
        "assistant", "msg_2", 1, 2, agent="build", model={"id": "m", "providerID": "p"}, content=[*content], **more
    )


def test_a_row_of_the_newer_table_is_a_whole_message() -> None:
    rows = (
        projected("user", "msg_1", 0, 1, text="Hello"),
        answer({"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Hi"}, tokens=TOKENS, cost=0.01),
    )
    assert [(d.native_id, type(d.payload)) for d in drafts(*rows)] == [
        ("msg_1", UserMessage),
        ("msg_2/reasoning/1", Thinking),
        ("msg_2/text/1", AssistantMessage),
        ("msg_2/usage", TokenUsage),
    ]


def test_a_migrated_session_is_told_once_and_goes_on() -> None:
    rows = (
        user(),
        part("text", text="Hello"),
        assistant(tokens=TOKENS),
        part("text", "prt_2", "msg_2", 1, text="Hi"),
        projected("user", "evt_1", 0, 1, text="Hello"),
        projected("assistant", "evt_2", 1, 2, content=[{"type": "text", "text": "Hi"}], tokens=TOKENS),
        projected("user", "evt_3", 60, 3, text="Hello"),
    )
    assert [m.text for m in payloads(UserMessage, *rows)] == ["Hello", "Hello"]
    assert [m.text for m in payloads(AssistantMessage, *rows)] == ["Hi"]
    assert len(payloads(TokenUsage, *rows)) == 1


def test_a_repetition_is_known_by_its_call_when_its_time_is_another() -> None:
    state = {"status": "completed", "input": {}, "output": "3 passed", "metadata": {}}
    twin = block("shell", {"status": "completed", "input": {}, "content": [{"type": "text", "text": "3 passed"}]})
    rows = (assistant(), part("tool", "prt_2", "msg_2", 1, tool="bash", callID="c1", state=state))
    assert len(payloads(ToolResult, *rows, projected("assistant", "evt_2", 700, 1, content=[twin]))) == 1


def test_a_repetition_is_known_by_its_text_when_its_time_is_a_little_off() -> None:
    rows = (assistant(at=1), part("text", "prt_2", "msg_2", 1, text="Hi"))
    twin = projected("assistant", "evt_2", 4, 1, content=[{"type": "text", "text": "Hi"}])
    assert len(payloads(AssistantMessage, *rows, twin)) == 1


def test_the_order_of_the_tables_makes_no_difference() -> None:
    rows = (projected("user", "evt_1", 0, 1, text="Hello"), user(), part("text", text="Hello"))
    assert [m.text for m in payloads(UserMessage, *rows)] == ["Hello"]


def test_what_only_the_newer_table_has_comes_beside_a_full_set_of_rows() -> None:
    rows = (
        user(),
        projected("model-switched", "evt_1", 1, 1, model={"id": "n", "providerID": "p"}),
        projected("agent-switched", "evt_2", 2, 2, agent="plan"),
        projected("location-switched", "evt_3", 3, 3, location={"directory": "/v"}),
        projected("idle", "evt_4", 4, 4, outcome="interrupted"),
    )
    told = [(p.name, p.model or p.cwd or p.text) for p in payloads(Lifecycle, *rows)]
    assert told == [("model", "n"), ("mode", "plan"), ("cwd", "/v"), ("turn_aborted", "interrupted")]


def test_failures_of_the_newer_tools_hide_in_either_place() -> None:
    for facts in ({"metadata": {"exit": 1}}, {"structured": {"exit": 1}}):
        state = {"status": "completed", "input": {}, "content": [{"type": "text", "text": "1 failed"}], **facts}
        (result,) = payloads(ToolResult, answer(block("shell", state)))
        assert (result.ok, result.exit_code, result.text) == (False, 1, "1 failed")


def test_a_failed_tool_of_the_newer_table_says_why() -> None:
    state = {"status": "error", "input": {}, "error": {"type": "unknown", "message": "denied"}, "content": []}
    (result,) = payloads(ToolResult, answer(block("edit", state)))
    assert (result.ok, result.text) == (False, "denied")


def test_a_command_of_the_person_is_a_command() -> None:
    row = projected("shell", "msg_1", 0, shellID="sh_1", command="ls", status="exited", exit=2, output={"output": "no"})
    said, result = (d.payload for d in drafts(row))
    assert said == UserMessage("!ls", "command")
    assert result == ToolResult("sh_1", "shell", ok=False, exit_code=2, text="no")


def test_text_of_the_harness_is_neither_a_prompt_nor_an_answer() -> None:
    rows = (
        projected("synthetic", "msg_1", 0, text="Continue"),
        projected("system", "msg_2", 1, 2, text="It is noon."),
        projected("skill", "msg_3", 2, 3, skill="s", name="brief", text="Be brief."),
    )
    assert [m.origin for m in payloads(UserMessage, *rows)] == ["injected"]
    assert [i.source for i in payloads(Instructions, *rows)] == ["context", "skill brief"]


def test_a_compaction_of_the_newer_table_is_one_event() -> None:
    row = projected("compaction", "msg_1", 0, status="completed", reason="auto", summary="They met.", recent="…")
    assert payloads(Compaction, row) == [Compaction("auto", "They met.")]
    failed = projected("compaction", "msg_1", 0, status="failed", reason="auto", error={"message": "too long"})
    assert payloads(Compaction, failed) == []


def test_files_that_only_the_snapshot_names_are_edits() -> None:
    row = answer(snapshot={"start": "a", "end": "b", "files": ["made.txt"]})
    assert [e.path for e in payloads(FileEdit, row)] == ["made.txt"]


def test_files_of_an_old_tree_say_what_rows_say() -> None:
    rows = (
        ("message", {"id": "msg_1", "sessionID": "ses_a", "role": "user", "time": {"created": T0}}),
        ("part", {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_a", "type": "text", "text": "Hello"}),
        ("part", {"id": "prt_2", "type": "text", "text": "Again"}),
    )
    given = drafts(*rows, role="tree")
    assert [(d.native_id, d.payload.text, d.ts_quality) for d in given if isinstance(d.payload, UserMessage)] == [
        ("msg_1", "Hello", "inferred"),
        ("prt_2", "Again", "inferred"),
    ]


def test_messages_that_hold_their_parts_are_read_as_one() -> None:
    invocation = {"state": "result", "step": 0, "toolCallId": "c1", "toolName": "bash", "args": {}, "result": "no"}
    message = {
        "id": "msg_2",
        "role": "assistant",
        "parts": [{"type": "step-start"}, {"type": "tool-invocation", "toolInvocation": invocation}],
        "metadata": {
            "time": {"created": T0, "completed": T0 + 1},
            "sessionID": "ses_a",
            "tool": {"c1": {"title": "ls", "exit": 1, "time": {"start": T0, "end": T0 + 20}}},
            "assistant": {"system": ["Be kind."], "modelID": "m", "providerID": "p", "cost": 0.1, "tokens": TOKENS},
        },
    }
    rows = (("message", message),)
    (call,), (result,) = payloads(ToolCall, *rows, role="tree"), payloads(ToolResult, *rows, role="tree")
    assert (call.name, result.ok, result.exit_code, result.duration_ms) == ("bash", False, 1, 20)
    assert payloads(Instructions, *rows, role="tree")[0].text == "Be kind."
    assert [u.output_tokens for u in payloads(TokenUsage, *rows, role="tree")] == [5]
