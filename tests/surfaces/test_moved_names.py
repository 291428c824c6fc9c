"""A package of the last release still imports what has moved, and an old checkout's leftovers change nothing."""

from __future__ import annotations

import compileall
import importlib
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import recollect
from recollect.moved import RENAMED, new_name


def run(source: Path, code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of Python that imports the package from `source`."""
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONSAFEPATH": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("old", sorted(RENAMED))
def test_a_moved_module_is_the_same_module_under_its_old_name_and_warns(old: str) -> None:
    sys.modules.pop(old, None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert importlib.import_module(old) is importlib.import_module(new_name(old))
    assert f"{old} is now {new_name(old)}" in str(said[-1].message)
    assert said[-1].category is DeprecationWarning


@pytest.mark.parametrize("old", sorted(RENAMED))
def test_every_old_name_is_asked_for_first(old: str) -> None:
    assert old.startswith(recollect._OLD_NAMES)


def test_a_plug_in_of_the_last_release_gets_the_classes_that_we_use(tmp_path: Path, repository: Path) -> None:
    code = (
        "from recollect.model.timestamps import parse_any\n"
        "from recollect.model.distilled.nodes import Decision\n"
        "from recollect.model.learned.entries import EntryDraft\n"
        "from recollect.distill import prepare\n"
        "from recollect.distill.stages import Stages\n"
        "import recollect.model.insights.nodes as nodes, recollect.insights.stages as stages\n"
        "assert Decision is nodes.Decision and Stages is stages.Stages and prepare and parse_any and EntryDraft\n"
    )
    result = run(repository / "src", code, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("DeprecationWarning: recollect.model.timestamps is now recollect.model.time") == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the package, unless another test imported it before
def test_what_never_was_is_not_found_under_an_old_name_either() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"recollect\.distill\.nonsense"):
        importlib.import_module("recollect.distill.nonsense")


def test_stale_bytecode_of_an_old_checkout_changes_nothing(tmp_path: Path, repository: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(repository / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    before = run(source, "from recollect.cli.main import run; run(['agents', '--json'])", tmp_path)
    for folder in ("distill", "pipeline", "upkeep", "learn", "notes", "model/distilled", "agents/gone", "memory/live"):
        old = source / "recollect" / folder
        old.mkdir(parents=True)
        for name in ("__init__", "stages", "parse", "declare", "nodes", "facet"):
            (old / f"{name}.py").write_text("raise RuntimeError('stale')\n", "utf-8")
        assert compileall.compile_dir(old, quiet=1)
        for path in old.glob("*.py"):
            path.unlink()
    after = run(source, "from recollect.cli.main import run; run(['agents', '--json'])", tmp_path)
    assert (after.returncode, after.stdout, after.stderr) == (before.returncode, before.stdout, before.stderr)
    assert before.returncode == 0
    imported = run(source, "import recollect.distill.stages, recollect.memory.live, recollect.ingest.sync", tmp_path)
    assert imported.returncode == 0, imported.stderr
