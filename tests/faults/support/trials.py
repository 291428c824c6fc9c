"""Kills a stage of the memory again and again, anywhere, and holds what is left against what was there before.

A stage is one line of a table: a command line, what the home is before it, and how it is checked.
"""

from __future__ import annotations

import os
import random
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from recollect.memory import Memory
from tests.examples import IS_CI
from tests.faults.support.injection import Fault
from tests.faults.support.nursery import Ended, Nursery
from tests.faults.support.worlds import (
    NOTHING,
    Seen,
    World,
    assert_same,
    assert_whole,
    copy_home,
    opened,
    prepare_home,
    state,
)

SEED = os.environ.get("RECOLLECT_FAULT_SEED") or ("ci" if IS_CI else secrets.token_hex(4))
"""What every place of a fault is drawn from. A failure names it; set the variable to have the same places again."""
IN_A_ROW = 3
"""So many kills hit a home one after the other, so that what mends a crash is killed too."""
_ENGINE_DELAY_US = 4_000
_FEW_STEPS = 8


class Bench(NamedTuple):
    """Where trials are made: a folder of their own, what the agents wrote, and the process that forks."""

    folder: Path
    world: World
    nursery: Nursery
    trials: dict[str, Trial]

    def run(self, home: Path, arguments: tuple[str, ...], fault: Fault | None = None, **limits: Any) -> Ended:
        """Run `recollect` on a home; `{beside}` in an argument stands for the folder that the home is in."""
        arguments = tuple(argument.replace("{beside}", str(home.parent)) for argument in arguments)
        return self.nursery.run(arguments, home=home, env=self.world.env, fault=fault, **limits)

    def trial(self, stage: Stage) -> Trial:
        """Return the trial of a stage; it is made ready once."""
        if stage.name not in self.trials:
            self.trials[stage.name] = Trial(self, stage)
        return self.trials[stage.name]

    def must(self, home: Path, *arguments: str) -> Ended:
        """Run `recollect` with nothing going wrong."""
        ended = self.run(home, arguments)
        assert ended.code == 0, f"recollect {' '.join(arguments)}: {ended}"
        return ended


def state_of(home: Path, world: World) -> dict[str, Any]:
    """Return everything that a user sees of a home."""
    with opened(home, world.env) as memory:
        return state(memory)


NAMES: dict[str, Callable[[Memory], str]] = {
    "{session}": lambda memory: memory.sessions(limit=1, sync=False).sessions[0].session_uid,
    "{learning}": lambda memory: memory.learn.learnings()[0].id,
    "{action}": lambda memory: memory.learn.actions()[0].id,
    "{collection}": lambda memory: memory.documents.list()[0].name,
    "{batch}": lambda memory: memory.notes.batches.list()[0].id,
}
"""What a word of a command may stand for: something that is in the home before it."""


def named(command: tuple[str, ...], home: Path, world: World) -> tuple[str, ...]:
    """Return a command with the names of what is in a home put in."""
    if not any(name in word for word in command for name in NAMES):
        return command
    with opened(home, world.env) as memory:
        found = {name: find(memory) for name, find in NAMES.items() if any(name in word for word in command)}
    for name, value in found.items():
        command = tuple(word.replace(name, value) for word in command)
    return command


class Stage(NamedTuple):
    """What is killed: `recollect COMMAND` on a home that `prepare` made of an empty one.

    command: a word in braces stands for something in the home, see `NAMES`. codes: with which a repeated run may end.
    is_whole: what is held after each fault, against what it was before it; returns what it is now. is_same: what is
    held in the end, against `expected` of a home that nothing ever hit.
    """

    name: str
    command: tuple[str, ...]
    prepare: Callable[[Bench, Path], None]
    codes: tuple[int, ...] = (0,)
    is_whole: Callable[[Path, World, Seen], Seen] = assert_whole
    is_same: Callable[[Path, World, dict[str, Any]], None] = assert_same
    expected: Callable[[Path, World], dict[str, Any]] = state_of


class Tally(NamedTuple):
    """What was tried: faults by what they hit, runs that ended before theirs came, and how many were killed."""

    hits: Counter[str]
    too_late: int
    killed: int


