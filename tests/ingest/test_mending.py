"""The index is whole again after a kill while it was made: no month of it is taken for whole that is not."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests import program
from tests.ingest.conftest import World, desk, world

__all__ = ["desk", "world"]

MONTHS = range(1, 6)

REBUILD_AND_DIE = """
import os, signal, sys
from recollect import Memory
from recollect.index.text import writer as writing

keep_open, left = writing.IndexWriterSet._close_first, int(sys.argv[1])
writing.BUFFER_CHARS = 1

def close_first(self):
    global left
    keep_open(self)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

writing.IndexWriterSet._close_first = close_first
with Memory.open(os.environ["RECOLLECT_HOME"]) as memory:
    memory.maintenance.rebuild("index")
"""
"""Dies after the given number of months were closed, while another is open with documents that are not committed."""


def found(world: World, month: int) -> list[int]:
    """Return how many sessions of a month are found by each word of theirs."""
    with world.again() as memory:
        words = (f"needle{month}", f"thread{month}")
        return [len({hit.session_uid for hit in memory.search(word, sync=False).hits}) for word in words]


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("closed", [1, 2, 5])
def test_a_rebuild_of_the_index_that_was_killed_leaves_no_month_half_made(world: World, closed: int) -> None:
    for turn in ("needle", "thread"):  # each month comes up twice: its shard is closed and opened again
        for month in MONTHS:
            start = datetime(2026, month, 3, tzinfo=UTC)
            session = ClaudeTranscript(world.claude_home, f"{turn}-{month}", start=start)
            session.user(f"where is the {turn}{month}?")
            session.assistant("In the haystack.")
    world.memory.sync()
    assert [found(world, month) for month in MONTHS] == [[1, 1]] * len(MONTHS)

    env = {**world.env, "PATH": os.environ["PATH"], "RECOLLECT_HOME": str(world.memory.home)}
    done = program.run_script(REBUILD_AND_DIE, closed, env=env)
    assert done.returncode == -signal.SIGKILL

    with world.again() as memory:
        memory.sync()
    assert [found(world, month) for month in MONTHS] == [[1, 1]] * len(MONTHS)
    assert not (world.memory.home / "index" / "text" / "making").exists()
