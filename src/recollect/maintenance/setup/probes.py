"""Tests a set-up: starts the registered server, and sends a payload through the hook line.

The server that is started is the one that stands in the agent's settings, not what we think stands there. The hook is
given a spool of its own, so that a probe never becomes a memory.
"""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recollect.agents.install.contract import Hooks, InstallContext, Mcp
from recollect.agents.install.documents import load
from recollect.agents.install.values import AppendItem, SetKey, named_as_in, value_at
from recollect.maintenance.reports import Check
from recollect.maintenance.setup.discovery import FoundAgent, Machine, file_path, given_for
from recollect.maintenance.setup.settings import read_settings
from recollect.paths import HOME_VARIABLE, SPOOL_FOLDER
from recollect.wire import INTERNAL_VARIABLE

START_S = 30
"""A server that has not answered by then counts as not starting; agents wait 5 to 60 seconds."""
PROTOCOL = "2025-06-18"
_PAYLOAD = b'{"hook_event_name":"Stop","session_id":"recollect-probe","cwd":"/"}'


class Launch(NamedTuple):
    """A server as an agent starts it. env: added to the agent's own, as pairs."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]


def launch_of(entry: Any) -> Launch | None:
    """Return how an entry of any agent's form starts its server, None for one that we cannot read.

    Forms: `command` as text with `args`, or as a list; `cmd`; the environment as `env`, `envs` or `environment`; any of
    them one level down (Zed's older form).
    """
    if not isinstance(entry, Mapping):
        return None
    command = entry.get("command", entry.get("cmd"))
    if isinstance(command, Mapping):
        return launch_of({**command, "command": command.get("path")})
    env = entry.get("env") or entry.get("envs") or entry.get("environment") or {}
    if not isinstance(env, Mapping):
        return None
    pairs = tuple((str(name), str(value)) for name, value in env.items())
    if isinstance(command, str):
        return Launch((command, *(str(word) for word in entry.get("args") or ())), pairs)
    if isinstance(command, list) and command:
        return Launch(tuple(str(word) for word in command), pairs)
    return None


def registered_launch(found: FoundAgent, machine: Machine) -> Launch | None:
    """Return how the agent would start our server, as its settings say now. Raises SettingsError."""
    mcp = found.install.mcp
    if not isinstance(mcp, Mcp):
        return None
    settings = read_settings(file_path(mcp.file.place, machine))
    if settings.data is None:
        return None
    data = load(settings.text, mcp.file.format)
    for edit in named_as_in(data, mcp.file.edits(given_for(found, machine)), mcp.file.other_names):
        if isinstance(edit, SetKey) and (launch := launch_of(value_at(data, edit.path))):
            return launch
        if isinstance(edit, AppendItem):
            ours = [item for item in value_at(data, edit.path) or () if launch_of(item) == launch_of(edit.value)]
            if ours:
                return launch_of(ours[0])
    return None


def probe_server(launch: Launch, env: Mapping[str, str]) -> Check:
    """Start a server, shake hands, ask for its tools, end it. It learns its home only from its registration."""
    name = "MCP server"
    plain = {key: value for key, value in env.items() if key != HOME_VARIABLE}
    try:
        with subprocess.Popen(  # noqa: S603 (the command that setup registered)
            launch.argv,
            env={**plain, **dict(launch.env), INTERNAL_VARIABLE: "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                tools = _tools_of(process)
            finally:
                process.kill()
    except OSError as error:
        return Check(
            name, "fail", f"{launch.argv[0]} cannot be started: {error.strerror}", "run `recollect setup` again"
        )
    if tools is None:
        return Check(name, "fail", f"`{' '.join(launch.argv)}` starts but does not answer", "run it by hand to see why")
    return Check(name, "ok", f"starts and lists {len(tools)} tools: {', '.join(tools)}")


def probe_hook(found: FoundAgent, machine: Machine) -> Check:
    """Run the hook that keeps payloads, with a spool of its own, and look for what it kept."""
    name = "hook"
    hooks = found.install.hooks
    if not isinstance(hooks, Hooks):
        return Check(name, "ok", "the agent takes none")
    with tempfile.TemporaryDirectory(prefix="recollect-probe-") as folder:
        spool = Path(folder, "home", SPOOL_FOLDER)
        spool.mkdir(parents=True)
        probe = machine._replace(program=machine.program._replace(spool=str(spool)))
        given = given_for(found, probe)
        code = _run_hook(given, machine.env)
        kept = [path for path in spool.iterdir() if path.is_file() and path.read_bytes() == _PAYLOAD]
    if code != 0:
        return Check(name, "fail", f"the hook ended with {code}", "run `recollect setup` again")
    if len(kept) != 1:
        return Check(name, "fail", "the hook spooled nothing", "run `recollect setup` again")
    return Check(name, "ok", "spools what the agent sends")


def _run_hook(given: InstallContext, env: Mapping[str, str]) -> int:
    command = given.commands["spool"]
    argv = list(command.argv) if given.platform == "windows" else ["/bin/sh", "-c", command.line]
    clean = {name: value for name, value in env.items() if name != INTERNAL_VARIABLE}
    try:
        return subprocess.run(  # noqa: S603 (the line that setup registered)
            argv, env=clean, input=_PAYLOAD, capture_output=True, timeout=START_S, check=False
        ).returncode
    except (OSError, subprocess.TimeoutExpired):
        return -1


def _tools_of(process: subprocess.Popen[bytes]) -> tuple[str, ...] | None:
    assert process.stdin is not None
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
    deadline = time.monotonic() + START_S
    client = {
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "recollect-setup", "version": "1"},
    }
    try:
        _send(process, {"id": 1, "method": "initialize", "params": client})
        if _answer(lines, 1, deadline) is None:
            return None
        _send(process, {"method": "notifications/initialized"})
        _send(process, {"id": 2, "method": "tools/list", "params": {}})
    except OSError:
        return None
    answer = _answer(lines, 2, deadline)
    tools = answer.get("tools") if answer is not None else None
    return tuple(str(tool["name"]) for tool in tools) if isinstance(tools, list) else None


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def _answer(lines: queue.Queue[bytes], wanted: int, deadline: float) -> Mapping[str, Any] | None:
    while (left := deadline - time.monotonic()) > 0:
        try:
            line = lines.get(timeout=left)
        except queue.Empty:
            return None
        if not line:
            return None
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and message.get("id") == wanted:
            result = message.get("result")
            return result if isinstance(result, dict) else None
    return None


def _read_lines(process: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(b"")
