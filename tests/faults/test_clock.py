"""A clock that jumps changes when things were seen, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.support.trials import Bench, state_of
from tests.faults.support.worlds import assert_same, assert_whole, make_world, prepare_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")
DAY_S = 86_400
JUMPS_S = (0, -400 * DAY_S, 40 * DAY_S, -30, -60 * 365 * DAY_S, 3600, 0)
"""Seconds that the clock is off in each sync; the least of them lies before 1970."""
SCRIPT = """
import time
now_ns, now = time.time_ns, time.time
time.time_ns, time.time = lambda: now_ns() + {jump} * 10**9, lambda: now() + {jump}
from recollect.cli.main import run
raise SystemExit(run(["sync", "--json"]))
"""


def test_a_clock_that_jumps_between_syncs_loses_and_doubles_nothing(bench: Bench, tmp_path: Path) -> None:
    world = make_world(tmp_path / "agents", sessions=2, rounds=1)
    home = prepare_home(tmp_path / "home")
    seen = assert_whole(home, world)
    for round_, jump in enumerate(JUMPS_S, 1):
        world.grow(round_)
        ended = bench.nursery.run((), home=home, env=world.env, script=SCRIPT.format(jump=jump))
        assert ended.code == 0, ended
        seen = assert_whole(home, world, seen)
    assert set(seen.raw) == set(world.transcripts())
    calm = prepare_home(tmp_path / "calm")
    assert bench.nursery.run(("sync",), home=calm, env=world.env).code == 0
    assert_same(home, world, state_of(calm, world))
