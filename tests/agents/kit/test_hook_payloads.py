"""Payloads of every agent's hooks, as their pages show them, are the events that they tell of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kit.hooks import HookReader
from recollect.agents.registry import adapters, for_role
from recollect.model.capabilities import HOOK_PLACE
from recollect.model.events import Draft
from recollect.model.payloads import AssistantMessage, Compaction, ToolCall, ToolResult, UserMessage, kind_of
from recollect.model.records import Record, SourceInfo

Json = dict[str, Any]
HOOKED = [slug for slug, adapter in adapters().items() if adapter.facts.hooks is not None]
AT_US = 1_785_574_800_000_000

PROMPTS: dict[str, Json] = {
    "claude": {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": "/w", "prompt": "fix it"},
    "codex": {"session_id": "s", "hook_event_name": "UserPromptSubmit", "turn_id": "t", "prompt": "fix it"},
    "gemini": {"session_id": "s", "hook_event_name": "BeforeAgent", "timestamp": "2026-08-01T09:00:00Z", "cwd": "/w",
               "prompt": "fix it"},
    "qwen": {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": "/w", "prompt": "<x>fix it",
             "submitted_prompt": "fix it"},
    "cursor": {"conversation_id": "s", "generation_id": "g", "hook_event_name": "beforeSubmitPrompt",
               "workspace_roots": ["/w"], "prompt": "fix it", "attachments": []},
    "grok": {"hookEventName": "user_prompt_submit", "sessionId": "s", "cwd": "/w", "prompt": "fix it", "promptId": "p"},
    "kimi": {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/w",
             "prompt": [{"type": "text", "text": "fix it"}]},
    "copilot": {"sessionId": "s", "hookEventName": "userPromptSubmitted", "timestamp": 1785574800000, "cwd": "/w",
                "prompt": "fix it"},
    "vscode": {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": "/w", "prompt": "fix it"},
    "windsurf": {"agent_action_name": "pre_user_prompt", "trajectory_id": "s", "execution_id": "e",
                 "timestamp": "2026-08-01T09:00:00Z", "tool_info": {"user_prompt": "fix it", "cwd": "/w"}},
    "codewhale": {"event": "message_submit", "text": "fix it", "session_id": "s", "workspace": "/w", "model": "m"},
    "goose": {"event": "UserPromptSubmit", "session_id": "s", "working_dir": "/w", "message": "fix it"},
    "hermes": {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/w", "extra": {"prompt": "fix it"}},
    "pi": {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/w", "prompt": "fix it"},
    "opencode": {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/w", "message_id": "m",
                 "prompt": "fix it"},
}  # fmt: skip
TOOLS: dict[str, Json] = {
    "claude": {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
               "tool_response": {"stdout": "a b", "stderr": ""}, "tool_use_id": "t1"},
    "codex": {"hook_event_name": "PostToolUse", "turn_id": "t", "tool_name": "Bash", "tool_input": {"command": "ls"},
              "tool_response": "a b", "tool_use_id": "t1"},
    "gemini": {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": {"command": "ls"},
               "tool_response": {"llmContent": "a b", "returnDisplay": "a b"}},
    "qwen": {"hook_event_name": "PostToolUse", "tool_name": "run_shell_command", "tool_input": {"command": "ls"},
             "tool_response": {"llmContent": "a b"}, "tool_use_id": "toolu_x", "tool_call_id": "t1"},
    "cursor": {"hook_event_name": "afterShellExecution", "command": "ls", "output": "a b", "duration": 12},
    "grok": {"hookEventName": "post_tool_use", "toolName": "run_terminal_command", "toolInput": {"command": "ls"},
             "toolUseId": "t1", "toolResult": "a b"},
    "kimi": {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
             "tool_output": "a b", "tool_call_id": "t1"},
    "copilot": {"hookEventName": "postToolUse", "toolName": "bash", "toolArgs": '{"command":"ls"}',
                "toolResult": {"resultType": "success", "textResultForLlm": "a b"}},
    "vscode": {"hook_event_name": "PostToolUse", "tool_name": "run_in_terminal", "tool_input": {"command": "ls"},
               "tool_response": "a b", "tool_use_id": "t1"},
    "windsurf": {"agent_action_name": "post_run_command", "execution_id": "e",
                 "tool_info": {"command": "ls", "cwd": "/w", "output": "a b"}},
    "codewhale": {"event": "tool_call_after", "tool_name": "exec_shell", "tool_input": {"command": "ls"},
                  "tool_call_id": "t1", "tool_response": "a b"},
    "goose": {"event": "PostToolUse", "tool_name": "shell", "tool_input": {"command": "ls"},
              "tool_output": "a b"},
    "hermes": {"hook_event_name": "post_tool_call", "tool_name": "terminal", "tool_input": {"command": "ls"},
               "profile": "default", "extra": {"result": '{"output": "a b", "exit_code": 0}', "duration_ms": 3}},
    "pi": {"hook_event_name": "PostToolUse", "tool_name": "bash", "tool_use_id": "t1",
           "tool_input": {"command": "ls"}, "tool_response": [{"type": "text", "text": "a b"}]},
    "opencode": {"hook_event_name": "PostToolUse", "tool_name": "bash", "tool_use_id": "t1",
                 "tool_input": {"command": "ls"}, "tool_response": "a b"},
}  # fmt: skip


def told(slug: str, *payloads: Json) -> list[Draft]:
    """What the reader makes of payloads, without the session's start."""
    reader = for_role(adapters()[slug], HOOK_PLACE.role)
    state = reader.begin(SourceInfo(slug, HOOK_PLACE.role, "2026-08-01.x.y.hooks.jsonl", "s"))
    drafts: list[Draft] = []
    for index, one in enumerate(payloads):
        line = {"drop": f"d{index}", "agent": slug, "host": slug, "session": "s", "at_us": AT_US, "payload": one}
        parsed = reader.parse(Record(line, msgspec.json.encode(line), index), state)
        encoded = msgspec.msgpack.encode(parsed.state)
        state = msgspec.msgpack.decode(encoded, type=reader.state_type)
        drafts += parsed.events
    return [draft for draft in drafts if kind_of(draft.payload) != "session_start"]


