"""A person's home with agents in it, and set-up as the command does it: plan, carry out, take out again."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import recollect.hook.__main__ as hook
from recollect.agents.install.contract import ConfigFile, Hooks, Mcp, OwnFile, Program
from recollect.agents.install.described import installs
from recollect.maintenance.setup.agent_settings import Manifest, load_manifest
from recollect.maintenance.setup.discovery import Machine, file_path, find_agent, folder_path
from recollect.maintenance.setup.planner import AgentPlan, SetupOptions, SetupPlanner, Step
from recollect.maintenance.setup.setup import Carrier

BOTH = SetupOptions("both")
OUT = SetupOptions(None)

SERVER = [sys.executable, "-I", "-m", "recollect", "mcp"]
"""What agents start as our server."""

Tree = dict[str, tuple[bytes, int, str]]


class Desk:
    """A home below `folder`. Agents' programs are found in its `bin` only."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.memory = folder / "recollect"
        for made in (self.home, self.bin, self.memory):
            made.mkdir(exist_ok=True)
        program = Program(
            "/opt/recollect/bin/recollect", sys.executable, str(hook.__file__), str(self.memory / "spool")
        )
        env = {"HOME": str(self.home), "PATH": str(self.bin), "RECOLLECT_HOME": str(self.memory)}
        self.machine = Machine("linux", env, self.memory, program)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files below the home as they are given, line ends included."""
        for name, text in files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())

    def make_folders(self, slug: str) -> None:
        """Make the folders by which an agent is known, with nothing in them."""
        for folder in installs()[slug].folders:
            Path(folder_path(folder, self.machine)).mkdir(parents=True, exist_ok=True)

    def put_program(self, name: str, script: str) -> Path:
        """Put a Python program on the PATH; return the file that it may write to as `LOG`."""
        path = self.bin / name
        log = self.bin / f"{name}.log"
        path.write_text(
            f"#!/bin/sh\nexec {shlex.quote(sys.executable)} - \"$@\" <<'END'\n"
            f"import json, sys\nfrom pathlib import Path\nHOME = Path({str(self.home)!r})\nLOG = Path({str(log)!r})\n"
            f"{script}\nEND\n"
        )
        path.chmod(0o755)
        return log

    def planner(self, slug: str) -> SetupPlanner:
        """Return the planner of an agent as it is on the disk now."""
        return SetupPlanner(self.memory, self.machine, find_agent(installs()[slug], self.machine))

    def plan(self, slug: str, wish: SetupOptions = BOTH) -> AgentPlan:
        """Return what would be done."""
        return self.planner(slug).plan(wish)

    def do(self, slug: str, wish: SetupOptions = BOTH) -> tuple[Step, ...]:
        """Plan and carry out, and return the steps as they went."""
        planner = self.planner(slug)
        return Carrier(self.memory, planner, self.machine.env).carry_out(planner.plan(wish), wish)

    def tree(self) -> Tree:
        """Return everything below the home: bytes, mode and, of a link, where it leads. Folders have no bytes."""
        found: Tree = {}
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            link = os.readlink(path) if path.is_symlink() else ""
            found[name] = (path.read_bytes() if path.is_file() else b"", path.lstat().st_mode, link)
        return found

    def files_of(self, slug: str) -> dict[str, tuple[Path, ConfigFile | OwnFile]]:
        """Return by kind the file that an agent's part goes to."""
        install = installs()[slug]
        parts: dict[str, ConfigFile | OwnFile] = {}
        if isinstance(install.mcp, Mcp):
            parts["mcp"] = install.mcp.file
        if isinstance(install.hooks, Hooks):
            parts["hooks"] = install.hooks.part
        if isinstance(install.skill, OwnFile):
            parts["skill"] = install.skill
        return {kind: (Path(file_path(part.place, self.machine)), part) for kind, part in parts.items()}

    def manifest(self) -> Manifest:
        """Return what is recorded."""
        return load_manifest(self.memory)


def done(steps: tuple[Step, ...]) -> set[tuple[str, str]]:
    """Return what was done of what kind."""
    return {(step.kind, step.action) for step in steps}
