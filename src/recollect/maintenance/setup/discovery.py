"""Which agents are on this machine, where their settings are, and how they would call us."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from recollect.agents.installing.commands import Program, answer_command, spool_command, spool_line
from recollect.agents.installing.contract import (
    Command,
    FilePlace,
    Folder,
    Given,
    HookRole,
    Install,
    Platform,
    Server,
)
from recollect.errors import UsageError
from recollect.paths import HOME_VARIABLE, SPOOL_FOLDER, expand, home_dir
from recollect.wire import INTERNAL_VARIABLE

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_VERSION = re.compile(r"\d+(?:\.\d+)+[-+.\w]*")
_VERSION_TIMEOUT_S = 20
_FLEETING = re.compile(r"[/\\](?:uv[/\\](?:archive|builds|environments)-v\d+|pipx[/\\]\.cache|\.cache[/\\]pipx)[/\\]")
"""Where `uvx` and `pipx run` put programs for one run; they are cleaned away."""


class Found(NamedTuple):
    """An agent as it was looked for. folders: of its own that are there. executable: its path, empty if not found."""

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


def find_agent(install: Install, machine: Machine, *, ask_version: bool = True) -> Found:
    """Look for an agent's folders and its program; ask the program for its version (empty if it doesn't tell)."""
    folders = tuple(f for folder in install.folders if os.path.isdir(f := folder_path(folder, machine)))
    path = machine.env.get("PATH", os.defpath)
    executable = next((found for name in install.executables if (found := shutil.which(name, path=path))), "")
    version = ""
    if executable and ask_version and install.version_args:
        version = _version([executable, *install.version_args], machine.env)
    return Found(install, folders, executable, version)


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


def given_for(found: Found, machine: Machine) -> Given:
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
    return Given(machine.platform, found.version, program, server, commands, machine.writes)


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
            "the program `recollect` is not installed to stay: agents would have nothing to start",
            hint="install it so that it stays, for example with `uv tool install recollect`",
        )
    hook = Path(__file__).parents[2] / "hook" / "__main__.py"
    return Program(os.path.abspath(script), sys.executable, str(hook), str(home / SPOOL_FOLDER))