def test_every_agent_with_hooks_is_tried() -> None:
    assert set(PROMPTS) == set(TOOLS) == set(HOOKED)


@pytest.mark.parametrize("slug", HOOKED)
def test_a_prompt_is_a_users_message(slug: str) -> None:
    (draft,) = told(slug, PROMPTS[slug])
    assert draft.payload == UserMessage("fix it", "human")
    assert draft.ts == AT_US


@pytest.mark.parametrize("slug", HOOKED)
def test_a_tools_end_is_a_call_and_its_result(slug: str) -> None:
    call, result = (draft.payload for draft in told(slug, TOOLS[slug]))
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert call.canonical == "shell"
    assert call.arguments["command"] == "ls"
    assert (result.text, result.ok, result.name) == ("a b", True, call.name)
    assert call.call_id == result.call_id != ""
    hooks = adapters()[slug].facts.hooks
    assert hooks is not None
    assert (call.call_id == "t1") == hooks.shares_call_ids


@pytest.mark.parametrize("slug", HOOKED)
def test_the_same_payload_names_the_same_events(slug: str) -> None:
    """What came twice under an id of the agent's is one event in the store; other things are told apart by time."""
    names = [draft.native_id for draft in told(slug, TOOLS[slug], TOOLS[slug])]
    hooks = adapters()[slug].facts.hooks
    assert len(set(names)) == (2 if hooks is not None and hooks.shares_call_ids else 4)


def test_what_no_person_wrote_is_injected() -> None:
    (draft,) = told("qwen", {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "a tool's result"})
    assert draft.payload == UserMessage("a tool's result", "injected")


def test_a_compaction_is_one_event_from_its_beginning_to_its_summary() -> None:
    before = {"hook_event_name": "PreCompact", "session_id": "s", "trigger": "auto"}
    after = {"hook_event_name": "PostCompact", "session_id": "s", "trigger": "auto", "compact_summary": "so far"}
    first, second = told("claude", before, after)
    assert first.native_id == second.native_id
    assert second.payload == Compaction("auto", "so far")


def test_the_end_of_a_turn_has_the_last_words() -> None:
    (draft,) = told("codex", {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "Done."})
    assert draft.payload == AssistantMessage("Done.")


def test_an_unknown_event_is_kept_and_counted_as_drift() -> None:
    reader = HookReader(adapters()["claude"].facts, adapters()["claude"].facts.hooks)  # type: ignore[arg-type]
    state = reader.begin(SourceInfo("claude", HOOK_PLACE.role, "x", "s"))
    line = {"drop": "d", "session": "s", "payload": {"session_id": "s", "hook_event_name": "BrandNew", "x": "said"}}
    parsed = reader.parse(Record(line, b"", 0), state)
    assert [drift.name for drift in parsed.drift] == ["BrandNew"]
    assert "said" in parsed.events[-1].payload.text  # type: ignore[union-attr]


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([
            "payload", "hook_event_name", "session_id", "drop", "at_us", "prompt", "tool_input", "tool_response",
            "tool_use_id", "tool_info", "agent_id", "timestamp", "PostToolUse", "error", "workspace_roots",
        ]), inner),
    ),
    name=st.sampled_from(["PostToolUse", "UserPromptSubmit", "Stop", "PreCompact", "SessionStart", "SubagentStop", 7]),
    slug=st.sampled_from(HOOKED),
)  # fmt: skip
def test_any_payload_gives_events_and_never_raises(value: Any, name: Any, slug: str) -> None:
    payload = {**value, "hook_event_name": name} if isinstance(value, dict) else value
    reader = for_role(adapters()[slug], HOOK_PLACE.role)
    state = reader.begin(SourceInfo(slug, HOOK_PLACE.role, "x", "s"))
    parsed = reader.parse(Record({"payload": payload}, b"", 0), state)
    assert parsed.events
