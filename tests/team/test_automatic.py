"""A real daemon shares by itself what is new, also with a server that was away, and says how it stands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from recollect.memory import ForgetSelection
from recollect.testing.builders import ClaudeTranscript
from tests.team.conftest import Database, Machine, Server, Team

PATIENCE_S = 150.0
"""After this a test fails instead of waiting on."""


def wait_until(is_so: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.2)


@pytest.fixture
def ada(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("analytical")
    made.session("one", "Why does the checkoutWorker leak?")
    made.join(server, team.invite("ada"))
    return made


@pytest.fixture
def daemon(ada: Machine) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    started = []

    def start() -> subprocess.Popen[bytes]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "recollect", "up", "--port", "0"],
                env={**os.environ, **ada.env},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        return started[-1]

    yield start
    for one in started:
        one.send_signal(signal.SIGTERM)
        one.wait(60)


def test_the_daemon_pushes_what_is_written_and_withdraws_what_is_forgotten(
    ada: Machine, team: Team, daemon: Callable[[], subprocess.Popen[bytes]]
) -> None:
    ada.share("full")
    assert ada.memory.team.status().pushed_at is None
    assert ada.memory.team.status().waiting == 1
    daemon()
    shared = "SELECT 1 FROM recollect.event WHERE {mine} AND said LIKE '%%invoices%%'"
    written = ClaudeTranscript(ada.folder / "claude", "two", cwd=str(ada.folder / "shop"))
    written.user("The invoices are late")
    wait_until(lambda: team.rows(shared))
    wait_until(lambda: ada.memory.team.status().waiting == 0)
    assert ada.memory.team.status().pushed_at is not None
    ada.memory.maintenance.forgetting.run(ForgetSelection(session=written.uid))
    other = ClaudeTranscript(ada.folder / "claude", "three", cwd=str(ada.folder / "shop"))
    other.user("Something else")  # who forgets tells nobody; a change comes sooner than the next look
    wait_until(lambda: not team.rows(shared))


def test_a_server_that_was_away_gets_everything_when_it_is_back(
    ada: Machine, database: Database, team: Team, daemon: Callable[[], subprocess.Popen[bytes]]
) -> None:
    away = Server(database.server_url)
    ada.memory.team.leave()
    ada.join(away, team.invite("ada"))
    ada.share("full")
    away.stop(signal.SIGKILL)
    daemon()
    wait_until(lambda: ada.memory.team.status().failure)
    status = ada.memory.team.status()
    assert (status.server, status.waiting, status.pushed_at) == (None, 1, None)
    assert "cannot be reached" in status.problem
    assert ada.memory.search("checkoutWorker").hits  # nothing waits for the team
    back = Server(database.server_url, away.port)
    wait_until(lambda: ada.memory.team.status().pushed_at)
    assert ada.memory.team.status().failure == ""
    assert team.rows("SELECT 1 FROM recollect.event WHERE {mine} AND said LIKE '%%checkoutWorker%%'")
    back.stop()
