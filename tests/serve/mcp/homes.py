"""A user's machine in a temporary folder: agents' transcripts, repositories, and a memory's home."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript, CodexRollout


class Machine:
    """Agents' homes below one folder; `folder("shop")` is where someone works."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.claude_home = root / ".claude"
        self.codex_home = root / ".codex"
        self.home = root / "recollect"

    def folder(self, name: str) -> Path:
        path = self.root / "work" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def claude(self, name: str, *, repo: str = "shop", branch: str = "main") -> ClaudeTranscript:
        return ClaudeTranscript(self.claude_home, name, cwd=str(self.folder(repo)), branch=branch)

    def codex(self, name: str, *, repo: str = "shop") -> CodexRollout:
        return CodexRollout(self.codex_home, name, cwd=str(self.folder(repo)))

    @property
    def env(self) -> Mapping[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
            "HOME": str(self.root),
            "RECOLLECT_HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.claude_home),
            "CODEX_HOME": str(self.codex_home),
            "RECOLLECT_BACKGROUND": "0",
        }

    def memory(self) -> Memory:
        return Memory.open(self.home, env=self.env)

    def sync(self) -> None:
        with self.memory() as memory:
            assert memory.sync().state == "done"


def with_history(machine: Machine) -> Machine:
    """Two sessions of one repository by two agents, and one of another repository."""
    one = machine.claude("checkout")
    one.user("Fix the flaky checkout test")
    one.tool("Bash", {"command": "pytest -q tests/test_checkout.py"}, "E assert 3 == 4\n1 failed", is_error=True)
    one.tool("Edit", {"file_path": "/w/shop/clock.py", "old_string": "time()", "new_string": "clock()"}, "done")
    one.assistant("The checkout test read the wall clock; it gets a fake clock now.")
    two = machine.codex("deploy")
    two.turn("Deploy the checkout service to staging", "Deployed; the certificate of staging expires in June.")
    other = machine.claude("elsewhere", repo="blog")
    other.user("Why does the blog render the certificate page twice?")
    other.assistant("The template included itself.", model="claude-opus-4-1-20250805")
    return machine
