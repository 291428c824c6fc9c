"""Killed at any step, a cut and a compaction are finished when the memory is opened again, and nothing else is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import os, shutil, signal, sys
from contextlib import contextmanager
from pathlib import Path
from recollect.store.writer import Writer
from tests.erasure.cuts.lines import GrowingSource, line

home, work = Path(sys.argv[1]), sys.argv[2]
steps = 0

def dying(call):
    def stepped(*args, **kwargs):
        step()
        found = call(*args, **kwargs)
        step()
        return found
    return stepped

def step():
    global steps
    steps += 1
    if steps == limit:
        os.kill(os.getpid(), signal.SIGKILL)

def arm():
    for name in ("fsync", "replace", "unlink", "write"):
        setattr(os, name, dying(getattr(os, name)))
    transaction = Writer.transaction
    @contextmanager
    def stepped(writer):
        step()
        with transaction(writer):
            step()
            yield
            step()
        step()
    Writer.transaction = stepped

def known(folder):
    source = GrowingSource(folder)
    source.content, source.records, source.cut_ranges = content, records, [(40_000, 90_000), (200_000, 260_000)]
    return source

first = GrowingSource(home)
first.append(b"".join(line(i, 2000) for i in range(150)) + b'{"open": ')
if work == "compact":
    first.cut([(40_000, 90_000), (200_000, 260_000)])
first.close()
content, records = first.content, first.records
limit = 0
killed = 0
while True:
    limit += 1
    folder = home.with_name(f"copy{limit}")
    shutil.copytree(home, folder)
    child = os.fork()
    if not child:
        source = known(folder)
        arm()
        if work == "cut":
            source.cut(source.cut_ranges)
        else:
            source.compact()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
        killed += 1
    child = os.fork()
    if not child:
        source = known(folder)
        if not source.holes():  # killed before the cut was promised: it was never begun
            assert work == "cut"
            source.cut(source.cut_ranges[:2])
        source.check()
        assert not source.writer.removing.holes.waiting()
        source.compact()
        source.append(b'"end"}\\n' + line(9999, 700))
        source.check()
        source.compact()
        names = sorted(path.name for path in (folder / "archive").iterdir())
        assert [name for name in names if "condition.json" not in name] == ["journal.log", "packs"], names
        source.check()
        packs = source.archive.dead_bytes([p for p in source.writer.removing.holes.places()])
        assert sum(packs.values()) == 0, packs
        source.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, f"after a kill at step {limit} of {work}"
    shutil.rmtree(folder)
    if not status:
        break
print("killed", killed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="SIGKILL and fork are POSIX")
@pytest.mark.parametrize("work", ["cut", "compact"])
def test_killed_at_any_step_it_is_finished_by_the_next_who_writes(tmp_path: Path, work: str) -> None:
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "home"), work],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 15
    shutil.rmtree(tmp_path / "home")
