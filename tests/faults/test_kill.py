"""Killed at any moment, a sync loses nothing, doubles nothing, and the next one finishes the work."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests.examples import tried

KILLS = tried(12, floor=8)
CHILD = """
import sys, time
from recollect.config import Config, IngestConfig
from recollect.memory import Memory
import recollect.ingest.batch_writer as ingest
import recollect.ingest.worker.pool as pool
ingest.BATCH_BYTES = 60_000
ingest.INDEX_COMMIT_BYTES = 200_000
if sys.argv[2] == "processes":
    pool.SMALL_BYTES = 0
print("ready", flush=True)
config = Config(ingest=IngestConfig(slice_bytes=65_536))
with Memory.open(sys.argv[1], config=config) as memory:
    memory.sync()
print("done", flush=True)
"""


def write_corpus(root: Path) -> dict[str, str]:
    for i in range(14):
        one = ClaudeTranscript(root / "claude", f"s{i}", cwd=f"/w/p{i % 3}")
        for j in range(12):
            one.user(f"question {i} {j}")
            one.tool("Bash", {"command": f"run {j}"}, f"output {i} {j} " + "words and more words " * 200)
            one.assistant(f"answer {i} {j}")
    long = ClaudeTranscript(root / "claude", "long")
    for j in range(400):
        long.user(f"long {j} " + f"{j * 7919 % 1000} words " * 300)
    for i in range(4):
        two = CodexRollout(root / "codex", f"c{i}")
        for j in range(10):
            two.turn(f"prompt {i} {j}", f"reply {i} {j} " + "text " * 300)
    return {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}


def state(memory: Memory) -> dict[str, Any]:
    """Everything a user can see, without what depends on when it was seen."""
    sessions = memory.sessions(limit=1000, sync=False).sessions
    return {
        "events": {
            s.session_uid: [
                (e.seq, e.event_id, e.part, e.kind, e.summary, e.turn_index) for e in memory.events(s.session_uid)
            ]
            for s in sessions
        },
        "titles": {s.session_uid: (s.title, s.event_count, s.repo) for s in sessions},
        "raw": {
            s.session_uid: b"".join(memory.maintenance.export_bytes(s.session_uid, format="raw")) for s in sessions
        },
        "usage": memory.usage.report(by="total").total,
        "found": [memory.search(q, sync=False).total for q in ("question", '"answer 3 7"', "reply -words", "prompt")],
    }


def start(home: Path, env: dict[str, str], mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(home), mode],
        env={**os.environ, **env, "RECOLLECT_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("mode", ["here", "processes"])
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_kill_9_at_random_moments_leaves_the_same_memory_in_the_end(tmp_path: Path, mode: str) -> None:
    env = write_corpus(tmp_path)
    with Memory.open(tmp_path / "calm", config=Config(), env=env) as calm:
        calm.sync()
        expected = state(calm)
    chance = random.Random(7)
    finished = 0
    for _ in range(KILLS):
        child = start(tmp_path / "killed", env, mode)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.0, 0.6))
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
        finished += "done" in rest
    with Memory.open(tmp_path / "killed", config=Config(), env=env) as memory:
        memory.sync()
        assert state(memory) == expected
        report = memory.maintenance.verify()
        assert report.ok, report.defects[:3]
        assert memory.sync().events == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_an_interrupted_sync_keeps_what_it_has_and_says_so(tmp_path: Path) -> None:
    env = write_corpus(tmp_path)
    child = start(tmp_path / "memory", env, "here")
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    child.communicate()
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:
        memory.sync()
        assert memory.maintenance.verify().ok
        assert memory.stats().sessions == 19


@pytest.mark.skipif(os.name == "nt", reason="fork-free on Windows is covered elsewhere")
def test_two_processes_ingesting_at_once_give_one_whole_memory(tmp_path: Path) -> None:
    env = write_corpus(tmp_path)
    children = [start(tmp_path / "memory", env, "here") for _ in range(2)]
    for child in children:
        child.communicate()
        assert child.returncode == 0
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:
        memory.sync()
        assert memory.maintenance.verify().ok
        assert memory.stats().sessions == 19
