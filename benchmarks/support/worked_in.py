"""A folder that is there and that agents worked in: sessions start in one, and generated transcripts name none."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recollect.testing.builders import ClaudeTranscript

SESSIONS = 40
_START = datetime(2026, 10, 10, 9, 0, tzinfo=UTC)


def worked_in(folder: Path) -> tuple[Path, Path]:
    """Write sessions of Claude Code in a repository below a folder; return its path and the transcripts' root.

    Each has a request, a test that fails, an edit, the test that passes, and an answer.
    """
    shutil.rmtree(folder, ignore_errors=True)
    repository, home = folder / "shop", folder / "claude"
    (repository / ".git").mkdir(parents=True)
    for number in range(SESSIONS):
        session = ClaudeTranscript(home, f"{number}", cwd=str(repository), start=_START + timedelta(days=number))
        session.user(f"please make part {number} of the cart round its totals to whole cents")
        failed = f"E  AssertionError: {number} != {number + 1}\n1 failed in 0.2 s"
        session.tool("Bash", {"command": f"pytest -q tests/part_{number}"}, failed, is_error=True)
        edit = {"file_path": f"{repository}/cart/part_{number}.py", "old_string": "round(x)", "new_string": "int(x)"}
        session.tool("Edit", edit, "edited")
        session.tool("Bash", {"command": f"pytest -q tests/part_{number}"}, "3 passed in 0.1 s")
        session.assistant(f"Part {number} keeps cents as integers now, and its tests pass.")
    return repository, home
