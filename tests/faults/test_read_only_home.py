"""A home on a read-only file system is searched and backed up; whatever could not be looked at is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript
from tests.faults.test_failing_disk import has_namespaces

pytestmark = pytest.mark.skipif(not has_namespaces(), reason="needs a file system of its own")
SCRIPT = """
mount --bind "$RECOLLECT_HOME" "$RECOLLECT_HOME" && mount -o remount,ro,bind "$RECOLLECT_HOME" || exit 77
for query in zebra '*ebr*' okapi; do python -m recollect search "$query" --json; done
python -m recollect backup "$1" --json
"""


@pytest.mark.parametrize("has_log", [True, False])
def test_a_read_only_home_is_searched_and_backed_up(tmp_path: Path, has_log: bool) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    home = tmp_path / "home"
    ClaudeTranscript(tmp_path / "claude", "one").user("where do the zebra stripes come from")
    with Memory.open(home, config=Config(), env=env) as memory:
        memory.sync()
    if not has_log:
        for name in ("memory.db-shm", "memory.db-wal"):
            (home / name).unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    ClaudeTranscript(tmp_path / "claude", "two").user("the okapi is a shy animal")
    program = {**os.environ, **env, "RECOLLECT_HOME": str(home)}
    program["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{program['PATH']}"
    command = ["unshare", "-rm", "sh", "-c", SCRIPT, "sh", str(tmp_path / "copy")]
    run = subprocess.run(command, env=program, capture_output=True, text=True, check=False)
    word, part, unknown, backup = (json.loads(line) for line in run.stdout.splitlines())
    assert (len(word["hits"]), len(part["hits"]), unknown["hits"], unknown["abstained"]) == (1, 1, [], False)
    assert unknown["notes"][0] == "nothing found in what was searched"
    assert "could not ingest first" in unknown["notes"][1]
    assert backup["sessions"] == 1
    assert any("read-only" in note for note in backup["notes"])
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
