"""Kills and failing writes at random places of every stage, each home then held against one that nothing ever hit."""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections import Counter
from typing import Any

from benchmarks.support.places import Places
from benchmarks.support.results import Section
from tests.faults.support.nursery import Nursery
from tests.faults.support.stages import STAGES
from tests.faults.support.trials import SEED, Bench, Tally, Trial
from tests.faults.support.worlds import make_world

KILLS = 1000
FAILURES = 108
IN_ONE_TRY = 3
"""So many faults hit a home one after the other before it is looked at as a whole."""


def measure(at: Places, *, is_quick: bool) -> Section:
    """Hit every stage; returns one section."""
    folder = at.home("soak-faults")
    shutil.rmtree(folder, ignore_errors=True)
    started = time.perf_counter()
    kills, failures = (n // 5 if is_quick else n for n in (KILLS, FAILURES))
    hits: Counter[str] = Counter()
    by_stage: dict[str, int] = {}
    wrong: list[str] = []
    late = killed = 0
    with Nursery(folder / "nursery") as nursery:
        bench = Bench(folder, make_world(folder / "agents"), nursery, {})
        for stage in STAGES:
            print(f"soak: seed {SEED}, {stage.name}", file=sys.stderr)
            trial = bench.trial(stage)
            chance = random.Random(f"{SEED} {stage.name}")
            wanted = trial.kills(max(IN_ONE_TRY, -(-kills // len(STAGES))), chance)
            wanted += trial.failures(max(IN_ONE_TRY, failures // len(STAGES)), chance)
            for first in range(0, len(wanted), IN_ONE_TRY):
                tally = _tried(trial, wanted[first : first + IN_ONE_TRY], wrong)
                hits += tally.hits
                late += tally.too_late
                killed += tally.killed
                by_stage[stage.name] = by_stage.get(stage.name, 0) + tally.hits.total()
            shutil.rmtree(folder / stage.name.replace(" ", "-"), ignore_errors=True)
    figures = {
        "faults": hits.total(), "killed": killed, "too_late": late, "by_stage": by_stage, "places": len(hits),
        "wrong": wrong, "seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip
    return Section("soak/faults", "Soak: killed and failing everywhere", figures, render(figures))


def _tried(trial: Trial, faults: list[Any], wrong: list[str]) -> Tally:
    """Hit a home; what is lost, doubled or unclear is added to `wrong` and does not stop the others."""
    try:
        return trial.hit(faults)
    except Exception as error:  # noqa: BLE001 - every kind of harm is counted
        wrong.append("; ".join([f"{type(error).__name__}: {error}"[:300], *getattr(error, "__notes__", ())]))
        return Tally(Counter(), 0, 0)


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = ["| stage | faults that hit |", "|---|--:|"]
    lines += [f"| {name} | {count} |" for name, count in figures["by_stage"].items()]
    lines += [f"| **all** | **{figures['faults']}** |", ""]
    lines.append(
        f"{figures['killed']} kills (SIGKILL, also in the middle of a write); the others are failing writes (no room, "
        f"EIO). They hit {figures['places']} kinds of places; {figures['too_late']} more came when the work was done. "
        "After each one the database was sound, every byte could be given back as the agent wrote it, and nothing that "
        "had been there was missing; after every third the work was ended and the memory was the same as one that "
        f"nothing ever hit. Homes of which that does not hold: {len(figures['wrong'])}."
    )
    return "\n".join([*lines, *(f"- {what}" for what in figures["wrong"])])
