"""Administration of the database: teams, members, invitations, roles."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from recollect.errors import TeamRefused, UnknownName
from recollect.model.team_messages import MemberView, TeamRole
from recollect.team.database import AdministratorDatabase, new_token, sweep

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


class TeamMade(msgspec.Struct, frozen=True):
    """A new team. server_url: what `team serve` takes, with a password where it is a new one. code: the first owner's
    invitation."""

    team: str
    person: str
    code: str
    server_url: str


class Invitation(msgspec.Struct, frozen=True):
    """A code that lets one machine of a person join, once. days: how long."""

    person: str
    role: TeamRole
    code: str
    days: int


class DatabaseView(msgspec.Struct, frozen=True):
    """What a team's database holds."""

    team: str
    schema_version: int
    members: int
    machines: int
    sessions: int
    events: int


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
