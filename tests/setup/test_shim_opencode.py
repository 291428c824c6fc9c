"""The plugin for opencode, under both hosts: every event once in the spool, context in the person's message, never a
throw."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.setup.shims import Shim, needs_node

pytestmark = needs_node
_SESSION = """
const logged = []
const client = { app: { log: async ({ body }) => logged.push(body) } }
const hooks = await shim.server({ client, directory: "/work/app" })
const tell = (type, properties) => hooks.event({ event: { type, properties } })
const say = (id, text) => hooks["chat.message"](
  { sessionID: "ses_1" },
  {
    message: { id, sessionID: "ses_1" },
    parts: [{ type: "text", text }, { type: "text", text: "x", synthetic: true }],
  },
)
const request = async (...ids) => {
  const messages = [
    { info: { id: "msg_a0", role: "assistant", sessionID: "ses_1" }, parts: [{ type: "text", text: "before" }] },
    ...ids.map((id) => ({
      info: { id, role: "user", sessionID: "ses_1" },
      parts: [{ type: "text", text: `about ${id}` }],
    })),
  ]
  await hooks["experimental.chat.messages.transform"]({}, { messages })
  return messages.map((m) => m.parts)
}
"""
_START = "<recollect-memory>start of opencode</recollect-memory>"
_COMPACT = "<recollect-memory>compact of opencode</recollect-memory>"


@pytest.fixture
def shim(tmp_path: Path) -> Shim:
    return Shim("opencode", tmp_path)


def test_every_event_of_opencode_1_is_one_drop(shim: Shim) -> None:
    shim.run(
        _SESSION
        + """
await tell("session.created", { info: { id: "ses_1", directory: "/work/app/sub" } })
await request("msg_1")
await say("msg_1", "why does it fail?")
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "c1" }, { args: { command: "ls" } })
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c1" }, { output: "a.py" })
await tell("session.idle", { sessionID: "ses_1" })
await tell("message.part.updated", { part: {} })
await tell("session.deleted", { info: { id: "ses_1" } })
await hooks.dispose()
"""
    )
    seen = [{k: v for k, v in drop.items() if k not in ("timestamp", "sequence")} for drop in shim.drops()]
    here = {"session_id": "ses_1", "cwd": "/work/app"}
    assert seen == [
        {"hook_event_name": "SessionStart", "session_id": "ses_1", "cwd": "/work/app/sub", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", **here, "message_id": "msg_1", "prompt": "why does it fail?"},
        {
            "hook_event_name": "PostToolUse",
            **here,
            "tool_name": "bash",
            "tool_use_id": "c1",
            "tool_input": {"command": "ls"},
            "tool_response": "a.py",
        },
        {"hook_event_name": "Stop", **here},
        {"hook_event_name": "SessionEnd", **here, "reason": "deleted"},
    ]
    assert all(re.fullmatch(r"spool/opencode\.opencode\.\d+\.[0-9a-f]{32}\.json", name) for name in shim.names())


def test_context_stands_before_the_first_message_of_the_person_and_stays_the_same(shim: Shim) -> None:
    first, second, after = shim.run(
        _SESSION
        + """
await tell("session.created", { info: { id: "ses_1", directory: "/work/app" } })
await say("msg_1", "hello")
show(await request("msg_1"))
show(await request("msg_1", "msg_2"))
await tell("session.compacted", { sessionID: "ses_1" })
show(await request("msg_2"))
"""
    )
    given = {
        "id": "prt_recollect_msg_1",
        "sessionID": "ses_1",
        "messageID": "msg_1",
        "type": "text",
        "text": _START,
        "synthetic": True,
    }
    assert first == [[{"type": "text", "text": "before"}], [given, {"type": "text", "text": "about msg_1"}]]
    assert second == [*first, [{"type": "text", "text": "about msg_2"}]]
    assert [part["text"] for part in after[1]] == [_COMPACT, "about msg_2"]


def test_a_session_that_goes_on_gets_its_context_with_the_first_prompt(shim: Shim) -> None:
    (parts,) = shim.run(_SESSION + 'await say("msg_1", "hello")\nshow(await request("msg_1"))')
    assert parts[1][0]["text"] == _START
    assert [drop.get("source") for drop in shim.drops()].count("resume") == 1


def test_a_subagent_is_told_of_and_gets_no_context(shim: Shim) -> None:
    (parts,) = shim.run(
        _SESSION
        + """
await tell("session.created", { info: { id: "ses_1", directory: "/work/app", parentID: "ses_0" } })
await say("msg_1", "your task")
show(await request("msg_1"))
await hooks.dispose()
"""
    )
    assert parts[1] == [{"type": "text", "text": "about msg_1"}]
    assert [d["hook_event_name"] for d in shim.drops()] == ["SessionStart", "UserPromptSubmit"]
    assert shim.drops()[0]["parent_session_id"] == "ses_0"


def test_a_prompt_is_asked_for_only_where_that_is_on(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, prompts=True)
    (parts,) = shim.run(_SESSION + 'await say("msg_1", "hello")\nshow(await request("msg_1"))')
    asked = "<recollect-memory>prompt of opencode</recollect-memory>"
    assert [part["text"] for part in parts[1]] == [asked, _START, "about msg_1"]
    assert [d["hook_event_name"] for d in shim.drops()].count("UserPromptSubmit") == 1


def test_nothing_to_say_changes_nothing(shim: Shim) -> None:
    (shim.folder / "silent").touch()
    (parts,) = shim.run(_SESSION + 'await say("msg_1", "hello")\nshow(await request("msg_1"))')
    assert parts[1] == [{"type": "text", "text": "about msg_1"}]


def test_opencode_2_tells_the_same_and_gets_the_same(shim: Shim) -> None:
    first, after, registered = shim.run(
        """
