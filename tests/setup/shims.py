"""Runs a shim as its agent would: in a Node process of its own, with the real hook and a memory's spool."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import recollect.hook.__main__ as hook
from recollect.agents.install.contract import (
    AnswerEvent,
    Command,
    HookRole,
    Hooks,
    InstallContext,
    OwnFile,
    Program,
    Server,
    answer_command,
    spool_command,
    spool_line,
)
from recollect.agents.install.described import installs

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs node")
_RECOLLECT = """#!/bin/sh
# Stands for the console script: the hook asks it when no daemon runs.
cat > "$(dirname "$0")/asked.$5"
[ -f "$(dirname "$0")/silent" ] || printf '<recollect-memory>%s of %s</recollect-memory>' "$5" "$3"
"""


def given_for(slug: str, home: Path, *, prompts: bool = False, recollect: Path | None = None) -> InstallContext:
    """Return what `setup` would give the install of an agent for a memory at `home`."""
    program = Program(str(recollect or home / "recollect"), sys.executable, str(hook.__file__), str(home / "spool"))
    spool = Command(spool_line(program, slug), spool_command(program, slug))

    def answering(event: AnswerEvent) -> Command:
        argv = (*answer_command(program, slug, event), program.recollect)
        return Command(shlex.join(argv), argv)

    commands: dict[HookRole, Command] = {
        "spool": spool,
        "start": answering("start"),
        "compact": answering("compact"),
        "prompt": answering("prompt") if prompts else spool,
        "flush": answering("flush"),
        "end": answering("end"),
    }
    return InstallContext("linux", "", program, Server(program.recollect, ("mcp",), {}), commands)


class Shim:
    """The shim of an agent in `folder`, with its memory beside it."""

    def __init__(self, slug: str, folder: Path, *, prompts: bool = False) -> None:
        self.home = folder / "memory"
        self.home.mkdir()
        self.folder = folder
        script = folder / "recollect"
        script.write_text(_RECOLLECT)
        script.chmod(0o755)
        hooks = installs()[slug].hooks
        assert isinstance(hooks, Hooks)
        assert isinstance(hooks.part, OwnFile)
        self.module = folder / "shim.mjs"
        self.module.write_text(hooks.part.text(given_for(slug, self.home, prompts=prompts, recollect=script)))

    def run(self, body: str, **environment: str) -> Any:
        """Run JavaScript with the shim's default export as `shim`; what it gives to `show` comes back, in order."""
        driver = self.folder / "driver.mjs"
        driver.write_text(
            f"import shim from {json.dumps(self.module.as_uri())}\n"
            "const shown = []\nconst show = (value) => shown.push(structuredClone(value ?? null))\n"
            f"{body}\nprocess.stdout.write(JSON.stringify(shown))\n"
        )
        assert NODE is not None
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **environment}
        done = subprocess.run([NODE, str(driver)], env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    def drops(self) -> list[dict[str, Any]]:
        """Return what is in the spool, in the order in which it was told."""
        found = [msgspec.json.decode(p.read_bytes()) for p in (self.home / "spool").glob("*.json")]
        return sorted(found, key=lambda drop: int(drop["sequence"]))

    def names(self) -> list[str]:
        """Return the names of all that is below the memory's home, files only."""
        return sorted(str(p.relative_to(self.home)) for p in self.home.rglob("*") if p.is_file())
