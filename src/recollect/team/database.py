"""The team's database: migrations, administration, and transactions in which the database knows who asks.

The server connects as a role that owns nothing, so that row-level security holds for every statement of it. A role
that would not be held to it is refused. Every question notes who asked what, and whose sessions its answer showed.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any, LiteralString, NamedTuple, Self

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from recollect.errors import TeamForbidden, TeamRefused, TeamUnavailable, UnknownName, UsageError
from recollect.model.team_citation import TeamCitation, read_citation
from recollect.model.team_messages import AuditLine, AuditPage, MemberView, TeamRole
from recollect.team.reports import DatabaseView, Invitation, TeamMade

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


def containing(text: str) -> str:
    """Return the pattern of what contains a text; `=text` is the whole of it."""
    return escaped(text[1:]) if text.startswith("=") else f"%{escaped(text.strip('*'))}%"


def beginning(text: str) -> str:
    """Return the pattern of what begins with a text."""
    return f"{escaped(text)}%"


def clean(names: Iterable[str]) -> list[str]:
    """Return names without the character that PostgreSQL does not keep."""
    return [name.replace("\0", "\ufffd") for name in names]


def escaped(text: str) -> str:
    """Return a text in which no sign means anything."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def cited_by(text: str) -> TeamCitation:
    """Return what a citation names. Raises TeamRefused for what is none."""
    try:
        return read_citation(text)
    except UsageError as error:
        raise TeamRefused(str(error), hint=error.hint) from error


MAX_AUDIT_LINES = 1000
MAX_DETAIL_CHARS = 1000

ADD_AUDIT = (
    "INSERT INTO recollect.audit (team_id, asker_id, action, subject_id, session_uid, detail) "
    "VALUES (recollect.present_team(), recollect.present_member(), %s, %s, %s, %s)"
)
PRESENT_MEMBER = "SELECT recollect.present_member()"
AUDIT = (
    "SELECT (extract(epoch FROM a.at) * 1e6)::bigint, p.name, a.action, coalesce(o.name, ''), a.session_uid, a.detail "
    "FROM recollect.audit a JOIN recollect.member p ON p.team_id = a.team_id AND p.member_id = a.asker_id "
    "LEFT JOIN recollect.member o ON o.team_id = a.team_id AND o.member_id = a.subject_id "
    "WHERE a.team_id = recollect.present_team() ORDER BY a.audit_id DESC LIMIT %s"
)


def note(db: Connection, action: str, detail: str, shown: Iterable[tuple[Any, str]]) -> None:
    """Note a question, and whose sessions its answer shows. shown: (member, session or ""); one's own are one's own."""
    own = db.execute(PRESENT_MEMBER).fetchone()
    assert own is not None
    of_others = dict.fromkeys((member, session) for member, session in shown if member != own[0])
    said = detail[:MAX_DETAIL_CHARS].replace("\0", "\ufffd")
    for member, session in of_others or {(None, ""): None}:
        db.execute(ADD_AUDIT, (action, member, session, said))


def audit(database: TeamDatabase, token: str) -> AuditPage:
    """Return the newest lines that the asker may read: of own questions, of readings of own sessions, as auditor all.
    Raises TeamRefused, TeamUnavailable."""
    with database.as_asker(token) as (db, _asker):
        rows = db.execute(AUDIT, (MAX_AUDIT_LINES,)).fetchall()
    named = (dict(zip(AuditLine.__struct_fields__, row, strict=True)) for row in rows)
    return AuditPage(tuple(msgspec.convert(row, AuditLine) for row in named))


INVITATION_DAYS = 7
_TEAMS = "SELECT team_id, name FROM recollect.team WHERE %s::text IN ('', name) ORDER BY created_at"
_ADD_TEAM = "INSERT INTO recollect.team (name) VALUES (%s) RETURNING team_id"
_PUT_MEMBER = (
    "INSERT INTO recollect.member AS m (team_id, name, role, people_group) VALUES (%s, %s, %s, coalesce(%s, '')) "
    "ON CONFLICT (team_id, name) DO UPDATE SET role = excluded.role, revoked_at = NULL, "
    "people_group = coalesce(%s, m.people_group) RETURNING member_id"
)
_ADD_INVITATION = (
    "INSERT INTO recollect.invitation (team_id, code_hash, member_id, expires_at) "
    "VALUES (%s, %s, %s, now() + make_interval(days => %s))"
)
_MEMBERS = (
    "SELECT p.name, p.role, p.revoked_at IS NOT NULL, p.people_group, "
    "array(SELECT m.name FROM recollect.machine m WHERE m.team_id = p.team_id AND m.member_id = p.member_id "
    "AND m.revoked_at IS NULL AND m.expires_at > now() ORDER BY m.name) "
    "FROM recollect.member p WHERE p.team_id = %s ORDER BY p.name"
)
_GRANT = (
    "UPDATE recollect.member SET role = %s, people_group = coalesce(%s, people_group) "
    "WHERE team_id = %s AND name = %s AND revoked_at IS NULL"
)
_REVOKE_MEMBER = "UPDATE recollect.member SET revoked_at = now() WHERE team_id = %s AND name = %s"
_REVOKE_MACHINES = (
    "UPDATE recollect.machine m SET revoked_at = now() FROM recollect.member p WHERE p.team_id = %s AND p.name = %s "
    "AND m.team_id = p.team_id AND m.member_id = p.member_id AND %s::text IN ('', m.name) AND m.revoked_at IS NULL"
)
_RETENTION = "SELECT retention_days FROM recollect.team t WHERE t.team_id = %s"
_SET_RETENTION = "UPDATE recollect.team t SET retention_days = %s WHERE t.team_id = %s"
_COUNTS = (
    "SELECT (SELECT count(*) FROM recollect.member p WHERE p.team_id = t.team_id AND p.revoked_at IS NULL), "
    "(SELECT count(*) FROM recollect.machine m WHERE m.team_id = t.team_id AND m.revoked_at IS NULL "
    "AND m.expires_at > now()), "
    "(SELECT count(*) FROM recollect.session s WHERE s.team_id = t.team_id), "
    "(SELECT count(*) FROM recollect.event e WHERE e.team_id = t.team_id) "
    "FROM recollect.team t WHERE t.team_id = %s"
)


