"""Finds the agents on this machine, their settings, and how each side calls the other; tests that it works.

The server that is started is the one that stands in the agent's settings, not what we think stands there. The hook is
given a spool of its own, so that a probe never becomes a memory.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recollect.agents.install.contract import (
    Command,
    FilePlace,
    Folder,
    HookRole,
    Hooks,
    Install,
    InstallContext,
    Mcp,
    NativeMemory,
    Platform,
    Program,
    Server,
    answer_command,
    spool_command,
    spool_line,
)
from recollect.agents.install.documents import load
from recollect.agents.install.values import AppendItem, Format, SetKey, covers, named_as_in, shown, value_at
from recollect.errors import SettingsError, UsageError
from recollect.maintenance.reports import Check
from recollect.maintenance.setup.agent_settings import read_settings
from recollect.model.own import SERVER
from recollect.paths import HOME_VARIABLE, SPOOL_FOLDER, expand, home_dir
from recollect.units import duration
from recollect.wire import INTERNAL_VARIABLE

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_VERSION = re.compile(r"\d+(?:\.\d+)+[-+.\w]*")
_VERSION_TIMEOUT_S = 20
_FLEETING = re.compile(r"[/\\](?:uv[/\\](?:archive|builds|environments)-v\d+|pipx[/\\]\.cache|\.cache[/\\]pipx)[/\\]")
"""Where `uvx` and `pipx run` put programs for one run; they are cleaned away."""


class FoundAgent(NamedTuple):
    """An agent on this machine. folders: its own existing ones. executable: its path, empty if not found."""

    install: Install
    folders: tuple[str, ...]
    executable: str
    version: str

    @property
    def is_installed(self) -> bool:
        """Whether anything of it is on this machine."""
        return bool(self.folders or self.executable)


class Machine(NamedTuple):
    """This machine as setup sees it, and what is turned on in the configuration: context per prompt
    (answers_prompts), the tools that write (writes)."""

    platform: Platform
    env: Mapping[str, str]
    home: Path
    program: Program
    answers_prompts: bool = False
    writes: bool = False


def this_machine(home: Path, env: Mapping[str, str], *, answers_prompts: bool = False, writes: bool = False) -> Machine:
    """Return this machine for a memory's home. Raises UsageError where the program is not installed anywhere."""
    platform: Platform = "linux"
    if sys.platform == "win32":
        platform = "windows"
    elif sys.platform == "darwin":
        platform = "macos"
    return Machine(platform, env, home, _program(home, env), answers_prompts, writes)


def find_agent(install: Install, machine: Machine, *, ask_version: bool = True) -> FoundAgent:
    """Look for an agent's folders and its program; ask the program for its version (empty if it doesn't tell)."""
    folders = tuple(f for folder in install.folders if os.path.isdir(f := folder_path(folder, machine)))
    path = machine.env.get("PATH", os.defpath)
    executable = next((found for name in install.executables if (found := shutil.which(name, path=path))), "")
    version = ""
    if executable and ask_version and install.version_args:
        version = _version([executable, *install.version_args], machine.env)
    return FoundAgent(install, folders, executable, version)


def folder_path(folder: Folder, machine: Machine) -> str:
    """Return where a folder of an agent's is, there or not."""
    plain: list[str] = []
    for template in folder.templates(machine.platform):
        names = [a or b for a, b in _VARIABLE.findall(template)]
        if any(not machine.env.get(name) for name in names):
            continue
        path = os.path.abspath(expand(template, machine.env))
        if names:
            return path
        plain.append(path)
    if not plain:
        raise UsageError(f"none of {', '.join(folder.templates(machine.platform))} can be resolved")
    return next((path for path in plain if os.path.isdir(path)), plain[0])


def file_path(place: FilePlace, machine: Machine) -> str:
    """Return where a file of an agent's is, there or not."""
    folder = folder_path(place.folder, machine)
    paths = [os.path.join(folder, *name.split("/")) for name in place.names]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def given_for(found: FoundAgent, machine: Machine) -> InstallContext:
    """Return what an install's functions are given: the server, and the command of every role."""
    slug = found.install.slug
    program = machine.program
    spool = _line(machine, spool_command(program, slug), spool_line(program, slug))
    commands: dict[HookRole, Command] = {"spool": spool}
    for role in ("start", "compact", "flush", "end"):
        argv = answer_command(program, slug, role)
        commands[role] = _line(machine, argv, shlex.join(argv))
    argv = answer_command(program, slug, "prompt")
    commands["prompt"] = _line(machine, argv, shlex.join(argv)) if machine.answers_prompts else spool
    plain = {name: value for name, value in machine.env.items() if name != HOME_VARIABLE}
    env = {} if home_dir(plain) == machine.home else {HOME_VARIABLE: str(machine.home)}
    server = Server(program.command[0], (*program.command[1:], "mcp"), env)
    return InstallContext(machine.platform, found.version, program, server, commands, machine.writes)


