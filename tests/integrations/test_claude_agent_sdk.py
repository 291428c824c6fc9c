"""The callbacks for the Claude Agent SDK: drops are left, nothing is raised, decided or held up."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from recollect.integrations.claude_agent_sdk import EVENTS, Callback, hooks, make_callback

Json = dict[str, Any]
SESSION = "5f0d7a52-0000-4000-8000-000000000003"
BASE: Json = {"session_id": SESSION, "transcript_path": "/t.jsonl", "cwd": "/w", "permission_mode": "default"}
INPUTS: dict[str, Json] = {
    # As `claude_agent_sdk.types` of version 0.2 declares them.
    "UserPromptSubmit": {"prompt": "why does it fail"},
    "PostToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a"},
                    "tool_use_id": "toolu_1"},
    "PostToolUseFailure": {"tool_name": "Bash", "tool_input": {"command": "x"}, "error": "exit 1",
                           "tool_use_id": "toolu_2"},
    "Stop": {"stop_hook_active": False},
    "SubagentStart": {"agent_id": "a1", "agent_type": "Explore"},
    "SubagentStop": {"agent_id": "a1", "agent_type": "Explore", "agent_transcript_path": "/a",
                     "stop_hook_active": False},
    "PreCompact": {"trigger": "auto", "custom_instructions": None},
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir(mode=0o700)
    return folder


def event(name: str) -> Json:
    return {**BASE, "hook_event_name": name, **INPUTS[name]}


def call(callback: Callback, given: Json, tool_use_id: str | None = None, backend: str = "asyncio") -> Json:
    async def once() -> Json:
        return await callback(given, tool_use_id, {"signal": None})

    return anyio.run(once, backend=backend)


def kept(home: Path) -> list[Json]:
    return [json.loads(path.read_bytes()) for path in sorted((home / "spool").glob("*.json"))]


def test_every_event_is_tried() -> None:
    assert set(INPUTS) == set(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_an_input_becomes_a_private_drop(home: Path, name: str) -> None:
    assert call(make_callback(home=home), event(name), "toolu_1") == {}
    (said,) = kept(home)
    assert said == event(name)
    (path,) = (home / "spool").glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_not_json_is_kept_as_text(home: Path) -> None:
    given = {**event("PostToolUse"), "tool_response": {"path": Path("/w"), "odd": "\ud800", "bytes": b"\xff"}}
    assert call(make_callback(home=home), given) == {}
    assert kept(home)[0]["tool_response"]["path"] == "/w"


@pytest.mark.parametrize("given", [{}, {"session_id": 3}, {"prompt": object()}, {"self": ...}])
def test_odd_inputs_are_survived(home: Path, given: Json) -> None:
    assert call(make_callback(home=home, context=True), given) == {}


def test_what_contains_itself_is_survived(home: Path) -> None:
    given = event("PostToolUse")
    given["tool_response"] = given
    assert call(make_callback(home=home), given) == {}


def test_no_home_no_room_no_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in ("gone", "file", "file/deeper"):
        assert call(make_callback(home=tmp_path / place), event("Stop")) == {}


def test_our_own_programs_leave_no_trace(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_INTERNAL", "1")
    assert call(make_callback(home=home), event("Stop")) == {}
    assert kept(home) == []


def test_fifty_callbacks_at_once_are_fifty_drops(home: Path) -> None:
    callback = make_callback(home=home)

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(callback, {**event("UserPromptSubmit"), "number": number}, None, None)

    anyio.run(all_at_once)
    assert sorted(said["number"] for said in kept(home)) == list(range(50))


@pytest.mark.skipif(os.name == "nt", reason="a Unix pipe stands for a disk that hangs")
def test_a_disk_that_hangs_holds_nothing_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr("recollect.hook.event_file.keep", lambda *_: os.read(reading, 1))
    assert call(make_callback(home=home, timeout_s=0.2), event("UserPromptSubmit")) == {}
    os.close(writing)  # lets the thread go


def test_the_first_prompt_of_a_session_gets_the_context(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(call: Any, *, seconds: float) -> bytes:
        asked.append(call.event)
        assert not call.is_alone
        assert 0 < seconds < 2
        return b'{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "before: x"}}'

    monkeypatch.setattr("recollect.integrations.claude_agent_sdk.answer", answer)
    callback = make_callback(home=home, context=True)
    expected = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "before: x"}}
    assert call(callback, event("UserPromptSubmit")) == expected
    assert call(callback, event("UserPromptSubmit")) == {}
    assert call(callback, event("Stop")) == {}
    assert asked == ["start"]


def test_what_is_remembered_is_the_session(home: Path) -> None:
    from recollect.config import Config
    from recollect.memory import Memory

    callback = make_callback(home=home)
    for name in ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"):
        call(callback, event(name))
    env = {"HOME": str(home.parent), "RECOLLECT_HOME": str(home)}
    with Memory.open(home, config=Config(), env=env) as memory:
        memory.sync()
        kinds = [e.kind for e in memory.events(f"claude:{SESSION}")]
    wanted = {"user_message": 1, "tool_call": 2, "tool_result": 2}
    assert {kind: kinds.count(kind) for kind in wanted} == wanted


class TestWithTheSdk:
    """With the real SDK, where it is installed: its own code registers and runs the callbacks."""

    @pytest.fixture(autouse=True)
    def sdk(self) -> Any:
        return pytest.importorskip("claude_agent_sdk")

    def test_the_mapping_is_what_the_options_take(self, sdk: Any, home: Path) -> None:
        mapping = hooks(home=home)
        options = sdk.ClaudeAgentOptions(hooks=mapping)
        assert set(options.hooks) == set(EVENTS)
        assert all(matcher.timeout == 2.0 for matchers in mapping.values() for matcher in matchers)

    def test_a_session_over_its_control_protocol_is_kept(self, sdk: Any, home: Path) -> None:
        program = _Program([event(name) for name in EVENTS])

        async def session() -> None:
            async with sdk.ClaudeSDKClient(sdk.ClaudeAgentOptions(hooks=hooks(home=home)), transport=program):
                await program.is_done.wait()

        anyio.run(session)
        assert program.answers == [{}] * len(EVENTS)
        assert {said["hook_event_name"] for said in kept(home)} == set(EVENTS)


class _Program:
    """The other side of the SDK's control protocol: asks for each callback once."""

    def __init__(self, events: list[Json]) -> None:
        self.events = events
        self.answers: list[Json] = []
        self.is_done = anyio.Event()
        self._send, self._receive = anyio.create_memory_object_stream[Json](100)

    async def connect(self) -> None:
        pass

    async def write(self, data: str) -> None:
        said = json.loads(data)
        if said["type"] == "control_request":
            self._greet(said)
        elif said["type"] == "control_response":
            self.answers.append(said["response"]["response"])
            if len(self.answers) == len(self.events):
                self.is_done.set()

    def _greet(self, said: Json) -> None:
        done = {"subtype": "success", "request_id": said["request_id"], "response": {"commands": []}}
        self._send.send_nowait({"type": "control_response", "response": done})
        if said["request"]["subtype"] != "initialize":
            return
        for number, given in enumerate(self.events):
            (matcher,) = said["request"]["hooks"][given["hook_event_name"]]
            request = {"subtype": "hook_callback", "callback_id": matcher["hookCallbackIds"][0], "input": given,
                       "tool_use_id": given.get("tool_use_id")}  # fmt: skip
            self._send.send_nowait({"type": "control_request", "request_id": f"r{number}", "request": request})

    async def read_messages(self) -> AsyncIterator[Json]:
        async for message in self._receive:
            yield message

    async def close(self) -> None:
        self._send.close()
        self._receive.close()

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        pass
