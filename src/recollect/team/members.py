"""Who belongs to a team, and what their machines share."""

from __future__ import annotations

from typing import Any

from recollect.model.team_messages import MembersPage, MemberView
from recollect.team.database import TeamDatabase

MEMBERS = (
    "SELECT p.name, p.role, p.revoked_at IS NOT NULL, p.people_group, m.name, "
    "m.revoked_at IS NULL AND m.expires_at > now(), h.repo, h.level FROM recollect.member p "
    "LEFT JOIN recollect.machine m ON m.team_id = p.team_id AND m.member_id = p.member_id "
    "LEFT JOIN recollect.share h ON h.team_id = m.team_id AND h.machine_id = m.machine_id "
    "WHERE p.team_id = recollect.present_team() ORDER BY p.name, m.name, h.repo"
)


def members(database: TeamDatabase, token: str) -> MembersPage:
    """Return every member. What machines share, owners read; everybody reads what one's own machine does. Raises
    TeamRefused, TeamUnavailable."""
    with database.as_asker(token) as (db, _asker):
        rows: list[Any] = db.execute(MEMBERS).fetchall()
    machines: dict[tuple[Any, ...], dict[str, bool]] = {}
    shares: dict[str, dict[str, dict[str, Any]]] = {}
    for *member, machine, holds, repo, level in rows:
        of = machines.setdefault(tuple(member), {})
        if machine is not None:
            of[machine] = holds
        if repo is not None:
            shares.setdefault(member[0], {}).setdefault(machine, {})[repo] = level
    return MembersPage(
        tuple(
            MemberView(
                name, role, is_revoked, tuple(one for one, holds in of.items() if holds), group, shares.get(name, {})
            )
            for (name, role, is_revoked, group), of in machines.items()
        )
    )
