"""Answers questions about shared data with the query language of a memory; tells leads what the work cost."""

from __future__ import annotations

import time
from datetime import timedelta, timezone
from typing import Any, NamedTuple

import msgspec
import psycopg

from recollect.clock import now_us
from recollect.memory import Clause, Question, TeamAnswer, TeamHit, UsageReport, parse, snippet
from recollect.model.team_citation import TeamCitation
from recollect.model.team_messages import VECTOR_DIMENSIONS, TeamQuestion, TeamUsageBy, TeamUsageQuestion
from recollect.model.usage import UsageSum, usage_report
from recollect.team.accept import vector_text
from recollect.team.database import Connection, TeamDatabase, beginning, clean, containing, escaped, note
from recollect.visible import fields_of

DEPTH = 100
"""Events taken by words and by meaning each, before the two are fused."""
RANK_OFFSET = 10
"""Of reciprocal ranks: how little the first places count before the next."""
SESSION_BEST, SESSION_SHARE = 5, 1.0
"""Of so many events of its session a hit gets the mean score, that much of its own."""
LEAST_SIMILARITY = 0.3
"""What is less near says something else."""

FIND = (
    "SELECT f.month, f.session_id, f.event_id, f.part, f.score, f.has_all, f.total, f.in_session "
    "FROM recollect.find_events(%s::jsonb, %s) WITH ORDINALITY f ORDER BY f.ordinality"
)
NEAR = (
    "SELECT f.month, f.session_id, f.event_id, f.part "
    "FROM recollect.find_near(%s::jsonb, %s, %s::halfvec, %s) WITH ORDINALITY f "
    "WHERE f.similarity >= %s ORDER BY f.ordinality"
)
HAS_MODEL = "SELECT 1 FROM recollect.model WHERE team_id = recollect.present_team() AND model = %s"
READ = (
    "SELECT k.place - 1, e.event_id, e.part, e.seq, e.kind, e.ts, e.tool, e.summary, e.said, e.is_undone, "
    "s.session_uid, s.agent, s.title, s.repo, e.member_id, p.name, m.name "
    "FROM unnest(%s::date[], %s::bigint[], %s::text[], %s::int[]) "
    "WITH ORDINALITY k (month, session_id, event_id, part, place) "
    "JOIN recollect.event e ON e.team_id = recollect.present_team() AND e.month = k.month "
    "AND e.session_id = k.session_id AND e.event_id = k.event_id AND e.part = k.part "
    "JOIN recollect.session s ON s.team_id = e.team_id AND s.session_id = e.session_id "
    "JOIN recollect.member p ON p.team_id = e.team_id AND p.member_id = e.member_id "
    "JOIN recollect.machine m ON m.team_id = e.team_id AND m.machine_id = e.machine_id ORDER BY k.place"
)


Key = tuple[Any, int, str, int]
"""Month, session, event and part: of an event, in the database."""


class _Candidate(NamedTuple):
    """How an event was found. in_session: how many of its session have the words too."""

    key: Key
    score: float
    has_all: bool
    in_session: int


class _Candidates(NamedTuple):
    """What was found, best first. total: of all that matches."""

    best: list[_Candidate]
    total: int


class _Found(NamedTuple):
    """An event as it is read, with what it was found by."""

    by: _Candidate
    event_id: str
    part: int
    seq: int
    kind: str
    ts: int | None
    tool: str
    summary: str
    said: str
    is_undone: bool
    session_uid: str
    agent: str
    title: str
    repo: str
    member_id: Any
    person: str
    machine: str


def search(database: TeamDatabase, token: str, asked: TeamQuestion) -> TeamAnswer:
    """Answer a query, and note whose sessions the answer shows. Raises TeamRefused, TeamUnavailable."""
    started = time.perf_counter()
    question = parse(asked.query, now_us(), timezone(timedelta(seconds=asked.zone_offset_s)))
    notes = [*question.notes, *_not_asked(question)]
    if not question.asks_something:
        return _nothing(question, [*notes, "nothing to look for: give at least one word"], started)
    with database.as_asker(token) as (db, _asker):
        candidates = _find(db, question, asked, notes)
        found = _read(db, candidates.best)
        note(db, "search", question.text, ((hit.member_id, hit.session_uid) for hit in found))
    if not found:
        return _nothing(question, [*notes, "nothing found in what the team shares"], started)
    hits = _hits(question, found)
    return TeamAnswer(
        query=question.text, hits=hits, total=candidates.total, match_level=hits[0].match_level,
        left_out=candidates.total - len(hits), notes=tuple(notes), abstained=False, took_ms=_took_ms(started),
    )  # fmt: skip