class Trial:
    """One stage on one bench: made ready once, then killed as often as is wanted."""

    def __init__(self, bench: Bench, stage: Stage) -> None:
        self._bench = bench
        self._stage = stage
        self._folder = bench.folder / stage.name.replace(" ", "-")
        self._before = prepare_home(self._folder / "before")
        stage.prepare(bench, self._before)
        self._command = named(stage.command, self._before, bench.world)
        self._calm = self._looked_at("calm")
        self.ended = self._run_calm(self._calm)
        self._expected = stage.expected(self._calm, bench.world)
        self._calls = 0
        self._engine_calls = 0

    def _looked_at(self, name: str) -> Path:
        """Return a copy of the home that was asked everything once: a first look leaves traces in SQLite's log."""
        home = copy_home(self._before, self._folder / name)
        self._stage.is_whole(home, self._bench.world, NOTHING)
        return home

    def _run_calm(self, home: Path, fault: Fault | None = None) -> Ended:
        ended = self._bench.run(home, self._command, fault)
        assert ended.code == 0, ended
        return ended

    def _measure(self) -> None:
        """Count what else a kill can hit: every call of a function, and every call of the search engine."""
        elsewhere = self._looked_at("counted")
        self._calls = self._run_calm(elsewhere, Fault(place="call")).calls
        elsewhere = self._looked_at("counted")
        self._engine_calls = self._run_calm(elsewhere, Fault(place="engine")).calls

    def kills(self, count: int, chance: random.Random) -> list[Fault]:
        """Return kills, most of them at steps: every kind of step before one is hit twice.

        A command of few steps is killed at any call instead: what it does to the disk is done in one moment.
        """
        has_few_steps = len(self.ended.steps) < _FEW_STEPS
        elsewhere = count if has_few_steps else count // 4
        if elsewhere and not self._calls:
            self._measure()
        wanted = []
        for at, label in self._steps(count - elsewhere, chance):
            wanted.append(Fault(chance.choice(("kill", "torn")) if label.endswith("write") else "kill", at))
        for number in range(elsewhere):
            if number % 2 and self._engine_calls:
                at, delay = chance.randint(1, self._engine_calls), chance.randrange(_ENGINE_DELAY_US)
                wanted.append(Fault("kill", at, "engine", delay_us=delay))
            else:
                wanted.append(Fault("kill", chance.randint(1, self._calls), "call"))
        chance.shuffle(wanted)
        return wanted

    def failures(self, count: int, chance: random.Random) -> list[Fault]:
        """Return steps that fail: no more room from there on, or an error of the disk, once or from there on."""
        kinds = (("full", True), ("broken", False), ("broken", True))
        first = chance.randrange(len(kinds))
        drawn = islice(cycle(kinds), first, None)
        return [
            Fault(kind, at, is_lasting=is_lasting)
            for (kind, is_lasting), (at, _) in zip(drawn, self._steps(count, chance), strict=False)
        ]

    def _steps(self, count: int, chance: random.Random) -> list[tuple[int, str]]:
        by_kind: dict[str, list[int]] = defaultdict(list)
        for number, label in enumerate(self.ended.steps, 1):
            by_kind[label].append(number)
        wanted: list[tuple[int, str]] = []
        while len(wanted) < count and by_kind:
            labels = chance.sample(sorted(by_kind), len(by_kind))
            wanted += [(chance.choice(by_kind[label]), label) for label in labels]
        return wanted[:count]

    def hit(self, faults: list[Fault]) -> Tally:
        """Hit the home with every fault, a few in a row; after each all is whole, and in the end nothing is amiss."""
        hits: Counter[str] = Counter()
        too_late = killed = 0
        for first in range(0, len(faults), IN_A_ROW):
            home = copy_home(self._before, self._folder / "hit")
            seen = self._stage.is_whole(home, self._bench.world, NOTHING)
            tried = faults[first : first + IN_A_ROW]
            for fault in tried:
                ended = self._bench.run(home, self._command, fault)
                has_hit = ended.was_killed or len(ended.steps) >= fault.at > 0
                where = f"seed {SEED}: {self._stage.name}, after {fault} ({self._what(fault)}) of {tried}"
                with _told(f"{where}: {ended.output}"):
                    assert ended.was_killed or ended.code in (*self._stage.codes, 3), ended
                    assert not ended.is_bug, ended
                    seen = self._stage.is_whole(home, self._bench.world, seen)
                hits[self._what(fault)] += has_hit
                too_late += not has_hit
                killed += ended.was_killed
            with _told(f"seed {SEED}: {self._stage.name}, in the end, after {tried}"):
                ended = self._bench.run(home, self._command)
                assert ended.code in self._stage.codes, ended
                self._stage.is_same(home, self._bench.world, self._expected)
        return Tally(+hits, too_late, killed)

    def _what(self, fault: Fault) -> str:
        steps = self.ended.steps
        return steps[fault.at - 1] if fault.place == "step" and fault.at <= len(steps) else fault.place


@contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise
