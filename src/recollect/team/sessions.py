"""Lists the members of a team and the sessions that they share, and opens one."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from recollect.errors import TeamRefused
from recollect.memory import TeamSession, TeamSessionPage, TeamSessionView
from recollect.model.team_citation import TeamCitation
from recollect.model.team_messages import MembersPage, MemberView, SharedEvent, TeamSessionsQuestion, TeamShowQuestion
from recollect.team.database import Connection, TeamDatabase, beginning, cited_by, clean, containing, note
from recollect.visible import fields_of

NEIGHBOURS = 5
"""Events shown before and after the one that is cited."""
_COLUMNS = (
    "SELECT s.session_id, s.month, s.member_id, s.session_uid, s.agent, s.title, s.repo, s.branch, s.started_at, "
    "s.ended_at, s.event_count, s.turn_count, s.outcome, s.level, p.name, m.name "
)
_FROM = (
    "FROM recollect.session s JOIN recollect.member p ON p.team_id = s.team_id AND p.member_id = s.member_id "
    "JOIN recollect.machine m ON m.team_id = s.team_id AND m.machine_id = s.machine_id "
    "WHERE s.team_id = recollect.present_team() "
)
_WHERE = (
    "AND (%(agents)s::text[] = '{}' OR s.agent = ANY(%(agents)s)) "
    "AND (%(repos)s::text[] = '{}' OR s.repo ILIKE ANY(%(repos)s)) "
    "AND (%(after)s::bigint IS NULL OR s.ended_at >= %(after)s) "
    "AND (%(before)s::bigint IS NULL OR s.started_at < %(before)s) "
)
COUNT = f"SELECT count(*) {_FROM}{_WHERE}"
LIST = (
    f"{_COLUMNS}{_FROM}{_WHERE}"
    "ORDER BY coalesce(s.ended_at, s.started_at, 0) DESC, s.session_id LIMIT %(limit)s OFFSET %(offset)s"
)
FIND = (
    f"{_COLUMNS}{_FROM}AND p.name = %(person)s AND m.name = %(machine)s AND s.session_uid LIKE %(uid)s "
    "ORDER BY s.session_uid LIMIT 2"
)
PLACE_OF_EVENT = (
    "SELECT e.seq FROM recollect.event e WHERE e.team_id = recollect.present_team() AND e.month = %s "
    "AND e.session_id = %s AND e.event_id = %s AND e.part = %s"
)
EVENTS = (
    "SELECT e.event_id, e.part, e.seq, e.kind, e.role, e.ts, e.turn_index, e.tool, e.summary, e.said, e.paths, "
    "e.is_undone FROM recollect.event e WHERE e.team_id = recollect.present_team() AND e.month = %s "
    "AND e.session_id = %s AND e.seq >= %s ORDER BY e.seq LIMIT %s"
)


class _Row(NamedTuple):
    session_id: int
    month: Any
    member_id: Any
    session_uid: str
    agent: str
    title: str
    repo: str
    branch: str
    started_at: int | None
    ended_at: int | None
    event_count: int
    turn_count: int
    outcome: Any
    level: Any
    person: str
    machine: str


def sessions(database: TeamDatabase, token: str, asked: TeamSessionsQuestion) -> TeamSessionPage:
    """Return sessions, newest first, and note whose. Raises TeamRefused, TeamUnavailable."""
    wanted = {
        "agents": clean(asked.agents), "repos": [containing(repo) for repo in clean(asked.repos)],
        "after": asked.after, "before": asked.before, "limit": asked.limit, "offset": asked.offset,
    }  # fmt: skip
    with database.as_asker(token) as (db, _asker):
        total: Any = db.execute(COUNT, wanted).fetchone()
        rows = _rows(db, LIST, wanted)
        note(db, "sessions", _words(asked), ((row.member_id, "") for row in rows))
    return TeamSessionPage(tuple(map(_session, rows)), total[0])


def show(database: TeamDatabase, token: str, asked: TeamShowQuestion) -> TeamSessionView:
    """Return a session with a page of its events, and note who opened it. Raises TeamRefused, TeamUnavailable."""
    cited = cited_by(asked.cited)
    first, limit = asked.first, asked.limit
    with database.as_asker(token) as (db, _asker):
        row = _found(db, cited)
        if cited.event_id:
            place: Any = db.execute(PLACE_OF_EVENT, (row.month, row.session_id, cited.event_id, cited.part)).fetchone()
            if place is None:
                raise TeamRefused(f"{cited} is not among what the team shares (any more)")
            first, limit = max(0, place[0] - NEIGHBOURS), 2 * NEIGHBOURS + 1
        rows: list[Any] = db.execute(EVENTS, (row.month, row.session_id, first, limit + 1)).fetchall()
        note(db, "show", asked.cited, [(row.member_id, row.session_uid)])
    events = tuple(_event(one) for one in rows)
    notes = () if row.level == "full" else (f"its events are not shared: its level is {row.level}",)
    return TeamSessionView(_session(row), events[:limit], events[limit].seq if len(events) > limit else None, notes)


def _found(db: Connection, cited: TeamCitation) -> _Row:
    """Return the session of a citation, whose uid may be cut to a unique prefix. Raises TeamRefused."""
    wanted = {"person": cited.person, "machine": cited.machine, "uid": beginning(cited.session_uid)}
    rows = _rows(db, FIND, wanted)
    exact = [row for row in rows if row.session_uid == cited.session_uid] or rows
    if not exact:
        hint = "`recollect sessions --team` lists what is"
        raise TeamRefused(f"{cited._replace(event_id='')} is not among what the team shares", hint=hint)
    if len(exact) > 1:
        raise TeamRefused(f"{cited.session_uid} is the beginning of several sessions", hint="write more of it")
    return exact[0]


def _rows(db: Connection, statement: str, values: dict[str, Any]) -> list[_Row]:
    found: list[Any] = db.execute(statement, values).fetchall()
    return [_Row(*row) for row in found]


def _session(row: _Row) -> TeamSession:
    same = "session_uid agent title repo started_at ended_at event_count turn_count outcome level person machine"
    citation = str(TeamCitation(row.person, row.machine, row.session_uid))
    return TeamSession(**fields_of(row, same), git_branch=row.branch, outcome_reason="", citation=citation)


def _event(row: Any) -> SharedEvent:
    named = dict(zip(SharedEvent.__struct_fields__, row, strict=False))  # vectors, the last of them, stay there
    return msgspec.convert({**named, "paths": tuple(path for path in named["paths"].split("\n") if path)}, SharedEvent)


def _words(asked: TeamSessionsQuestion) -> str:
    return " ".join([*(f"agent:{name}" for name in asked.agents), *(f"repo:{name}" for name in asked.repos)])


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
