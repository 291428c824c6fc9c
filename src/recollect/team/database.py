"""The team's database: migrations, and transactions in which the database knows who asks.

The server connects as a role that owns nothing, so that row-level security holds for every statement of it. A role
that would not be held to it is refused.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import LiteralString, NamedTuple, Self

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from recollect.errors import TeamForbidden, TeamRefused, TeamUnavailable, UsageError
from recollect.model.team_messages import TeamRole

Connection = psycopg.Connection[tuple[object, ...]]

SERVER_ROLE = "recollect_server"
STATEMENT_S = 30
"""A statement of the server that takes longer is ended."""
SWEPT_AT_ONCE = 200
"""Sessions removed in one transaction."""
_POOL = 10
_WAIT_S = 5.0
_TOKEN = re.compile(r"rct1_([0-9a-f]{32})_([0-9A-Za-z_-]{43})\Z")
_LOCK = 0x7265636F  # of who migrates


class Credential(NamedTuple):
    """What a token or an invitation says: its team, and the hash under which the database keeps the secret."""

    team_id: uuid.UUID
    hashed: bytes


class Asker(msgspec.Struct, frozen=True):
    """Who shows a token, as the database knows it."""

    team_id: uuid.UUID
    team: str
    person: str
    machine: str
    role: TeamRole
    expires_at: int


def new_token(team_id: uuid.UUID) -> tuple[str, bytes]:
    """Return a new token of a team, and its hash. A secret of 256 random bits needs no slow hash."""
    token = f"rct1_{team_id.hex}_{secrets.token_urlsafe(32)}"
    return token, hashlib.sha256(token.encode()).digest()


def credential(token: str) -> Credential:
    """Return what a token says. Raises TeamForbidden for what is none."""
    found = _TOKEN.match(token)
    if found is None:
        raise TeamForbidden("this is not a team's token", hint="ask an owner of the team for an invitation")
    return Credential(uuid.UUID(found[1]), hashlib.sha256(token.encode()).digest())


def migrations() -> list[tuple[int, str]]:
    """Return number and text of every migration, in order."""
    folder = resources.files("recollect.team.migrations")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text("utf-8")) for name in names]


class AdministratorDatabase:
    """The database as its owner: migrations, teams, members. Not what the server runs on."""

    def __init__(self, url: str) -> None:
        """Raises TeamUnavailable, UsageError for what is no address of a database."""
        self.url = url
        self._has_made_role = False
        try:
            self.connection: Connection = psycopg.connect(url, autocommit=True, connect_timeout=10)
        except psycopg.ProgrammingError as error:
            raise UsageError(f"this is not a database address: {error}", hint="postgresql://USER@HOST/NAME") from error
        except psycopg.Error as error:
            raise _unavailable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def migrate(self) -> int:
        """Bring the schema up to date and return its version. Two that migrate at once wait for each other; each
        migration is one transaction. Raises TeamUnavailable, TeamRefused."""
        try:
            with self.connection.transaction():
                self.connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                self._begin()
                for number, text in migrations():
                    if number > self.version():
                        self.connection.execute(text)
                        self.connection.execute("INSERT INTO recollect.version (number) VALUES (%s)", (number,))
        except psycopg.Error as error:
            raise _refused(error) from error
        return self.version()

    def version(self) -> int:
        """Return the number of the last migration."""
        return _version(self.connection)

    def server_url(self, *, is_new_password: bool = False) -> str:
        """Return the address for `team serve`. It has a password where the role was made just now, or is to get a new
        one; servers that run with an old one cannot connect again. Raises TeamRefused."""
        password = secrets.token_urlsafe(24) if self._has_made_role or is_new_password else ""
        if password:
            statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(SERVER_ROLE), password)
            try:
                self.connection.execute(statement)
            except psycopg.Error as error:
                raise _refused(error) from error
        parts = conninfo_to_dict(self.url)
        host, port, name = (str(parts.get(key) or "") for key in ("host", "port", "dbname"))
        who = f"{SERVER_ROLE}:{password}" if password else SERVER_ROLE
        if host.startswith("/"):
            return f"postgresql://{who}@/{name}?host={host}{f'&port={port}' if port else ''}"
        return f"postgresql://{who}@{host}{f':{port}' if port else ''}/{name}"

    def _begin(self) -> None:
        found = self.connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (SERVER_ROLE,)).fetchone()
        if found is None:
            role = sql.Identifier(SERVER_ROLE)
            statement = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS")
            self.connection.execute(statement.format(role))
            self._has_made_role = True
        self.connection.execute("CREATE SCHEMA IF NOT EXISTS recollect")
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS recollect.version "
            "(number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )


class TeamDatabase:
    """The database as the server's role. Safe from many threads."""

    def __init__(self, url: str) -> None:
        """Raises TeamUnavailable, TeamRefused for a role that row-level security does not hold, or another schema."""
        try:
            settings = make_conninfo(url, connect_timeout=5, options=f"-c statement_timeout={STATEMENT_S}s")
        except psycopg.ProgrammingError as error:
            raise UsageError(f"this is not a database address: {error}", hint="postgresql://USER@HOST/NAME") from error
        try:
            with psycopg.connect(settings) as db:
                _check_role(db)
                _check_version(db)
        except psycopg.Error as error:
            raise _unavailable(error) from error
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            settings, min_size=1, max_size=_POOL, timeout=_WAIT_S, kwargs={"autocommit": True}, open=True,
            check=ConnectionPool.check_connection,
        )  # fmt: skip

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a transaction in which nobody asks yet. Raises TeamUnavailable where the database does not answer or
        has no room; nothing of the transaction is then kept."""
        with self.connection() as db, db.transaction():
            yield db

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Give a connection in which every statement is a transaction. Raises TeamUnavailable."""
        try:
            with self._pool.connection() as db:
                yield db
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
            raise _unavailable(error) from error

    def sweep(self) -> int:
        """Remove what teams keep no longer; return how many sessions. Raises TeamUnavailable."""
        with self.connection() as db:
            return sweep(db)

    @contextmanager
    def as_asker(self, token: str) -> Iterator[tuple[Connection, Asker]]:
        """Give a transaction of who shows a token. Raises TeamRefused, TeamUnavailable."""
        shown = credential(token)
        with self.transaction() as db:
            yield db, enter(db, shown)