def _find(db: Connection, question: Question, asked: TeamQuestion, notes: list[str]) -> _Candidates:
    """Return events that have all words, else those that have any of them, with those that mean the same."""
    with_meaning = _has_meaning(db, question, asked, notes)
    depth = max(DEPTH, asked.limit) if with_meaning else asked.limit
    found: list[Any] = []
    try:
        for need in ("all", "any"):
            if not found:
                with db.transaction():
                    found = db.execute(FIND, (_asked(question, need), depth)).fetchall()
    except psycopg.errors.InvalidRegularExpression:
        notes.append("a pattern of the query is none for the team's database; nothing was searched")
    total = found[0][6] if found else 0
    by_words = [_Candidate(row[:4], row[4], row[5], row[7]) for row in found]
    if not with_meaning:
        return _Candidates(by_words, total)
    vector = vector_text(asked.vector)
    near: list[Any] = db.execute(
        NEAR, (_asked(question, "any"), asked.model, vector, depth, LEAST_SIMILARITY)
    ).fetchall()
    fused = _fused(by_words, [row[:4] for row in near])
    return _Candidates(fused[: asked.limit], total + len(fused) - len(by_words))


def _has_meaning(db: Connection, question: Question, asked: TeamQuestion, notes: list[str]) -> bool:
    """Return whether a question is one for what events mean, and the team has vectors of its model."""
    if not asked.vector or question.must or question.must_not or len(question.words) < 2:
        return False
    if len(asked.vector) == VECTOR_DIMENSIONS and db.execute(HAS_MODEL, (asked.model,)).fetchone() is not None:
        return True
    notes.append("searched by words only: the team has no vectors of this memory's model")
    return False


def _fused(by_words: list[_Candidate], near: list[Key]) -> list[_Candidate]:
    """Return both lists as one, by reciprocal rank: 1 where an event is the first of both. The best of its session
    count with each: where much is found, a session is about what is asked."""
    known = {one.key: one for one in by_words}
    scores: dict[Key, float] = {}
    for keys in (known, near):
        for rank, key in enumerate(keys):
            scores[key] = scores.get(key, 0.0) + (RANK_OFFSET + 1) / (RANK_OFFSET + 1 + rank) / 2
    of_session: dict[int, list[float]] = {}
    for key in sorted(scores, key=lambda key: -scores[key]):
        of_session.setdefault(key[1], []).append(scores[key])
    about = {session: sum(best[:SESSION_BEST]) / SESSION_BEST for session, best in of_session.items()}
    total = {key: (score + SESSION_SHARE * about[key[1]]) / (1 + SESSION_SHARE) for key, score in scores.items()}
    best = sorted(total, key=lambda key: -total[key])
    return [known.get(key, _Candidate(key, 0.0, False, 1))._replace(score=total[key]) for key in best]


def _read(db: Connection, best: list[_Candidate]) -> list[_Found]:
    """Read events by their keys, as far as row-level security lets the asker."""
    columns = [list(column) for column in zip(*(one.key for one in best), strict=True)] or [[], [], [], []]
    rows: list[Any] = db.execute(READ, columns).fetchall()
    return [_Found(best[place], *row) for place, *row in rows]


def _asked(question: Question, need: str) -> str:
    where = question.where
    asked: dict[str, object] = {
        "need": need,
        "words": [clause.text for clause in question.words],
        "must": [[_clause(clause) for clause in group] for group in question.must],
        "must_not": [_clause(clause) for clause in question.must_not],
        "agents": where.agents,
        "repos": [containing(repo) for repo in where.repos],
        "branches": [containing(branch) for branch in where.branches],
        "sessions": [beginning(session) for session in where.sessions],
        "kinds": question.kinds,
        "not_kinds": question.not_kinds,
        "tools": question.tools,
        "not_tools": question.not_tools,
        "paths": [containing(path) for path in question.paths],
        "after": question.after_us,
        "before": question.before_us,
    }
    return msgspec.json.encode(asked).decode().replace("\\u0000", "")


def _clause(clause: Clause) -> dict[str, str]:
    if clause.kind != "pattern":
        return {"like": f"%{escaped(clause.text.strip('*'))}%"}
    if clause.text.startswith("*") or "*" in clause.text:
        return {"like": f"%{escaped(clause.text.strip('*'))}%".replace("*", "%")}
    return {"regex": clause.text}


def _not_asked(question: Question) -> list[str]:
    """Return notes on filters that a team's search does not know yet."""
    where = question.where
    left = {"tag": where.tags, "is": where.is_subagent is not None, "-path": question.not_paths}
    left["-repo, -agent and other filters of sessions"] = question.where_not
    return [f"{name}: is not known to a team's search; left out" for name, given in left.items() if given]


_SHOWN = "session_uid event_id seq agent ts kind part title repo tool summary is_undone person machine"


def _hits(question: Question, found: list[_Found]) -> tuple[TeamHit, ...]:
    forms = [
        clause.text.lower().strip("*") for group in ((question.words,), question.must) for g in group for clause in g
    ]
    in_answer: dict[tuple[object, str, str], int] = {}
    for one in found:
        of = (one.member_id, one.machine, one.session_uid)
        in_answer[of] = in_answer.get(of, 0) + 1
    return tuple(
        TeamHit(
            **fields_of(
                one, "session_uid event_id seq agent ts kind part title repo tool summary is_undone person machine"
            ),
            score=round(float(one.by.score), 4),
            snippet=snippet(one.said, forms),
            match_level=_level(question, one),
            root_session_uid=one.session_uid,
            more_in_session=max(0, one.by.in_session - in_answer[one.member_id, one.machine, one.session_uid]),
            citation=str(TeamCitation(one.person, one.machine, one.session_uid, one.event_id, one.part)),
        )
        for one in found
    )


