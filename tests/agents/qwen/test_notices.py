"""System records of Qwen Code, files beside the transcripts, and the snapshots of its first generation."""

from __future__ import annotations

import pytest

from recollect.model.payloads import (
    Compaction,
    Instructions,
    Lifecycle,
    Rewind,
    SessionStart,
    ToolResult,
    Unknown,
    UserMessage,
)
from tests.agents.qwen.transcripts import SESSION, Told, notice, record


def test_metadata_written_again_at_the_end_is_the_same_event() -> None:
    told = Told(
        notice("n1", "custom_title", customTitle="A"), notice("n2", "custom_title", customTitle="A"),
        notice("n3", "custom_title", customTitle="B"), notice("n4", "custom_title", customTitle="A"),
    )  # fmt: skip
    assert [d.native_id for d in told.drafts[1:]] == ["n1", "n1", "n3", "n4"]
    assert [e.title for e in told.all(Lifecycle)] == ["A", "B", "A"]


def test_a_compression_gives_its_summary_and_none_of_the_turns_it_carries_over() -> None:
    info = {"originalTokenCount": 12000, "newTokenCount": 2500, "triggerReason": "token_limit"}
    summary = {"role": "user", "parts": [{"text": "<state_snapshot>\nNumbers."}]}
    carried = {"role": "user", "parts": [{"text": "First."}]}
    first, second = Told(
        notice("n1", "chat_compression", info=info, compressedHistory=[summary, carried]),
        notice("n2", "chat_compression", info=info, compressedHistory=[carried]),
    ).all(Compaction)
    assert (first.trigger, first.tokens_before, first.tokens_after) == ("token_limit", 12000, 2500)
    assert first.summary == "<state_snapshot>\nNumbers."
    assert second.summary == ""


def test_a_rewind_goes_to_the_record_it_hangs_below() -> None:
    rewind = Told(notice("n1", "rewind", truncatedCount=4)).one(Rewind)
    assert (rewind.to_event, rewind.turns_dropped) == ("root", None)


def test_a_command_is_what_was_typed_and_its_output_is_not() -> None:
    told = Told(
        notice("n1", "slash_command", phase="invocation", rawCommand="/about"),
        notice("n2", "slash_command", phase="result", rawCommand="/about", outputHistoryItems=[{"text": "Qwen"}]),
        notice("n3", "slash_command", phase="invocation", rawCommand="/quiet", hiddenInvocation=True),
    )
    assert [(m.text, m.origin) for m in told.all(UserMessage)] == [("/about", "command")]
    assert [(e.name, e.text) for e in told.all(Lifecycle)] == [("command_output", "text: Qwen"), ("command_output", "")]


def test_telemetry_counts_no_tokens_and_repeats_no_arguments() -> None:
    event = {"event.name": "qwen-code.api_error", "error_message": "quota", "function_args": {"content": "long"}}
    told = Told(notice("n1", "ui_telemetry", uiEvent=event), notice("n2", "ui_telemetry", uiEvent={"event.name": "x"}))
    failed, other = told.all(Lifecycle)
    assert (failed.name, failed.text, "function_args" in failed.detail) == ("api_error", "quota", False)
    assert (other.name, other.text) == ("telemetry", "x")


@pytest.mark.parametrize(
    ("state", "name"), [("cancelled", "interrupted"), ("error", "api_error"), ("completed", "turn_ended")]
)
def test_the_end_of_a_turn_says_how_it_ended_and_not_again_what_was_said(state: str, name: str) -> None:
    payload = {"state": state, "promptText": "Go on.", "resultText": "Working", "error": {"message": "no"}}
    told = Told(notice("n1", "turn_result", promptId="p", endedAt=1, **payload))
    event = told.one(Lifecycle)
    assert event.name == name
    assert "promptText" not in event.detail


def test_the_session_that_started_this_one_makes_it_a_subagent() -> None:
    starts = Told(notice("n1", "parent_session", parentSessionId="p")).all(SessionStart)
    assert [s.parent_session for s in starts] == ["", "p"]


def test_the_model_the_mode_and_referenced_files_are_told() -> None:
    told = Told(
        notice("n1", "session_model", modelId="q", authType="x"), notice("n2", "session_approval_mode", mode="plan"),
        notice("n3", "at_command", filesRead=["a.py"], status="success", userText="@a.py"),
    )  # fmt: skip
    model, mode, files = told.all(Lifecycle)
    assert (model.model, mode.text, files.text) == ("q", "plan", "a.py")


def test_instructions_of_a_subagent_are_no_turn_and_its_inherited_history_is_not_repeated() -> None:
    history = [{"role": "user", "parts": [{"text": "First."}]}]
    told = Told(
        notice("n1", "agent_bootstrap", kind="fork", history=history, systemInstruction="Be brief."), role="subagent"
    )
    assert told.one(Instructions).text == "Be brief."
    assert told.one(Lifecycle).detail == {"turns": 1}
    assert not told.all(UserMessage)


@pytest.mark.parametrize(
    "subtype", ["file_history_snapshot", "goal_state", "branch_checkpoint", "managed_session_event_v1"]
)
def test_known_records_without_a_kind_are_kept_and_no_drift(subtype: str) -> None:
    told = Told(notice("n1", subtype, note="x"))
    assert (told.one(Unknown).type, told.one(Unknown).text) == (subtype, "note: x")
    assert told.drift == []


def test_an_unknown_subtype_is_drift() -> None:
    assert Told(notice("n1", "dream", note="x")).drift[0].name == "system/dream"


def test_beside_a_subagent_stands_who_started_it_and_how_it_ended() -> None:
    meta = {
        "agentId": "a", "agentType": "explore", "description": "Find it", "parentSessionId": SESSION, "toolUseId": "c1",
        "parentAgentId": "b", "createdAt": "2026-08-01T09:00:00Z", "status": "failed", "lastError": "no", "novelty": 1,
    }  # fmt: skip
    told = Told(meta, role="subagent_meta")
    start = told.one(SessionStart)
    assert (start.parent_session, start.agent_name) == (f"{SESSION}/agent-b", "explore")
    assert [e.name for e in told.all(Lifecycle)] == ["title", "subagent"]
    assert [d.name for d in told.drift] == ["meta.novelty"]


def test_snapshots_of_the_first_generation_are_read_as_those_of_gemini() -> None:
    call = {"id": "c1", "name": "glob", "args": {}, "status": "success", "resultDisplay": "a.py"}
    told = Told(
        ({"sessionId": "s", "projectHash": "h", "startTime": "2026-08-01T09:00:00Z"}, ""),
        ({"id": "m1", "type": "user", "content": "Hi"}, "messages"),
        ({"id": "m2", "type": "qwen", "content": "", "toolCalls": [call]}, "messages"),
        ({"summary": "A title"}, ""),
        role="chat_json",
    )
    assert told.one(UserMessage).origin == "human"
    assert told.one(ToolResult).text == "a.py"
    assert [e.name for e in told.all(Lifecycle)] == ["project", "title"]
    assert told.drift == []


def test_prompts_go_to_the_sessions_that_they_name() -> None:
    told = Told({"sessionId": "gone", "messageId": 0, "type": "user", "message": "Hi"}, role="prompts")
    assert told.drafts[0].session == "gone"


def test_a_system_prompt_is_no_turn() -> None:
    told = Told(record("n1", "system", "Be brief."))
    assert told.one(Instructions).text == "Be brief."
