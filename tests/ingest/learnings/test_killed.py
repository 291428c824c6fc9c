"""Killed between any two steps, what a session gives is kept with the end of its job, or neither is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.store.jobs import JobQueue
from recollect.store.learnings import LearningStore
from tests.ingest.conftest import World
from tests.ingest.learnings.stand_ins import OneRule, take_in, told

METHODS = (
    (JobQueue, ("note_changes", "release", "claim", "finish", "want", "want_sessions")),
    (LearningStore, ("put_sightings", "known", "save", "set_note", "add_batch", "of_repo")),
)


class Killed(BaseException):
    """Ends a run where it stands."""


class Steps:
    """Counts what the store is asked to do, and ends the run at one of the steps."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.last = -1
        for owner, names in METHODS:
            for name in names:
                patch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            self.count += 1
            if self.count == self.last:
                raise Killed
            return method(*arguments, **named)

        return call


def tell(world: World) -> None:
    for name in ("one", "two", "three"):
        transcript = world.claude(name)
        transcript.user(f"fact: {name} is here\naction: tidy {name}\npreference: use tabs")
        transcript.user("fact: the server listens on port 80")
        transcript.user(f"fact: the server listens on port 8{len(name)}")
    transcript.user("done: tidy one")


def test_killed_between_any_two_steps_the_next_runs_come_to_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tell(world)
    take_in(world.memory)
    with monkeypatch.context() as patch:
        steps = Steps(patch)
        world.memory.learn.run(extractor=OneRule())
        total = steps.count
    expected = told(world.memory)
    assert total > 20
    for number, last in enumerate(range(1, total + 1, 5)):
        with Memory.open(tmp_path / f"m{number}", config=Config(), env=world.env) as memory:
            take_in(memory)
            with monkeypatch.context() as patch:
                steps = Steps(patch)
                for again in (last, last + 5, last + 9):  # the runs that go on are killed too
                    steps.last = steps.count + again
                    try:
                        memory.learn.run(extractor=OneRule())
                    except Killed:
                        continue
                    break
            assert memory.learn.run(extractor=OneRule()).state == "done"
            assert told(memory) == expected, f"killed at step {last}"
            assert sum(sum(b.counts.values()) for b in memory.notes.batches.list()) == len(expected)
