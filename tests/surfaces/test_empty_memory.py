"""A memory that nothing was taken into yet answers every question, and calls nothing damaged."""

from __future__ import annotations

from tests.ingest.conftest import World


def test_an_empty_memory_answers(world: World) -> None:
    assert world.memory.search("anything").hits == ()
    assert world.memory.sessions().total == 0
    assert world.memory.timeline().total == 0
    assert world.memory.stats().events == 0
    assert world.memory.usage.report(by="day").rows == ()
    assert world.memory.maintenance.doctor().ok


def test_an_empty_memory_is_whole(world: World) -> None:
    assert world.memory.maintenance.verify().ok