def sweep(db: Connection) -> int:
    """Remove what teams keep no longer; return how many sessions. Many small transactions where `db` commits each."""
    count = 0
    while gone := _number(db, "SELECT recollect.sweep(%s)", SWEPT_AT_ONCE):
        count += gone
    return count


def enter(db: Connection, shown: Credential) -> Asker:
    """Let the database know who asks for the rest of its transaction. Raises TeamForbidden."""
    found = db.execute(
        "SELECT team, person, machine, role, (extract(epoch FROM expires_at) * 1e6)::bigint, is_expired "
        "FROM recollect.enter(%s, %s)",
        (shown.team_id, shown.hashed),
    ).fetchone()
    if found is None:
        raise TeamForbidden("the team does not know this token (any more)", hint="ask an owner for a new invitation")
    *facts, is_expired = found
    if is_expired:
        raise TeamForbidden("the token of this machine has expired", hint="join again with a new invitation")
    return msgspec.convert(
        dict(zip(("team_id", "team", "person", "machine", "role", "expires_at"), (shown.team_id, *facts), strict=True)),
        Asker,
    )


def _version(db: Connection) -> int:
    return _number(db, "SELECT coalesce(max(number), 0) FROM recollect.version")


def _number(db: Connection, statement: LiteralString, *values: object) -> int:
    found = db.execute(statement, values or None).fetchone()
    assert found is not None
    return int(str(found[0]))


def _check_role(db: Connection) -> None:
    held = db.execute(
        "SELECT rolsuper OR rolbypassrls OR EXISTS (SELECT FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'recollect' AND pg_has_role(r.oid, c.relowner, 'USAGE')) "
        "FROM pg_roles r WHERE rolname = current_user"
    ).fetchone()
    if held is None or held[0]:
        raise TeamRefused(
            "row-level security does not hold for this role of the database", hint=f"serve as {SERVER_ROLE}"
        )


def _check_version(db: Connection) -> None:
    newest = migrations()[-1][0]
    try:
        found = _version(db)
    except psycopg.errors.UndefinedTable as error:
        raise TeamRefused("this database holds no team", hint="run `recollect team init` first") from error
    if found < newest:
        raise TeamRefused(
            f"the database has schema {found}, this server needs {newest}", hint="run `recollect team migrate` first"
        )


def _refused(error: psycopg.Error) -> Exception:
    if isinstance(error, psycopg.OperationalError):
        return _unavailable(error)
    said = str(error).partition("\n")[0]
    return TeamRefused(f"the database refused: {said}", hint="the role needs to own the database, and to make roles")


def _unavailable(error: Exception) -> TeamUnavailable:
    if isinstance(error, psycopg.errors.DiskFull):
        return TeamUnavailable("the database has no room; nothing of this was kept", hint="make room on its disk")
    if isinstance(error, psycopg.errors.QueryCanceled):
        return TeamUnavailable("the database took too long; nothing of this was kept")
    said = str(error).partition("\n")[0]
    return TeamUnavailable(f"the database cannot be reached: {said}")
