"""Finds the agents on this machine, their settings, and how each side calls the other."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
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
    NativeMemory,
    Platform,
    Program,
    Server,
    answer_command,
    spool_command,
    spool_line,
)
from recollect.agents.install.documents import load
from recollect.agents.install.values import Format, covers, shown, value_at
from recollect.errors import SettingsError, UsageError
from recollect.maintenance.setup.settings import read_settings
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
