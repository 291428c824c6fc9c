"""Whatever goes wrong over one source, the others are ingested, the report names it, and it is tried again."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from recollect.config import AgentConfig, Config, DistillConfig, IngestConfig
from recollect.errors import BrokenInvariant
from recollect.ingest.worker import pool, worker
from recollect.memory import Memory
from tests.ingest.conftest import World

PROGRAM = """
import os, sys
from recollect.ingest.worker import pool as process
from recollect.ingest.worker import worker
take = worker.Worker.take
def odd(self, task):
    if {bad!r} in task.path:
        {what}
    return take(self, task)
worker.Worker.take = odd
process.MAX_MESSAGE_BYTES = {most}
process.main()
"""
FAULTS = {
    "it raises": "raise KeyError('a word of the transcript')",
    "it is out of memory": "raise MemoryError",
    "its process ends": "os._exit(9)",
    "its process says nonsense": "sys.stdout.buffer.write((5).to_bytes(8, 'big') + b'wrong'); sys.stdout.flush()",
    "its answer is too long": "pass",
}


@pytest.fixture
def sessions(world: World) -> list[str]:
    """Five sessions; the third one is the bad one, and its answer the longest."""
    names = []
    for number in range(5):
        one = world.claude(f"s{number}")
        one.user(f"prompt{number}")
        if number == 2:
            one.user(" ".join(str(n * 7919 % 100_003) for n in range(40_000)))
        names.append(one.session)
    return names


def in_workers(world: World, monkeypatch: pytest.MonkeyPatch, program: str) -> Memory:
    """Return a memory whose workers run a program of ours, two of them."""

    class Odd(subprocess.Popen[bytes]):
        def __init__(self, _command: Any, **named: Any) -> None:
            super().__init__([sys.executable, "-c", program], **named)

    monkeypatch.setattr(pool, "SMALL_BYTES", 0)
    monkeypatch.setattr(subprocess, "Popen", Odd)
    return plain(world)


def plain(world: World) -> Memory:
    config = Config(
        agents={"codex": AgentConfig(enabled=False)}, ingest=IngestConfig(workers=2),
        distill=DistillConfig(enabled=False),
    )  # fmt: skip
    return world.again(config)


def assert_only_the_bad_one_is_missing(memory: Memory, sessions: list[str]) -> None:
    report = memory.sync()
    assert report.state == "degraded"
    (skipped,) = report.agents["claude"].skipped
    assert sessions[2] in skipped.path
    assert "word of the transcript" not in skipped.reason
    assert {s.session_uid for s in memory.sessions(sync=False).sessions} == {
        f"claude:{name}" for name in sessions if name != sessions[2]
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_worker_process_cannot_do_for_one_source_it_does_for_the_others(
    fault: str, world: World, sessions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 60_000 if fault == "its answer is too long" else 1 << 30
    program = PROGRAM.format(bad=sessions[2], what=FAULTS[fault], most=most)
    with in_workers(world, monkeypatch, program) as memory:
        assert_only_the_bad_one_is_missing(memory, sessions)
    monkeypatch.undo()
    with plain(world) as memory:
        assert memory.sync().agents["claude"].new == 1
        assert len(memory.sessions(sync=False).sessions) == 5
        assert memory.maintenance.verify().ok


def test_what_raises_in_this_process_fails_alone(
    world: World, sessions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = worker.Worker.take

    def odd(self: worker.Worker, task: Any) -> Any:
        if sessions[2] in task.path:
            raise KeyError("a word of the transcript")
        return take(self, task)

    monkeypatch.setattr(worker.Worker, "take", odd)
    with plain(world) as memory:
        assert_only_the_bad_one_is_missing(memory, sessions)


def test_what_raises_when_it_is_compared_fails_alone(
    world: World, sessions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.ingest import plan

    with plain(world) as memory:
        memory.sync()
    for number in range(5):
        world.claude(f"s{number}").user(f"more{number}")

    def odd(*_: Any, **__: Any) -> Any:
        raise KeyError("a word of the transcript")

    monkeypatch.setattr(plan, "compare", odd)
    with plain(world) as memory:
        report = memory.sync()
        assert len(report.agents["claude"].skipped) == 5
        assert "KeyError in" in report.agents["claude"].skipped[0].reason
        assert "word of the transcript" not in report.agents["claude"].skipped[0].reason


def test_a_worker_that_cannot_start_is_told_as_that(
    world: World, sessions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sessions
    with (
        in_workers(world, monkeypatch, "raise SystemExit(1)") as memory,
        pytest.raises(BrokenInvariant, match="before it was ready"),
    ):
        memory.sync()
