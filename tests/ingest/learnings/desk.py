"""A memory with a model that is asked over real HTTP on this machine, and a clock that goes as the test says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from recollect.config import Config, LearningConfig
from recollect.ingest.learnings.run import LearnFacet
from recollect.memory import Memory
from tests.endpoints import model_server as models
from tests.endpoints.served import Behaviour, Server, serving
from tests.ingest.conftest import World
from tests.ingest.learnings.stand_ins import OneRule, take_in

T0 = 1_785_574_800_000_000
"""When the transcripts of tests begin."""
DAY_US = 86_400_000_000
RULE = OneRule()
FINE = models.speaking(models.noting)


class Desk(NamedTuple):
    """A memory with a model, and a clock that goes as the test says."""

    world: World
    memory: Memory
    learn: LearnFacet
    clock: list[int]
    server: Server

    def read(self) -> None:
        """Take in what agents wrote, and have the rules read it as after a day's rest."""
        take_in(self.memory)
        self.learn.run(extractor=RULE)

    def counts(self) -> tuple[int, int, int, int]:
        """Return how many turns wait, are parked, done, dead."""
        status = self.learn.status()
        return status.turns_waiting, status.turns_parked, status.turns_done, status.dead


def configured(url: str, **fields: object) -> LearningConfig:
    plain: dict[str, object] = {
        "provider": "openai", "url": url, "model": "m", "input_usd_per_million": 1.0, "output_usd_per_million": 1.0,
        "key_variable": "THE_KEY", "timeout_s": 5,
    }  # fmt: skip
    return LearningConfig(**(plain | fields))  # type: ignore[arg-type]


@contextmanager
def desk_with(
    world: World, behaviour: Behaviour, *, turns: int = 1, key: str = "k-1", **fields: object
) -> Iterator[Desk]:
    """Yield a memory whose model behaves so, with as many sessions of one turn as are to be asked about."""
    with serving(behaviour) as server:
        env = {**world.env, "THE_KEY": key}
        config = Config(learning=configured(server.url, **fields))
        with Memory.open(world.root / "memory", config=config, env=env) as memory:
            clock = [T0 - DAY_US]
            desk = Desk(world, memory, LearnFacet(memory, lambda: clock[0]), clock, server)
            take_in(memory)
            desk.learn.run(extractor=RULE)  # from now on a model is configured
            for number in range(turns):
                told = world.claude(f"turn {number}")
                told.user(f"In part {number} we name every table in the singular, please.")
                told.assistant(f"Understood, part {number} has singular names from now on.")
            clock[0] = T0 + DAY_US
            desk.read()
            yield desk
