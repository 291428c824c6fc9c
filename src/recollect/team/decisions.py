"""Answers which decisions a team shares, and whether they still hold in what it shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from recollect.memory import (
    DecisionQuestion,
    KeptDecision,
    KeptLink,
    MatchingDecision,
    TeamDecisionsAnswer,
    TeamDecisionsQuestion,
    TeamDecisionView,
    by_words,
    matching,
    words_and_ids,
)
from recollect.model.insights.nodes import Decision, Link
from recollect.model.team_citation import PREFIX, TeamCitation
from recollect.team.audit import note
from recollect.team.database import Connection, TeamDatabase
from recollect.team.patterns import beginning, cited_by, clean, containing

MAX_READ = 5000
"""Decisions that one question looks at, the newest that have its words."""

FIND = (
    "SELECT d.node_id, d.body, d.member_id, p.name, m.name, s.session_uid, s.repo, "
    "(extract(epoch FROM s.received_at) * 1e6)::bigint "
    "FROM recollect.decision d JOIN recollect.session s ON s.team_id = d.team_id AND s.session_id = d.session_id "
    "JOIN recollect.member p ON p.team_id = s.team_id AND p.member_id = s.member_id "
    "JOIN recollect.machine m ON m.team_id = s.team_id AND m.machine_id = s.machine_id "
    "WHERE d.team_id = recollect.present_team() "
    "AND (%(repos)s::text[] = '{}' OR s.repo ILIKE ANY(%(repos)s)) "
    "AND (%(ids)s::text[] = '{}' OR d.node_id LIKE ANY(%(ids)s)) "
    "AND (%(session)s::text IS NULL OR s.session_uid LIKE %(session)s) "
    "AND (%(person)s::text IS NULL OR (p.name = %(person)s AND m.name = %(machine)s)) "
    "AND (%(after)s::bigint IS NULL OR (d.body ->> 'ts')::bigint >= %(after)s) "
    "AND (%(before)s::bigint IS NULL OR (d.body ->> 'ts')::bigint < %(before)s) "
    "AND concat_ws(E'\\n', d.body ->> 'statement', d.body ->> 'rationale', "
    "jsonb_path_query_array(d.body, '$.options[*].text')::text) ILIKE ALL (%(words)s) "
    "ORDER BY (d.body ->> 'ts')::bigint DESC NULLS LAST, d.session_id, d.node_id LIMIT %(most)s"
)
LINKS = (
    "SELECT l.body, (extract(epoch FROM s.received_at) * 1e6)::bigint FROM recollect.decision_link l "
    "JOIN recollect.session s ON s.team_id = l.team_id AND s.session_id = l.session_id "
    "WHERE l.team_id = recollect.present_team() AND (l.older = ANY(%s) OR l.newer = ANY(%s))"
)


class _Row(NamedTuple):
    node_id: str
    body: Any
    member_id: Any
    person: str
    machine: str
    session_uid: str
    repo: str
    received_at: int


def decisions(database: TeamDatabase, token: str, asked: TeamDecisionsQuestion) -> TeamDecisionsAnswer:
    """Return decisions, newest first, and note whose sessions they are of. Raises TeamRefused, TeamUnavailable."""
    question = asked.question
    with database.as_asker(token) as (db, _asker):
        rows = _rows(db, question)
        is_cut = len(rows) == MAX_READ
        rows_by_id = {row.node_id: row for row in reversed(rows)}
        found, left_out = matching(_kept(db, rows_by_id), question, {})
        said = [[one] for one in found] if words_and_ids(question)[1] else by_words(found)
        shown = [_view(same, rows_by_id) for same in said[: asked.limit]]
        of = ((rows_by_id[view.decision.id].member_id, view.session_uid) for view in shown)
        note(db, "decisions", " ".join((*question.words, *(f"repo:{repo}" for repo in question.repos))), of)
    notes = [f"only the newest {MAX_READ:,} that have these words were looked at"] if is_cut else []
    if question.path:
        notes.append("decisions that name the path; what edits of it they led to is not shared")
    return TeamDecisionsAnswer(tuple(shown), len(said), left_out, tuple(notes))


def _rows(db: Connection, question: DecisionQuestion) -> list[_Row]:
    words, ids = words_and_ids(question)
    cited = cited_by(question.session) if question.session.startswith(PREFIX) else None
    session = cited.session_uid if cited is not None else question.session.replace("\0", "")
    found: list[Any] = db.execute(
        FIND,
        {
            "repos": [containing(repo) for repo in clean(question.repos)],
            "ids": [beginning(one) for one in clean(ids)],
            "session": beginning(session) if session else None,
            "person": cited.person if cited is not None else None,
            "machine": cited.machine if cited is not None else None,
            "after": question.after,
            "before": question.before,
            "words": [containing(word.lstrip("=")) for word in clean(words)] or ["%"],
            "most": MAX_READ,
        },
    ).fetchall()
    return [_Row(*row) for row in found]


def _kept(db: Connection, rows: dict[str, _Row]) -> list[KeptDecision]:
    """Return the decisions as a memory keeps them, with the links that say what became of them."""
    links: dict[str, list[KeptLink]] = {}
    found: list[Any] = db.execute(LINKS, (list(rows), list(rows))).fetchall()
    for body, at in found:
        link = msgspec.convert(body, Link)
        for end in {link.older, link.newer}:
            links.setdefault(end, []).append(KeptLink(link, at))
    return [
        KeptDecision(msgspec.convert(row.body, Decision), row.repo, row.received_at, links=tuple(links.get(name, ())))
        for name, row in rows.items()
    ]


def _view(same: Sequence[MatchingDecision], rows: dict[str, _Row]) -> TeamDecisionView:
    """Return the newest of decisions in the same words, with the citations of the others."""
    newest, *others = same
    place = _place(newest, rows)
    view = newest.view(repeats=tuple(str(_place(one, rows)) for one in others))
    return TeamDecisionView(**{**msgspec.structs.asdict(view), **place._asdict(), "citation": str(place)})


def _place(one: MatchingDecision, rows: dict[str, _Row]) -> TeamCitation:
    row, decision = rows[one.item.decision.id], one.item.decision
    evidence = decision.evidence[0] if decision.evidence else None
    event_id, part = (evidence.event_id, evidence.part) if evidence is not None else ("", 0)
    return TeamCitation(row.person, row.machine, row.session_uid, event_id, part)
