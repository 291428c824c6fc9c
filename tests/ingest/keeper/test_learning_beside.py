"""Beside its other work a daemon learns: by its rules in the loop, by a model in a thread of its own."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from recollect.config import Config, DistillConfig, LearningConfig
from recollect.ingest.daemon_status import Failure
from recollect.ingest.keeper import idle_work
from recollect.ingest.keeper.idle_work import PERSISTENT_TIMES, IdleWork
from recollect.ingest.operations import take_changes
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript
from tests.endpoints import model_server as models
from tests.endpoints.served import Behaviour, serving
from tests.ingest.conftest import World


def now_us() -> int:
    return time.time_ns() // 1000


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_work, "LEARN_AFTER_S", 0.0)
    monkeypatch.setattr(idle_work, "LONGEST_S", 0.0)


def beside(memory: Memory, log: list[str]) -> IdleWork:
    return IdleWork(memory, now_us=now_us, log=log.append)


def work(loop: IdleWork) -> None:
    loop.work(should_stop=lambda: False)
    for thread in loop._threads.values():
        thread.join()


def with_model(world: World, behaviour_url: str) -> Memory:
    learning = LearningConfig(
        provider="openai", url=behaviour_url, model="m", input_usd_per_million=0.0, output_usd_per_million=0.0
    )
    return world.again(Config(learning=learning, distill=DistillConfig(enabled=False)))


def talk(world: World) -> None:
    """Two turns after now: the first one is finished."""
    told = ClaudeTranscript(world.claude_home, "now", start=datetime.now(UTC) + timedelta(seconds=1))
    told.user("We name tables in the singular. " + "It reads better that way, we found. " * 250)
    told.assistant("Singular names it is, in every table from now on.")
    told.user("Good. Go on.")


def test_what_was_taken_in_is_learned_from_in_the_loop(world: World) -> None:
    log: list[str] = []
    loop = beside(world.memory, log)
    world.claude("one").user("Remember that tests run with `make test`.")
    take_changes(world.memory, None, should_stop=lambda: False)
    loop.has_changed()
    loop._distill.due_at = loop._ready.due_at = loop._embed.due_at = loop._retain.due_at = float("inf")
    work(loop)
    assert loop.learned_sessions == 1
    assert ["make test" in one.text for one in world.memory.learn.learnings()] == [True]
    assert log == []
    assert loop._threads == {}


def asked(world: World, behaviour: Behaviour, *, times: int) -> tuple[IdleWork, Memory, list[Failure]]:
    failures: list[Failure] = []
    with serving(behaviour) as server, with_model(world, server.url) as memory:
        take_changes(memory, None, should_stop=lambda: False)
        memory.learn.run()  # from now on a model is configured
        talk(world)
        take_changes(memory, None, should_stop=lambda: False)
        loop = beside(memory, [])
        loop._ask.persists = failures.append
        for _ in range(times):
            loop.has_changed()
            loop._distill.due_at = loop._ready.due_at = loop._embed.due_at = loop._retain.due_at = float("inf")
            work(loop)
            loop._ask.due_at = 0.0
            work(loop)
        loop.stop()
    return loop, memory, failures


def test_a_model_is_asked_in_a_thread_of_its_own(world: World) -> None:
    loop, _, failures = asked(world, models.speaking(models.noting), times=1)
    assert loop.asked_turns == 1
    with world.again() as memory:
        assert {one.status for one in memory.learn.learnings()} >= {"hypothesis"}
    assert failures == []


def test_a_model_that_goes_on_failing_is_told_once_and_the_loop_goes_on(world: World) -> None:
    loop, _, failures = asked(world, models.UNAUTHORIZED, times=PERSISTENT_TIMES)
    assert loop.asked_turns == 0
    assert [failure.work for failure in failures] == ["asking a model"]
    assert loop._ask.failure is not None
    assert loop._learn.failure is None
