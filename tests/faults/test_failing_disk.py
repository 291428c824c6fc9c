"""A disk that is full or fails costs a line of text: what was stored stays, and with a sound disk the work goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.support.trials import Bench, state_of
from tests.faults.support.worlds import assert_same, assert_whole, copy_home, prepare_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")


@pytest.mark.parametrize("limit", [30_000, 150_000])
def test_a_limit_on_the_size_of_files_stops_every_part_and_loses_nothing(
    bench: Bench, tmp_path: Path, limit: int
) -> None:
    """Also what the search engine writes by itself fails so (EFBIG)."""
    calm = prepare_home(tmp_path / "calm")
    bench.must(calm, "sync")
    home = prepare_home(tmp_path / "home")
    ended = bench.run(home, ("sync", "--json"), file_limit=limit)
    assert ended.code in (0, 3), ended
    assert not ended.is_bug, ended
    seen = assert_whole(home, bench.world)
    bench.must(home, "sync")
    assert_whole(home, bench.world, seen)
    assert_same(home, bench.world, state_of(calm, bench.world))


ON_A_SMALL_DISK = """
mount -t tmpfs -o size=1200k none "$RECOLLECT_HOME" || exit 77
cp "$1" "$RECOLLECT_HOME/config.toml"
for round in 1 2; do python -m recollect sync --json; echo "ended $?"; done
python -m recollect search question --no-sync --json; echo "ended $?"
python -m recollect verify --json; echo "ended $?"
mount -o remount,size=200m "$RECOLLECT_HOME"
python -m recollect sync --json; echo "ended $?"
python -m recollect verify --json; echo "ended $?"
cp -r "$RECOLLECT_HOME/." "$2"
"""


def has_namespaces() -> bool:
    """Tell whether this user may mount a file system of their own, as most Linux machines let everybody."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_namespaces(), reason="needs a file system of its own")
def test_a_disk_that_is_really_full_is_said_and_with_room_the_work_goes_on(bench: Bench, tmp_path: Path) -> None:
    home, kept = tmp_path / "home", tmp_path / "kept"
    settings = prepare_home(tmp_path / "settings") / "config.toml"
    home.mkdir()
    env = {**os.environ, **bench.world.env, "RECOLLECT_HOME": str(home)}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    command = ["unshare", "-rm", "sh", "-c", ON_A_SMALL_DISK, "sh", str(settings), str(kept)]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    codes = [int(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("ended")]
    assert codes == [3, 3, 0, 0, 0, 0], (run.stdout[-3000:], run.stderr[-2000:])
    first = json.loads(run.stdout.splitlines()[0])
    assert "error" not in first or first["error"]["code"] == "disk_full", first
    assert_whole(kept, bench.world)
    calm = prepare_home(tmp_path / "calm")
    bench.must(calm, "sync")
    assert_same(copy_home(kept, tmp_path / "again"), bench.world, state_of(calm, bench.world))
