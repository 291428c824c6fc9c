"""Bounded: memory does not depend on the size of what is read."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests.examples import IS_THOROUGH

INGEST = """
import resource, sys
from recollect.ingest import batch_writer
from recollect.memory import Memory

batch_writer.INDEX_COMMIT_BYTES = 4 * 1024 * 1024  # what waits for a commit is as much as it will ever be early on
unit = 1 if sys.platform == "darwin" else 1024
peaks = {}

def peak(whose=resource.RUSAGE_SELF):
    return resource.getrusage(whose).ru_maxrss * unit

def note(at):
    if at.stage == "ingest":
        peaks["whole" if 2 * at.done_bytes >= at.total_bytes and "half" in peaks else "half"] = peak()

with Memory.open(sys.argv[1]) as memory:
    report = memory.sync(progress=note)
    assert report.state == "done", report.state
print(report.bytes, peaks["half"], peaks["whole"], peak(resource.RUSAGE_CHILDREN))
"""
SIZE_BYTES = 200_000_000 if IS_THOROUGH else 48_000_000
GROWTH = 0.75
"""What the second half of a large file may add to the peak, for each of its bytes. Keeping them would add more."""
WORKER_BYTES = 250_000_000
"""A worker holds one slice, whatever the file: about half of this."""


def write_file(home: Path, size: int) -> None:
    """Write one transcript of at least `size` bytes, no two records of it alike."""
    chance = random.Random(5)
    words = [f"{chance.getrandbits(40):x}" for _ in range(5000)]
    one = ClaudeTranscript(home, "long")
    written = 0
    while written <= size:
        text = " ".join(chance.choices(words, k=400))
        one.user(text)
        written += len(text)


def test_memory_does_not_grow_with_the_size_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    write_file(tmp_path / "claude", SIZE_BYTES)
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    done = subprocess.run(
        [sys.executable, "-c", INGEST, str(tmp_path / "memory")],
        env={**os.environ, **env}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    taken, half, whole, worker = map(int, done.stdout.split())
    assert taken >= SIZE_BYTES
    assert whole - half < GROWTH * SIZE_BYTES / 2
    assert worker < WORKER_BYTES
