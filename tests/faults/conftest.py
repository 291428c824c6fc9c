"""A bench for trials: one small history of two agents, and a process that forks `recollect`. Loaded once a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.support.nursery import Nursery
from tests.faults.support.trials import Bench
from tests.faults.support.worlds import make_world
from tests.ingest.conftest import world

__all__ = ["bench", "world"]


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("faults")
    with Nursery(folder / "nursery") as nursery:
        yield Bench(folder, make_world(folder / "agents"), nursery, {})
