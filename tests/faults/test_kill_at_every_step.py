"""Killed at any write, rename or call of a stage, or with a disk that fails there, a memory loses nothing.

The next run ends the work.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from recollect.verbs import VERBS
from tests.examples import IS_THOROUGH
from tests.faults.support.injection import Fault
from tests.faults.support.stages import STAGES
from tests.faults.support.trials import SEED, Bench, Stage, named
from tests.faults.support.worlds import prepare_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
FAILURES, KILLS = (3, 3) if IS_THOROUGH else (1, 2)
"""Together they are as many as hit a home in a row, so that one home is copied and one end is compared."""
TRIES = 5


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_stage_that_is_killed_or_fails_anywhere_is_finished_by_the_next_run(bench: Bench, stage: Stage) -> None:
    """A step fails where the disk is full or broken, see test_failing_disk.py for disks that really are."""
    trial = bench.trial(stage)
    chance = random.Random(f"{SEED} {stage.name}")
    killed = failed = 0
    for number in range(TRIES):  # what comes first hits; the rest may come when the work is done
        faults = [trial.kills(KILLS, chance), trial.failures(FAILURES, chance)]
        tally = trial.hit([fault for some in faults[:: (-1) ** number] for fault in some])
        killed += tally.killed
        failed += tally.hits.total() - tally.killed
        if killed and (failed or not trial.ended.steps):
            return
    pytest.fail(f"seed {SEED}: {killed} killed, {failed} failed")


def test_a_restore_that_is_killed_between_two_folders_is_finished_by_the_next_read(bench: Bench) -> None:
    """For a moment the key, the archive or the index is in neither place."""
    (restoring,) = (stage for stage in STAGES if stage.name == "restoring")
    trial = bench.trial(restoring)
    renames = [number for number, step in enumerate(trial.ended.steps, 1) if step.endswith(" rename")]
    assert len(renames) >= 7
    for number in renames:
        assert trial.hit([Fault("kill", number)]).killed


KILLED_ELSEWHERE = {
    "setup": "tests/setup/test_carrying_out.py",
    "service": "tests/maintenance/service/test_service_work.py",
    "hook": "tests/hook/test_processes.py",
    "otlp": "tests/serve/test_otlp.py",
    "mcp": "tests/serve/mcp",
    "ui": "tests/serve/web",
    "exclude": "tests/cli/test_exclude.py",
    "team": "tests/team/test_kills.py",
}
"""Verbs that write outside of the memory or only its configuration, or that are servers which others tell what to
write."""
READS: tuple[tuple[str, ...], ...] = (
    ("sessions",), ("show", "{session}"), ("timeline",), ("blame", "README.md"), ("context",), ("digest", "{session}"),
    ("tui",), ("retro",), ("usage",), ("stats",), ("agents",), ("conformance", "claude"), ("verify",), ("config",),
    ("schema", "event"), ("help",), ("redact", "{transcript}"), ("parse", "{transcript}"), ("replay", "{transcript}"),
    ("watch", "--once"), ("resume", "{session}"), ("handoff", "{session}", "--to", "codex"),
)  # fmt: skip
DRAFTS = tuple(f".{name}.recollect-new"[-24:] for name in ("look.json", "prices.json"))
"""What a read leaves for the next one and can be made again, as the injector names it."""
LOOKING = {
    "ingest.lock make", "memory.db-wal truncate", "run make", "look.json remove",
    *(f"{draft} {operation}" for draft in DRAFTS for operation in ("make", "write", "rename")),
}  # fmt: skip
"""What a sync does that finds nothing new; a read starts one, so that its answer is of now."""


def test_every_verb_that_writes_is_killed_here_or_in_a_named_place(repository: Path) -> None:
    killed = {stage.command[0] for stage in STAGES}
    assert all((repository / place).exists() for place in KILLED_ELSEWHERE.values())
    assert {verb.name for verb in VERBS} == killed | KILLED_ELSEWHERE.keys() | {read[0] for read in READS}


def test_the_other_verbs_write_nothing(bench: Bench, tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    bench.must(home, "sync")
    transcript = str(bench.world.claude[0].path)
    for read in READS:
        words = tuple(word.replace("{transcript}", transcript) for word in named(read, home, bench.world))
        assert set(bench.run(home, words).steps) <= LOOKING, read
