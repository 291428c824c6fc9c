"""Secrets in a live turn: hooks carry them, the memory takes them in, embeds and distils, and no surface shows one.

Every hook and the MCP server are run as the agent runs them. What the promises' walk (tests/promises/test_private.py)
does for the verbs, this does for what works while an agent does.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from recollect import Memory
from recollect.agents.registry import adapters
from recollect.erasure.schedule import DAY_US, observe
from recollect.ingest.spool import clear_spool
from recollect.store.home import Home
from recollect.testing.builders import ClaudeTranscript
from tests import program
from tests.privacy.planted_secrets import PLANTED, kinds_in

ALL = "\n".join(f"visible {written} words\n" for written, _ in PLANTED.values())
MAX_PAGES = 20


def seen_in(content: str | bytes) -> list[str]:
    """Return the kinds of secret that stand in `content`, in whatever case."""
    folded = (content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content).lower()
    return [kind for kind, (_, secret) in PLANTED.items() if secret.lower().encode() in folded]


def run(*arguments: str) -> str:
    done = program.run_text(*arguments)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def repo(isolated_home: Path) -> Path:
    folder = isolated_home / "work/shop"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    earlier = ClaudeTranscript(isolated_home / ".claude", "earlier", cwd=str(folder))
    earlier.user(f"the webhooks of the shop fail, find out why\n{ALL}")
    for written, _ in PLANTED.values():
        earlier.tool(
            "Bash", {"command": f"deploy '{written}'", written: [written]}, f"failed: {written}", is_error=True
        )
    earlier.assistant(f"Decision: we use the new key for webhooks, never the old one.\n{ALL}")
    return folder


def fire(settings: dict[str, Any], event: str, payload: dict[str, Any]) -> str:
    """Run the hooks of an event as Claude Code does: every command in a shell, the payload on standard input."""
    said = ""
    for group in settings["hooks"].get(event, []):
        for hook in group["hooks"]:
            body = json.dumps({"hook_event_name": event, **payload})
            done = subprocess.run(hook["command"], shell=True, input=body, capture_output=True, text=True, check=False)
            assert done.returncode == 0
            said += done.stdout + done.stderr
    return said


async def ask_every_tool(server: dict[str, Any], cwd: Path, session: str) -> list[str]:
    """Return what every reading tool of the server says, page after page, with the list of tools itself."""
    parameters = StdioServerParameters(
        command=server["command"], args=server["args"], env={**os.environ, **server.get("env", {})}, cwd=str(cwd)
    )
    asked: dict[str, list[dict[str, Any]]] = {
        "search": [{"query": query} for query in ("visible words", "webhooks shop", "deploy failed", "kind:decision")],
        "search_conversations": [{"query": "webhooks of the shop"}],
        "list_sessions": [{}],
        "get_session": [{"session": session}],
        "open": [{"hit": f"{session}#{seq}"} for seq in (0, 1, 2, 3)],
    }
    said: list[str] = []
    async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
        await client.initialize()
        tools = (await client.list_tools()).tools
        said.append("".join(tool.model_dump_json() for tool in tools))
        for tool in tools:
            required = tool.input_schema.get("required", [])
            for arguments in asked.get(tool.name, []):
                given = dict(zip(required, arguments.values(), strict=False)) if required else arguments
                for _ in range(MAX_PAGES):
                    result = await client.call_tool(tool.name, given)
                    text = "".join(block.text for block in result.content if block.type == "text")
                    said.append(text)
                    last = text.rstrip().rpartition("\n")[2]
                    if 'cursor "' not in last:
                        break
                    given = {**given, "cursor": last.rpartition('cursor "')[2].rstrip('"')}
    return said


def no_file_of(folder: Path) -> Iterable[str]:
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if seen := seen_in(path.read_bytes()):
            yield f"{path.relative_to(folder)}: {seen}"


def test_no_surface_of_a_live_turn_shows_a_secret(isolated_home: Path, repo: Path) -> None:
    home = isolated_home / "recollect"
    said = [run("sync"), run("setup", "claude", "--yes")]
    settings = json.loads((isolated_home / ".claude/settings.json").read_text("utf-8"))
    servers = json.loads((isolated_home / ".claude/.claude.json").read_text("utf-8"))["mcpServers"]
    now = ClaudeTranscript(isolated_home / ".claude", "now", cwd=str(repo), start=datetime.now(UTC))
    common = {"session_id": now.session, "transcript_path": str(now.path), "cwd": str(repo)}

    said.append(fire(settings, "SessionStart", {**common, "source": "startup"}))
    assert "webhooks" in said[-1]
    said.append(fire(settings, "UserPromptSubmit", {**common, "prompt": ALL}))
    call = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": ALL}, "tool_response": ALL}
    said.append(fire(settings, "PostToolUse", {**common, **call}))
    now.user(ALL)
    now.assistant(f"done\n{ALL}")
    said.append(fire(settings, "Stop", {**common, "stop_hook_active": False, "last_assistant_message": ALL}))
    said.append(fire(settings, "SessionEnd", {**common, "reason": "other"}))

    said += [run("sync"), run("embed"), run("context", "--cwd", str(repo)), run("retro"), run("decisions")]
    said += anyio.run(ask_every_tool, servers["recollect"], repo, now.uid)
    assert kinds_in("".join(said))
    assert [(seen_in(text), text[:200]) for text in said if seen_in(text)] == []
    with Memory.open() as memory:
        in_three_days = time.time_ns() // 1000 + 3 * DAY_US
        observe(home, now_us=in_three_days - DAY_US)  # for another day the clock says so
        assert clear_spool(Home(home), memory.reader(), adapters().values(), os.environ, now_us=in_three_days) == 1
    assert list(no_file_of(home)) == []
    with Memory.open() as memory:
        assert memory.embedding.stats() is not None
        assert memory.search("webhooks visible", sync=False).hits


def test_what_passes_through_a_pipe_shows_no_secret(isolated_home: Path) -> None:
    one = ClaudeTranscript(isolated_home / ".claude", "one")
    one.user(ALL)
    one.assistant(ALL)
    for arguments in (
        ("parse", str(one.path)), ("parse", str(one.path), "--nodes"), ("redact", str(one.path)),
        ("verify", str(one.path)),
    ):  # fmt: skip
        assert seen_in(run(*arguments)) == [], arguments


def test_patterns_of_ones_own_hold_on_every_way_in_and_out(isolated_home: Path, repo: Path) -> None:
    secret = "acme-0a1b2c3d4e5f"
    home = isolated_home / "recollect"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        '[[privacy.patterns]]\nname = "acme_key"\npattern = "acme-[0-9a-f]{12}"\n', encoding="utf-8"
    )
    one = ClaudeTranscript(isolated_home / ".claude", "one", cwd=str(repo))
    one.user(f"use {secret} for it")
    one.tool("Bash", {"command": f"run {secret}"}, "line of output\n" * 400 + secret)
    said = [run(*argv) for argv in (
        ("sync",), ("search", "use", "--json"), ("show", one.uid, "--json"), ("parse", str(one.path)),
        ("redact", str(one.path)), ("decisions",), ("context", "--cwd", str(repo)),
    )]  # fmt: skip
    assert sum("acme_key" in kinds_in(text) for text in said) >= 4
    assert [text for text in said if secret in text] == []
    assert [path for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []
