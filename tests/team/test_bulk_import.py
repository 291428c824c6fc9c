"""Old archives of a company come into its team's database by way of a real Dask cluster, each session once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import SourceUnavailable, TeamRefused, TeamUnavailable, UsageError
from recollect.sharing import push
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests.team.conftest import Machine, Server, Team

pytest.importorskip("distributed", reason="Dask is not installed")
SECRET = "AKIAQYLPMN5HHHFPZAM2"
ROWS = (
    "SELECT s.session_uid, s.level, s.repo, s.event_count, count(e.event_id), count(DISTINCT (e.event_id, e.part)) "
    "FROM recollect.session s LEFT JOIN recollect.event e ON e.team_id = s.team_id AND e.session_id = s.session_id "
    "WHERE s.team_id = %(team)s GROUP BY 1, 2, 3, 4 ORDER BY 1"
)
LOST_S = 60


@pytest.fixture
def ada(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("analytical")
    made.join(server, team.invite("ada"))
    return made


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the homes of two people who left, with a backup that has some sessions again, in several parts."""
    monkeypatch.setattr(push, "PART_BYTES", 12_000)
    for number in range(8):
        folder = tmp_path / "old" / f"person{number % 2}" / ".claude"
        one = ClaudeTranscript(folder, f"old {number}", cwd=f"/w/shop{number % 2}")
        for turn in range(4):
            one.user(f"Why does part {number} of the conveyor jam in turn {turn}? " + "words " * 150)
            one.assistant(f"It was the belt {turn}; the key is {SECRET}")
        if number < 3:
            shutil.copytree(folder, tmp_path / "old" / "backup" / f"{number}" / ".claude")
    CodexRollout(tmp_path / "old" / "person0" / ".codex", "rollout").turn("which belt", "the left belt")
    return tmp_path / "old"


class Cluster:
    """A scheduler and workers, each a process of its own, as an administrator starts them."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "scheduler", "--no-dashboard", "--no-jupyter", "--port", str(port), "--scheduler-file", str(self._file)
        )
        until = time.monotonic() + LOST_S
        while not self._file.exists() or not self._file.stat().st_size:
            assert time.monotonic() < until
            time.sleep(0.05)
        import json

        self.address: str = json.loads(self._file.read_text())["address"]
        self.port = int(self.address.rpartition(":")[2])
        self.workers: list[subprocess.Popen[bytes]] = []

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker."""
        options = ("--no-nanny", "--no-dashboard", "--nthreads", "1", "--death-timeout", "60")
        self.workers.append(self._start("worker", self.address, *options))
        return self.workers[-1]

    def close(self) -> None:
        """Kill everything."""
        for one in (*self.workers, self.scheduler):
            with suppress(ProcessLookupError):
                one.kill()
            one.wait(LOST_S)

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1", *options]
        return subprocess.Popen(
            command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ}
        )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    made: list[Cluster] = []

    def start(port: int = 0) -> Cluster:
        made.append(Cluster(tmp_path, port))
        return made[-1]

    yield start
    for one in made:
        one.close()


def run_import(ada: Machine, team: Team, folder: Path, **how: Any) -> Any:
    """Import a folder, as the command does."""
    from recollect.team.bulk_import import BulkLoader, import_archives
    from recollect.team.reports import BulkReport

    level = how.pop("level", "full")
    progress = how.pop("progress", lambda _done, _total: None)
    found, parts = ada.memory.team.archives((folder,), level=level, repos=how.pop("repos", ()))
    loader = BulkLoader(team.database.opened, ada.memory.team.membership().token)
    try:
        report = BulkReport(loader.machine, level, len(parts), left_out=found.left_out)
        import_archives(
            loader, parts, report, scheduler=how.pop("scheduler", ""), workers=how.pop("workers", 1), progress=progress
        )
    finally:
        loader.close()
    return report


def rows(team: Team) -> list[tuple[Any, ...]]:
    return team.execute(ROWS, team=team.team_id)


def assert_whole(team: Team) -> None:
    """Every session is there once, with every event once."""
    found = rows(team)
    assert len(found) == 9
    assert all(events == once > 0 for *_rest, events, once in found)
    assert sum(events for *_rest, events, _once in found) == 8 * 9 + found[-1][4]


