"""Killed at any instruction, the files still hold the last commit, and writing goes on there."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recollect.index.vectors.files import COMMIT_BYTES, VectorCommit, last_commit
from tests.index.vectors import made

KILLS = 8
CHILD = """
import sys
from pathlib import Path
from tests.index.vectors import made
folder = Path(sys.argv[1])
print("ready", flush=True)
with made.writer(folder) as writer:
    for number in range(writer.last.position + 1, 100_000):
        writer.retire([(number // 3, number // 3)])
        writer.add([number, number], made.Directions().embed([str(number % 900), str(number % 7)]))
        writer.commit(position=number)
"""


def check(folder: Path) -> int:
    """Every commit wrote two rows of its own key and took the rows of a third of it away; return the last position."""
    rows = made.rows(folder)
    position = rows.commit.position
    assert rows.count == 2 * position
    assert rows.keys.tolist() == [key for key in range(1, position + 1) for _ in range(2)]
    alive = set(rows.live_keys().tolist())
    gone = set(range(1, position // 3 + 1))
    assert alive == set(range(1, position + 1)) - gone
    if alive:
        assert made.index(folder).nearest("450", limit=5)
    return position


def test_a_kill_leaves_the_last_commit(tmp_path: Path, repository: Path) -> None:
    moments = random.Random(5)
    reached = [0]
    for _ in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path)], cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"ready\n", child.stderr.read().decode()
        time.sleep(moments.uniform(0.02, 0.4))  # not a measure: a place to die at
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
        if made.files(tmp_path).generation() is not None:
            reached.append(check(tmp_path))
    assert reached == sorted(reached)
    assert reached[-1] > 0


@pytest.mark.parametrize("cut", range(1, COMMIT_BYTES))
def test_a_torn_commit_counts_for_nothing(tmp_path: Path, cut: int) -> None:
    made.put(tmp_path, {1: [10]}, position=1)
    made.put(tmp_path, {2: [20]}, position=2)
    log = made.files(tmp_path).folder / "g1" / "commits"
    log.write_bytes(log.read_bytes()[:-cut])
    assert made.rows(tmp_path).commit.position == 1
    made.put(tmp_path, {3: [30]}, position=3)
    rows = made.rows(tmp_path)
    assert (rows.keys.tolist(), rows.commit.position) == ([1, 3], 3)


def test_a_damaged_commit_counts_for_nothing(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]}, position=1)
    made.put(tmp_path, {2: [20]}, position=2)
    log = made.files(tmp_path).folder / "g1" / "commits"
    data = bytearray(log.read_bytes())
    data[-COMMIT_BYTES + 3] ^= 1
    log.write_bytes(data)
    assert made.rows(tmp_path).keys.tolist() == [1]


def test_rows_beyond_the_last_commit_are_written_over(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})
    with made.writer(tmp_path) as writer:
        writer.add([7, 8, 9], made.Directions().embed(["1", "2", "3"]))
        writer.retire([(1, 1)])
    made.put(tmp_path, {2: [20]})
    assert made.rows(tmp_path).keys.tolist() == [1, 2]
    assert made.index(tmp_path).coverage().covered == 2


def test_a_begun_generation_that_was_not_put_in_force_is_cleared_away(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})
    made.files(tmp_path).begin(made.DIMENSIONS)
    assert made.rows(tmp_path).keys.tolist() == [1]
    with made.writer(tmp_path, anew=True):
        pass
    assert [path.name for path in made.files(tmp_path).folder.glob("g*")] == ["g3"]


def test_a_deleted_folder_is_an_index_without_vectors(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})
    index = made.index(tmp_path)
    assert index.nearest("10", limit=1)
    shutil.rmtree(made.files(tmp_path).folder)
    assert index.nearest("10", limit=1) == []


def test_a_commit_is_its_own_proof() -> None:
    commit = VectorCommit(5, 1, 99, -1, made.DERIVATION_ID)
    assert VectorCommit.decode(commit.encode()) == commit
    assert VectorCommit.decode(commit.encode()[:-1]) is None
    assert VectorCommit.decode(b"\0" * COMMIT_BYTES) is None


def test_an_empty_generation_has_an_empty_commit(tmp_path: Path) -> None:
    assert last_commit(made.files(tmp_path).begin(4)) == VectorCommit()