def _line(machine: Machine, argv: tuple[str, ...], line: str) -> Command:
    return Command(subprocess.list2cmdline(argv) if machine.platform == "windows" else line, argv)


def _version(argv: list[str], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(  # noqa: S603 (the agent's own program, found on the PATH)
            argv,
            env={**env, INTERNAL_VARIABLE: "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return match[0] if match and done.returncode == 0 else ""


def _program(home: Path, env: Mapping[str, str]) -> Program:
    """Return where we are: the console script beside the interpreter, else the one on the PATH."""
    beside = Path(sys.executable).parent / ("recollect.exe" if sys.platform == "win32" else "recollect")
    script = str(beside) if beside.is_file() else shutil.which("recollect", path=env.get("PATH", os.defpath))
    if not script or _FLEETING.search(script):
        raise UsageError(
            "the program `recollect` is not installed permanently: agents could not start it",
            hint="install it permanently, for example with `uv tool install recollect`",
        )
    hook = Path(__file__).parents[2] / "hook" / "__main__.py"
    return Program(os.path.abspath(script), sys.executable, str(hook), str(home / SPOOL_FOLDER))


_ON = ("1", "true", "yes", "on")


def native_memory_notes(install: Install, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (what, hint) for a memory of the agent's own that also puts text before the model."""
    for memory in install.native_memory:
        if is_on(memory, machine):
            path = file_path(memory.place, machine)
            hint = f"to turn it off: `{memory.line}` in {path} (or `recollect setup --disable-native-memory`)"
            yield f"the agent's own memory ({memory.name}) also adds text to sessions", hint


def is_on(memory: NativeMemory, machine: Machine) -> bool:
    """Return whether the agent's own memory is turned on, as far as its settings and the environment show."""
    if memory.variable and machine.env.get(memory.variable, "").lower() in _ON:
        return False
    value = _said(memory.place, memory.format, memory.path, machine)
    return memory.default_on if value is None else not covers(value, memory.off)


def hooks_turned_off(install: Install, machine: Machine) -> str:
    """Return where the agent was told to run no hooks at all, empty where it wasn't."""
    if isinstance(install.hooks, Hooks):
        for switch in install.hooks.switches:
            value = _said(switch.place, switch.format, switch.path, machine)
            if value is not None and covers(value, switch.off):
                return f"`{shown(switch.path)}` in {file_path(switch.place, machine)}"
    return ""


def plugin_turned_on(install: Install, machine: Machine) -> str:
    """Return the file in which our own plug-in is turned on, empty where it isn't. It brings what `setup` writes."""
    listed = install.plugins
    if listed is None:
        return ""
    plugins = _said(listed.place, listed.format, listed.path, machine)
    if not isinstance(plugins, Mapping):
        return ""
    is_there = any(name.split("@")[0] == SERVER and (not isinstance(on, bool) or on) for name, on in plugins.items())
    return file_path(listed.place, machine) if is_there else ""


def _said(place: FilePlace, form: Format, path: tuple[str, ...], machine: Machine) -> Any:
    try:
        settings = read_settings(file_path(place, machine))
        return None if settings.data is None else value_at(load(settings.text, form), path)
    except SettingsError:
        return None


TIMEOUT_S = 60
_SHOWN_CHARACTERS = 300


class Ran(NamedTuple):
    """How a command ended. detail: empty if it ended well, else one line of why not."""

    is_ok: bool
    detail: str


def run_command(argv: Sequence[str], env: Mapping[str, str]) -> Ran:
    """Run a command without a terminal and wait for it. Never raises for how it ends."""
    try:
        done = subprocess.run(  # noqa: S603 (the agent's own program, shown to the person before)
            list(argv),
            env={**env, INTERNAL_VARIABLE: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(False, f"did not end within {duration(TIMEOUT_S)}")
    except OSError as error:
        return Ran(False, f"cannot be started: {error.strerror}")
    if done.returncode == 0:
        return Ran(True, "")
    said = " ".join(done.stdout.decode("utf-8", "replace").split())[-_SHOWN_CHARACTERS:]
    return Ran(False, f"ended with {done.returncode}" + (f": {said}" if said else ""))


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