class Administration:
    """One team of a database. Every method raises TeamUnavailable, TeamRefused, UnknownName."""

    def __init__(self, database: AdministratorDatabase, team: str = "") -> None:
        """team: its name; "" if there is one only."""
        self._db = database.connection
        self._database = database
        found = self._db.execute(_TEAMS, (team,)).fetchall()
        if not found:
            raise UnknownName("team", team, hint="`recollect team init` makes one")
        if len(found) > 1:
            names = ", ".join(str(name) for _, name in found)
            raise TeamRefused(f"this database holds several teams: {names}", hint="name one with --team")
        self._team_id = uuid.UUID(str(found[0][0]))
        self.team = str(found[0][1])

    def invite(self, person: str, role: TeamRole, group: str | None = None) -> Invitation:
        """Add a person, or invite one again with another machine or role. group: None leaves it as it is."""
        member: Any = self._db.execute(_PUT_MEMBER, (self._team_id, person, role, group, group)).fetchone()
        code, hashed = new_token(self._team_id)
        self._db.execute(_ADD_INVITATION, (self._team_id, hashed, member[0], INVITATION_DAYS))
        return Invitation(person, role, code, INVITATION_DAYS)

    def members(self) -> tuple[MemberView, ...]:
        """Return every member, those too that are out."""
        return tuple(
            MemberView(
                str(name),
                msgspec.convert(role, TeamRole),
                bool(is_revoked),
                msgspec.convert(machines, tuple),
                str(group),
            )
            for name, role, is_revoked, group, machines in self._db.execute(_MEMBERS, (self._team_id,))
        )

    def grant(self, person: str, role: TeamRole, group: str | None = None) -> None:
        """Give a member another role, from the next request on, and another group, from the next session on."""
        if not self._db.execute(_GRANT, (role, group, self._team_id, person)).rowcount:
            raise UnknownName("member", person, hint="`recollect team members` lists them")

    def revoke(self, person: str, machine: str = "") -> int:
        """End the tokens of a member's machine, or of all and the membership; return how many tokens. What was shared
        stays."""
        if not machine and not self._db.execute(_REVOKE_MEMBER, (self._team_id, person)).rowcount:
            raise UnknownName("member", person, hint="`recollect team members` lists them")
        count = self._db.execute(_REVOKE_MACHINES, (self._team_id, person, machine)).rowcount
        if machine and not count:
            raise UnknownName("machine", machine, hint="`recollect team members` lists them")
        return count

    def retention(self) -> int | None:
        """Return for how many days the team keeps a session after its last moment; None: for ever."""
        found: Any = self._db.execute(_RETENTION, (self._team_id,)).fetchone()
        days: int | None = found[0]
        return days

    def keep(self, days: int | None) -> int:
        """Keep sessions for so many days from now on, and remove at once what is older; return how many sessions."""
        self._db.execute(_SET_RETENTION, (days, self._team_id))
        return sweep(self._db)

    def view(self) -> DatabaseView:
        """Return what the database holds."""
        counts: Any = self._db.execute(_COUNTS, (self._team_id,)).fetchone()
        return DatabaseView(self.team, self._database.version(), *counts)


def make_team(database: AdministratorDatabase, name: str, owner: str, *, is_new_password: bool = False) -> TeamMade:
    """Make the schema, a team with an owner, and the server's role. Raises TeamUnavailable, TeamRefused."""
    database.migrate()
    if database.connection.execute(_TEAMS, (name,)).fetchone():
        raise TeamRefused(f"there is a team {name} already", hint="`recollect team invite` adds people")
    with database.connection.transaction():
        database.connection.execute(_ADD_TEAM, (name,))
        invitation = Administration(database, name).invite(owner, "owner")
        url = database.server_url(is_new_password=is_new_password)
    return TeamMade(name, owner, invitation.code, url)
