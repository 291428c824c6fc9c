"""Killed at any write, rename or call of any stage, nothing that was there is lost and the next run ends the work."""

from __future__ import annotations

import os
import random

import pytest

from tests.faults.support.stages import STAGES
from tests.faults.support.trials import Bench, Stage

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
KILLS = 3


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_stage_that_is_killed_anywhere_is_finished_by_the_next_run(bench: Bench, stage: Stage) -> None:
    trial = bench.trial(stage)
    trial.measure()
    tally = trial.hit(trial.kills(KILLS, random.Random(stage.name)))
    assert tally.hits.total() >= KILLS // 2, tally
