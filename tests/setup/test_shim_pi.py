"""The extension for pi: context as a message before the first prompt, every event once in the spool, never a throw."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.setup.shims import Shim, needs_node

pytestmark = needs_node
_SESSION = """
const handlers = {}
const told = []
shim({ on: (name, handle) => { handlers[name] = handle } })
const ctx = {
  cwd: "/work/app", sessionManager: { getSessionId: () => "pi-1" }, ui: { notify: (...given) => told.push(given) },
}
const fire = (name, event) => handlers[name](event, ctx)
"""


@pytest.fixture
def shim(tmp_path: Path) -> Shim:
    return Shim("pi", tmp_path)


def test_context_comes_with_the_first_prompt_and_after_a_compaction(shim: Shim) -> None:
    (shim.folder / "recollect").write_text("#!/bin/sh\nprintf 'context at %s' \"$5\"\n")
    answers = shim.run(
        _SESSION
        + """
await fire("session_start", { reason: "startup" })
show(await fire("before_agent_start", { prompt: "one" }))
show(await fire("before_agent_start", { prompt: "two" }))
await fire("session_compact", { reason: "manual" })
show(await fire("before_agent_start", { prompt: "three" }))
"""
    )
    message = {"customType": "recollect-memory", "display": False}
    assert answers == [
        {"message": {**message, "content": "context at start"}},
        None,
        {"message": {**message, "content": "context at compact"}},
    ]


def test_every_event_is_one_drop(shim: Shim) -> None:
    shim.run(
        _SESSION
        + """
await fire("session_start", { reason: "new" })
await fire("before_agent_start", { prompt: "hello" })
const result = { toolName: "bash", toolCallId: "c1", input: { command: "ls" }, content: [{ type: "text", text: "a" }] }
show(await fire("tool_result", result))
show(await fire("tool_result", { ...result, toolCallId: "c2", isError: true }))
await fire("agent_end", { messages: [] })
await fire("session_shutdown", { reason: "quit" })
"""
    )
    seen = [{k: v for k, v in drop.items() if k not in ("timestamp", "sequence")} for drop in shim.drops()]
    here = {"session_id": "pi-1", "cwd": "/work/app"}
    tool = {"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_response": [{"type": "text", "text": "a"}]}
    assert seen == [
        {"hook_event_name": "SessionStart", **here, "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", **here, "prompt": "hello"},
        {"hook_event_name": "PostToolUse", **here, **tool, "tool_use_id": "c1"},
        {"hook_event_name": "PostToolUseFailure", **here, **tool, "tool_use_id": "c2"},
        {"hook_event_name": "Stop", **here},
        {"hook_event_name": "SessionEnd", **here, "reason": "quit"},
    ]


@pytest.mark.parametrize(
    "name",
    ["session_start", "session_compact", "before_agent_start", "tool_result", "agent_end", "session_shutdown"],
)
def test_no_input_makes_it_throw(shim: Shim, name: str) -> None:
    assert shim.run(f'{_SESSION}\nawait handlers["{name}"](undefined, undefined)\nshow("went on")') == ["went on"]