def test_each_session_comes_once_redacted_and_is_found(
    ada: Machine, team: Team, old: Path, machine: Callable[[str], Machine], server: Server
) -> None:
    report = run_import(ada, team, old, workers=2)
    assert (report.sessions, report.failed, report.skipped) == (9, [], [])
    assert report.parts > 3
    assert_whole(team)
    grace = machine("harvard")
    grace.join(server, team.invite("grace"))
    best = grace.memory.team.search("conveyor jam").hits[0]
    assert (best.person, best.machine) == ("ada", "analytical archives")
    (dump,) = team.execute(
        "SELECT string_agg(e::text, '') FROM recollect.event e WHERE team_id = %(t)s", t=team.team_id
    )
    assert SECRET not in dump[0]


def test_again_leaves_the_same_rows_and_a_push_withdraws_nothing(ada: Machine, team: Team, old: Path) -> None:
    run_import(ada, team, old)
    before = rows(team)
    run_import(ada, team, old)
    assert rows(team) == before
    ada.session("mine", "Not from an archive")
    ada.share("full")
    ada.memory.team.push()
    assert len(rows(team)) == len(before) + 1


def test_levels_and_repositories_are_kept_to(ada: Machine, team: Team, old: Path) -> None:
    report = run_import(ada, team, old, level="figures", repos=("shop0",))
    assert report.sessions == 4
    assert {(level, repo, events) for _uid, level, repo, _count, events, _once in rows(team)} == {
        ("figures", "shop0", 0)
    }


def test_what_was_learned_comes_with_the_share_that_it_needs(ada: Machine, team: Team, tmp_path: Path) -> None:
    one = ClaudeTranscript(tmp_path / "kept" / ".claude", "old", cwd="/w/shop")
    one.user("From now on, always use uv instead of pip in this repository.")
    one.assistant("Understood: uv instead of pip.")
    run_import(ada, team, tmp_path / "kept", level="figures")
    assert team.rows("SELECT 1 FROM recollect.learning WHERE {mine}") == []
    for _again in range(2):
        assert run_import(ada, team, tmp_path / "kept", level="distilled").failed == []
        assert team.rows("SELECT repo FROM recollect.learning WHERE {mine}") == [("shop",)]
    assert team.rows("SELECT repo, level FROM recollect.share WHERE {mine}") == [("shop", "distilled")]


def test_a_worker_that_is_killed_loses_and_doubles_nothing(
    ada: Machine, team: Team, old: Path, cluster: Callable[..., Cluster]
) -> None:
    running = cluster()
    first = running.add_worker()
    killed = threading.Event()

    def kill(_done: int, _total: int) -> None:
        if not killed.is_set():
            killed.set()
            running.add_worker()
            first.send_signal(signal.SIGKILL)

    report = run_import(ada, team, old, scheduler=running.address, progress=kill)
    assert killed.is_set()
    assert (report.sessions, report.failed) == (9, [])
    assert_whole(team)


def test_a_scheduler_that_is_started_again_loses_and_doubles_nothing(
    ada: Machine, team: Team, old: Path, cluster: Callable[..., Cluster]
) -> None:
    running = cluster()
    running.add_worker()
    restarted = threading.Event()

    def restart(_done: int, _total: int) -> None:
        if not restarted.is_set():
            restarted.set()
            running.close()
            cluster(running.port).add_worker()

    report = run_import(ada, team, old, scheduler=running.address, progress=restart)
    assert restarted.is_set()
    assert (report.sessions, report.failed) == (9, [])
    assert_whole(team)


def test_what_cannot_be_used_is_said(ada: Machine, team: Team, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.team import bulk_import

    with pytest.raises(SourceUnavailable, match="does not exist"):
        ada.memory.team.archives((old / "nowhere",), level="full")
    with pytest.raises(UsageError, match="no address of a scheduler"):
        run_import(ada, team, old, scheduler="nonsense://x")
    monkeypatch.setattr(bulk_import, "RECONNECT_S", 0.0)
    with pytest.raises(TeamUnavailable, match="scheduler cannot be reached"):
        run_import(ada, team, old, scheduler="tcp://127.0.0.1:1")
    assert rows(team) == []


def test_without_dask_it_says_what_is_missing(
    ada: Machine, team: Team, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(TeamRefused, match="needs Dask"):
        run_import(ada, team, old)