def _level(question: Question, one: _Found) -> Any:
    if not one.by.has_all:
        return "near"
    said = one.said.lower()
    return "exact" if all(clause.text.lower() in said for clause in question.words) else "stemmed"


def _nothing(question: Question, notes: list[str], started: float) -> TeamAnswer:
    return TeamAnswer(
        query=question.text, hits=(), total=0, match_level="none", left_out=0, notes=tuple(notes), abstained=True,
        took_ms=_took_ms(started),
    )  # fmt: skip


def _took_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1e3, 3)


_SEVERAL = "(several)"
"""The key of what stands for several, because too few people stand behind each."""
_ZONES_US = 14 * 3_600_000_000
"""Weeks are UTC's; the day that a person means may begin so much earlier or later."""
_KEYS: dict[TeamUsageBy, str] = {
    "repo": "f.repo", "model": "f.model", "agent": "f.agent", "group": "f.people_group", "week": "f.week::text",
    "total": "'total'",
}  # fmt: skip
_SUMS = (
    "sum(f.input_tokens)::bigint, sum(f.output_tokens)::bigint, sum(f.cache_tokens)::bigint, "
    "sum(f.cache_write_5m_tokens)::bigint, sum(f.cache_write_1h_tokens)::bigint, sum(f.reasoning_tokens)::bigint, "
    "sum(f.responses)::bigint, sum(f.cost_usd), sum(f.unpriced)::bigint "
)
_WHERE = (
    "WHERE (%(agents)s::text[] = '{}' OR f.agent = ANY(%(agents)s)) "
    "AND (%(repos)s::text[] = '{}' OR f.repo ILIKE ANY(%(repos)s)) "
    "AND (%(after)s::bigint IS NULL OR extract(epoch FROM f.week) * 1e6 >= %(after)s - %(zones)s) "
    "AND (%(before)s::bigint IS NULL OR extract(epoch FROM f.week + 7) * 1e6 <= %(before)s + %(zones)s) GROUP BY 1, 2"
)
OF_TEAM = "FROM recollect.team_figures() f "
OF_PERSON = (
    "FROM (SELECT recollect.week_of(s.started_at) AS week, s.repo, s.people_group, s.agent, u.model, u.input_tokens, "
    "u.output_tokens, u.cache_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens, u.reasoning_tokens, "
    "u.responses, u.cost_usd, CASE WHEN u.cost_usd IS NULL THEN u.responses ELSE 0 END AS unpriced "
    "FROM recollect.session s JOIN recollect.usage u ON u.team_id = s.team_id AND u.session_id = s.session_id "
    "WHERE s.team_id = recollect.present_team() AND u.member_id = recollect.present_member()) f "
)


def usage(database: TeamDatabase, token: str, asked: TeamUsageQuestion) -> UsageReport:
    """Return tokens and cost by what is asked for. Raises TeamRefused, TeamUnavailable."""
    wanted = {
        "agents": clean(asked.agents), "repos": [containing(repo) for repo in clean(asked.repos)],
        "after": asked.after, "before": asked.before, "zones": _ZONES_US,
    }  # fmt: skip
    with database.as_asker(token) as (db, asker):
        is_lead = asker.role in ("lead", "owner")
        statement = f"SELECT {_KEYS[asked.by]}, f.model, {_SUMS}{OF_TEAM if is_lead else OF_PERSON}{_WHERE}"
        rows: list[Any] = db.execute(statement, wanted).fetchall()
        note(db, "usage", f"by {asked.by}", ())
    notes = (
        "sessions that were received up to last Sunday (UTC); fewer than four people are put together or withheld"
        if is_lead
        else "your own figures: those of the team are for leads and owners",
        "only whole weeks that lie between these times" if (asked.after, asked.before) != (None, None) else "",
    )
    return _report(asked.by, rows, tuple(filter(None, notes)))


def _report(by: TeamUsageBy, rows: list[Any], notes: tuple[str, ...]) -> UsageReport:
    sums: dict[str, UsageSum] = {}
    total = UsageSum()
    for key, model, inputs, output, cache, write_5m, write_1h, reasoning, responses, cost, unpriced in rows:
        tokens = (inputs, output, max(0, cache - write_5m - write_1h), write_5m, write_1h, reasoning, responses)
        for one in (sums.setdefault(_SEVERAL if key is None else key, UsageSum()), total):
            one.add(tokens, cost, _SEVERAL if model is None else model, unpriced=unpriced)
    return usage_report(by, sums, total, "", notes)