const points = {}
const domain = (name) => ({ hook: async (point, handle) => { points[`${name}.${point}`] = handle } })
const queue = []
let wake = () => {}
const push = async (type, data) => { queue.push({ type, data }); wake(); await new Promise((r) => setImmediate(r)) }
const subscribe = async function* ({ signal }) {
  while (!signal.aborted) {
    while (queue.length) yield queue.shift()
    await new Promise((resolve) => { wake = resolve; signal.addEventListener("abort", resolve) })
  }
}
const close = await shim.setup({
  location: { directory: "/work/app" }, session: domain("session"), tool: domain("tool"), event: { subscribe },
})
const request = async (...texts) => {
  const messages = texts.map((text) => ({ role: "user", content: [{ type: "text", text }] }))
  await points["session.context"]({ sessionID: "ses_1", system: [], messages, tools: {} })
  return messages
}
await push("session.created", { sessionID: "ses_1" })
await points["session.prompt"]({ sessionID: "ses_1", messageID: "msg_1", prompt: { text: "hello" } })
show(await request("hello"))
await points["tool.execute.after"]({
  tool: "shell", sessionID: "ses_1", messageID: "msg_2", id: "c1", input: { command: "false" },
  status: "error", error: new Error("exit 1"),
})
await push("session.compaction.ended", { sessionID: "ses_1" })
show(await request("go on"))
await push("session.idle", { sessionID: "ses_1" })
await close()
show(Object.keys(points).sort())
"""
    )
    assert first == [{"role": "user", "content": [{"type": "text", "text": _START}, {"type": "text", "text": "hello"}]}]
    assert [part["text"] for part in after[0]["content"]] == [_COMPACT, "go on"]
    assert registered == ["session.context", "session.prompt", "tool.execute.after"]
    names = [d["hook_event_name"] for d in shim.drops()]
    assert sorted(names) == ["PostToolUse", "SessionStart", "SessionStart", "Stop", "UserPromptSubmit"]
    (tool,) = (d for d in shim.drops() if d["hook_event_name"] == "PostToolUse")
    assert tool["tool_response"] == {"error": "exit 1"}


def test_what_cannot_be_kept_is_marked_and_told_once(shim: Shim) -> None:
    (shim.home / "spool").mkdir()
    (shim.home / "spool" / "tmp").write_text("a file where the folder should be")
    (logged,) = shim.run(
        _SESSION
        + """
await tell("session.idle", { sessionID: "ses_1" })
await tell("session.idle", { sessionID: "ses_1" })
show(logged)
"""
    )
    lost = [name for name in shim.names() if name.endswith(".lost")]
    assert len(lost) == 2
    assert [(entry["service"], entry["level"]) for entry in logged] == [("recollect", "warn")]
    assert logged[0]["message"].startswith("Recollect could not keep an event: ")


def test_what_json_cannot_say_is_marked_as_lost(shim: Shim) -> None:
    shim.run(
        _SESSION
        + """
const output = {}
output.output = output
await hooks["tool.execute.after"]({ tool: "x", sessionID: "ses_1", callID: "c1", args: {} }, output)
"""
    )
    assert [name.rpartition(".")[2] for name in shim.names()] == ["lost"]


def test_a_memory_that_is_gone_is_not_made_again(shim: Shim) -> None:
    shim.home.rmdir()
    (parts,) = shim.run(_SESSION + 'await say("msg_1", "hello")\nshow(await request("msg_1"))')
    assert parts[1][-1] == {"type": "text", "text": "about msg_1"}
    assert not shim.home.exists()


def test_sessions_of_our_own_programs_are_left_out(shim: Shim) -> None:
    (parts,) = shim.run(
        _SESSION + 'await say("msg_1", "hello")\nshow(await request("msg_1"))\nawait hooks.dispose()',
        RECOLLECT_INTERNAL="1",
    )
    assert parts[1] == [{"type": "text", "text": "about msg_1"}]
    assert shim.names() == []


def test_a_hook_that_hangs_is_ended_and_the_request_goes_on(shim: Shim) -> None:
    (shim.folder / "recollect").write_text("#!/bin/sh\nexec sleep 600\n")
    text = shim.module.read_text()
    assert "ASK_LIMIT_MS = 2500" in text
    shim.module.write_text(text.replace("ASK_LIMIT_MS = 2500", "ASK_LIMIT_MS = 50"))
    (parts,) = shim.run(_SESSION + 'await say("msg_1", "hello")\nshow(await request("msg_1"))')
    assert parts[1] == [{"type": "text", "text": "about msg_1"}]


@pytest.mark.parametrize(
    "call",
    [
        "hooks.event({})",
        'hooks.event({ event: { type: "session.created" } })',
        'hooks["chat.message"]({}, {})',
        'hooks["tool.execute.after"](undefined, undefined)',
        'hooks["experimental.chat.messages.transform"]({}, { messages: [null, { info: {} }, {}] })',
        'hooks["experimental.chat.messages.transform"]({}, {})',
        "shim.server(undefined)",
        "shim.setup({})",
    ],
)
def test_no_input_makes_it_throw(shim: Shim, call: str) -> None:
    assert shim.run(f'{_SESSION}\nawait {call}\nshow("went on")') == ["went on"]
