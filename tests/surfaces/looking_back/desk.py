"""Worlds to look back at: a repository on disk, and sessions that worked in it, told by the agents' own files."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from recollect.testing.builders import ClaudeTranscript
from tests import program

BEGAN = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)
SPAN = ("--since", "2026-08-01T00:00Z", "--until", "2026-08-02T00:00Z")
ERROR = "E       ModuleNotFoundError: No module named 'orjson'"
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)> | `tick` [a](javascript:x) \x1b[31m \u202e"


class Done(NamedTuple):
    """What the program said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Desk(NamedTuple):
    """A folder with a repository of git, agents' homes and a memory that is not made yet."""

    root: Path
    repo: Path
    env: dict[str, str]

    def run(self, *argv: str, cwd: Path | None = None, stdin: bytes = b"") -> Done:
        """Run the real program."""
        done = program.run(*argv, env=self.env, cwd=cwd or self.root, stdin=stdin)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def claude(self, name: str = "one", **options: Any) -> ClaudeTranscript:
        options = {"cwd": str(self.repo), "start": BEGAN, **options}
        return ClaudeTranscript(self.root / "claude", name, **options)


def make_desk(root: Path) -> Desk:
    """Make the folder. Nothing of the machine's own agents is seen."""
    repo = root / "shop-api"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (repo / "src").mkdir()
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "SYSTEMROOT", "PYTHONPATH", "COVERAGE_PROCESS_START")}
    env = {
        **kept, "HOME": str(root), "USERPROFILE": str(root), "RECOLLECT_HOME": str(root / "memory"),
        "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex"), "RECOLLECT_BACKGROUND": "0",
        "PYTHONUTF8": "1", "TZ": "UTC",
    }  # fmt: skip
    return Desk(root, repo, env)


def bash(session: ClaudeTranscript, command: str, output: str, *, is_error: bool = False) -> str:
    """Append a shell command with its output; return the uuid of the call's record."""
    return session.tool("Bash", {"command": command}, output, is_error=is_error)[0]


def edit(session: ClaudeTranscript, path: Path, before: str, after: str) -> str:
    """Append an edit with what the agent notes of it; return the uuid of the call's record."""
    lines = [*(f"-{line}" for line in before.splitlines()), *(f"+{line}" for line in after.splitlines())]
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": lines}
    noted = {
        "filePath": str(path), "oldString": before, "newString": after, "originalFile": before,
        "structuredPatch": [hunk], "userModified": False, "replaceAll": False,
    }  # fmt: skip
    arguments = {"file_path": str(path), "old_string": before, "new_string": after}
    return session.tool("Edit", arguments, "The file has been updated.", toolUseResult=noted)[0]


def a_fixed_error(
    desk: Desk, name: str = "one", *, prompt: str = "Make the tests pass.", start: datetime = BEGAN
) -> ClaudeTranscript:
    """Write a session: a decision, tests that fail, an edit, the same tests again, now passing."""
    session = desk.claude(name, start=start)
    session.user(f"{prompt} Let's use stdlib_json instead of orjson, because orjson has no wheels.")
    bash(session, "pytest -q", f"Exit code 1\n{ERROR}\n1 failed in 0.10s", is_error=True)
    bash(session, "ls src", "app.py")
    edit(session, desk.repo / "src" / "app.py", "import orjson\n", "import json as stdlib_json\n")
    bash(session, "git status", "On branch main")
    bash(session, "pytest -q", "1 passed in 0.10s")
    session.assistant("All tests pass now.")
    (desk.repo / "src" / "app.py").write_text("import json as stdlib_json\n\nx = 1\n", "utf-8")
    return session
