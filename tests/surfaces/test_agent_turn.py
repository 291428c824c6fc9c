"""A whole turn of an agent as it happens: set up, a session starts, a prompt, a recall, a stop, and the next sync.

Everything is run as the agent runs it: the commands are read from the settings that `recollect setup` wrote, and the
server is started from the agent's own list of servers.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from recollect import Memory
from recollect.model.events import Event
from recollect.model.payloads import AssistantMessage, ToolCall, ToolResult, UserMessage
from recollect.testing.builders import ClaudeTranscript
from tests import program

PROMPT = "why do webhooks fail in staging?"


@pytest.fixture
def repo(isolated_home: Path) -> Path:
    """A repository in which an earlier session found something out."""
    folder = isolated_home / "work/shop"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    earlier = ClaudeTranscript(isolated_home / ".claude", "earlier", cwd=str(folder))
    earlier.user("the payment webhooks are refused in staging, find out why")
    earlier.tool("Bash", {"command": "pytest -q tests/webhooks"}, "3 failed: signature mismatch", is_error=True)
    earlier.assistant("The webhook secret of staging was rotated; payments/verify.py read the old one. Fixed.")
    return folder


def _run(*arguments: str) -> str:
    done = program.run_text(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _fire(settings: dict[str, Any], event: str, payload: dict[str, Any], *, source: str = "") -> str:
    """Run the hooks of an event as Claude Code does: every command in a shell, the payload on standard input."""
    said = ""
    for group in settings["hooks"][event]:
        if source and group.get("matcher") and source not in group["matcher"].split("|"):
            continue
        for hook in group["hooks"]:
            body = json.dumps({"hook_event_name": event, **payload})
            done = subprocess.run(hook["command"], shell=True, input=body, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")
            said += done.stdout
    return said


def _context_of(said: str) -> str:
    answer = json.loads(said)
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    context: str = answer["hookSpecificOutput"]["additionalContext"]
    return context


async def _ask(server: dict[str, Any], cwd: Path, tool: str, arguments: dict[str, Any]) -> str:
    parameters = StdioServerParameters(
        command=server["command"], args=server["args"], env={**os.environ, **server.get("env", {})}, cwd=str(cwd)
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
        await client.initialize()
        result = await client.call_tool(tool, arguments)
        assert not result.is_error
        return "".join(block.text for block in result.content if block.type == "text")


def test_a_turn_gets_a_cited_answer_and_is_remembered_once(isolated_home: Path, repo: Path) -> None:
    earlier = next((isolated_home / ".claude/projects").glob("*/*.jsonl")).stem
    _run("sync")
    _run("setup", "claude", "--yes")
    settings = json.loads((isolated_home / ".claude/settings.json").read_text("utf-8"))
    servers = json.loads((isolated_home / ".claude/.claude.json").read_text("utf-8"))["mcpServers"]
    now = ClaudeTranscript(isolated_home / ".claude", "now", cwd=str(repo), start=datetime.now(UTC))
    common = {"session_id": now.session, "transcript_path": str(now.path), "cwd": str(repo)}

    context = _context_of(_fire(settings, "SessionStart", {**common, "source": "startup"}, source="startup"))
    assert f"claude:{earlier}#" in context
    assert "secret of staging was rotated" in context

    assert _fire(settings, "UserPromptSubmit", {**common, "prompt": PROMPT}) == ""
    now.user(PROMPT)
    found = anyio.run(_ask, servers["recollect"], repo, "search", {"query": "webhook secret staging"})
    assert f"claude:{earlier}#" in found
    assert "rotated" in found

    now.tool("mcp__recollect__search", {"query": "webhook secret staging"}, found)
    call = {"tool_name": "mcp__recollect__search", "tool_use_id": "toolu_1", "tool_input": {"query": "webhook secret"}}
    assert _fire(settings, "PostToolUse", {**common, **call, "tool_response": found}) == ""
    answer = f"The secret was rotated (claude:{earlier}#3)."
    now.assistant(answer)
    assert _fire(settings, "Stop", {**common, "stop_hook_active": False, "last_assistant_message": answer}) == ""
    assert _fire(settings, "SessionEnd", {**common, "reason": "other"}) == ""

    _run("sync")
    with Memory.open() as memory:
        events = list(memory.events(now.uid))
        assert _count(events, UserMessage) == _count(events, AssistantMessage) == 1
        assert _count(events, ToolCall) == _count(events, ToolResult) == 1
        quoted = memory.search("rotated webhook secret staging", sync=False)
        cited = {(hit.session_uid, hit.kind) for hit in quoted.hits}
        assert (f"claude:{earlier}", "assistant_message") in cited
        assert (now.uid, "tool_result") not in cited
    spoke = json.loads(_run("stats", "recall", "--json"))
    (given,) = spoke["given"]
    assert (given["agent"], given["event"], given["spoke"], given["cited"]) == ("claude", "start", 1, 1)
    assert spoke["asked"] == [{"agent": "claude", "tool": "mcp__recollect__search", "count": 1}]
    assert [path.name for path in (isolated_home / "recollect/spool").glob("*.json")] == []


def _count(events: list[Event], kind: type) -> int:
    return sum(isinstance(event.payload, kind) for event in events)
