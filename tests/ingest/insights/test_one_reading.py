"""A sync reads each session once for analysing and learning: it gives what both give one after the other."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from recollect.config import Config, DistillConfig, IngestConfig, LearningConfig
from recollect.ingest import analysis_helpers
from recollect.ingest.distill import MANY_SESSIONS
from recollect.memory import Memory, SyncProgress
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.conftest import World
from tests.ingest.insights.test_distilling import told
from tests.ingest.learnings.stand_ins import told as learned

SESSIONS = MANY_SESSIONS + 8
BY_HAND = Config(distill=DistillConfig(enabled=False), learning=LearningConfig(enabled=False))
SHARED = Config(ingest=IngestConfig(workers=2))


@pytest.fixture
def world_of_many(world: World) -> World:
    """Sessions of one repository, of which later ones do what earlier ones left to do; ingested, and no more."""
    for number in range(SESSIONS):
        start = datetime(2026, 8, 1, 8, tzinfo=UTC) + timedelta(minutes=30 * number)
        one = ClaudeTranscript(world.claude_home, f"story{number:02d}", start=start)
        one.user(f"Let's use Postgres {number} instead of MySQL, because it is free.")
        one.write(f"/w/demo/db{number}.py", "import postgres\n" * 50)
        one.user(f"Always run the linter of part {number} before you commit.")
        one.user(f"Remind me to update the changelog of part {number}.")
        one.assistant(f"The changelog of part {number - 3} is updated.")
    with world.again(BY_HAND) as memory:
        memory.sync()
    return world


def all_of(memory: Memory) -> dict[str, Any]:
    return {**told(memory), "learnings": learned(memory)}


def given_apart(world: World) -> dict[str, Any]:
    """Return what analysing gives, and then learning, each in this process; in a memory of its own."""
    config = msgspec.structs.replace(SHARED, distill=BY_HAND.distill, ingest=IngestConfig(workers=1))
    with Memory.open(world.root / "apart", config=BY_HAND, env=world.env) as memory:
        memory.sync()
    with Memory.open(world.root / "apart", config=config, env=world.env) as memory:
        assert memory.distilling.run().sessions == SESSIONS
        assert memory.learn.run().sessions >= SESSIONS
        return all_of(memory)


def synced(world: World, progress: Callable[[SyncProgress], None] | None = None) -> dict[str, Any]:
    with world.again(SHARED) as memory:
        report = memory.sync(progress=progress)
        assert (report.state, report.notes, report.distilled_sessions) == ("done", [], SESSIONS)
        assert report.learned_sessions >= SESSIONS
        assert report.new_learnings == len(memory.learn.learnings())
        return all_of(memory)


def test_a_sync_gives_what_analysing_and_learning_give_apart(world_of_many: World) -> None:
    apart, together = given_apart(world_of_many), synced(world_of_many)
    assert together == apart
    states = [one[5] for one in together["learnings"]]
    assert len(states) > SESSIONS
    assert "done" in states


def test_a_helper_that_is_killed_in_a_sync_costs_nothing_but_time(
    world_of_many: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def watched(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*args, **options))
        return started[-1]

    def kill(at: SyncProgress) -> None:
        if at.stage == "distill" and at.done_sources == 5:
            started[-1].send_signal(signal.SIGKILL)

    monkeypatch.setattr(analysis_helpers.subprocess, "Popen", watched)
    assert synced(world_of_many, kill) == given_apart(world_of_many)
    assert len(started) == 1


def test_a_sync_that_is_interrupted_while_it_analyses_goes_on_with_the_next(world_of_many: World) -> None:
    def interrupt(at: SyncProgress) -> None:
        if at.stage == "distill" and at.done_sources == 9:
            os.kill(os.getpid(), signal.SIGINT)

    with world_of_many.again(SHARED) as memory:
        report = memory.sync(progress=interrupt)
        assert (report.state, report.distilled_sessions, report.learned_sessions) == ("interrupted", 9, 9)
        assert report.new_learnings == len(memory.learn.learnings()) > 0
        report = memory.sync()
        assert (report.state, report.distilled_sessions) == ("done", SESSIONS - 9)
        assert all_of(memory) == given_apart(world_of_many)
